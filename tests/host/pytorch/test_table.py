"""The table of ATen ops, without torch, compared with numpy to nearly the last digit."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.pytorch import aten

from .conftest import Described, Graph

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

Array = np.ndarray[Any, Any]
X = np.linspace(-3, 3, 24, dtype=np.float32).reshape(2, 3, 4)
POSITIVE = np.abs(X) + 0.25
INTS = np.arange(-12, 12, dtype=np.int64).reshape(2, 3, 4)


def value(graph: Graph, op: str, expected: Array, *args: Any, **kwargs: Any) -> Array:
    """Returns the interpreter's result of one call; arrays among the arguments are inputs."""
    arrays: dict[str, Array] = {}

    def placed(argument: Any) -> Any:
        if isinstance(argument, np.ndarray):
            name = f"x{len(arrays)}"
            arrays[name] = argument
            return graph.input(name, argument.shape, argument.dtype.name)
        return [placed(a) for a in argument] if isinstance(argument, list) else argument

    val = Described(expected.shape, expected.dtype.name)
    node = graph.call(op, val, *map(placed, args), **kwargs)
    return ark.reference.run(graph.program(node), arrays)["y0"]


def check(graph: Graph, op: str, expected: object, *args: Any, **kwargs: Any) -> None:
    wanted = np.asarray(expected)
    if wanted.dtype == np.float64:
        wanted = wanted.astype(np.float32)
    got = value(graph, op, wanted, *args, **kwargs)
    np.testing.assert_allclose(got, np.asarray(expected), rtol=1e-6, atol=1e-6)


def sigmoid(x: Array) -> Array:
    return 1 / (1 + np.exp(-x.astype(np.float64)))


UNARY: dict[str, Callable[[Array], Array]] = {
    "abs": np.abs,
    "cos": np.cos,
    "exp": np.exp,
    "exp2": np.exp2,
    "neg": np.negative,
    "relu": lambda x: np.maximum(x, 0),
    "sigmoid": sigmoid,
    "silu": lambda x: x * sigmoid(x),
    "sin": np.sin,
    "square": np.square,
    "tanh": np.tanh,
}


@pytest.mark.parametrize("name", UNARY)
def test_unary(graph: Graph, name: str) -> None:
    check(graph, f"aten.{name}.default", UNARY[name](X), X)


@pytest.mark.parametrize("name", ["log", "log2", "log10", "sqrt", "reciprocal"])
def test_unary_of_positive_numbers(graph: Graph, name: str) -> None:
    check(graph, f"aten.{name}.default", getattr(np, name)(POSITIVE), POSITIVE)


def test_a_function_of_integers_is_a_float(graph: Graph) -> None:
    check(graph, "aten.exp.default", np.exp(INTS.astype(np.float32)), INTS)


@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("add.Tensor", X + 2 * POSITIVE),
        ("sub.Tensor", X - 2 * POSITIVE),
        ("rsub.Tensor", POSITIVE - 2 * X),
    ],
)
def test_alpha(graph: Graph, op: str, expected: Array) -> None:
    check(graph, f"aten.{op}", expected, X, POSITIVE, alpha=2)


@pytest.mark.parametrize("name", ["maximum", "minimum"])
def test_extremes(graph: Graph, name: str) -> None:
    check(graph, f"aten.{name}.default", getattr(np, name)(X, -X), X, -X)


def test_integers_with_floats(graph: Graph) -> None:
    check(graph, "aten.mul.Tensor", INTS * X, INTS, X)
    check(Graph(), "aten.mul.Tensor", INTS * np.float32(0.5), INTS, 0.5)
    check(Graph(), "aten.div.Tensor", INTS / np.float32(3), INTS, 3)


@pytest.mark.parametrize(
    ("op", "function"), [("floor_divide", np.floor_divide), ("remainder", np.mod)]
)
@pytest.mark.parametrize("divisor", [3, -4])
def test_division_of_integers(
    graph: Graph, op: str, function: Callable[..., Array], divisor: int
) -> None:
    overload = "default" if op == "floor_divide" else "Scalar"
    check(graph, f"aten.{op}.{overload}", function(INTS, divisor), INTS, divisor)


@pytest.mark.parametrize("exponent", [-1, -0.5, 0.5, 1, 1.5, 2, 3])
def test_powers(graph: Graph, exponent: float) -> None:
    check(graph, "aten.pow.Tensor_Scalar", POSITIVE**exponent, POSITIVE, exponent)


def test_powers_of_integers(graph: Graph) -> None:
    check(graph, "aten.pow.Tensor_Scalar", INTS**3, INTS, 3)


@pytest.mark.parametrize(
    ("name", "function"), [("eq", np.equal), ("lt", np.less), ("ge", np.greater_equal)]
)
def test_comparisons(graph: Graph, name: str, function: Callable[..., Array]) -> None:
    check(graph, f"aten.{name}.Tensor", function(INTS, X), INTS, X)
    check(Graph(), f"aten.{name}.Scalar", function(INTS, 0.5), INTS, 0.5)
    flags = X > 0
    check(Graph(), f"aten.{name}.Tensor", function(flags, ~flags), flags, ~flags)


def test_logic(graph: Graph) -> None:
    a, b = X > 0, INTS % 2 == 0
    check(graph, "aten.bitwise_and.Tensor", a & b, a, b)
    check(Graph(), "aten.logical_xor.default", a ^ b, a, b)
    check(Graph(), "aten.logical_or.default", a | (INTS != 0), a, INTS)
    check(Graph(), "aten.add.Tensor", a | b, a, b)


def test_where_and_masks(graph: Graph) -> None:
    mask = X > 0
    check(graph, "aten.where.self", np.where(mask, X, POSITIVE), mask, X, POSITIVE)
    check(Graph(), "aten.masked_fill.Scalar", np.where(mask, -math.inf, X), X, mask, -math.inf)


def test_nan_and_infinities(graph: Graph) -> None:
    x = np.array([1, -2, 0, np.nan, np.inf, -np.inf], np.float32)
    check(graph, "aten.isnan.default", np.isnan(x), x)
    check(Graph(), "aten.isinf.default", np.isinf(x), x)
    check(Graph(), "aten.sign.default", np.sign(x), x)
    check(Graph(), "aten.sign.default", np.sign(INTS), INTS)


def test_clamps(graph: Graph) -> None:
    check(graph, "aten.clamp.default", np.clip(X, -1, None), X, -1)
    check(Graph(), "aten.clamp.default", np.clip(X, None, 1), X, None, 1)
    check(Graph(), "aten.hardtanh.default", np.clip(X, -1, 1), X)
    check(Graph(), "aten.clamp_min.default", np.maximum(X, 0.5), X, 0.5)


def test_activations(graph: Graph) -> None:
    large = X * 40
    curved = np.where(large > 0, large, np.expm1(np.minimum(large, 0)))
    check(graph, "aten.elu.default", curved, large)
    check(Graph(), "aten.leaky_relu.default", np.where(X > 0, X, X * 0.1), X, 0.1)
    check(Graph(), "aten.softplus.default", np.logaddexp(0, large.astype(np.float64)), large)


def test_views(graph: Graph) -> None:
    check(graph, "aten.view.default", X.reshape(6, 4), X, [-1, 4])
    check(Graph(), "aten.view.dtype", X.view(np.int32), X, ark.int32)
    check(Graph(), "aten.view.dtype", X.view(np.uint8), X, ark.uint8)
    check(Graph(), "aten.view.dtype", (INTS > 0).view(np.uint8), INTS > 0, ark.uint8)
    check(Graph(), "aten.permute.default", X.transpose(2, 0, 1), X, [-1, 0, 1])
    check(Graph(), "aten.transpose.int", X.swapaxes(1, 2), X, 1, -1)
    check(Graph(), "aten.expand.default", np.broadcast_to(X, (5, 2, 3, 4)), X, [5, -1, 3, 4])
    check(Graph(), "aten.slice.Tensor", X[:, :, 1::2], X, 2, 1, 9223372036854775807, 2)
    check(Graph(), "aten.slice.Tensor", X[:, -2:], X, 1, -2)
    check(Graph(), "aten.select.int", X[:, -1], X, 1, -1)
    check(Graph(), "aten.narrow.default", X[:, 1:3], X, 1, -2, 2)
    check(Graph(), "aten.repeat.default", np.tile(X, (2, 1, 3, 1)), X, [2, 1, 3, 1])
    check(Graph(), "aten.flip.default", X[::-1, :, ::-1], X, [0, -1])
    check(Graph(), "aten.roll.default", np.roll(X, (1, -2), (0, 2)), X, [1, -2], [0, 2])
    check(Graph(), "aten.roll.default", np.roll(X, 5), X, [5])


def test_joins(graph: Graph) -> None:
    check(graph, "aten.cat.default", np.concatenate([X, INTS], 1), [X, INTS.astype(np.float32)], 1)
    check(Graph(), "aten.cat.default", X, [np.zeros(0, np.float32), X], -1)
    check(Graph(), "aten.stack.default", np.stack([X, X * 2], -1), [X, X * 2], -1)


def test_parts(graph: Graph) -> None:
    x = graph.input("x", X.shape)
    parts = (Described((2, 1, 4)), Described((2, 2, 4)))
    node = graph.call("aten.split_with_sizes.default", parts, x, [1, 2], 1)
    rows = graph.call("aten.unbind.int", (Described((3, 4)),) * 2, x)
    results = ark.reference.run(graph.program(graph.item(node, 1), graph.item(rows, 1)), {"x": X})
    assert np.array_equal(results["y0"], X[:, 1:])
    assert np.array_equal(results["y1"], X[1])


def test_padding(graph: Graph) -> None:
    padded = np.pad(X, ((0, 0), (2, 0), (1, 1)), constant_values=7)
    check(graph, "aten.constant_pad_nd.default", padded, X, [1, 1, 2, 0], 7)
    check(Graph(), "aten.constant_pad_nd.default", X[:, :, 1:-2], X, [-1, -2])


def test_histograms(graph: Graph) -> None:
    expected = np.histogram(X, 5, (-2, 2))[0].astype(np.float32)
    check(graph, "aten.histc.default", expected, X, 5, -2, 2)
    experts = np.array([0, 0, 3, 7, 7, 7, 9, np.nan], np.float32)
    check(Graph(), "aten.histc.default", [2.0, 0, 0, 1, 0, 0, 0, 3], experts, bins=8, min=0, max=7)
    check(Graph(), "aten.histc.default", np.histogram(X, 5)[0].astype(np.float32), X, 5)
    with pytest.raises(AssertionError, match="whose min is above its max"):
        check(Graph(), "aten.histc.default", expected, X, 5, 2, -2)


@pytest.mark.parametrize("op", ["aten._grouped_mm", "transformers.grouped_mm_fallback"])
def test_grouped_products(op: str) -> None:
    """The second group is empty, and the last rows belong to no group."""
    x = np.linspace(-1, 1, 18, dtype=np.float32).reshape(6, 3)
    weights = np.arange(36, dtype=np.float32).reshape(3, 3, 4)
    ends = np.array([2, 2, 5], np.int32)
    expected = np.concatenate([x[:2] @ weights[0], x[2:5] @ weights[2], np.zeros((1, 4), "f4")])
    check(Graph(), f"{op}.default", expected, x, weights, ends)


def test_scatter_of_slices(graph: Graph) -> None:
    expected = X.copy()
    expected[:, 1:3] = 0
    check(
        graph, "aten.slice_scatter.default", expected, X, np.zeros((2, 2, 4), np.float32), 1, 1, 3
    )
    expected = X.copy()
    expected[:, -1] = 1
    check(Graph(), "aten.select_scatter.default", expected, X, np.ones((2, 4), np.float32), 1, -1)


def test_triangles_and_fills(graph: Graph) -> None:
    check(graph, "aten.tril.default", np.tril(X, 1), X, 1)
    check(Graph(), "aten.triu.default", np.triu(X, -1), X, -1)
    check(Graph(), "aten.full_like.default", np.full_like(X, 3), X, 3)
    check(Graph(), "aten.new_full.default", np.full((2, 2), 5, np.float32), X, [2, 2], 5)
    check(Graph(), "aten.new_zeros.default", np.zeros((2, 2), np.float32), X, [2, 2])
    check(Graph(), "aten.full.default", np.full((3,), 5), [3], 5)
    check(Graph(), "aten.ones.default", np.ones((3,), np.float32), [3])
    check(Graph(), "aten.copy.default", np.broadcast_to(X[0], X.shape), X, X[0])
    check(Graph(), "aten.fill.Scalar", np.full_like(X, 3), X, 3)


def test_reductions(graph: Graph) -> None:
    check(graph, "aten.sum.dim_IntList", X.sum((0, 2)), X, [0, -1])
    check(Graph(), "aten.sum.default", np.float32(X.sum()), X)
    check(Graph(), "aten.sum.default", INTS.astype(np.int64).sum(), INTS)
    check(Graph(), "aten.mean.dim", X.mean(1, keepdims=True), X, [1], True)
    check(Graph(), "aten.amax.default", X.max((0, 1)), X, [0, 1])
    check(Graph(), "aten.any.dim", (X > 2).any(1), X > 2, 1)
    check(Graph(), "aten.all.default", (X > -9).all(), X > -9)
    check(Graph(), "aten.argmax.default", X.argmax(1), X, 1)
    check(Graph(), "aten.argmin.default", np.int64(X.argmin()), X)
    check(Graph(), "aten.linalg_vector_norm.default", np.sqrt((X * X).sum(-1)), X, 2, [-1])


@pytest.mark.parametrize("x", [X, INTS, X > 0], ids=["fp32", "int64", "bool"])
@pytest.mark.parametrize("axis", [0, 1, -1])
def test_sums_of_prefixes(graph: Graph, x: Array, axis: int) -> None:
    check(graph, "aten.cumsum.default", x.cumsum(axis), x, axis)


def test_extremes_with_indices(graph: Graph) -> None:
    x = graph.input("x", X.shape)
    node = graph.call("aten.max.dim", (Described((2, 4)), Described((2, 4), "int64")), x, 1)
    results = ark.reference.run(graph.program(graph.item(node, 0), graph.item(node, 1)), {"x": X})
    assert np.array_equal(results["y0"], X.max(1))
    assert np.array_equal(results["y1"], X.argmax(1))


@pytest.mark.parametrize("correction", [0, 1])
def test_variance(graph: Graph, correction: int) -> None:
    expected = X.var((0, 2), ddof=correction)
    check(graph, "aten.var.correction", expected, X, [0, 2], correction=correction)
    check(Graph(), "aten.std.correction", np.sqrt(expected), X, [0, 2], correction=correction)


def test_softmax(graph: Graph) -> None:
    e = np.exp(X - X.max(1, keepdims=True))
    check(graph, "aten._softmax.default", e / e.sum(1, keepdims=True), X, 1, False)
    check(Graph(), "aten._log_softmax.default", np.log(e / e.sum(1, keepdims=True)), X, 1, False)


def test_softmax_of_rows_that_are_masked(graph: Graph) -> None:
    x = X.copy()
    x[0, 1] = -np.inf
    e = np.exp(x - np.maximum(x.max(-1, keepdims=True), -99))
    expected = e / np.maximum(e.sum(-1, keepdims=True), 1e-30)
    check(graph, "aten._safe_softmax.default", expected, x, -1)
    assert expected[0, 1].sum() == 0


def normalised(x: Array, axes: tuple[int, ...], eps: float) -> Array:
    wide = x.astype(np.float64)
    return (wide - wide.mean(axes, keepdims=True)) / np.sqrt(wide.var(axes, keepdims=True) + eps)


def test_layer_norm(graph: Graph) -> None:
    weight = np.linspace(1, 2, 12, dtype=np.float32).reshape(3, 4)
    expected = normalised(X, (1, 2), 1e-3) * weight + 1
    one = np.ones((3, 4), np.float32)
    check(graph, "aten.layer_norm.default", expected, X, [3, 4], weight, one, 1e-3, False)


def test_group_norm(graph: Graph) -> None:
    x = np.linspace(-1, 1, 2 * 6 * 5, dtype=np.float32).reshape(2, 6, 5)
    weight = np.arange(1, 7, dtype=np.float32)
    nodes = [graph.input(n, a.shape) for n, a in (("x", x), ("w", weight))]
    val = (Described(x.shape), Described((2, 3)), Described((2, 3)))
    node = graph.call("aten.native_group_norm.default", val, *nodes, None, 2, 6, 5, 3, 1e-5)
    got = ark.reference.run(graph.program(graph.item(node, 0)), {"x": x, "w": weight})["y0"]
    groups = normalised(x.reshape(2, 3, 10), (2,), 1e-5).reshape(x.shape)
    np.testing.assert_allclose(got, groups * weight[:, None], rtol=1e-6)


def test_rms_norm(graph: Graph) -> None:
    scale = 1 / np.sqrt((X.astype(np.float64) ** 2).mean(-1, keepdims=True) + 1e-6)
    check(graph, "aten.rms_norm.default", X * scale, X, [4], None, 1e-6)


def test_products(graph: Graph) -> None:
    w = np.linspace(-1, 1, 20, dtype=np.float32).reshape(5, 4)
    bias = np.arange(5, dtype=np.float32)
    check(graph, "aten.linear.default", X @ w.T + bias, X, w, bias)
    check(Graph(), "aten.linear.default", X[0, 0] @ w.T, X[0, 0], w)
    check(Graph(), "aten.mm.default", X[0] @ w.T, X[0], np.ascontiguousarray(w.T))
    check(Graph(), "aten.matmul.default", X @ w[0], X, w[0])
    check(Graph(), "aten.matmul.default", w[0] @ w[1], w[0], w[1])
    addmm = 0.5 * bias + 2 * (X[0] @ w.T)
    check(Graph(), "aten.addmm.default", addmm, bias, X[0], np.ascontiguousarray(w.T),
          beta=0.5, alpha=2)  # fmt: skip
    unknown = np.full(5, np.nan, np.float32)
    check(Graph(), "aten.addmm.default", X[0] @ w.T, unknown, X[0], np.ascontiguousarray(w.T),
          beta=0)  # fmt: skip


def attention(q: Array, k: Array, v: Array, keep: Array | bool = True) -> Array:
    scores = q.astype(np.float64) @ k.swapaxes(-1, -2) / math.sqrt(q.shape[-1])
    scores = np.where(keep, scores, -np.inf)
    e = np.exp(scores - scores.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True) @ v


def test_attention(graph: Graph) -> None:
    random = np.random.default_rng(0)
    q, k, v = (random.standard_normal((2, 3, t, 8)).astype(np.float32) for t in (4, 6, 6))
    op = "aten.scaled_dot_product_attention.default"
    check(graph, op, attention(q, k, v), q, k, v)
    # As in torch, the first query sees the first key, whatever the numbers of queries and keys.
    causal = np.tri(4, 6, dtype=np.bool_)
    check(Graph(), op, attention(q, k, v, causal), q, k, v, None, 0.0, True)
    mask = random.random((2, 1, 4, 6)) > 0.3
    mask[..., 0] = True
    check(Graph(), op, attention(q, k, v, mask), q, k, v, mask)
    check(Graph(), op, attention(q[0, 0], k[0, 0], v[0, 0]), q[0, 0], k[0, 0], v[0, 0])


@pytest.mark.parametrize("copies", [1, 3])
def test_attention_of_shared_heads_reads_them_once(graph: Graph, copies: int) -> None:
    random = np.random.default_rng(0)
    arrays = {
        name: random.standard_normal((2, heads, length, 8)).astype(np.float32)
        for name, heads, length in (("q", 2 * copies, 4), ("k", 2, 5), ("v", 2, 5))
    }
    nodes = {name: graph.input(name, array.shape) for name, array in arrays.items()}
    for name in "kv":
        rows = graph.call("aten.unsqueeze.default", Described((2, 2, 1, 5, 8)), nodes[name], 2)
        spread = Described((2, 2, copies, 5, 8))
        rows = graph.call("aten.expand.default", spread, rows, spread.shape)
        rows = graph.call("aten.clone.default", spread, rows)
        flat = Described((2, 2 * copies, 5, 8))
        nodes[name] = graph.call("aten.view.default", flat, rows, flat.shape)
    op = "aten.scaled_dot_product_attention.default"
    y = graph.call(op, Described(arrays["q"].shape), *nodes.values())
    program = graph.program(y)
    (line,) = (line for line in program.mlir.splitlines() if "ark.attention" in line)
    assert line.count("tensor<2x2x5x8xf32>") == 2
    k, v = (np.repeat(arrays[name], copies, 1) for name in "kv")
    got = ark.reference.run(program, arrays)["y0"]
    np.testing.assert_allclose(got, attention(arrays["q"], k, v), rtol=1e-6, atol=1e-6)


def test_reads_by_index(graph: Graph) -> None:
    table = np.linspace(0, 1, 40, dtype=np.float32).reshape(10, 4)
    ids = np.array([[1, 9, 0], [3, 3, 2]])
    check(graph, "aten.embedding.default", table[ids], table, ids)
    check(Graph(), "aten.index_select.default", X[:, [2, 0]], X, 1, np.array([2, 0]))
    indices = np.array([[[0, 3], [1, 1], [2, 0]]] * 2)
    check(Graph(), "aten.gather.default", np.take_along_axis(X, indices, 2), X, 2, indices)


@pytest.mark.parametrize(
    "index",
    [
        [np.array([1, 0, -1])],
        [None, np.array([[2], [0]])],
        [None, np.array([2, -1]), np.array([0, 3])],
        [np.array([[0], [1]]), np.array([[0, 2]])],
        [np.array([0, 1, 1]), None, np.array([3, 0, -4])],
    ],
)
def test_indexing(graph: Graph, index: list[Any]) -> None:
    expected = X[tuple(slice(None) if i is None else i for i in index)]
    check(graph, "aten.index.Tensor", expected, X, index)


def test_an_index_out_of_range_is_an_error(graph: Graph) -> None:
    """An index out of range must not read an element of the next row."""
    index = [np.array([0]), np.array([4])]
    with pytest.raises(ark.InvalidUsageError, match="index"):
        value(graph, "aten.index.Tensor", X[0, 0, :1], X[0], index)


def test_constants_of_rank_zero_adapt(graph: Graph) -> None:
    """A float64 tensor of rank zero does not make its operands float64."""
    x = graph.input("x", X.shape)
    y = graph.call("aten.mul.Tensor", Described(X.shape), x, graph.constant(0.5))
    assert np.array_equal(ark.reference.run(graph.program(y), {"x": X})["y0"], X / 2)


def test_names() -> None:
    names = aten.names()
    assert names == sorted(set(names))
    assert all(re.fullmatch(r"(aten|transformers)\.\w+\.\w+", name) for name in names)
    assert len(names) > 100

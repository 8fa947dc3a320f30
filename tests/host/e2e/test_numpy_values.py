"""Ops that are composed of others give the values and shapes of NumPy or torch.

The interpreter evaluates the same composition as the compiler, so that it cannot find an error in
the composition itself.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.errors import DataRangeError

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

Pick = Callable[[str], str]
RANDOM = np.random.default_rng(3)
X = RANDOM.standard_normal((3, 7)).astype(np.float32)
X[1, 2] = X[1, 5]  # equal elements keep their order
IDS = np.array([[4, 0, 4], [1, 6, 0]], np.int32)
ROWS = RANDOM.standard_normal((3, 2, 3)).astype(np.float32)


def run(function: Callable[..., Any], arrays: list[Any], target: str) -> Any:
    with ark.Program("values") as program:
        operands = [ark.input(f"x{i}", a.shape, a.dtype.name) for i, a in enumerate(arrays)]
        ark.output("y", function(*operands))
    with ark.compile(program, target) as executable:
        return executable.run({f"x{i}": a for i, a in enumerate(arrays)})["y"]


def written(x: Any, indices: Any, updates: Any) -> Any:
    found = x.copy()
    found[:, indices] = updates
    return found


def added(x: Any, indices: Any, updates: Any) -> Any:
    found = x.copy()
    np.add.at(found, (slice(None), indices), updates)
    return found


CASES: dict[str, tuple[Callable[..., Any], Callable[..., Any], list[Any]]] = {
    "sort": (lambda x: ark.sort(x, 0)[0], lambda x: np.sort(x, 0), [X]),
    "sort, descending": (
        lambda x: ark.sort(x, descending=True)[0], lambda x: -np.sort(-x), [X]
    ),
    "argsort": (ark.argsort, lambda x: np.argsort(x, kind="stable"), [X]),
    "argsort, descending": (
        lambda x: ark.argsort(x, 1, True), lambda x: np.argsort(-x, 1, "stable"), [X]
    ),
    "sort of nothing": (lambda x: ark.sort(x)[1], np.argsort, [X[:0]]),
    "cumsum": (lambda x: ark.cumsum(x, 0), lambda x: np.cumsum(x, 0), [X]),
    "cumsum of a row of nothing": (ark.cumsum, lambda x: np.cumsum(x, 1), [X[:, :0]]),
    "scatter": (lambda x, i, u: ark.scatter(x, i, u, 1), written, [X, IDS, ROWS]),
    "scatter_add": (lambda x, i, u: ark.scatter_add(x, i, u, 1), added, [X, IDS, ROWS]),
    "bincount": (lambda i: ark.bincount(i, 8), lambda i: np.bincount(i.ravel(), None, 8), [IDS]),
    "bincount with weights": (
        lambda i, w: ark.bincount(i, 7, w), lambda i, w: np.bincount(i.ravel(), w.ravel()),
        [IDS, X[:2, :3]],
    ),
    "bincount out of range": (
        lambda i: ark.bincount(i - 1, 4), lambda i: np.bincount(i.ravel(), None, 5)[1:5], [IDS]
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_values(name: str, pick_target: Pick) -> None:
    function, expected, arrays = CASES[name]
    got, wanted = run(function, arrays, pick_target("cpu:2")), expected(*arrays)
    assert got.shape == wanted.shape
    np.testing.assert_allclose(got, wanted, rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mode", ["nearest", "linear", "linear, aligned"])
@pytest.mark.parametrize("size", [(2, 3), (3, 8), (4, 5), (8, 15), (1, 1), (5, 4)])
def test_upsample(mode: str, size: tuple[int, int], pick_target: Pick) -> None:
    torch = pytest.importorskip("torch", reason="torch is not installed")
    images = RANDOM.standard_normal((2, 3, 4, 5)).astype(np.float32)
    kind, _, aligned = mode.partition(", ")
    got = run(lambda x: ark.upsample(x, size, kind, bool(aligned)), [images], pick_target("cpu:2"))
    options = {} if kind == "nearest" else {"align_corners": bool(aligned)}
    wanted = torch.nn.functional.interpolate(
        torch.from_numpy(images), size, mode="bilinear" if options else "nearest", **options
    )
    assert got.shape == (2, 3, *size)
    np.testing.assert_allclose(got, wanted.numpy(), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize(("extent", "count"), [(3, 2), (3, 1), (4, 2), (2, 3), (2, 4), (3, 3)])
def test_nearest_upsample_of_rows(extent: int, count: int, pick_target: Pick) -> None:
    row = np.arange(extent, dtype=np.int32).reshape(1, 1, extent)
    got = run(lambda x: ark.upsample(x, count), [row], pick_target("cpu:1"))
    assert got.tolist() == [[[i * extent // count for i in range(count)]]]


def test_the_derivative_of_counts_out_of_range_is_zero(pick_target: Pick) -> None:
    with ark.Program("gradient") as program:
        weights, ids = ark.input("w", (5,)), ark.input("i", (5,), ark.int32)
        sums = ark.bincount(ids, 3, weights)
        loss = ark.reduce_sum(sums * sums, keepdims=False)
        ark.output("y", ark.gradients(loss, [weights])[0])
    inputs = {"w": np.arange(5, dtype=np.float32), "i": np.array([0, -1, 7, 2, 0], np.int32)}
    with ark.compile(program, pick_target("cpu:1")) as executable:
        assert executable.run(inputs)["y"].tolist() == [8, 0, 0, 6, 8]


@pytest.mark.parametrize("op", ["scatter", "scatter_add"])
@pytest.mark.parametrize("name", [None, "cache rows"])
def test_an_index_out_of_range_names_the_op(op: str, name: str | None, pick_target: Pick) -> None:
    function = getattr(ark, op)
    spoilt = [X, np.array([7, 1], np.int32), X[:, :2]]
    with pytest.raises(DataRangeError, match=r"index 7 is out of range \[0, 7\)") as raised:
        run(lambda x, i, u: function(x, i, u, 1, name=name), spoilt, pick_target("cpu:1"))
    assert f"'{name or op}" in str(raised.value)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (lambda x: ark.sort(x, 0, "yes"), "descending must be True or False, not 'yes'"),
        (lambda x: ark.argsort(x, 0, 1), "descending must be True or False, not 1"),
        (lambda x: ark.upsample(x, 2, "nearest", True), "align_corners=True has no meaning"),
        (lambda x: ark.upsample(x, 0), "size must be one or 1 positive integers, not 0"),
        (lambda x: ark.upsample(x[:, :, :0], 2), "has no elements"),
        (lambda x: ark.conv_transpose1d(x[:, :, :0], x), r"extents \[0\] have no elements"),
        (lambda x: ark.conv_transpose1d(x, x, padding=9), "use less padding"),
        (lambda x: ark.scatter(x, x, x, 5), "indices must have an integer dtype"),
        (
            lambda x: ark.scatter(x, ark.constant([0], ark.int32), x, -5),
            r"axis -5 is not a dimension of shape \[2, 2, 4\]",
        ),
        (lambda x: scatter_eights(x), "ark.scatter_add: x has dtype fp8_e4m3"),
        (lambda x: ark.group_norm(x[:0], 1), "has no elements"),
        (
            lambda x: ark.batch_norm(ark.cast(x, ark.bf16), *[ark.zeros((2,), ark.fp16)] * 2),
            "mean must have shape \\[2\\] and dtype fp32 or bf16, not .*; ark.cast converts it",
        ),
    ],
)
def test_refusals(function: Callable[[Any], Any], message: str) -> None:
    with ark.Program("refused"):
        x = ark.input("x", (2, 2, 4))
        with pytest.raises(ark.InvalidUsageError, match=message):
            function(x)
        ark.output("y", x)


def scatter_eights(x: ark.Tensor) -> ark.Tensor:
    eights = ark.cast(x, "fp8_e4m3")
    return ark.scatter_add(eights, ark.constant([1, 0], ark.int32), eights)


def test_norms_of_halves_take_fp32_vectors(pick_target: Pick) -> None:
    x = RANDOM.standard_normal((2, 4, 5)).astype(np.float16)
    mean, variance, weight = (np.arange(1, 5, dtype=np.float32) / n for n in (3, 7, 9))

    def norm(*operands: ark.Tensor) -> ark.Tensor:
        return ark.batch_norm(*operands, eps=0.0)

    got = run(norm, [x, mean, variance, weight], pick_target("cpu:1"))
    center, spread, scale = (v[:, None] for v in (mean, variance, weight))
    wanted = ((x.astype(np.float32) - center) / np.sqrt(spread) * scale).astype(np.float16)
    assert got.dtype == np.float16
    np.testing.assert_allclose(got, wanted, rtol=1e-3)

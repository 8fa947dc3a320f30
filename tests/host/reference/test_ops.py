"""Views, reductions, normalisations, products, attention, rotary embeddings and indices."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ark_mlir as ark

Interpret = Callable[..., Any]
RNG = np.random.default_rng(0)


def normal(*shape: int) -> Any:
    return RNG.normal(size=shape).astype(np.float32)


# ---------------------------------------------------------------- views


def test_views(interpret: Interpret) -> None:
    x = normal(2, 3, 4)
    for function, expected in (
        (lambda t: ark.reshape(t, (4, -1)), x.reshape(4, 6)),
        (lambda t: ark.transpose(t, (2, 0, 1)), x.transpose(2, 0, 1)),
        (lambda t: ark.slice(t, (0, 1, 0), (2, 3, 4), (1, 1, 3)), x[0:2, 1:3, 0:4:3]),
        (
            lambda t: ark.broadcast_to(t[:, :1], (5, 2, 3, 4)),
            np.broadcast_to(x[:, :1], (5, 2, 3, 4)),
        ),
        (lambda t: ark.concat([t, t[:, :1]], 1), np.concatenate([x, x[:, :1]], 1)),
        (lambda t: ark.split(t, [1, 3], 2)[1], x[..., 1:]),
        (lambda t: ark.sharding(t, 2, 2)[0], x[..., :2]),
        (lambda t: ark.unsqueeze(t, 1), x[:, None]),
        (lambda t: ark.squeeze(t[:1]), x[0]),
        (lambda t: ark.identity(t, deps=[t + 1]), x),
    ):
        np.testing.assert_array_equal(interpret(function, x), expected)


# ---------------------------------------------------------------- reductions

arrays = hnp.arrays(
    np.float32, hnp.array_shapes(max_dims=4, max_side=4), elements=st.floats(-9, 9, width=32)
)


@given(x=arrays, data=st.data(), keepdims=st.booleans())
@settings(max_examples=60)
def test_reductions(interpret: Interpret, x: Any, data: Any, keepdims: bool) -> None:
    axes = tuple(data.draw(st.sets(st.integers(-x.ndim, x.ndim - 1), min_size=1)))
    if len({a % x.ndim for a in axes}) < len(axes):
        return
    wide = x.astype(np.float64)
    for op, function in (
        (ark.reduce_sum, np.sum), (ark.reduce_mean, np.mean),
        (ark.reduce_max, np.max), (ark.reduce_min, np.min),
    ):  # fmt: skip
        got = interpret(lambda t, op=op: op(t, axes, keepdims=keepdims), x)
        np.testing.assert_allclose(
            got, function(wide, axis=axes, keepdims=keepdims), rtol=1e-12, atol=1e-12
        )


def test_integer_sums_wrap(interpret: Interpret) -> None:
    x = np.full((3, 4), 100, np.int8)
    got = interpret(lambda t: ark.reduce_sum(t, 1, keepdims=False), x)
    assert got.dtype == np.int8
    assert got.tolist() == [-112] * 3
    assert interpret(lambda t: ark.reduce_max(t, (0, 1)), x).tolist() == [[100]]


def test_reductions_over_an_empty_axis(interpret: Interpret) -> None:
    x = np.zeros((2, 0), np.float32)
    assert interpret(lambda t: ark.reduce_sum(t, 1), x).tolist() == [[0.0], [0.0]]
    assert interpret(lambda t: ark.reduce_max(t, 1), x).tolist() == [[-np.inf], [-np.inf]]
    assert interpret(lambda t: ark.reduce_min(t, 1), x).tolist() == [[np.inf], [np.inf]]


def test_argmax_is_the_first(interpret: Interpret) -> None:
    x = np.array([[1, 3, 3], [2, 2, 1]], np.float32)
    got = interpret(lambda t: ark.argmax(t, 1), x)
    assert (got.dtype, got.tolist()) == (np.int32, [1, 0])
    assert interpret(lambda t: ark.argmax(t, 0), np.array([[1], [9]], np.int32)).tolist() == [1]


@given(x=arrays, data=st.data())
@settings(max_examples=30)
def test_softmax(interpret: Interpret, x: Any, data: Any) -> None:
    axis = data.draw(st.integers(-x.ndim, x.ndim - 1))
    weights = np.exp(x.astype(np.float64))
    expected = weights / weights.sum(axis, keepdims=True)
    np.testing.assert_allclose(interpret(lambda t: ark.softmax(t, axis), x), expected, rtol=1e-12)


def test_softmax_of_large_values(interpret: Interpret) -> None:
    got = interpret(ark.softmax, np.array([[1e30, 1e30, -1e30]], np.float32))
    np.testing.assert_array_equal(got, [[0.5, 0.5, 0]])


def test_normalisations(interpret: Interpret) -> None:
    x, w, b = normal(3, 5, 16), normal(16), normal(16)
    wide = x.astype(np.float64)
    centred = wide - wide.mean(-1, keepdims=True)
    layer = centred / np.sqrt((centred**2).mean(-1, keepdims=True) + 1e-3)
    rms = wide / np.sqrt((wide**2).mean(-1, keepdims=True) + 1e-5)
    for function, operands, expected in (
        (lambda t: ark.layernorm(t, eps=1e-3), (x,), layer),
        (lambda t, w: ark.layernorm(t, w, eps=1e-3), (x, w), layer * w),
        (lambda t, b: ark.layernorm(t, bias=b, eps=1e-3), (x, b), layer + b),
        (lambda t, w, b: ark.layernorm(t, w, b, eps=1e-3), (x, w, b), layer * w + b),
        (ark.rmsnorm, (x,), rms),
        (ark.rmsnorm, (x, w), rms * w),
    ):
        np.testing.assert_allclose(interpret(function, *operands), expected, rtol=1e-10)


# ---------------------------------------------------------------- products


@pytest.mark.parametrize(("left", "right"), list(itertools.product([False, True], repeat=2)))
def test_matmul(interpret: Interpret, left: bool, right: bool) -> None:
    a, b = normal(2, 1, 3, 5), normal(4, 5, 6)
    x = a.swapaxes(-1, -2).copy() if left else a
    y = b.swapaxes(-1, -2).copy() if right else b
    got = interpret(
        lambda s, t: ark.matmul(s, t, transpose_input=left, transpose_other=right), x, y
    )
    np.testing.assert_allclose(got, a.astype(np.float64) @ b.astype(np.float64), rtol=1e-12)


def test_integer_matmul_wraps(interpret: Interpret) -> None:
    a = RNG.integers(-128, 128, (3, 5)).astype(np.int8)
    b = RNG.integers(-128, 128, (5, 4)).astype(np.int8)
    expected = (a.astype(np.int64) @ b.astype(np.int64)).astype(np.int8)
    got = interpret(ark.matmul, a, b)
    assert got.dtype == np.int8
    np.testing.assert_array_equal(got, expected)


def attention_by_loops(
    q: Any, k: Any, v: Any, scale: float, causal: bool, mask: Any, length: int
) -> Any:
    heads, queries, _ = q.shape
    out = np.zeros((heads, queries, v.shape[-1]))
    for h, i in itertools.product(range(heads), range(queries)):
        group = h // (heads // k.shape[0])
        scores: dict[int, float] = {}
        for j in range(length):
            if causal and j > i + length - queries:
                continue
            score = scale * float(q[h, i].astype(np.float64) @ k[group, j].astype(np.float64))
            if mask is not None and mask.dtype == bool:
                if not mask[h, i, j]:
                    continue
            elif mask is not None:
                score += float(mask[h, i, j])
            if score > -np.inf:
                scores[j] = score
        if scores:
            top = max(scores.values())
            weights = {j: np.exp(s - top) for j, s in scores.items()}
            total = sum(weights.values())
            out[h, i] = sum(w / total * v[group, j].astype(np.float64) for j, w in weights.items())
    return out


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("mask", [None, "bool", "float"])
@pytest.mark.parametrize("length", [None, 0, 1, 5, 7])
def test_attention(
    interpret: Interpret, causal: bool, mask: str | None, length: int | None
) -> None:
    q, k, v = normal(4, 3, 8), normal(2, 7, 8), normal(2, 7, 6)
    full = None
    if mask == "bool":
        full = RNG.random((4, 3, 7)) > 0.4
        full[0, 0] = False
    elif mask == "float":
        full = np.where(RNG.random((4, 3, 7)) > 0.3, normal(4, 3, 7), -np.inf).astype(np.float32)
        full[0, 0] = -np.inf
    operands = [q, k, v] if full is None else [q, k, v, full]
    got = interpret(
        lambda q, k, v, m=None: ark.attention(q, k, v, 0.3, causal, m, length), *operands
    )
    expected = attention_by_loops(q, k, v, 0.3, causal, full, 7 if length is None else length)
    np.testing.assert_allclose(got, expected, rtol=1e-9, atol=1e-12)


def test_attention_has_the_usual_scale_and_batches(interpret: Interpret) -> None:
    q, k = normal(2, 4, 3, 16), normal(2, 4, 5, 16)
    got = interpret(lambda q, k: ark.attention(q, k, k), q, k)
    for n in range(2):
        expected = attention_by_loops(q[n], k[n], k[n], 0.25, False, None, 5)
        np.testing.assert_allclose(got[n], expected, rtol=1e-9)


def test_keys_beyond_kv_length_have_no_effect(interpret: Interpret) -> None:
    q, k = normal(1, 2, 4), normal(1, 5, 4)
    garbage = k.copy()
    garbage[:, 3:] = np.nan
    expected = interpret(lambda q, k: ark.attention(q, k, k, kv_length=3), q, k)
    got = interpret(lambda q, k: ark.attention(q, k, k, kv_length=3), q, garbage)
    np.testing.assert_array_equal(got, expected)


def test_attention_with_a_length_at_run_time() -> None:
    q, k = normal(1, 2, 4), normal(1, 5, 4)
    with ark.Program("p") as program:
        x, y = ark.input("q", q.shape), ark.input("k", k.shape)
        length = ark.scalar("length", max=9)
        ark.output("y", ark.attention(x, y, y, causal=True, kv_length=length))
    for n in range(6):
        got = ark.reference.run(program, {"q": q, "k": k, "length": n})["y"]
        expected = attention_by_loops(q, k, k, 0.5, True, None, n)
        np.testing.assert_allclose(got, expected, rtol=1e-9)
    with pytest.raises(ark.InvalidUsageError, match="kv_length 6 is not between 0 and 5") as error:
        ark.reference.run(program, {"q": q, "k": k, "length": 6})
    assert error.value.op == "ark.attention"


@pytest.mark.parametrize("interleaved", [False, True])
def test_rope(interpret: Interpret, interleaved: bool) -> None:
    x = normal(2, 3, 5, 8)
    angles = RNG.random((5, 4))
    cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
    first = x[..., 0::2] if interleaved else x[..., :4]
    second = x[..., 1::2] if interleaved else x[..., 4:]
    turned = (first + 1j * second.astype(np.float64)) * (cos + 1j * sin.astype(np.float64))
    got = interpret(lambda x, c, s: ark.rope(x, c, s, interleaved=interleaved), x, cos, sin)
    a, b = (got[..., 0::2], got[..., 1::2]) if interleaved else (got[..., :4], got[..., 4:])
    np.testing.assert_allclose(a, turned.real, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(b, turned.imag, rtol=1e-6, atol=1e-9)


# ---------------------------------------------------------------- indices and states


@pytest.mark.parametrize("dtype", [np.int32, np.int64])
def test_embedding_and_gather(interpret: Interpret, dtype: Any) -> None:
    table, i = normal(7, 4), np.array([[0, 6], [3, 3]], dtype)
    np.testing.assert_array_equal(interpret(ark.embedding, i, table), table[i])
    for axis in (0, 1, -1):
        rows = i % 4
        got = interpret(lambda t, i, axis=axis: ark.gather(t, i, axis), table, rows)
        np.testing.assert_array_equal(got, np.take(table, rows, axis))


@pytest.mark.parametrize("index", [-1, 7, 2**31 - 1])
def test_an_index_out_of_range_is_an_error_of_the_op(interpret: Interpret, index: int) -> None:
    table, i = normal(7, 4), np.array([0, index], np.int32)
    for op in (ark.embedding, lambda i, t: ark.gather(t, i, 0)):
        with pytest.raises(ark.InvalidUsageError) as error:
            interpret(op, i, table)
        assert f"index {index} is out of range [0, 7)" in str(error.value)
        assert error.value.op in ("ark.embedding", "ark.gather")
        assert error.value.location is not None
        assert error.value.location.startswith(__file__[:-12])


def counter() -> ark.Program:
    with ark.Program("p") as program:
        log = ark.state("log", (4, 2), init=-1)
        total = ark.state("total", (1,), ark.int32, init=5)
        row = ark.scalar("row", max=9)
        x = ark.input("x", (1, 2))
        before = ark.copy(log)
        ark.update(log, x, (row, 0))
        ark.update(total, total + 1, (0,))
        ark.output("before", before)
        ark.output("log", log)
    return program


def test_states_live_between_runs() -> None:
    program = counter()
    states: dict[str, Any] = {}
    expected = np.full((4, 2), -1.0)
    for row in range(4):
        x = normal(1, 2)
        outputs, states = ark.reference.run(
            program, {"x": x, "row": row}, states, return_states=True
        )
        np.testing.assert_array_equal(outputs["before"], expected)
        expected[row] = x[0]
        np.testing.assert_array_equal(outputs["log"], expected)
        np.testing.assert_array_equal(states["log"], expected)
        assert states["total"].tolist() == [6 + row]
    assert states["total"].dtype == np.int32


def test_a_run_does_not_change_its_operands() -> None:
    program = counter()
    states = {"log": np.zeros((4, 2))}
    ark.reference.run(program, {"x": np.ones((1, 2)), "row": 0}, states)
    assert not states["log"].any()


def test_an_update_that_does_not_fit_is_an_error() -> None:
    program = counter()
    with pytest.raises(
        ark.InvalidUsageError, match="offset 4 does not fit into dimension 0 of extent 4"
    ):
        ark.reference.run(program, {"x": np.ones((1, 2)), "row": 4})


def test_groups_are_interpreted_like_their_ops() -> None:
    text = """
    ark.program @p(%x: tensor<2x3xf32> {ark.kind = #ark.kind<input>, ark.name = "x"})
        -> (tensor<2x3xf32> {ark.name = "y"}) {
      %0 = ark.group "g" (%a = %x) : (tensor<2x3xf32>) -> tensor<2x3xf32> {
        %1 = ark.exp %a : (tensor<2x3xf32>) -> tensor<2x3xf32>
        %2 = ark.neg %1 : (tensor<2x3xf32>) -> tensor<2x3xf32>
        ark.yield %2 : tensor<2x3xf32>
      }
      ark.return %0 : tensor<2x3xf32>
    }"""
    x = normal(2, 3)
    np.testing.assert_allclose(
        ark.reference.run(text, {"x": x})["y"], -np.exp(x.astype(np.float64))
    )

"""The shape and dtype of every op's result, and the requirements on its operands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Refuses = Callable[..., ark.InvalidUsageError]

UNARY_FLOAT = (
    "exp", "log", "sqrt", "rsqrt", "reciprocal", "sin", "cos", "tanh", "erf", "sigmoid", "silu",
    "gelu",
)  # fmt: skip
UNARY_NUMBER = ("abs", "neg", "relu")
BINARY = ("add", "sub", "mul", "div", "maximum", "minimum")
COMPARISONS = ("equal", "not_equal", "less", "less_equal", "greater", "greater_equal")


def x(*shape: int, dtype: Any = None, name: str = "x") -> ark.Tensor:
    return ark.input(name, shape, dtype or ark.fp32)


@pytest.mark.parametrize("op", UNARY_FLOAT)
def test_unary_float_ops(program: Any, refuses: Refuses, op: str) -> None:
    function = getattr(ark, op)
    y = function(x(2, 3, dtype=ark.bf16))
    assert (y.shape, y.dtype, y.name) == ((2, 3), ark.bf16, op)
    i = x(3, dtype=ark.int32, name="i")
    refuses(lambda: function(i), f"ark.{op}", "is int32[3]", "fp32, fp16 or bf16")
    refuses(lambda: function(1.0), f"ark.{op}", "must be a tensor, not the float 1.0")


@pytest.mark.parametrize("op", UNARY_NUMBER)
def test_unary_number_ops(program: Any, refuses: Refuses, op: str) -> None:
    function = getattr(ark, op)
    assert function(x(2, 3, dtype=ark.uint8)).dtype is ark.uint8
    b = x(3, dtype=ark.bool, name="b")
    refuses(lambda: function(b), f"ark.{op}", "is bool[3]", "float or integer dtype")


@pytest.mark.parametrize("op", BINARY)
def test_binary_ops(program: Any, refuses: Refuses, op: str) -> None:
    function = getattr(ark, op)
    y = function(x(2, 1, 3), x(4, 1, name="y"))
    assert (y.shape, y.dtype) == ((2, 4, 3), ark.fp32)
    z, i = x(5, name="z"), x(4, 1, dtype=ark.int32, name="i")
    refuses(lambda: function(y, z), f"ark.{op}", "[2, 4, 3]", "[5]", "do not broadcast")
    refuses(lambda: function(y, i), f"ark.{op}", "different element types", "f32", "i32")


@pytest.mark.parametrize("op", COMPARISONS)
def test_comparisons(program: Any, refuses: Refuses, op: str) -> None:
    function = getattr(ark, op)
    assert function(x(2, 3), x(3, name="y")).dtype is ark.bool
    refuses(lambda: function(x(2, name="p"), x(2, dtype=ark.int8, name="q")), "element types")


def test_logical_ops(program: Any) -> None:
    b, f = x(2, 3, dtype=ark.bool), x(3, name="f")
    assert ark.logical_and(b, b[0]).shape == (2, 3)
    assert ark.logical_or(b, True).dtype is ark.bool
    assert ark.logical_not(b).dtype is ark.bool
    assert ark.logical_and(f, b).dtype is ark.bool
    assert ark.logical_not(f).dtype is ark.bool


def test_where(program: Any) -> None:
    b, f = x(2, 1, dtype=ark.bool), x(3, name="f")
    assert ark.where(b, f, 0).shape == (2, 3)
    assert ark.where(b, -1, f).dtype is ark.fp32
    assert ark.where(b, 1, 2).dtype is ark.int32
    assert ark.where(f, f, f).dtype is ark.fp32


def test_pow(program: Any, refuses: Refuses) -> None:
    assert ark.pow(x(2, 3), 2).shape == (2, 3)
    i = x(3, dtype=ark.int32, name="i")
    assert ark.pow(i, 2).dtype is ark.int32
    refuses(lambda: ark.pow(i, x(3, dtype=ark.int8, name="j")), "ark.pow")
    refuses(lambda: ark.pow(x(3, dtype=ark.bool, name="b"), 2), "ark.pow")


def test_gelu_forms(program: Any, refuses: Refuses) -> None:
    f = x(3)
    assert ark.gelu(f, approximate="none").shape == (3,)
    refuses(lambda: ark.gelu(f, approximate="erf"), 'must be "tanh" or "none"')  # type: ignore[arg-type]


def test_casts(program: Any, refuses: Refuses) -> None:
    f = x(3)
    for dtype in ("bf16", np.int8, ark.bool, "float8_e4m3fn"):
        assert ark.cast(f, dtype).dtype is ark.dtypes.as_dtype(dtype)
    refuses(lambda: ark.cast(f, "float64"), "ark.cast", "unknown dtype 'float64'")


def test_reshape(program: Any, refuses: Refuses) -> None:
    f = x(4, 6)
    assert ark.reshape(f, (2, -1, 3)).shape == (2, 4, 3)
    assert ark.reshape(f, 24).shape == (24,)
    refuses(lambda: ark.reshape(f, (5, 5)), "cannot reshape [4, 6] to [5, 5]")
    refuses(lambda: ark.reshape(f, (-1, -1)), "more than one -1")
    refuses(lambda: ark.reshape(f, (-1, 5)), "shape [-1, 5] cannot have the")
    refuses(lambda: ark.reshape(f, (-2, 12)), "is negative")


def test_transpose(program: Any, refuses: Refuses) -> None:
    f = x(2, 3, 4)
    assert ark.transpose(f).shape == (4, 3, 2)
    assert ark.transpose(f, (0, -1, 1)).shape == (2, 4, 3)
    refuses(lambda: ark.transpose(f, (0, 0, 1)), "is not a permutation")
    refuses(lambda: ark.transpose(f, (0, 1)), "is not a permutation")
    refuses(lambda: ark.transpose(f, (0, 1, 7)), "is not a permutation")


def test_slice(program: Any, refuses: Refuses) -> None:
    f = x(4, 8)
    assert ark.slice(f, (0, 2), (4, -1), (1, 2)).shape == (4, 3)
    assert ark.slice(f, (-2, 0), (4, 8)).shape == (2, 8)
    refuses(lambda: ark.slice(f, (0, 0), (4, 9)), "ark.slice", "does not fit dimension 1")
    refuses(lambda: ark.slice(f, (0,), (4,)), "ark.slice", "slice_c1")
    refuses(lambda: ark.slice(f, (0, 0), (4, 8), (1, 0)), "ark.slice", "slice_c2")


def test_concat_and_split(program: Any, refuses: Refuses) -> None:
    f, g = x(2, 3), x(2, 5, name="g")
    joined = ark.concat([f, g], -1)
    assert joined.shape == (2, 8)
    assert [p.shape for p in ark.split(joined, 2, 1)] == [(2, 4), (2, 4)]
    assert [p.shape for p in ark.split(joined, np.int64(2), 1)] == [(2, 4), (2, 4)]  # type: ignore[arg-type]
    assert [p.shape for p in ark.split(joined, [3, 0, 5], -1)] == [(2, 3), (2, 0), (2, 5)]
    assert [p.shape for p in ark.sharding(joined, 1, 2)] == [(2, 2)] * 4
    refuses(lambda: ark.concat([f, g], 0), "ark.concat", "concat_c3")
    refuses(lambda: ark.concat([f, g], 2), "ark.concat", "axis 2 is not a dimension")
    refuses(lambda: ark.concat([], 0), "xs is empty")
    refuses(lambda: ark.concat(f, 0), "xs must be a list of tensors, not <ark.Tensor")  # type: ignore[arg-type]
    refuses(lambda: ark.concat([f, 1], 0), "xs[1] must be a tensor")  # type: ignore[list-item]
    refuses(
        lambda: ark.split(joined, 3, 1), "n_or_sizes 3 does not divide the extent 8 of dimension 1"
    )
    refuses(lambda: ark.split(joined, [3, 4], 1), "n_or_sizes [3, 4]", "extent 8 of dimension 1")
    refuses(lambda: ark.split(joined, 2, 5), "axis 5 is not a dimension")
    refuses(
        lambda: ark.sharding(joined, 1, 3),
        "dim_per_shard 3 does not divide the extent 8 of dimension 1",
    )


def test_broadcast_squeeze_unsqueeze(program: Any, refuses: Refuses) -> None:
    f = x(3, 1)
    assert ark.broadcast_to(f, (2, 3, 4)).shape == (2, 3, 4)
    assert ark.squeeze(f).shape == (3,)
    assert ark.squeeze(f, -1).shape == (3,)
    assert ark.unsqueeze(f, (0, -1)).shape == (1, 3, 1, 1)
    refuses(lambda: ark.broadcast_to(f, (2, 4)), "ark.broadcast_to", "broadcast_to_c1")
    refuses(lambda: ark.squeeze(f, 0), "axis 0 has extent 3")
    refuses(lambda: ark.squeeze(f, 2), "axis 2 is not a dimension")
    refuses(lambda: ark.unsqueeze(f, 5), "not distinct dimensions")
    refuses(lambda: ark.unsqueeze(f, (0, 0)), "not distinct dimensions")
    for rank in (33, 10_000):
        refuses(lambda n=rank: ark.reshape(f, (1,) * n), f"at most 32 dimensions, not {rank}")
        refuses(lambda n=rank: ark.input("z", (1,) * n), f"at most 32 dimensions, not {rank}")


def test_identity(program: Any) -> None:
    f, g = x(3), x(4, name="g")
    assert ark.identity(f, deps=[g]).shape == (3,)


def test_reductions(program: Any, refuses: Refuses) -> None:
    f = x(2, 3, 4)
    for op in (ark.reduce_sum, ark.reduce_mean, ark.reduce_max, ark.reduce_min):
        assert op(f, -1).shape == (2, 3, 1)
        assert op(f, (0, -1), keepdims=False).shape == (3,)
        assert op(f).shape == (1, 1, 1)
    refuses(lambda: ark.reduce_sum(f, 3), "ark.reduce_sum", "axis 3 is not a dimension")
    refuses(lambda: ark.reduce_sum(f, -4), "ark.reduce_sum", "axis -4 is not a dimension")
    refuses(lambda: ark.reduce_sum(f, (1, 1)), "ark.reduce_sum", "reduce_c1")
    refuses(lambda: ark.reduce_sum(f, 1.5), "axis must be integers, not 1.5")
    refuses(lambda: ark.reduce_sum(f, 1, keepdims=1), "keepdims must be True or False")  # type: ignore[arg-type]
    i = x(3, dtype=ark.int32, name="i")
    assert ark.reduce_mean(i, 0).dtype is ark.fp32
    assert ark.reduce_mean(x(3, dtype=ark.bool, name="b"), 0).dtype is ark.fp32
    refuses(lambda: ark.reduce_mean(x(3, dtype=ark.fp8_e4m3, name="e"), 0), "ark.reduce_mean")


def test_argmax_and_softmax(program: Any, refuses: Refuses) -> None:
    f = x(2, 3)
    assert (ark.argmax(f, -1).shape, ark.argmax(f, -1).dtype) == ((2,), ark.int32)
    assert ark.softmax(f).shape == (2, 3)
    refuses(lambda: ark.argmax(f, 2), "ark.argmax", "axis 2")
    refuses(lambda: ark.softmax(f, -3), "ark.softmax", "axis -3")


def test_normalisations(program: Any, refuses: Refuses) -> None:
    f, w, short = x(2, 8), x(8, name="w"), x(7, name="short")
    assert ark.layernorm(f).shape == (2, 8)
    assert ark.layernorm(f, w, w, eps=1e-12).shape == (2, 8)
    assert ark.layernorm(f, bias=w).shape == (2, 8)
    assert ark.rmsnorm(f, w).shape == (2, 8)
    refuses(lambda: ark.layernorm(f, short), "ark.layernorm", "norm_c2")
    refuses(lambda: ark.rmsnorm(f, short), "ark.rmsnorm", "norm_c2")
    refuses(lambda: ark.rmsnorm(f, w, eps=-1), "eps must be finite and not negative, not -1")
    refuses(lambda: ark.rmsnorm(f, w, eps=float("nan")), "finite and not negative, not nan")
    refuses(lambda: ark.rmsnorm(f, 2.0), "weight must be a tensor")  # type: ignore[arg-type]


def test_matmul(program: Any, refuses: Refuses) -> None:
    a, b = x(5, 2, 3), x(3, 4, name="b")
    assert ark.matmul(a, b).shape == (5, 2, 4)
    assert (a @ b).shape == (5, 2, 4)
    assert ark.matmul(b, a, transpose_input=True, transpose_other=True).dtype is ark.fp32
    assert ark.matmul(a, np.ones((3, 7))).shape == (5, 2, 7)
    eight = x(2, 2, dtype=ark.fp8_e4m3, name="eight")
    assert ark.matmul(eight, eight).dtype is ark.fp32
    refuses(lambda: ark.matmul(a, a), "ark.matmul", "contracted extents differ, 3 and 2")
    row, column = b[:, 0], b[0]
    assert ark.matmul(a, row).shape == (5, 2)
    assert ark.matmul(row, b).shape == (4,)
    assert ark.matmul(column, b, transpose_other=True, name="named").name == "named"
    assert (row @ row).shape == ()
    refuses(lambda: a @ column, "ark.matmul", "contracted extents differ, 3 and 4")
    refuses(lambda: ark.matmul(a, 2.0), "ark.matmul")  # type: ignore[arg-type]


def test_attention(program: Any, refuses: Refuses) -> None:
    q, k = x(2, 8, 5, 16), x(2, 2, 9, 16, name="k")
    length = ark.scalar("length", max=9)
    assert ark.attention(q, k, k).shape == (2, 8, 5, 16)
    assert ark.attention(q, k, k, causal=True, kv_length=length).shape == (2, 8, 5, 16)
    assert ark.attention(q, k, k, scale=0.5, kv_length=3).shape == (2, 8, 5, 16)
    mask = x(2, 1, 1, 9, dtype=ark.bool, name="mask")
    assert ark.attention(q, k, k, mask=mask).shape == (2, 8, 5, 16)
    odd, wrong = x(2, 3, 9, 16, name="odd"), x(2, 9, dtype=ark.int8, name="wrong")
    refuses(lambda: ark.attention(q, odd, odd), "ark.attention", "attention_c2")
    refuses(lambda: ark.attention(q, k, k, mask=wrong), "ark.attention", "attention_c3")
    refuses(lambda: ark.attention(q, k, k, kv_length=10), "kv_length 10 is not between 0 and 9")
    refuses(lambda: ark.attention(q, k, k, scale="1"), "scale must be a number")  # type: ignore[arg-type]
    refuses(lambda: ark.attention(q[0, 0], k, k), "ark.attention", "attention_c1")


def test_rope(program: Any, refuses: Refuses) -> None:
    q, t = x(2, 8, 5, 16), x(5, 8, name="t")
    assert ark.rope(q, t, t).shape == (2, 8, 5, 16)
    assert ark.rope(q, t, t, interleaved=True).shape == (2, 8, 5, 16)
    refuses(lambda: ark.rope(q[..., :5], t, t), "ark.rope", "rope_c1")
    refuses(lambda: ark.rope(q, t, t[..., :4]), "ark.rope", "rope_c2")


def test_indexing(program: Any, refuses: Refuses) -> None:
    i, table = x(2, 3, dtype=ark.int32), x(10, 4, name="table")
    assert ark.embedding(i, table).shape == (2, 3, 4)
    assert ark.gather(table, i, -1).shape == (10, 2, 3)
    assert ark.gather(table, ark.scalar("row"), 0).shape == (4,)
    refuses(lambda: ark.embedding(i, table[0]), "ark.embedding", "embedding_c1")
    refuses(lambda: ark.embedding(table, table), "ark.embedding")
    refuses(lambda: ark.gather(table, i, 2), "ark.gather", "axis 2")


def test_update(program: Any, refuses: Refuses) -> None:
    cache, value = ark.state("cache", (4, 8)), x(1, 8)
    row = ark.scalar("row", max=3)
    assert ark.update(cache, value, (row, 0)).shape == (4, 8)
    assert ark.update(ark.update(cache, value, (0, 0)), value, (1, 0)).state is cache.state
    refuses(
        lambda: ark.update(value, value, (0, 0)), "ark.update", "state must be a result of", "'x'"
    )
    refuses(lambda: ark.update(cache, value, (4, 0)), "ark.update", "update_c4")
    refuses(lambda: ark.update(cache, value, (-1, 0)), "ark.update", "update_c4")
    refuses(lambda: ark.update(cache, value, (0,)), "ark.update", "update_c3")
    refuses(lambda: ark.update(cache, value[0], (0, 0)), "ark.update", "update_c2")
    refuses(lambda: ark.update(cache, value, row), "offsets must be a list")  # type: ignore[arg-type]
    refuses(lambda: ark.update(cache, value, (0.5, 0)), "offset must be an integer")  # type: ignore[list-item]
    i = x(2, dtype=ark.int32, name="i")
    refuses(lambda: ark.update(cache, value, (i, 0)), "ark.update")


def test_a_refused_update_does_not_move_the_state(program: Any) -> None:
    cache, value = ark.state("cache", (4, 8)), x(1, 8)
    before = cache.value
    with pytest.raises(ark.InvalidUsageError):
        ark.update(cache, value, (9, 0))
    assert cache.value == before


def test_collectives(refuses: Refuses) -> None:
    with ark.Program("p", rank=0, world_size=4):
        f = x(8, 2)
        assert ark.all_reduce(f, "max").shape == (8, 2)
        assert ark.all_gather(f, 1).shape == (8, 8)
        assert ark.reduce_scatter(f, 0).shape == (2, 2)
        assert ark.all_to_all(f, 0).shape == (8, 2)
        assert ark.broadcast(f, 3).shape == (8, 2)
        assert ark.send(f, 1, tag=7).shape == (8, 2)
        assert ark.recv((3,), ark.int8, 1, 7).dtype is ark.int8
        refuses(lambda: ark.all_reduce(f, "mean"), 'op must be "sum", "max" or "min"')  # type: ignore[arg-type]
        refuses(lambda: ark.reduce_scatter(f, 1), "ark.reduce_scatter", "collective_c3")
        refuses(lambda: ark.broadcast(f, 4), "root 4 is not one of 4 ranks")
        refuses(lambda: ark.send(f, -1), "dst -1 is not one of 4 ranks")
        refuses(lambda: ark.all_gather(f, 2), "ark.all_gather", "collective_c2")
        ark.output("y", f)


def test_collectives_need_several_ranks(program: Any, refuses: Refuses) -> None:
    f = x(8, 2)
    refuses(lambda: ark.all_reduce(f), "ark.all_reduce", "pass rank= and world_size=")


@pytest.mark.parametrize("name", ["", 3, "a\tb"])
def test_names_of_ops(program: Any, refuses: Refuses, name: Any) -> None:
    f = x(3)
    assert ark.relu(f, name="first").name == "first"
    refuses(lambda: ark.relu(f, name=name), "an op's name must be a printable")

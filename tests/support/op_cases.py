"""A case for every op of the graph level, for every dtype that it takes.

Shapes are small and odd, so that tiles are clipped and vectors are masked. Data includes the whole
range of integers and the special values of floats.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable

import numpy as np
from attention_op_cases import ATTENTIONS
from op_case import (
    BOOL,
    EIGHTS,
    EVERY,
    FLOATS,
    HALVES,
    INTEGERS,
    MATRIX,
    NUMBERS,
    Array,
    Case,
    Data,
    Make,
    extremes,
    late_extremes,
    positive,
)
from order_cases import ORDERS
from window_cases import WINDOWS

import ark_mlir as ark
from ark_mlir.dtypes import DType

Op = Callable[..., ark.Tensor]

X, ROW = (5, 7), (7,)


def eight_bit_weights(x: ark.Tensor, w: ark.Tensor) -> list[ark.Tensor]:
    """Multiplies fp8 weights directly, and after a cast to the dtype of the other operand."""
    narrow = [ark.cast(w, dtype) for dtype in EIGHTS]
    results = [ark.matmul(x, part, transpose_other=True) for part in narrow]
    if x.dtype not in EIGHTS:
        wide = ark.cast(narrow[0], x.dtype)
        results += [
            ark.matmul(x, wide, transpose_other=True),
            ark.matmul(narrow[1], ark.transpose(x, (1, 0))),
        ]
    return results


def with_weights(op: Op) -> Callable[..., list[ark.Tensor]]:
    return lambda x, w, b: [op(x), op(x, w), op(x, w, b), op(x, bias=b, eps=0.5)]


def every_reduction(op: Op) -> Callable[..., list[ark.Tensor]]:
    """Reduces the last, the first, several, and all dimensions, with and without `keepdims`."""
    return lambda x: [
        op(x, -1), op(x, 0, keepdims=False), op(x, (0, 2)), op(x, (0, 1, 2), keepdims=False)
    ]  # fmt: skip


def products(a: ark.Tensor, b: ark.Tensor) -> list[ark.Tensor]:
    """``a`` is [2, 3, 5] and ``b`` is [5, 4]; multiplies them with all combinations of
    transposes."""
    c, d = ark.transpose(a, (0, 2, 1)), ark.transpose(b, (1, 0))
    return [
        ark.matmul(a, b),
        ark.matmul(a, d, transpose_other=True),
        ark.matmul(c, b, transpose_input=True),
        ark.matmul(ark.copy(c), ark.copy(d), transpose_input=True, transpose_other=True),
        ark.matmul(a[0], b),
    ]


def weights(x: ark.Tensor, a: ark.Tensor, b: ark.Tensor) -> list[ark.Tensor]:
    """Multiplies a batch of rows by weights, with and without an epilogue."""
    first = ark.matmul(x, a, transpose_other=True)
    second = ark.matmul(x, b, transpose_other=True)
    return [first, ark.silu(second), ark.matmul(x, x, transpose_other=True) + 1]


def quantized(x: ark.Tensor, w: ark.Tensor, s: ark.Tensor) -> list[ark.Tensor]:
    """Multiplies weights of 8 and 4 bits, with scales of 3 groups and of one; the last product has
    too many rows to widen the weights in registers."""
    narrow = ark.cast(w, ark.fp8_e4m3)
    numbers = np.arange(6 * 12, dtype=np.uint8).reshape(6, 12) * 37
    packed = ark.constant(numbers.view(np.int8), ark.int8)
    zeros = ark.constant(np.arange(18).reshape(6, 3) % 16, ark.int8)
    many = ark.concat([x] * 6, 0)
    return [
        ark.quantized_matmul(x, narrow, s), ark.quantized_matmul(x, packed, s, zeros),
        ark.silu(ark.quantized_matmul(x, packed, s[:, 0])),
        ark.quantized_matmul(ark.reshape(x, (3, 1, 24)), narrow, s),
        ark.quantized_matmul(many, narrow, s), ark.quantized_matmul(many, packed, s, zeros),
    ]  # fmt: skip


def normed(x: ark.Tensor, g: ark.Tensor, a: ark.Tensor, b: ark.Tensor) -> ark.Tensor:
    """Returns two products of one norm."""
    h = ark.rmsnorm(x, g)
    gate = ark.silu(ark.matmul(h, a, transpose_other=True))
    return gate * ark.matmul(h, b, transpose_other=True)


def centred(x: ark.Tensor, g: ark.Tensor, a: ark.Tensor, b: ark.Tensor) -> list[ark.Tensor]:
    """Returns a product that is the only reader of its norm, and a product of a norm with another
    reader.
    """
    kept = ark.layernorm(x)
    own = ark.matmul(ark.layernorm(x, g, eps=0.1), a, transpose_other=True)
    return [own + 1, ark.matmul(kept, b, transpose_other=True), ark.copy(kept)]


def views(x: ark.Tensor) -> list[ark.Tensor]:
    """Returns views that are each copied to an output; the last ones consist of several views."""
    return [
        ark.reshape(x, (3, -1)), ark.transpose(x, (2, 0, 1)), x[:, 1:, ::2],
        ark.broadcast_to(x, (2, 2, 3, 5)), ark.unsqueeze(x, 1), ark.identity(x, deps=[ark.copy(x)]),
        ark.transpose(x[:, ::2], (1, 2, 0)), ark.reshape(ark.transpose(x, (1, 0, 2)), (-1,)),
    ]  # fmt: skip


def bitcasts(x: ark.Tensor) -> list[ark.Tensor]:
    """Returns bitcasts to every type: of an argument, of a part of it, of the result of a task, and
    as operands of an op.
    """
    targets = [dtype for dtype in EVERY if dtype.kind != "bool" or x.dtype.kind == "bool"]
    whole = [ark.bitcast(x, dtype) for dtype in targets]
    parts = [ark.bitcast(x[::2, 8:], dtype) for dtype in (ark.uint8, ark.int64)]
    made = ark.bitcast(ark.copy(x), ark.int32) + 1
    return [*whole, *parts, made, ark.bitcast(ark.transpose(x), ark.uint8)]


def kept(x: ark.Tensor) -> ark.Tensor:
    """Returns outputs that no op reads, and outputs that ops read."""
    ark.noop(ark.exp(x))
    y = ark.abs(x)
    ark.noop(ark.transpose(y))
    return -y


def updates(x: ark.Tensor, y: ark.Tensor) -> ark.Tensor:
    """Returns updates of a slice at a constant offset, and of a slice at an offset known at run
    time.
    """
    state = ark.state("state", (4, 5), x.dtype)
    at = ark.constant(np.array(2, np.int32), ark.int32) + ark.constant(np.array(1, np.int32))
    state = ark.update(state, x, (1, 2))
    return ark.copy(ark.update(state, y, (at, 0)))


def constants(x: ark.Tensor) -> list[ark.Tensor]:
    """Returns constants with distinct elements and splats; unsigned constants have the highest bit
    set.
    """
    values = ark.constant(extremes(x.dtype, X, 1), x.dtype)
    one = ark.full(X, 200 if x.dtype.kind == "uint" else 1, x.dtype)
    return [values, one, ark.where(ark.less(x, one), values, one), ark.less(values, one)]


def thresholds(x: ark.Tensor) -> list[ark.Tensor]:
    """Returns thresholds by count, by sum and by both; with limits larger than the number of
    elements, and less than one.

    Limits are elements of one tensor: with constant limits each threshold would get its own body.
    """
    ks = ark.constant(np.array([0, 1, 5, 99, 0, 9, 3, 0]), ark.int32)
    ps = ark.constant(np.array([1, 1, 1, 1, 0.5, 0.7, 0, 2]), ark.fp32)
    pairs = [(ark.reshape(ks[i : i + 1], ()), ark.reshape(ps[i : i + 1], ())) for i in range(8)]
    return [
        ark.top_threshold(source, k, p)
        for source in (x, x[0], ark.where(x > 1.0, x, 0.0))
        for k, p in pairs
    ]


def customs(x: ark.Tensor, y: ark.Tensor, row: ark.Tensor) -> list[ark.Tensor]:
    """Returns custom ops: one of rows that are normed, and one with a product of tiles."""

    def normed_rows(tile: ark.Tensor, other: ark.Tensor, weight: ark.Tensor) -> ark.Tensor:
        return ark.softmax(ark.rmsnorm(tile, weight) * ark.sigmoid(other))

    def product(left: ark.Tensor, right: ark.Tensor) -> ark.Tensor:
        return ark.relu(ark.matmul(left, right, transpose_other=True)) - 1

    rows = ark.Region((2, x.shape[1]), lambda i: (2 * i, 0))
    first = ark.custom_op(
        "rows", normed_rows, [x, ark.exp(y), row],
        grid=x.shape[0] // 2, regions=[rows, rows, None], shape=x.shape, out_region=rows,
    )  # fmt: skip
    second = ark.custom_op(
        "product", product, [first, y],
        grid=(2, x.shape[0] // 2),
        regions=[
            ark.Region((x.shape[0] // 2, x.shape[1]), lambda i, j: (i * (x.shape[0] // 2), 0)),
            ark.Region((2, x.shape[1]), lambda i, j: (2 * j, 0)),
        ],
        shape=(x.shape[0], x.shape[0]),
        out_region=ark.Region(
            (x.shape[0] // 2, 2), lambda i, j: (i * (x.shape[0] // 2), 2 * j)
        ),
    )  # fmt: skip
    return [first, second + 1]


def largest(x: ark.Tensor, y: ark.Tensor) -> list[ark.Tensor]:
    """Returns values and indices of one, several and all largest elements along each dimension, and
    of an operand whose elements are equal.
    """
    pairs = [ark.top_k(x, 1), ark.top_k(x, 3, 0), ark.top_k(x, 7), ark.top_k(y, 2, axis=1)]
    pairs.append(ark.top_k(ark.where(ark.equal(x, x), ark.full(x.shape, 1, x.dtype), x), 4))
    return [result for pair in pairs for result in pair]


def chosen(x: ark.Tensor, w: ark.Tensor, i: ark.Tensor) -> list[ark.Tensor]:
    """Multiplies by chosen matrices: different rows for each index, repeated rows, and all rows by
    one matrix; with and without an epilogue.
    """
    return [
        ark.indexed_matmul(x, w, i), ark.indexed_matmul(x[:, :1], w, i) + 1,
        ark.indexed_matmul(x[1, 2], w, i), ark.indexed_matmul(x[0, 0], w, i[0, 1]),
    ]  # fmt: skip


def groups(x: ark.Tensor, w: ark.Tensor) -> list[ark.Tensor]:
    """Multiplies groups of rows: about equal ones, empty ones, and all rows in one group."""
    rows, number = x.shape[0], w.shape[0]
    share = rows // number
    sizes = [
        [share + (rows % number) * (n == 1) for n in range(number)],
        [rows * (n == 0) for n in range(number)],
        [rows * (n == number - 1) for n in range(number)],
        [1 * (n == 0) + (rows - 1) * (n == number - 2) for n in range(number)],
    ]
    counts = [ark.constant(np.array(each, np.int32)) + 0 for each in sizes]
    return [ark.grouped_matmul(x, w, each) for each in counts]


def unary(op: Make, dtypes: tuple[DType, ...] = FLOATS, data: Data = extremes) -> Case:
    return Case(op, (X,), dtypes, data)


def binary(op: Op, dtypes: tuple[DType, ...] = NUMBERS, data: Data = extremes) -> Case:
    """Returns a case of equal shapes, broadcasts of either side, and a Python number."""

    def make(a: ark.Tensor, b: ark.Tensor, row: ark.Tensor) -> list[ark.Tensor]:
        outputs = [op(a, b), op(a, row), op(row, a)]
        return outputs if a.dtype is ark.dtypes.bool_ else [*outputs, op(a, 3), op(3, a)]

    return Case(make, (X, X, ROW), dtypes, data)


CASES: dict[str, Case] = {
    **{
        op.__name__: unary(op)
        for op in (
            ark.exp, ark.log, ark.sqrt, ark.rsqrt, ark.reciprocal, ark.sin, ark.cos, ark.tanh,
            ark.erf, ark.sigmoid, ark.silu,
        )
    },
    "gelu": unary(lambda x: [ark.gelu(x), ark.gelu(x, approximate="none")]),
    **{op.__name__: unary(op, NUMBERS) for op in (ark.abs, ark.neg, ark.relu)},
    "sign, floor and clamp": unary(
        lambda x: [
            ark.sign(x), ark.floor(x), ark.clamp(x, 1, 3), ark.clamp(x, low=2),
            ark.clamp(x, high=x[0]),
        ],
        NUMBERS,
    ),
    "einsum": Case(
        lambda a, b: [ark.einsum("bij,jk->kbi", a, b), ark.einsum("bij->j", a)],
        ((2, 3, 5), (5, 4)), (ark.int32, *FLOATS),
    ),
    "logical_not": unary(ark.logical_not, BOOL),
    "copy": unary(ark.copy, EVERY),
    **{
        op.__name__: binary(op)
        for op in (ark.add, ark.sub, ark.mul, ark.div, ark.maximum, ark.minimum)
    },
    "pow": binary(ark.pow, FLOATS, positive),
    "pow of integers": binary(ark.pow, INTEGERS, extremes),
    "logical": Case(lambda a, b: [ark.logical_and(a, b), ark.logical_or(a, b)], (X, ROW), BOOL),
    "compare": Case(
        lambda a, b: [
            op(one, other)
            for op in (
                ark.equal, ark.not_equal, ark.less, ark.less_equal, ark.greater, ark.greater_equal
            )
            for one, other in ((a, b), (a, a))
        ],
        (X, ROW), EVERY, extremes,
    ),
    "where": Case(
        lambda a, b, row: [ark.where(ark.less(a, b), x, y) for x, y in ((a, b), (row, a))],
        (X, X, ROW), EVERY, extremes,
    ),
    **{
        op.__name__: Case(every_reduction(op), ((3, 5, 7),), NUMBERS)
        for op in (ark.reduce_sum, ark.reduce_max, ark.reduce_min)
    },
    "reduce_mean": Case(every_reduction(ark.reduce_mean), ((3, 5, 7),), NUMBERS),
    "reduce_extremes": Case(
        lambda x: [ark.reduce_max(x, -1), ark.reduce_min(x, 0)], (X,), NUMBERS, extremes
    ),
    # A thread of a GPU loads several booleans of a long row at once.
    "sums of booleans": Case(
        lambda x: [
            ark.reduce_sum(ark.cast(x, ark.int32), -1), ark.reduce_sum(ark.cast(x, ark.fp32), 0),
            ark.reduce_sum(ark.where(x, 2.0, 0.5), -1),
        ],
        ((6, 256),), BOOL,
    ),
    "top_k of 128 elements": Case(lambda x: list(ark.top_k(x, 8)), ((3, 128),), (ark.fp32,)),
    "argmax": Case(lambda x: [ark.argmax(x, -1), ark.argmax(x, 0)], (X,), NUMBERS, extremes),
    "split argmax": Case(
        lambda x, y: [ark.argmax(x, -1), ark.argmax(y, 0)], ((1, 98304), (98304, 2)), NUMBERS
    ),
    "split argmax of extremes": Case(
        lambda x: [ark.argmax(x, -1)], ((1, 98304),), NUMBERS, late_extremes
    ),
    "softmax": Case(lambda x: [ark.softmax(x), ark.softmax(x, 0)], (X,), FLOATS),
    "philox": Case(
        lambda i, counter: [
            ark.philox(i, counter, ark.constant(seed, ark.int64)) for seed in (0, -1, 2**40 + 7)
        ],
        (X, ROW), (ark.int64,), extremes,
    ),
    "top_threshold": Case(thresholds, ((5, 33),), (ark.fp32,), positive),
    "layernorm": Case(with_weights(ark.layernorm), (X, ROW, ROW), FLOATS),
    "rmsnorm": Case(lambda x, w: [ark.rmsnorm(x), ark.rmsnorm(x, w, eps=0.5)], (X, ROW), FLOATS),
    "norms of a vector": Case(
        lambda x, w, b: [*with_weights(ark.layernorm)(x, w, b), ark.rmsnorm(x), ark.rmsnorm(x, w)],
        (ROW, ROW, ROW), FLOATS,
    ),
    "group_norm": Case(
        lambda x, w, b: [ark.group_norm(x, 3), ark.group_norm(x, 2, w, b, eps=0.5)],
        ((2, 6, 3, 5), (6,), (6,)), FLOATS,
    ),
    "batch_norm": Case(
        lambda x, m, w, b: [
            ark.batch_norm(x, m, m * m), ark.batch_norm(x, m, ark.abs(w), w, b, eps=0.5)
        ],
        ((2, 6, 3, 5), (6,), (6,), (6,)), FLOATS, positive,
    ),
    "matmul": Case(products, ((2, 3, 5), (5, 4)), MATRIX),
    "matmul of integers with wide sums": Case(
        lambda a, b: [ark.matmul(a, b, transpose_other=True, out_dtype=ark.int64)],
        ((3, 5), (4, 5)), (ark.int8, ark.uint8, ark.uint32),
    ),
    "quantized_matmul": Case(quantized, ((3, 24), (6, 24), (6, 3)), FLOATS),
    "matmul of vectors": Case(
        lambda a, b, c: [
            ark.matmul(a, b, transpose_other=True), ark.matmul(a, c), b @ a[0], a[0] @ c,
            a[0] @ b[0],
        ],
        ((1, 33), (17, 33), (33, 17)), MATRIX,
    ),
    "matmul of a batch": Case(weights, ((8, 256), (80, 256), (8, 256)), HALVES),
    "matmul of a ragged batch": Case(weights, ((5, 200), (37, 200), (6, 200)), HALVES),
    "matmul of a large batch": Case(weights, ((13, 1024), (133, 1024), (40, 1024)), HALVES),
    "matmul of many rows": Case(weights, ((150, 136), (150, 136), (70, 136)), HALVES),
    **{
        f"matmul of {rows} rows and {columns} of 8 bits": Case(
            eight_bit_weights, ((rows, depth), (columns, depth)), FLOATS + EIGHTS
        )
        for rows, columns, depth in (
            (1, 40, 512), (1, 37, 200), (5, 37, 200), (16, 64, 2048), (40, 80, 256),
            (150, 136, 136),
        )
    },
    **{
        f"matmul of {rows} {make.__name__} rows": Case(
            make, ((rows, depth), (depth,), (columns, depth), (columns, depth)), HALVES
        )
        for make in (normed, centred)
        for rows, columns, depth in (
            (1, 40, 512), (2, 300, 512), (5, 37, 200), (8, 1100, 2048), (16, 64, 2048),
            (17, 64, 512),
        )
    },
    **ATTENTIONS,
    "rope": Case(
        lambda x, cos, sin: [ark.rope(x, cos, sin, interleaved=which) for which in (False, True)],
        ((2, 3, 6), (3, 3), (3, 3)), FLOATS,
    ),
    "rows longer than the memory of an SM": Case(
        lambda x: [ark.softmax(x * 0.5), ark.layernorm(ark.silu(x))], ((2, 70003),), FLOATS
    ),
    "rope of single pairs": Case(
        lambda x, cos, sin: ark.rope(x, cos, sin, interleaved=True),
        ((2, 3, 7, 7, 2), (1,), (1,)), FLOATS,
    ),
    "embedding": Case(lambda w, i: ark.embedding(i, w), (X,), EVERY, indices=(5,)),
    "gather": Case(
        lambda x, i, j: [ark.gather(x, i, 0), ark.gather(x, j, 1)], (X,), EVERY, indices=(5, 7)
    ),
    "scatter_add": Case(
        lambda x, u, v, i, j: [ark.scatter_add(x, i, u), ark.scatter_add(x, j, v, 1)],
        (X, (2, 3, 7), (5, 2, 3)), NUMBERS, indices=(5, 7),
    ),
    "cross_entropy": Case(
        lambda x: [
            ark.cross_entropy(x, ark.constant(np.array([6, 0, 3, 3, 1]))),
            ark.cross_entropy(x, ark.constant(np.array([6, -100, 3, 3, -100], np.int32))),
        ],
        (X,), FLOATS,
    ),
    "dropout": Case(
        lambda x: [ark.dropout(x, p, seed=3, counter=2) for p in (0.0, 0.3, 1.0)], (X,), FLOATS
    ),


    "top_k": Case(largest, (X, (2, 70, 3)), NUMBERS, extremes),
    "top_k of long rows": Case(
        lambda x: [*ark.top_k(x, 5), *ark.top_k(x, 1)], ((2, 1030),), (ark.fp32, ark.uint32),
        late_extremes,
    ),
    "indexed_matmul": Case(chosen, ((2, 3, 2, 9), (5, 11, 9)), MATRIX, indices=(5,)),
    "indexed_matmul of single rows": Case(
        chosen, ((2, 3, 1, 256), (6, 40, 256)), FLOATS, indices=(6,)
    ),
    "indexed_matmul of many rows": Case(
        chosen, ((2, 3, 16, 128), (6, 72, 128)), HALVES, indices=(6,)
    ),
    "grouped_matmul": Case(groups, ((7, 12), (4, 5, 12)), MATRIX),
    "grouped_matmul of many rows": Case(groups, ((70, 64), (3, 40, 64)), FLOATS),
    **ORDERS,
    **WINDOWS,
    "update": Case(updates, ((2, 3), (1, 5)), EVERY, extremes),
    "custom op": Case(customs, ((8, 12), (8, 12), (12,)), FLOATS),
    "concat": Case(
        lambda a, b: [
            ark.concat([a, b, a], 0), ark.concat([a[:2], b], 1), ark.stack([a[:2], b], -1),
        ],
        ((3, 7), (2, 7)), EVERY
    ),
    "pad": Case(
        lambda x: [ark.pad(x, [(1, 0), (2, 3)]), ark.pad(x, [(0, 0), (0, 1)], 1)], ((3, 7),), EVERY
    ),
    "one_hot": Case(
        lambda x: [ark.one_hot(ark.constant([3, -1, 0, 4, 2]), 4, x.dtype), ark.copy(x)],
        ((3, 7),), NUMBERS,
    ),
    "constants": Case(constants, (X,), EVERY, extremes),
    "views": Case(views, ((2, 3, 5),), EVERY, extremes),
    "bitcast": Case(bitcasts, ((4, 16),), EVERY, extremes),
    "noop": Case(kept, (X,), FLOATS),
}  # fmt: skip


def build(case: Case, dtype: DType, name: str = "op") -> ark.Program:
    with ark.Program(name) as program:
        operands = [ark.input(f"x{i}", shape, dtype) for i, shape in enumerate(case.shapes)]
        operands += [ark.input(f"i{n}", (2, 3), ark.int32) for n, _ in enumerate(case.indices)]
        outputs = case.make(*operands)
        for number, tensor in enumerate(outputs if isinstance(outputs, list) else [outputs]):
            assert tensor.size, f"result {number} has no elements, so that no value is compared"
            ark.output(f"y{number}", tensor)
    return program


def make_inputs(case: Case, dtype: DType) -> dict[str, Array]:
    # The seed is equal on every machine and in every process.
    seed = zlib.crc32(repr((case.shapes, dtype)).encode())
    arrays = {f"x{i}": case.data(dtype, s, seed + i) for i, s in enumerate(case.shapes)}
    rng = np.random.default_rng(seed)
    for number, extent in enumerate(case.indices):
        arrays[f"i{number}"] = rng.integers(0, extent, (2, 3)).astype(np.int32)
    return arrays

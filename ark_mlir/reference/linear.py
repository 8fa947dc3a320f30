"""Matrix product, attention and rotary position embedding."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import ml_dtypes
import numpy as np

from ..dtypes import DType
from .bounded import Array, Bounded, exact
from .interpreter import Machine, handles
from .values import Value, fail, result_type

__all__: list[str] = []


def _swapped(a: Array) -> Array:
    return np.swapaxes(a, -1, -2)


@handles("matmul")
def matmul(op: Any, machine: Machine) -> Value | Bounded:
    """Interprets matmul: floats with their errors, integers that wrap."""
    a, b = machine.read(op.lhs), machine.read(op.rhs)
    a = a.view(_swapped) if op.transpose_input else a
    b = b.view(_swapped) if op.transpose_other else b
    if a.dtype.is_float:
        return a.bounded @ b.bounded
    # Products of int8 may be added in int32.
    _, dtype = result_type(op)
    data = np.matmul(a.data.astype(dtype.numpy), b.data.astype(dtype.numpy))
    doubt = None
    if a.error is not None and b.error is not None:
        doubtful = (a.error > 0).any() or (b.error > 0).any()
        doubt = np.full(data.shape, np.inf if doubtful else 0.0)
    return replace(a, dtype=dtype).with_data(data, doubt)


@handles("convolution")
def convolution(op: Any, machine: Machine) -> Bounded:
    """Interprets a convolution: a product of filters and the windows over the rows of images."""
    filters, images = (machine.read(value).bounded for value in (op.filters, op.images))
    shape = result_type(op)[0]
    depth = filters.value.shape[-3:]
    i, j, y = (np.arange(extent) for extent in (*depth[1:], shape[-2]))
    rows = i[:, None, None] * int(op.dilation) + j[:, None] + y * int(op.stride)

    def windows(a: Array) -> Array:
        found = a[..., rows, :]
        return found.reshape(*a.shape[:-3], math.prod(depth), shape[-2] * shape[-1])

    matrix = filters.view(lambda a: a.reshape(*a.shape[:-3], math.prod(depth)))
    return (matrix @ images.view(windows)).view(lambda a: a.reshape(shape))


@handles("quantized_matmul")
def quantized_matmul(op: Any, machine: Machine) -> Bounded:
    """Interprets a product with quantized weights: each weight is multiplied by its scale."""
    x, scales = (machine.read(value).bounded for value in (op.lhs, op.scales))
    weights, zeros = machine.read(op.weights), machine.read_optional(op.zeros)
    numbers = weights.bounded
    repeats = x.value.shape[-1] // scales.value.shape[-1]
    if not weights.dtype.is_float:
        bits = weights.data.view(np.uint8)
        unpacked = np.stack([bits & 15, bits >> 4], -1).reshape(bits.shape[0], -1) * 1.0
        zero = 8.0 if zeros is None else np.repeat(zeros.data & 15, repeats, -1)
        numbers = exact(unpacked - zero, x)
    widened = numbers * scales.view(lambda a: np.repeat(a, repeats, -1))
    return x @ widened.view(_swapped)


@handles("attention")
def attention(op: Any, machine: Machine) -> Bounded:
    """Interprets attention; the result is zero for a query without a valid key."""
    q, k, v = (machine.read(x).bounded for x in (op.query, op.key, op.value))
    dtype = machine.read(op.value).dtype
    repeats = q.value.shape[-3] // k.value.shape[-3]
    lengths = _kv_lengths(op, machine, k.value.shape[-2])
    k, v = (x.view(lambda a: _expanded(a, repeats, lengths)) for x in (k, v))
    scores, valid = _masked_scores(op, machine, q, k, lengths)
    return _weighted(scores, valid, v, dtype)


def _kv_lengths(op: Any, machine: Machine, extent: int) -> Array:
    """Returns the number of keys, or the number of each sequence, with three dimensions of extent
    one: for heads, queries and keys."""
    value = machine.read_optional(op.kv_length)
    lengths = np.array(extent if value is None else value.data, np.int64)
    for sequence, length in enumerate(lengths.ravel().tolist()):
        if not 0 <= length <= extent:
            owner = f" of sequence {sequence}" if lengths.ndim else ""
            raise fail(op, f"kv_length {length}{owner} is not between 0 and {extent}")
    return lengths[..., None, None, None]


def _expanded(a: Array, repeats: int, lengths: Array) -> Array:
    """Repeats key or value heads for the query heads, and sets keys beyond `lengths` to zero."""
    a = np.repeat(a, repeats, axis=-3)
    present = np.arange(a.shape[-2])[:, None] < lengths
    return np.where(present, a, 0.0)  # the rest is uninitialised, perhaps NaN


def _valid(shape: tuple[int, ...], lengths: Array, causal: bool) -> Array:
    queries, keys = np.arange(shape[-2])[:, None], np.arange(shape[-1])[None, :]
    valid = keys < lengths
    if causal:
        valid = valid & (keys <= queries + lengths - shape[-2])
    return valid


def _masked_scores(
    op: Any, machine: Machine, q: Bounded, k: Bounded, lengths: Array
) -> tuple[Bounded, Array]:
    """Returns the scaled and biased scores, and which of the scores are visible."""
    scores = (q @ k.view(_swapped)).scaled(op.scale.value)
    valid = _valid(scores.value.shape, lengths, bool(op.causal))
    mask = machine.read_optional(op.mask)
    if mask is not None and mask.dtype.is_float:
        scores = scores + mask.bounded
    elif mask is not None:
        valid = valid & mask.data
    return scores, np.broadcast_to(valid, scores.value.shape)


def _weighted(scores: Bounded, valid: Array, v: Bounded, dtype: DType) -> Bounded:
    """Returns the means of `v`. The weights may be rounded to `dtype`, that of the values."""
    largest = np.max(scores.value, axis=-1, keepdims=True, where=valid, initial=-np.inf)
    shift = exact(np.where(np.isneginf(largest), 0.0, largest), scores)
    weights = (scores - shift).monotone(np.exp).view(lambda a: np.where(valid, a, 0.0))
    total = weights.sum((scores.value.ndim - 1,))
    nothing = total.value == 0
    total = Bounded(np.where(nothing, 1.0, total.value), total.error)
    return (_narrowed(weights, dtype) @ v) / total


def _narrowed(weights: Bounded, dtype: DType) -> Bounded:
    """Adds the error of rounding weights to `dtype`, with subnormal numbers."""
    if weights.error is None:
        return weights
    rounding = dtype.unit_roundoff * weights.magnitude
    least = float(ml_dtypes.finfo(dtype.numpy).smallest_subnormal)
    return Bounded(weights.value, weights.error + rounding + least * (weights.value != 0))


@handles("attention_log_sum_exp")
def attention_log_sum_exp(op: Any, machine: Machine) -> Bounded:
    """Interprets the log-sum-exp of the scores of each query; zero without a valid key."""
    q, k = (machine.read(x).bounded for x in (op.query, op.key))
    repeats = q.value.shape[-3] // k.value.shape[-3]
    lengths = _kv_lengths(op, machine, k.value.shape[-2])
    k = k.view(lambda a: _expanded(a, repeats, lengths))
    scores, valid = _masked_scores(op, machine, q, k, lengths)
    largest, total = _softmax_statistics(scores, valid)[1:]
    nothing = total.value == 0
    some = Bounded(np.where(nothing, 1.0, total.value), total.error)
    return _finite(largest) + some.monotone(np.log)


@handles("partial_attention")
def partial_attention(op: Any, machine: Machine) -> Bounded:
    """Returns for each partition the weighted sums, the largest score and the sum of weights,
    concatenated along the last dimension."""
    q, k, v = (machine.read(x).bounded for x in (op.query, op.key, op.value))
    rows, partitions = k.value.shape[-3:-1]
    lengths = _kv_lengths(op, machine, rows * partitions)
    # Key n of partition p is key n * P + p. Below, the dimension of partitions precedes queries
    # and rows.
    numbers = np.arange(rows)[None, :] * partitions + np.arange(partitions)[:, None]
    repeats = q.value.shape[-3] // k.value.shape[-4]

    def by_partitions(a: Array) -> Array:
        a = np.moveaxis(np.repeat(a, repeats, axis=-4), -2, -3)
        return np.where((numbers < lengths)[..., None], a, 0.0)  # the rest may be NaN

    k, v, q = k.view(by_partitions), v.view(by_partitions), q.view(lambda a: a[..., None, :, :])
    scores = (q @ k.view(_swapped)).scaled(op.scale.value)
    queries = q.value.shape[-2]
    # The dimensions of all below are heads, partitions, queries and rows.
    lengths = lengths[..., None]
    valid = np.broadcast_to(numbers[:, None] < lengths, scores.value.shape)
    if op.causal:
        valid = valid & (numbers[:, None] <= np.arange(queries)[:, None] + lengths - queries)
    mask = machine.read_optional(op.mask)
    if mask is not None:
        shape = (*scores.value.shape[:-3], queries, rows, partitions)
        entries = mask.bounded.view(lambda a: np.moveaxis(np.broadcast_to(a, shape), -1, -3))
        if mask.dtype.is_float:
            scores = scores + entries
        else:
            valid = valid & (entries.value != 0)
    return _in_partitions(scores, np.broadcast_to(valid, scores.value.shape), v).view(
        _partitions_last
    )


def _partitions_last(a: Array) -> Array:
    return np.swapaxes(a, -2, -3)


def _in_partitions(scores: Bounded, valid: Array, v: Bounded) -> Bounded:
    weights, largest, total = _softmax_statistics(scores, valid)
    return _side_by_side((weights @ v, largest, total))


def _softmax_statistics(scores: Bounded, valid: Array) -> tuple[Bounded, Bounded, Bounded]:
    """Returns the exponentials of a row of scores, the largest score and the sum."""
    least = scores.view(lambda a: np.where(valid, a, -np.inf))
    least.error = None if scores.error is None else np.where(valid, scores.error, 0.0)
    largest = least.extremum(np.max, (scores.value.ndim - 1,))
    shift = _finite(largest)
    weights = (scores - shift).monotone(np.exp).view(lambda a: np.where(valid, a, 0.0))
    return weights, largest, weights.sum((scores.value.ndim - 1,))


def _finite(largest: Bounded) -> Bounded:
    """Replaces minus infinity by zero, since its difference to itself is NaN."""
    value = np.where(np.isneginf(largest.value), 0.0, largest.value)
    return Bounded(value, largest.error)


def _side_by_side(parts: tuple[Bounded, ...]) -> Bounded:
    errors = [part.error for part in parts if part.error is not None]
    return Bounded(
        np.concatenate([part.value for part in parts], -1),
        np.concatenate(errors, -1) if len(errors) == len(parts) else None,
    )


@handles("combine_attention")
def combine_attention(op: Any, machine: Machine) -> Bounded:
    """Combines partitions by weights ``exp(largest score of the partition - largest score)``."""
    x = machine.read(op.operand).bounded
    sums, totals = x.view(lambda a: a[..., :-2]), x.view(lambda a: a[..., -1:])
    largest = x.view(lambda a: a[..., -2:-1])
    axis = (x.value.ndim - 2,)
    weights = (largest - _finite(largest.extremum(np.max, axis))).monotone(np.exp)
    total = (weights * totals).sum(axis)
    total = Bounded(np.where(total.value == 0, 1.0, total.value), total.error)
    return ((weights * sums).sum(axis) / total).view(lambda a: np.squeeze(a, axis))


@handles("attention_query_gradient")
def attention_query_gradient(op: Any, machine: Machine) -> Bounded:
    """Interprets the gradient of the queries of attention."""
    gradient = _Gradient.read(op, machine)
    return (gradient.shares() @ gradient.k).scaled(op.scale.value)


@handles("attention_key_value_gradient")
def attention_key_value_gradient(op: Any, machine: Machine) -> Bounded:
    """Interprets the gradients of the keys and the values, concatenated along the last dimension.

    The sums are over the queries of all heads that share a key head.
    """
    gradient = _Gradient.read(op, machine)
    sums = [
        (shares.view(_swapped) @ rows).sum((rows.value.ndim - 3,)).view(_without_heads)
        for shares, rows in ((gradient.shares(), gradient.q), (gradient.weights, gradient.g))
    ]
    return _side_by_side((sums[0].scaled(op.scale.value), sums[1]))


def _without_heads(a: Array) -> Array:
    return np.squeeze(a, -3)


@dataclass(frozen=True)
class _Gradient:
    """The operands of a gradient of attention, ``[..., H, R, T, N]``, and the weights of keys.

    Attributes:
        q, g: the queries and the cotangents of the results.
        k, v: the keys and values, zeros beyond the run-time length; R is one.
        weights: ``[..., H, R, Tq, Tk]``, zero for keys that a query does not see.
        mean: the mean slope of each row, ``[..., H, R, Tq, 1]``.
        dtype: the dtype of the keys, to which the factors of sums may be rounded.
    """

    q: Bounded
    k: Bounded
    v: Bounded
    g: Bounded
    weights: Bounded
    mean: Bounded
    dtype: DType

    @classmethod
    def read(cls, op: Any, machine: Machine) -> _Gradient:
        q, k, v, g, total, mean = (
            machine.read(x).bounded
            for x in (op.query, op.key, op.value, op.cotangent, op.log_sum_exp, op.mean)
        )
        lengths = _kv_lengths(op, machine, k.value.shape[-2])
        k, v = (x.view(lambda a: _expanded(a, 1, lengths)[..., None, :, :]) for x in (k, v))
        scores, valid = _masked_scores(op, machine, q, k, lengths)
        total, mean = (x.view(lambda a: a[..., None]) for x in (total, mean))
        weights = (scores - total).monotone(np.exp).view(lambda a: np.where(valid, a, 0.0))
        dtype = machine.read(op.key).dtype
        return cls(q, k, v, g, _narrowed(weights, dtype), mean, dtype)

    def shares(self) -> Bounded:
        """Returns the derivatives with respect to the scores before scaling."""
        slopes = self.g @ self.v.view(_swapped)
        shares = self.weights * (slopes - self.mean)
        hidden = self.weights.value == 0
        return _narrowed(shares.view(lambda a: np.where(hidden, 0.0, a)), self.dtype)


@handles("rope")
def rope(op: Any, machine: Machine) -> Bounded:
    """Rotates each pair of elements by its angle."""
    x, cos, sin = (machine.read(value).bounded for value in (op.operand, op.cos, op.sin))
    half = x.value.shape[-1] // 2
    if op.interleaved:
        first, second = x.view(lambda a: a[..., 0::2]), x.view(lambda a: a[..., 1::2])
    else:
        first, second = x.view(lambda a: a[..., :half]), x.view(lambda a: a[..., half:])
    turned = (first * cos - second * sin, second * cos + first * sin)

    def join(parts: tuple[Array, Array]) -> Array:
        if op.interleaved:
            return np.stack(parts, axis=-1).reshape(x.value.shape)
        return np.concatenate(parts, axis=-1)

    first, second = turned
    if first.error is None or second.error is None:
        return Bounded(join((first.value, second.value)))
    return Bounded(join((first.value, second.value)), join((first.error, second.error)))

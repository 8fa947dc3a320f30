"""Ops that the frontend composes of other ops; the compiler fuses them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING
from typing import cast as cast_type

from ...dtypes import DType, bool_, fp32, int32, int64
from ...errors import shorten
from ..operands import as_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .conditions import equal, less, logical_and, where
from .creation import arange, full
from .elementwise import abs, cast, maximum, minimum, sub
from .linear import matmul
from .reductions import reduce_sum
from .views import concat, reshape, transpose, unsqueeze

if TYPE_CHECKING:
    from ...typing import DTypeLike, Operand

__all__ = ["clamp", "einsum", "floor", "one_hot", "pad", "sign", "stack"]


def clamp(
    x: Tensor, low: Operand | None = None, high: Operand | None = None, name: str | None = None
) -> Tensor:
    """Returns ``min(max(x, low), high)``, elementwise; NaN stays NaN.

    Args:
        x: a tensor of any dtype except 8-bit floats.
        low, high: numbers, arrays or tensors that broadcast with `x`; None omits a limit. If `low`
            is greater than `high`, the result is `high`, as in PyTorch.

    The result has the dtype of `x`. Raises InvalidUsageError if both limits are None, if the dtype
    or shape of a limit does not fit `x`, or if `x` has elements of an 8-bit float type.

    Example:
        >>> y = ark.clamp(x, -1, 1)
    """
    if low is None and high is None:
        raise invalid("low and high are both None; pass at least one limit", "ark.clamp")
    result = as_tensor(x, "clamp")
    if low is not None:
        result = maximum(result, low, None if high is not None else name or "clamp")
    return result if high is None else minimum(result, high, name or "clamp")


def sign(x: Tensor, name: str | None = None) -> Tensor:
    """Returns -1, 0 or 1 by the sign of each element, in the dtype of `x`; NaN stays NaN.

    Raises InvalidUsageError if `x` is not a tensor, or its dtype is bool or an 8-bit float type.

    Example:
        >>> y = ark.sign(x)
    """
    source = _number(x, "sign")
    positive = cast(source > 0, source.dtype)
    if source.dtype.kind == "uint":
        return positive
    signs = sub(positive, cast(source < 0, source.dtype), None if _is_float(source) else name)
    return where(source == source, signs, source, name or "sign") if _is_float(source) else signs


def floor(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the greatest whole number that is not greater than each element.

    The result has the shape and dtype of `x`; integers, infinities and NaN stay as they are.
    ``ark.gradients`` takes 1 as the derivative at whole numbers, and 0 elsewhere. Raises
    InvalidUsageError if `x` is not a tensor, or its dtype is bool or an 8-bit float type.

    Example:
        >>> y = ark.floor(x)
    """
    source = _number(x, "floor")
    if not _is_float(source):
        return source
    # The cast truncates toward zero, and is exact for all numbers that are not whole.
    whole = cast(cast(source, int32), source.dtype)
    below = whole - cast(source < whole, source.dtype)
    # Whole numbers are returned themselves, so that -0.0 keeps its sign.
    split = logical_and(less(abs(source), _all_whole(source.dtype)), whole != source)
    return where(split, below, source, name or "floor")


def stack(xs: Sequence[Tensor], axis: int = 0, name: str | None = None) -> Tensor:
    """Joins tensors of one shape along a new dimension.

    Args:
        xs: at least one tensor; all have one shape and dtype.
        axis: the position of the new dimension in the result; may be negative.

    Raises InvalidUsageError if `xs` is empty, shapes or dtypes differ, or `axis` is out of range.

    Example:
        >>> ark.stack([a, b], axis=1).shape  # a, b: (4, 64)
        (4, 2, 64)
    """
    if isinstance(xs, str) or not isinstance(xs, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"xs must be a list of tensors, not {xs!r}", "ark.stack")
    tensors = [as_tensor(x, "stack", f"xs[{i}]") for i, x in enumerate(xs)]
    if not tensors:
        raise invalid("xs is empty; pass at least one tensor", "ark.stack")
    shapes = {tensor.shape for tensor in tensors}
    if len(shapes) > 1:
        raise invalid(f"xs must have one shape, not {sorted(shapes)}", "ark.stack")
    rank = tensors[0].ndim + 1
    position = as_int(axis, "axis", "ark.stack")
    if not -rank <= position < rank:
        raise invalid(f"axis {position} is out of range for a result of rank {rank}", "ark.stack")
    position %= rank
    return concat([unsqueeze(tensor, position) for tensor in tensors], position, name or "stack")


def pad(
    x: Tensor, widths: Sequence[tuple[int, int]], value: float = 0, name: str | None = None
) -> Tensor:
    """Returns `x` with elements of one value around it.

    Args:
        x: a tensor of any dtype.
        widths: the numbers of elements before and after `x`, for each dimension.
        value: the value of the new elements.

    The result has the dtype of `x`. Raises InvalidUsageError if `widths` is not a pair of
    non-negative integers for each dimension, or if the dtype does not hold `value`.

    Example:
        >>> ark.pad(x, [(1, 0), (0, 3)]).shape  # x: (4, 64)
        (5, 67)
    """
    source = as_tensor(x, "pad")
    pairs = _widths(widths, source.ndim)
    for axis, (before, after) in enumerate(pairs):
        source = surrounded(source, axis, before, after, value, name or "pad")
    return source


def surrounded(
    x: Tensor, axis: int, before: int, after: int, value: float = 0, name: str | None = None
) -> Tensor:
    """Returns `x` with numbers of elements of one value before and after it along an axis.

    The axis and the numbers are not negative.
    """

    def filler(extent: int) -> list[Tensor]:
        shape = (*x.shape[:axis], extent, *x.shape[axis + 1 :])
        return [full(shape, value, x.dtype)] if extent else []

    parts = [*filler(before), x, *filler(after)]
    return concat(parts, axis, name) if len(parts) > 1 else x


def _widths(widths: object, rank: int) -> list[tuple[int, int]]:
    """Returns a pair of widths for each of `rank` dimensions; raises InvalidUsageError."""
    wrong = invalid(
        f"widths must be {rank} pairs of non-negative integers, one for each dimension, not "
        f"{shorten(widths)}",
        "ark.pad",
    )
    pairs = [_items(pair) for pair in _items(widths) or ()]
    if len(pairs) != rank or not all(pair is not None and len(pair) == 2 for pair in pairs):
        raise wrong
    result: list[tuple[int, int]] = []
    for pair in pairs:
        before, after = (as_int(width, "a width", "ark.pad") for width in pair or ())
        if min(before, after) < 0:
            raise wrong
        result.append((before, after))
    return result


def _items(value: object) -> list[object] | None:
    """Returns the items of a list or a tuple, or None for another object."""
    return list(cast_type("Sequence[object]", value)) if isinstance(value, list | tuple) else None


def one_hot(
    indices: Tensor, classes: int, dtype: DTypeLike = fp32, name: str | None = None
) -> Tensor:
    """Returns a row of zeros with a one for each index, of the shape ``[..., classes]``.

    Args:
        indices: integers ``[...]``; the row of an index outside ``[0, classes)`` is zero.
        classes: the length of a row, a positive integer.
        dtype: the dtype of the result.

    Raises InvalidUsageError if `indices` are not integers, or `classes` is not positive.

    Example:
        >>> labels = ark.input("labels", (4,), ark.int32)
        >>> ark.one_hot(labels, 10).shape
        (4, 10)
    """
    source = as_tensor(indices, "one_hot", "indices")
    if not source.dtype.is_integer or source.dtype is bool_:
        raise invalid(f"indices must have an integer dtype, not {source.dtype}", "ark.one_hot")
    count = as_int(classes, "classes", "ark.one_hot")
    if count < 1:
        raise invalid(f"classes must be positive, not {count}", "ark.one_hot")
    # The indices of a narrow dtype may not reach all classes.
    wide = int64 if source.dtype.itemsize > 2 and source.dtype is not int32 else int32
    numbers = source if source.dtype is wide else cast(source, wide)
    hot = equal(unsqueeze(numbers, -1), arange(count, dtype=wide))
    return cast(hot, dtype, name or "one_hot")


def einsum(equation: str, *operands: Tensor, name: str | None = None) -> Tensor:
    """Returns the sum of products that an equation in Einstein's notation describes.

    Args:
        equation: subscripts of the operands, and of the result after ``->``; without ``->``, the
            result has the letters that occur once, in alphabetical order. Ellipses, and a letter
            that one operand has twice, are not supported.
        operands: one or two tensors.

    Two operands become one :func:`matmul`, which defines their dtypes and that of the result. One
    operand keeps its dtype, except that sums of bools are int64 (:func:`reduce_sum`). Raises
    InvalidUsageError if the equation does not fit the operands or is not supported, or if there are
    more than two operands.

    Example:
        >>> ark.einsum("ik,jk->ij", a, b).shape  # a, b: (4, 64)
        (4, 4)
    """
    tensors = [as_tensor(x, "einsum") for x in operands]
    inputs, output = _parse(equation, tensors)
    extents: dict[str, int] = {}
    for letters, tensor in zip(inputs, tensors, strict=True):
        for letter, extent in zip(letters, tensor.shape, strict=True):
            if extents.setdefault(letter, extent) != extent:
                raise _wrong(equation, f"{letter!r} is both {extents[letter]} and {extent}")
    if len(tensors) == 1:
        summed = _sum_out(tensors[0], inputs[0], output)
        kept = [letter for letter in inputs[0] if letter in output]
        return transpose(summed, [kept.index(letter) for letter in output], name or "einsum")
    (left, right), (a, b) = inputs, tensors
    a, left = _sum_out(a, left, right + output), _kept(left, right + output)
    b, right = _sum_out(b, right, left + output), _kept(right, left + output)
    batch = [letter for letter in left if letter in right and letter in output]
    inner = [letter for letter in left if letter in right and letter not in output]
    rows = [letter for letter in left if letter not in right]
    columns = [letter for letter in right if letter not in left]
    product = matmul(
        _arranged(a, left, [batch, rows, inner], extents),
        _arranged(b, right, [batch, inner, columns], extents),
    )
    order = batch + rows + columns
    product = reshape(product, [extents[letter] for letter in order])
    return transpose(product, [order.index(letter) for letter in output], name or "einsum")


def _parse(equation: str, tensors: Sequence[Tensor]) -> tuple[list[str], str]:
    """Returns the letters of the operands, and the letters of the result."""
    left, arrow, output = str(equation).replace(" ", "").partition("->")
    inputs = left.split(",")
    if not 1 <= len(tensors) <= 2:
        raise _wrong(equation, f"expected one or two operands, not {len(tensors)}")
    if len(inputs) != len(tensors):
        problem = f"it has subscripts for {len(inputs)} operands, not for {len(tensors)}"
        raise _wrong(equation, problem)
    letters = "".join(inputs)
    if not (letters + output).isalpha() and letters + output:
        raise _wrong(equation, "only letters, ',' and '->' are supported")
    if not arrow:
        output = "".join(sorted(letter for letter in set(letters) if letters.count(letter) == 1))
    for part in (*inputs, output):
        if len(set(part)) < len(part):
            raise _wrong(equation, f"{part!r} has a letter twice")
    if unknown := sorted(set(output) - set(letters)):
        raise _wrong(equation, f"no operand has {unknown[0]!r}")
    for part, tensor in zip(inputs, tensors, strict=True):
        if len(part) != tensor.ndim:
            problem = f"{part!r} does not fit the shape {list(tensor.shape)}"
            raise _wrong(equation, f"{problem}: it has {len(part)} letters, not {tensor.ndim}")
    return inputs, output


def _wrong(equation: str, problem: str) -> Exception:
    return invalid(f"equation {equation!r}: {problem}", "ark.einsum")


def _kept(letters: str, needed: str) -> str:
    return "".join(letter for letter in letters if letter in needed)


def _sum_out(x: Tensor, letters: str, needed: str) -> Tensor:
    """Returns the sum of `x` over the dimensions whose letters are not among `needed`."""
    axes = [axis for axis, letter in enumerate(letters) if letter not in needed]
    return reduce_sum(x, axes, keepdims=False) if axes else x


def _arranged(x: Tensor, letters: str, parts: list[list[str]], extents: dict[str, int]) -> Tensor:
    """Returns `x` with the dimensions of the first part, and one dimension for each other part."""
    batch, *others = parts
    order = [letter for part in parts for letter in part]
    shape = [extents[letter] for letter in batch]
    shape += [math.prod(extents[letter] for letter in part) for part in others]
    return reshape(transpose(x, [letters.index(letter) for letter in order]), shape)


def _number(x: object, op: str) -> Tensor:
    source = as_tensor(x, op)
    if source.dtype.kind == "bool":
        raise invalid("x has the dtype bool; expected floats or integers", f"ark.{op}")
    return source


def _is_float(x: Tensor) -> bool:
    return x.dtype.is_float


def _all_whole(dtype: DType) -> float:
    """Returns the power of two from which on every number of a float type is whole."""
    return 2.0 ** (dtype.digits - 1)

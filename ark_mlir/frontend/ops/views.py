"""Views, which change the shape or the strides of a tensor, and ``concat``."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import builtins
import itertools
import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...dialects import ark as dialect
from ...dtypes import int32
from ..builder import append_op
from ..operands import as_tensor, check_size, constant_tensor
from ..shapes import MAX_ENTRIES, as_axis, as_dtype, as_int, as_ints, as_shape, invalid
from ..tensor import Tensor
from .common import emit

if TYPE_CHECKING:
    from ...typing import Axes, DTypeLike, Index, Shape

__all__ = [
    "bitcast", "broadcast_to", "concat", "identity", "noop", "reshape", "sharding", "slice",
    "split", "squeeze", "transpose", "unsqueeze",
]  # fmt: skip


def reshape(x: Tensor, shape: Shape, name: str | None = None) -> Tensor:
    """Returns the elements of `x`, in row-major order, under another shape.

    Args:
        x: a tensor of any dtype.
        shape: extents. One of them may be -1, which stands for the extent that makes the numbers
            of elements equal.

    Raises InvalidUsageError if the numbers of elements differ, or `shape` has several -1 or another
    negative extent.

    Example:
        >>> ark.reshape(x, (2, 2, 4, -1)).shape  # x: (4, 64)
        (2, 2, 4, 16)
    """
    source = as_tensor(x, "reshape")
    extents = as_shape(shape, "ark.reshape", wildcard=True)
    return emit(
        "reshape", dialect.ReshapeOp, name, source=source, shape=_without_wildcard(source, extents)
    )


def _without_wildcard(source: Tensor, extents: list[int]) -> list[int]:
    if -1 not in extents:
        return extents
    if extents.count(-1) > 1:
        raise invalid(f"shape {extents} has more than one -1", "ark.reshape")
    known = math.prod(e for e in extents if e != -1)
    if known == 0 or source.size % known:
        raise invalid(
            f"shape {extents} cannot have the {source.size} elements of shape "
            f"{list(source.shape)}, whatever replaces -1",
            "ark.reshape",
        )
    return [source.size // known if e == -1 else e for e in extents]


def bitcast(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Reinterprets the bytes of `x` as elements of another type, as numpy's ``x.view(dtype)``.

    Args:
        x: a tensor of any dtype.
        dtype: the element type of the result. If its size differs from that of the dtype of `x`,
            the last extent changes by the ratio. Only bools can become bools, since a byte may be
            neither true nor false.

    The bytes are those of the elements in row-major order, in little-endian order. The result is a
    view if strides can express it; a transposed `x`, for example, is copied first. To convert
    values, use ``cast``.

    Raises InvalidUsageError if the bytes of the last dimension are not a multiple of the new size,
    if `x` has rank zero and the size changes, if `dtype` is unknown, or if it is bool and the dtype
    of `x` is not.

    Example:
        >>> ark.bitcast(ark.input("packed", (4, 64), ark.uint8), ark.fp16).shape
        (4, 32)
    """
    source = as_tensor(x, "bitcast")
    kind = as_dtype(dtype, "ark.bitcast")
    return emit("bitcast", dialect.BitcastOp, name, source=source, dtype=kind)


def transpose(x: Tensor, perm: Shape | None = None, name: str | None = None) -> Tensor:
    """Returns `x` with its dimensions in another order.

    Args:
        x: a tensor of any dtype.
        perm: the dimension of `x` for each dimension of the result; by default the dimensions are
            reversed.

    Raises InvalidUsageError if `perm` is not a permutation of the dimensions.

    Example:
        >>> ark.transpose(x, (1, 0)).shape  # x: (4, 64)
        (64, 4)
    """
    source = as_tensor(x, "transpose")
    order = (
        list(reversed(range(source.ndim)))
        if perm is None
        else as_ints(perm, "perm", "ark.transpose")
    )
    axes = [as_axis(axis, source.ndim, "ark.transpose") for axis in order]
    return emit("transpose", dialect.TransposeOp, name, source=source, permutation=axes)


def slice(
    x: Tensor, starts: Shape, stops: Shape, steps: Shape | None = None, name: str | None = None
) -> Tensor:
    """Returns the elements ``starts[i], starts[i] + steps[i], ...`` below ``stops[i]`` of each
    dimension i.

    Args:
        x: a tensor of any dtype.
        starts, stops: a bound for each dimension; a negative one counts from the end.
        steps: a positive step for each dimension; by default ones.

    Raises InvalidUsageError if a bound is out of range, a step is not positive, or a number of
    bounds or steps differs from the rank. ``x[a:b:c]``, in contrast, clamps bounds as numpy does.

    Example:
        >>> ark.slice(x, (0, 2), (4, 8), (1, 2)).shape  # as x[0:4, 2:8:2]
        (4, 3)
    """
    source = as_tensor(x, "slice")
    begins = _from_front(as_ints(starts, "starts", "ark.slice"), source)
    ends = _from_front(as_ints(stops, "stops", "ark.slice"), source)
    strides = [1] * source.ndim if steps is None else as_ints(steps, "steps", "ark.slice")
    return _slice(source, begins, ends, strides, name)


def _from_front(bounds: list[int], source: Tensor) -> list[int]:
    if len(bounds) != source.ndim:
        return bounds  # the dialect's verifier rejects them
    return [b + extent if b < 0 else b for b, extent in zip(bounds, source.shape, strict=True)]


def _slice(
    source: Tensor, starts: list[int], stops: list[int], steps: list[int], name: str | None
) -> Tensor:
    return emit(
        "slice", dialect.SliceOp, name, source=source, starts=starts, stops=stops, steps=steps
    )


def concat(xs: Sequence[Tensor], axis: int, name: str | None = None) -> Tensor:
    """Concatenates tensors along dimension `axis` and returns the result.

    Args:
        xs: tensors of one rank and dtype whose extents agree in all other dimensions.
        axis: the dimension; a negative one counts from the end.

    Raises InvalidUsageError if `xs` is empty, ranks, dtypes or extents differ, or the tensors lack
    `axis`.

    Example:
        >>> ark.concat([a, b], axis=-1).shape  # both: (4, 64)
        (4, 128)
    """
    tensors = _tensors(xs, "concat", "xs")
    if not tensors:
        raise invalid("xs is empty; pass at least one tensor", "ark.concat")
    number = as_axis(axis, tensors[0].ndim, "ark.concat")
    return emit("concat", dialect.ConcatOp, name, inputs=tensors, axis=number)


def _tensors(values: Sequence[Tensor], op: str, label: str) -> list[Tensor]:
    if isinstance(values, Tensor) or not isinstance(values, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"{label} must be a list of tensors, not {values!r}", f"ark.{op}")
    return [as_tensor(x, op, f"{label}[{i}]") for i, x in enumerate(values)]


def split(
    x: Tensor, n_or_sizes: int | Sequence[int], axis: int, name: str | None = None
) -> list[Tensor]:
    """Splits `x` along dimension `axis` and returns the list of its parts, which are slices.

    Args:
        x: a tensor of any dtype.
        n_or_sizes: the number of equal parts, or a sequence with the extent of each part.
        axis: the dimension; a negative one counts from the end.

    Raises InvalidUsageError if `x` lacks `axis`, if its extent is not divisible by the number of
    parts, or not the sum of their extents, or if the number is not in [1, 65536].

    Example:
        >>> gate, up = ark.split(x, 2, axis=-1)  # x: (4, 64)
        >>> gate.shape
        (4, 32)
    """
    source = as_tensor(x, "split")
    number = _checked_axis(axis, source, "ark.split")
    extent = source.shape[number]
    sizes = as_ints(n_or_sizes, "n_or_sizes", "ark.split")
    if np.ndim(n_or_sizes) == 0:
        sizes = _equal_parts(extent, sizes[0], number)
    if sum(sizes) != extent or min(sizes, default=0) < 0:
        raise invalid(
            f"n_or_sizes {sizes} must be natural numbers whose sum is the extent {extent} of "
            f"dimension {number}",
            "ark.split",
        )
    bounds = [0, *np.cumsum(sizes).tolist()]
    return [_part(source, number, begin, end, name) for begin, end in itertools.pairwise(bounds)]


def _equal_parts(extent: int, parts: int, axis: int) -> list[int]:
    # The number of parts is bounded, since each part is an op.
    if not 1 <= parts <= MAX_ENTRIES:
        raise invalid(f"n_or_sizes {parts} is not in [1, {MAX_ENTRIES}]", "ark.split")
    if extent % parts:
        raise invalid(
            f"n_or_sizes {parts} does not divide the extent {extent} of dimension {axis}",
            "ark.split",
        )
    return [extent // parts] * parts


def _checked_axis(axis: int, source: Tensor, op: str) -> int:
    # For functions that create several ops or none, so that no verifier checks their axis.
    number = as_axis(axis, source.ndim, op)
    if not 0 <= number < source.ndim:
        raise invalid(f"axis {number} is not a dimension of shape {list(source.shape)}", op)
    return number


def _part(source: Tensor, axis: int, begin: int, end: int, name: str | None) -> Tensor:
    starts, stops = [0] * source.ndim, list(source.shape)
    starts[axis], stops[axis] = begin, end
    return _slice(source, starts, stops, [1] * source.ndim, name)


def sharding(x: Tensor, axis: int, dim_per_shard: int, name: str | None = None) -> list[Tensor]:
    """Splits `x`, of any dtype, along dimension `axis` into parts of extent `dim_per_shard`.

    Returns the list of the parts, which are slices. Raises InvalidUsageError if `x` lacks `axis`,
    if its extent is not a multiple of `dim_per_shard`, or if there are more than 65536 parts.

    Example:
        >>> len(ark.sharding(x, axis=1, dim_per_shard=16))  # x: (4, 64)
        4
    """
    source = as_tensor(x, "sharding")
    number = _checked_axis(axis, source, "ark.sharding")
    part, extent = as_int(dim_per_shard, "dim_per_shard", "ark.sharding"), source.shape[number]
    if part < 1 or extent % part:
        raise invalid(
            f"dim_per_shard {part} does not divide the extent {extent} of dimension {number}",
            "ark.sharding",
        )
    if extent // part > MAX_ENTRIES:
        raise invalid(
            f"dim_per_shard {part} makes {extent // part} shards; the limit is {MAX_ENTRIES}",
            "ark.sharding",
        )
    return [_part(source, number, i, i + part, name) for i in range(0, extent, part)]


def broadcast_to(x: Tensor, shape: Shape, name: str | None = None) -> Tensor:
    """Broadcasts `x`, of any dtype, to `shape`, as ``numpy.broadcast_to``, and returns the view.

    Raises InvalidUsageError if `x` does not broadcast to `shape`.

    Example:
        >>> bias = ark.parameter("bias", (64,))
        >>> rows = ark.broadcast_to(bias, (8, 64))
    """
    source = as_tensor(x, "broadcast_to")
    extents = as_shape(shape, "ark.broadcast_to")
    return emit("broadcast_to", dialect.BroadcastToOp, name, source=source, shape=extents)


def squeeze(x: Tensor, axis: Axes | None = None, name: str | None = None) -> Tensor:
    """Returns `x` without dimensions of extent one.

    Args:
        x: a tensor of any dtype.
        axis: the dimensions to remove, an int or a tuple; by default all of extent one.

    Raises InvalidUsageError if a dimension of `axis` has another extent, or `x` lacks it.

    Example:
        >>> ark.squeeze(x[0:1], 0).shape  # x: (4, 64)
        (64,)
    """
    source = as_tensor(x, "squeeze")
    if axis is None:
        axes = {i for i, extent in enumerate(source.shape) if extent == 1}
    else:
        numbers = as_ints(axis, "axis", "ark.squeeze")
        axes = {_checked_axis(a, source, "ark.squeeze") for a in numbers}
    for number in sorted(axes):
        if source.shape[number] != 1:
            extent = source.shape[number]
            raise invalid(
                f"axis {number} has extent {extent}; only dimensions of extent 1 can be removed",
                "ark.squeeze",
            )
    return reshape(source, [e for i, e in enumerate(source.shape) if i not in axes], name)


def unsqueeze(x: Tensor, axis: Axes, name: str | None = None) -> Tensor:
    """Returns `x` with additional dimensions of extent one.

    Args:
        x: a tensor of any dtype.
        axis: positions of these dimensions in the result, an int or a tuple.

    Raises InvalidUsageError if the result lacks an axis, or `axis` names one twice.

    Example:
        >>> ark.unsqueeze(x, -1).shape  # x: (4, 64)
        (4, 64, 1)
    """
    source = as_tensor(x, "unsqueeze")
    numbers = as_ints(axis, "axis", "ark.unsqueeze")
    rank = source.ndim + len(numbers)
    axes = [as_axis(a, rank, "ark.unsqueeze") for a in numbers]
    if len(set(axes)) != len(axes) or not all(0 <= a < rank for a in axes):
        raise invalid(
            f"axis {numbers} are not distinct dimensions of a result of rank {rank}",
            "ark.unsqueeze",
        )
    extents = iter(source.shape)
    return reshape(source, [1 if i in axes else next(extents) for i in range(rank)], name)


def identity(x: Tensor, deps: Sequence[Tensor] = (), name: str | None = None) -> Tensor:
    """Returns a view of `x` that is available only after the tensors `deps` are complete.

    `x` and `deps` may have any dtype. Raises InvalidUsageError if `deps` is not a list of tensors
    of the program.

    Example:
        >>> y = ark.identity(a, deps=[ark.exp(b)])
    """
    source = as_tensor(x, "identity")
    others = _tensors(deps, "identity", "deps")
    return emit("identity", dialect.IdentityOp, name, source=source, deps=others)


def noop(x: Tensor, name: str | None = None) -> None:
    """Makes every run compute `x`, of any dtype, even if no other op reads it.

    No op waits for `x`. Without this call, the compiler removes ops on which no output and no
    state depends. Raises InvalidUsageError if `x` is not a tensor of the program.

    Example:
        >>> ark.noop(ark.exp(x))
    """
    source = as_tensor(x, "noop")
    append_op(lambda **context: dialect.NoopOp(source.value, **context), "noop", (source,), name)


# ---------------------------------------------------------------- x[...]


def getitem(x: Tensor, index: Index) -> Tensor:
    """Returns ``x[index]``: numpy's basic indexing by static ints, slices, ``...`` and None.

    Later updates of a state do not change the result, even for the index ``[:]``. Raises
    InvalidUsageError if an int is out of range, a step is zero, or an index is a tensor.
    """
    entries = _expanded(x, index if isinstance(index, tuple) else (index,))
    parts: list[tuple[int, int, int]] = []
    extents: list[int] = []
    reversed_axes: list[int] = []
    for entry in entries:
        if entry is None:
            extents.append(1)
            continue
        axis = len(parts)
        if isinstance(entry, builtins.slice):
            part, backward = _bounds(entry, x.shape[axis])
            extents.append(len(range(*part)))
            reversed_axes += [axis] if backward else []
        else:
            part = _element(entry, axis, x)
        parts.append(part)
    starts, stops, steps = ([p[i] for p in parts] for i in range(3))
    result = x
    # The tensor of a state shows later updates, which a slice must not, even `state[:]`.
    if x.state is not None or parts != [(0, extent, 1) for extent in x.shape]:
        result = _slice(x, starts, stops, steps, None)
    for axis in reversed_axes:
        result = _reversed(result, axis)
    return result if list(result.shape) == extents else reshape(result, extents)


def _expanded(x: Tensor, index: tuple[Any, ...]) -> list[Any]:
    """Returns the index with one entry for each dimension, in addition to the entries None."""
    ellipses = sum(entry is Ellipsis for entry in index)
    used = sum(entry is not None and entry is not Ellipsis for entry in index)
    if ellipses > 1:
        raise invalid(f"an index may have one `...`, not {ellipses}", "ark.slice")
    if used > x.ndim:
        raise invalid(f"{used} indices do not fit shape {list(x.shape)}", "ark.slice")
    missing = [builtins.slice(None)] * (x.ndim - used)
    if not ellipses:
        return [*index, *missing]
    at = next(i for i, entry in enumerate(index) if entry is Ellipsis)
    return [*index[:at], *missing, *index[at + 1 :]]


def _bounds(entry: builtins.slice, extent: int) -> tuple[tuple[int, int, int], bool]:
    """Returns start, stop and step of a slice with a positive step that has the same elements, and
    True if their order is to be reversed."""
    for bound in (entry.start, entry.stop, entry.step):
        if bound is not None:
            as_int(bound, "a bound of a slice", "ark.slice")
    if entry.step is not None and int(entry.step) == 0:
        raise invalid("step must not be zero", "ark.slice")
    elements = range(*entry.indices(extent))
    backward = elements.step < 0
    forward = elements[::-1] if backward else elements
    if not len(forward):
        return (0, 0, 1), False
    return (forward.start, forward[-1] + 1, forward.step), backward


def _element(entry: Any, axis: int, x: Tensor) -> tuple[int, int, int]:
    if isinstance(entry, Tensor):
        raise invalid(
            f"an index must be static, which {entry!r} is not; use ark.gather or ark.embedding",
            "ark.slice",
        )
    number = as_int(entry, "an index", "ark.slice")
    extent = x.shape[axis]
    if not -extent <= number < extent:
        raise invalid(
            f"index {number} is out of range for dimension {axis} of shape {list(x.shape)}",
            "ark.slice",
        )
    number %= extent
    return number, number + 1, 1


def _reversed(x: Tensor, axis: int) -> Tensor:
    # Strides of views are not negative, so that a negative step needs a gather.
    check_size(x.shape[axis], int32, "slice")
    indices = constant_tensor(np.arange(x.shape[axis], dtype=np.int32)[::-1], int32)
    return emit("gather", dialect.GatherOp, None, source=x, indices=indices, axis=axis)

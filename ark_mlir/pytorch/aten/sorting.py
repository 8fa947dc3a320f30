"""ATen's sorts, selections by order, and searches in sorted sequences."""

from __future__ import annotations

from ... import frontend as ark
from ...dtypes import DType, bool_, int32, int64, uint8
from .checks import check_size
from .table import Out, aten, unsupported
from .values import Operand, axis_of, promoted, shaped, tensor

# Up to this number, a pass over a row finds one of its largest elements.
_MAX_PASSES = 64
# The compiler takes many seconds for the network that sorts longer rows.
_MAX_EXTENT = 1 << 16


def _count_below(bounds: ark.Tensor, x: ark.Tensor, right: bool, dtype: DType) -> ark.Tensor:
    """Returns, for each value, the number of sorted bounds below it.

    With `right`, bounds equal to the value count, too. A bound that is NaN does not count, except
    for NaN; PyTorch's result depends on the steps of its search.
    """
    check_size(x.size, bounds.shape[-1])
    mine = ark.unsqueeze(x, -1)
    before = ark.less_equal(bounds, mine) if right else ark.less(bounds, mine)
    if x.dtype.is_float:  # NaN is larger than all numbers
        before = ark.logical_or(before, mine != mine)
    return ark.cast(ark.reduce_sum(ark.cast(before, int32), -1, keepdims=False), dtype)


@aten("bucketize.Tensor")
def _bucketize(
    out: Out, x: Operand, boundaries: Operand, out_int32: bool = False, right: bool = False
) -> ark.Tensor:
    value, bounds = _alike(tensor(x), tensor(boundaries))
    return _count_below(bounds, value, right, out.dtype)


@aten("searchsorted.Tensor")
def _searchsorted(
    out: Out,
    sorted_sequence: Operand,
    x: Operand,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Operand | None = None,
) -> ark.Tensor:
    if sorter is not None:
        raise unsupported("a search in a sequence with a sorter")
    value, bounds = _alike(tensor(x), tensor(sorted_sequence))
    if bounds.ndim > 1:
        bounds = ark.unsqueeze(bounds, -2)
    return _count_below(bounds, value, right or side == "right", out.dtype)


def _alike(a: ark.Tensor, b: ark.Tensor) -> tuple[ark.Tensor, ark.Tensor]:
    dtype = promoted(a, b)
    return tensor(a, dtype), tensor(b, dtype)


@aten("kthvalue.default")
def _kthvalue(
    out: tuple[Out, Out], x: Operand, k: int, dim: int = -1, keepdim: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    value = tensor(x)
    if value.ndim == 0:
        return value, ark.zeros((), int64)
    axis = axis_of(dim, value.ndim)
    values, indices = _ordered(value, axis, False)
    cut = tuple(slice(k - 1, k) if a == axis else slice(None) for a in range(value.ndim))
    return shaped(values[cut], out[0].shape), shaped(indices[cut], out[1].shape)


@aten("median.dim")
def _median(
    out: tuple[Out, Out], x: Operand, dim: int = -1, keepdim: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns the lower median, or NaN if there is one."""
    value = tensor(x)
    if value.ndim == 0:
        return _kthvalue(out, value, 1)
    extent = value.shape[axis_of(dim, value.ndim)]
    middle = _kthvalue(out, value, (extent + 1) // 2, dim, keepdim)
    if not value.dtype.is_float:
        return middle
    largest, _ = _kthvalue(out, value, extent, dim, keepdim)  # NaN is the largest
    missing = ark.cast(ark.not_equal(value, value), int32)
    first = ark.argmax(missing, axis_of(dim, value.ndim))
    first = shaped(tensor(first, int64), out[1].shape)
    lost = largest != largest
    return ark.where(lost, largest, middle[0]), ark.where(lost, first, middle[1])


@aten("median.default")
def _median_of_all(out: Out, x: Operand) -> ark.Tensor:
    value = tensor(x)
    return _median((out, Out((), int64)), ark.reshape(value, (value.size,)), 0)[0]


@aten("topk.default")
def _topk(
    out: tuple[Out, Out],
    x: Operand,
    k: int,
    dim: int = -1,
    largest: bool = True,
    sorted: bool = True,
) -> tuple[ark.Tensor, ark.Tensor]:
    value, is_small = tensor(x), k <= _MAX_PASSES
    if value.ndim == 0:
        return value, ark.zeros((), int64)
    axis = axis_of(dim, value.ndim)
    if k and largest and is_small and value.dtype is not bool_:
        values, indices = ark.top_k(value, k, axis)
        return values, tensor(indices, int64)
    cut = (slice(None),) * axis + (slice(0, k),)
    values, indices = _ordered(value, axis, largest)
    return values[cut], indices[cut]


@aten("sort.default")
def _sort(
    out: tuple[Out, Out], x: Operand, dim: int = -1, descending: bool = False
) -> tuple[ark.Tensor, ark.Tensor]:
    return _ordered(tensor(x), dim, descending)


@aten("sort.stable")
def _stable_sort(
    out: tuple[Out, Out],
    x: Operand,
    stable: bool | None = None,
    dim: int = -1,
    descending: bool = False,
) -> tuple[ark.Tensor, ark.Tensor]:
    return _ordered(tensor(x), dim, descending)


def _ordered(x: ark.Tensor, dim: int, descending: bool) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns the elements in order, and their indices.

    Equal elements keep their order; NaN is larger than all numbers.
    """
    if x.ndim == 0:
        return x, ark.zeros((), int64)
    axis = axis_of(dim, x.ndim)
    if x.dtype is int64:  # all pairs are compared
        check_size(x.size, x.shape[axis])
    elif x.shape[axis] > _MAX_EXTENT:
        raise unsupported(f"the order of {x.shape[axis]} elements; the limit is {_MAX_EXTENT}")
    values, indices = ark.sort(ark.cast(x, uint8) if x.dtype is bool_ else x, axis, descending)
    return tensor(values, x.dtype), tensor(indices, int64)

"""Reductions and normalisations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dialects import ark as dialect
from ...dtypes import bool_, fp32, int64, uint8
from ..operands import as_tensor
from ..shapes import as_axis, as_ints, invalid, refuse_torch_arguments
from ..tensor import Tensor
from .common import emit
from .elementwise import cast

if TYPE_CHECKING:
    from ...typing import Axes

__all__ = [
    "argmax", "layernorm", "mean", "reduce_max", "reduce_mean", "reduce_min", "reduce_sum",
    "rmsnorm", "softmax",
]  # fmt: skip


def _reduce(
    op: str, op_class: Any, x: Tensor, axis: object, keepdims: bool, name: str | None
) -> Tensor:
    source = as_tensor(x, op)
    if not isinstance(keepdims, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"keepdims must be True or False, not {keepdims!r}", f"ark.{op}")
    numbers = range(source.ndim) if axis is None else as_ints(axis, "axis", f"ark.{op}")
    axes = [as_axis(a, source.ndim, f"ark.{op}") for a in numbers]
    return emit(op, op_class, name, operand=source, axes=axes, keepdims=keepdims)


@refuse_torch_arguments
def reduce_sum(
    x: Tensor, axis: Axes | None = None, keepdims: bool = True, name: str | None = None
) -> Tensor:
    """Returns the sum over dimensions.

    Args:
        x: a tensor of any shape, and of any dtype except 8-bit floats.
        axis: an int or a tuple of ints; negative ones count from the end. None reduces all
            dimensions.
        keepdims: True keeps the reduced dimensions, with extent one. The default differs from
            numpy's.

    The result has the dtype of `x`. For bools it is int64, the number of elements that are true.
    Floats accumulate in fp32; integers wrap. Raises InvalidUsageError if `x` lacks an axis or has
    elements of an 8-bit float type, or if `axis` names a dimension twice.

    Example:
        >>> ark.reduce_sum(x, axis=(-2, -1), keepdims=False).shape  # x: (4, 64)
        ()
    """
    if as_tensor(x, "reduce_sum").dtype is bool_:
        x = cast(x, int64)
    return _reduce("reduce_sum", dialect.ReduceSumOp, x, axis, keepdims, name)


@refuse_torch_arguments
def reduce_mean(
    x: Tensor, axis: Axes | None = None, keepdims: bool = True, name: str | None = None
) -> Tensor:
    """Returns the mean of `x` over dimensions.

    Args:
        x: a tensor of any shape, and of any dtype except 8-bit floats.
        axis: an int or a tuple of ints; negative ones count from the end. None reduces all
            dimensions.
        keepdims: True keeps the reduced dimensions, with extent one.

    The result has the dtype of `x` if that is a float type, else fp32. Sums accumulate in fp32.
    Raises InvalidUsageError if `x` lacks an axis or has elements of an 8-bit float type, or if
    `axis` names a dimension twice.

    Example:
        >>> mean = ark.reduce_mean(x, axis=-1, keepdims=False)
    """
    source = as_tensor(x, "reduce_mean")
    if not source.dtype.is_float:
        x = cast(source, fp32)
    return _reduce("reduce_mean", dialect.ReduceMeanOp, x, axis, keepdims, name)


def mean(
    x: Tensor, axis: Axes | None = None, keepdims: bool = True, name: str | None = None
) -> Tensor:
    """Returns the mean of `x` over the dimensions `axis`: another name of :func:`reduce_mean`.

    `x`, the dtype of the result and the errors are those of :func:`reduce_mean`: floats keep their
    dtype, other dtypes become fp32, and InvalidUsageError is raised for 8-bit floats.

    Example:
        >>> centre = ark.mean(x, axis=-1)
    """
    return reduce_mean(x, axis, keepdims, name)


@refuse_torch_arguments
def reduce_max(
    x: Tensor, axis: Axes | None = None, keepdims: bool = True, name: str | None = None
) -> Tensor:
    """Returns the maximum of `x` over dimensions.

    Args:
        x: a tensor of any shape, and of any dtype except 8-bit floats.
        axis: an int or a tuple of ints; negative ones count from the end. None reduces all
            dimensions.
        keepdims: True keeps the reduced dimensions, with extent one.

    The result has the dtype of `x`. The maximum is NaN if an element is NaN. For bools, it is true
    if an element is true. Over an empty dimension, for which numpy raises an error, it is minus
    infinity or the least integer. Raises InvalidUsageError if `x` lacks an axis or has elements of
    an 8-bit float type, or if `axis` names a dimension twice.

    Example:
        >>> peaks = ark.reduce_max(x, axis=-1)
    """
    if as_tensor(x, "reduce_max").dtype is bool_:
        return cast(reduce_max(cast(x, uint8), axis, keepdims), bool_, name)
    return _reduce("reduce_max", dialect.ReduceMaxOp, x, axis, keepdims, name)


@refuse_torch_arguments
def reduce_min(
    x: Tensor, axis: Axes | None = None, keepdims: bool = True, name: str | None = None
) -> Tensor:
    """Returns the minimum of `x` over dimensions.

    Args:
        x: a tensor of any shape, and of any dtype except 8-bit floats.
        axis: an int or a tuple of ints; negative ones count from the end. None reduces all
            dimensions.
        keepdims: True keeps the reduced dimensions, with extent one.

    The result has the dtype of `x`. The minimum is NaN if an element is NaN. For bools, it is true
    if all elements are true. Over an empty dimension, for which numpy raises an error, it is
    infinity or the greatest integer. Raises InvalidUsageError if `x` lacks an axis or has elements
    of an 8-bit float type, or if `axis` names a dimension twice.

    Example:
        >>> least = ark.reduce_min(x, axis=(0, 1))
    """
    if as_tensor(x, "reduce_min").dtype is bool_:
        return cast(reduce_min(cast(x, uint8), axis, keepdims), bool_, name)
    return _reduce("reduce_min", dialect.ReduceMinOp, x, axis, keepdims, name)


@refuse_torch_arguments
def argmax(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns the index of the first maximum along dimension `axis`, as int32.

    The result has the shape of `x` without the dimension. NaN is above all numbers. Raises
    InvalidUsageError if `x` lacks `axis` or has elements of an 8-bit float type, or if the
    dimension is empty.

    Example:
        >>> ark.argmax(x, axis=-1).shape  # x: (4, 64)
        (4,)
    """
    source = as_tensor(x, "argmax")
    if source.dtype is bool_:
        source = cast(source, uint8)
    number = as_axis(axis, source.ndim, "ark.argmax")
    return emit("argmax", dialect.ArgmaxOp, name, operand=source, axis=number)


@refuse_torch_arguments
def softmax(x: Tensor, axis: int = -1, name: str | None = None) -> Tensor:
    """Returns ``exp(x - max) / sum(exp(x - max))`` along dimension `axis`.

    The result has the shape and the dtype of `x`. Raises InvalidUsageError if `x` lacks `axis`, or
    its dtype is not fp32, fp16 or bf16.

    Example:
        >>> probabilities = ark.softmax(x, axis=-1)
    """
    source = as_tensor(x, "softmax")
    number = as_axis(axis, source.ndim, "ark.softmax")
    return emit("softmax", dialect.SoftmaxOp, name, operand=source, axis=number)


def layernorm(
    x: Tensor,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
    name: str | None = None,
) -> Tensor:
    """Returns ``(x - mean) / sqrt(var + eps) * weight + bias`` over the last dimension.

    Args:
        x: ``[..., D]`` of fp32, fp16 or bf16; the result has its shape and dtype.
        weight, bias: ``[D]`` of the dtype of `x`, or None.
        eps: a number that is not negative.

    The op is layer normalization (Ba, Kiros and Hinton, 2016). Raises InvalidUsageError if shapes
    or dtypes do not fit, or `eps` is negative or not finite.

    Example:
        >>> weight, bias = (ark.parameter(name, (64,)) for name in ("weight", "bias"))
        >>> y = ark.layernorm(x, weight, bias, eps=1e-12)  # x: (4, 64)
    """
    return emit(
        "layernorm",
        dialect.LayernormOp,
        name,
        operand=as_tensor(x, "layernorm"),
        eps=as_eps(eps, "layernorm"),
        weight=None if weight is None else as_tensor(weight, "layernorm", "weight"),
        bias=None if bias is None else as_tensor(bias, "layernorm", "bias"),
    )


def rmsnorm(
    x: Tensor, weight: Tensor | None = None, eps: float = 1e-5, name: str | None = None
) -> Tensor:
    """Returns ``x / sqrt(mean(x^2) + eps) * weight`` over the last dimension.

    Args:
        x: ``[..., D]`` of fp32, fp16 or bf16; the result has its shape and dtype.
        weight: ``[D]`` of the dtype of `x`, or None.
        eps: a number that is not negative.

    The op is RMSNorm (Zhang and Sennrich, 2019). Raises InvalidUsageError if shapes or dtypes do
    not fit, or `eps` is negative or not finite.

    Example:
        >>> weight = ark.parameter("weight", (64,))
        >>> y = ark.rmsnorm(x, weight, eps=1e-6)  # x: (4, 64)
    """
    return emit(
        "rmsnorm",
        dialect.RmsnormOp,
        name,
        operand=as_tensor(x, "rmsnorm"),
        eps=as_eps(eps, "rmsnorm"),
        weight=None if weight is None else as_tensor(weight, "rmsnorm", "weight"),
    )


def as_eps(eps: float, op: str) -> float:
    if isinstance(eps, bool) or not isinstance(eps, (int, float)) or not 0 <= eps < float("inf"):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"eps must be finite and not negative, not {eps!r}", f"ark.{op}")
    return float(eps)

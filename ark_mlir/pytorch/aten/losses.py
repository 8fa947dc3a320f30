"""ATen's negative log-likelihood, and its gradient."""

from __future__ import annotations

from ... import frontend as ark
from ...dtypes import int64
from .indexing import take_along
from .table import Out, aten
from .values import Operand, shaped, tensor

_NONE, _MEAN = 0, 1  # torch's numbers for reductions; 2 is the sum


def _labels(x: ark.Tensor, target: Operand) -> tuple[ark.Tensor, int]:
    """Returns the labels with one class per element, and the axis of the classes of `x`."""
    axis = 1 if x.ndim > 1 else 0
    shape = (*x.shape[:axis], 1, *x.shape[axis + 1 :])
    return shaped(tensor(target, int64), shape), axis


def _weights(
    x: ark.Tensor, labels: ark.Tensor, weight: ark.Tensor | None, ignore_index: int
) -> tuple[ark.Tensor, ark.Tensor]:
    """Returns the weight of each label, zero if it is ignored, and labels in range for these."""
    counted = ark.not_equal(labels, ignore_index)
    safe = ark.where(counted, labels, 0)
    each = ark.cast(counted, x.dtype)
    if weight is not None:
        each = each * ark.gather(tensor(weight, x.dtype), safe, 0)
    return each, safe


@aten("nll_loss_forward.default", "nll_loss2d_forward.default")
def _nll_loss(
    out: tuple[Out, Out],
    x: Operand,
    target: Operand,
    weight: ark.Tensor | None,
    reduction: int,
    ignore_index: int,
) -> tuple[ark.Tensor, ark.Tensor]:
    values = tensor(x)
    labels, axis = _labels(values, target)
    each, safe = _weights(values, labels, weight, ignore_index)
    losses = -take_along(values, axis, safe) * each
    if reduction == _NONE:
        return shaped(losses, out[0].shape), ark.zeros((), values.dtype)
    count, total = (shaped(ark.reduce_sum(t, tuple(range(t.ndim))), ()) for t in (each, losses))
    return (total / count if reduction == _MEAN else total), count


@aten("nll_loss_backward.default", "nll_loss2d_backward.default")
def _nll_loss_backward(
    out: Out,
    slope: ark.Tensor,
    x: Operand,
    target: Operand,
    weight: ark.Tensor | None,
    reduction: int,
    ignore_index: int,
    total_weight: ark.Tensor,
) -> ark.Tensor:
    values = tensor(x)
    labels, axis = _labels(values, target)
    each, _ = _weights(values, labels, weight, ignore_index)
    if reduction == _MEAN:
        slope = slope / total_weight
    slope = shaped(slope, labels.shape) if reduction == _NONE else slope
    classes = ark.arange(values.shape[axis], dtype=int64)
    classes = ark.reshape(classes, (-1, *(1,) * (values.ndim - axis - 1)))
    return ark.where(ark.equal(labels, classes), -(each * slope), 0)

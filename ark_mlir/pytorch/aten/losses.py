"""ATen's cross-entropy, negative log-likelihood, and gradient of the negative log-likelihood."""

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
    # An ignored element has no effect, even if it is NaN.
    losses = ark.where(
        ark.not_equal(labels, ignore_index), -take_along(values, axis, safe) * each, 0
    )
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


@aten("cross_entropy_loss.default")
def _cross_entropy(
    out: Out,
    x: Operand,
    target: Operand,
    weight: ark.Tensor | None = None,
    reduction: int = _MEAN,
    ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> ark.Tensor:
    """Makes one op with its own derivative if the loss is a plain mean, else several ops."""
    values, classes = tensor(x), tensor(target)
    axis = 1 if values.ndim > 1 else 0
    last = [a for a in range(values.ndim) if a != axis] + [axis]
    rows = values if axis == values.ndim - 1 else ark.transpose(values, last)
    by_label = classes.dtype.is_integer
    if by_label and weight is None and reduction == _MEAN and not label_smoothing:
        return tensor(ark.cross_entropy(rows, classes, ignore_index), out.dtype)
    low = rows - ark.reduce_max(rows, -1)
    logs = low - ark.log(ark.reduce_sum(ark.exp(low), -1))
    factors = logs if weight is None else logs * tensor(weight, values.dtype)
    count = rows.shape[-1]
    if not by_label:
        shares = classes if axis == values.ndim - 1 else ark.transpose(classes, last)
        shares = shares * (1 - label_smoothing) + label_smoothing / count
        losses = -ark.reduce_sum(factors * shares, -1, keepdims=False)
        return _reduced(out, losses, float(losses.size), reduction)
    labels = ark.reshape(tensor(classes, int64), (*rows.shape[:-1], 1))
    each, safe = _weights(values, labels, weight, ignore_index)
    losses = -take_along(logs, rows.ndim - 1, safe) * each
    if label_smoothing:
        smooth = -ark.reduce_sum(factors, -1) * (label_smoothing / count)
        losses = losses * (1 - label_smoothing) + smooth
    losses = ark.where(ark.not_equal(labels, ignore_index), losses, 0)
    return _reduced(out, losses, ark.reduce_sum(each, tuple(range(each.ndim))), reduction)


def _reduced(out: Out, losses: ark.Tensor, total: ark.Tensor | float, reduction: int) -> ark.Tensor:
    if reduction != _NONE:
        losses = ark.reduce_sum(losses, tuple(range(losses.ndim)))
    return shaped(losses / total if reduction == _MEAN else losses, out.shape)

"""The rules of norms and of their gradients.

``ark.norm_input_gradient`` computes the derivative with respect to the operand from the rows of the
operand and of the cotangent. The derivatives with respect to weight and bias are sums over the
rows. The terms of the weight's sum need the normalised rows, which the sum computes again from
``ark.norm_statistics``, two numbers of a row.
"""

from __future__ import annotations

from typing import Any

from ...dialects import ark as dialect
from ..ops import reduce_mean, reduce_sum, reshape
from ..ops.common import emit
from ..ops.conversions import wide
from ..tensor import Tensor
from .table import Step, derivative

__all__: list[str] = []


@derivative("rmsnorm", "layernorm")
def norm(op: Any, step: Step) -> None:
    """Differentiates both norms over the last dimension."""
    rows = _Rows(step.read(op.operand), op.eps.value, op.operation.name == "ark.layernorm")
    weight = None if op.weight is None else step.read(op.weight)
    step.give(op.operand, lambda: rows.input_gradient(step.g, weight))
    step.give(op.weight, lambda: rows.weight_gradient(step.g))
    step.give(getattr(op, "bias", None), lambda: _over_rows(_flat(step.g)))


@derivative("norm_input_gradient")
def gradient_of_norm(op: Any, step: Step) -> None:
    """Differentiates the gradient of a norm's operand, for second derivatives.

    The gradient of a row is ``J s`` with the slopes ``s = cotangent * weight`` and the symmetric
    matrix ``J = r (1 - e e^T / n - u u^T / n)``. ``u`` are the ``n`` normalised numbers of the row,
    ``r`` is its scale, and ``e`` are ones. Without a mean, the term of ``e`` is absent.
    """
    rows = _Rows(step.read(op.operand), op.eps.value, bool(op.centred))
    weight = None if op.weight is None else step.read(op.weight)
    cotangent = step.read(op.cotangent)
    slopes = wide(cotangent) if weight is None else wide(cotangent) * wide(weight)
    given = wide(step.g)
    moved = wide(rows.input_gradient(step.g, None))

    def of_operand() -> Tensor:
        unit, scale = rows.normalised(), rows.scale()
        shares, parts = (reduce_mean(unit * factor, -1) for factor in (given, slopes))
        spread = reduce_mean(given * slopes, -1) - shares * parts
        if rows.centred:
            spread = spread - reduce_mean(given, -1) * reduce_mean(slopes, -1)
        return -scale * (scale * unit * spread + moved * parts + wide(step.y) * shares)

    step.give(op.operand, of_operand)
    step.give(op.cotangent, lambda: moved if weight is None else moved * wide(weight))
    step.give(op.weight, lambda: _over_rows(_flat(moved) * wide(_flat(cotangent))))


@derivative("norm_statistics")
def gradient_of_statistics(op: Any, step: Step) -> None:
    """Differentiates the mean and the scale of each row."""
    rows = _Rows(step.read(op.operand), op.eps.value, bool(op.centred))

    def of_operand() -> Tensor:
        scale = step.y[..., -1:]
        count = rows.x.shape[-1]
        result = rows.normalised() * (step.g[..., -1:] * scale * scale * (-1 / count))
        return result + step.g[..., :1] * (1 / count) if rows.centred else result

    step.give(op.operand, of_operand)


class _Rows:
    """The rows of a norm's operand.

    Attributes:
        x: the operand, ``[..., D]``.
        eps: the number that is added to the variance.
        centred: True if the norm subtracts the mean of a row, as a layer norm does.
    """

    def __init__(self, x: Tensor, eps: float, centred: bool) -> None:
        self.x, self.eps, self.centred = x, float(eps), centred

    def input_gradient(self, cotangent: Tensor, weight: Tensor | None) -> Tensor:
        """Returns the derivative with respect to the operand, of its dtype."""
        return emit(
            "norm_input_gradient", dialect.NormInputGradientOp, None,
            operand=self.x, cotangent=cotangent, weight=weight, eps=self.eps,
            centred=self.centred,
        )  # fmt: skip

    def weight_gradient(self, cotangent: Tensor) -> Tensor:
        """Returns the sum over the rows of the cotangent times the normalised numbers."""
        if not self.x.size:
            return _over_rows(_flat(cotangent))
        # The statistics are of the rows of `x` itself, so that one task can compute them and the
        # derivative with respect to the operand.
        unit = self._normalised(_flat(self.x), _flat(self._statistics()))
        return _over_rows(wide(_flat(cotangent)) * unit)

    def scale(self) -> Tensor:
        """Returns the scale of each row, ``[..., 1]``, of fp32."""
        return self._statistics()[..., -1:]

    def normalised(self) -> Tensor:
        """Returns the normalised numbers, in fp32."""
        return self._normalised(self.x, self._statistics())

    def _normalised(self, x: Tensor, statistics: Tensor) -> Tensor:
        centred = wide(x) - statistics[..., :1] if self.centred else wide(x)
        return centred * statistics[..., -1:]

    def _statistics(self) -> Tensor:
        return emit(
            "norm_statistics", dialect.NormStatisticsOp, None,
            operand=self.x, eps=self.eps, centred=self.centred,
        )  # fmt: skip


def _flat(x: Tensor) -> Tensor:
    """Returns the rows along the last dimension as a matrix."""
    return x if x.ndim == 2 else reshape(x, (x.size // max(x.shape[-1], 1), x.shape[-1]))


def _over_rows(x: Tensor) -> Tensor:
    """Returns the sum over all rows of a matrix."""
    return reduce_sum(x, 0, keepdims=False)

"""Gradients of ops by ``ark.gradients``, which a handler applies to an op that it builds again.

The operands are copied, so that ``ark.gradients`` does not pass through the ops that created them.
The compiler removes results that the gradients do not read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from ... import frontend as ark
from .table import Out, aten, find
from .values import Operand, tensor

__all__ = ["pulled"]


def pulled(
    make: Callable[[ark.Tensor], ark.Tensor], operand: ark.Tensor, slopes: ark.Tensor
) -> ark.Tensor:
    """Returns the gradient of `make(operand)`, weighted by `slopes`."""
    copy = ark.identity(operand)
    return ark.gradients(make(copy), [copy], seed=slopes)[0]


def _enter_pool(name: str, *defaults: Any) -> None:
    def backward(out: Out, slopes: Operand, x: Operand, *settings: Any) -> ark.Tensor:
        result = tensor(slopes)
        described = Out(result.shape, result.dtype)
        pool, given = find(f"aten.{name}.default"), settings or defaults
        return pulled(lambda y: pool(described, [y, *given], {}), tensor(x), result)

    aten(f"{name}_backward.default")(backward)


for _rank in (2, 3):
    _enter_pool(f"avg_pool{_rank}d")
    # The windows of an adaptive pool follow from the shape of its result.
    _enter_pool(f"_adaptive_avg_pool{_rank}d", None)

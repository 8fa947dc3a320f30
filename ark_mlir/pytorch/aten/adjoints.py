"""Gradients of convolutions and pools, by ``ark.gradients`` of the ops themselves.

A handler builds the op again, from copies of its operands, and differentiates it. The compiler
removes what the gradients do not read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ... import frontend as ark
from .table import Out, Unavailable, aten, find
from .values import Operand, tensor

_UNUSED = Unavailable("a gradient that the graph does not request")


def _pulled(
    make: Callable[..., ark.Tensor], operands: Sequence[ark.Tensor], slopes: Operand
) -> list[ark.Tensor]:
    """Returns the gradients of `make(*operands)`, weighted by `slopes`."""
    # Only ops after these are differentiated, and not those that made the operands.
    copies = [ark.identity(operand) for operand in operands]
    return ark.gradients(make(*copies), copies, seed=tensor(slopes))


@aten("convolution_backward.default")
def _convolution_backward(
    out: tuple[Out | Unavailable, ...],
    slopes: Operand,
    x: Operand,
    weight: Operand,
    bias_sizes: Sequence[int] | None,
    *rest: Any,
) -> tuple[Any, ...]:
    *settings, wanted = rest
    result = tensor(slopes)
    described = Out(result.shape, result.dtype)
    operands, convolve = [tensor(x), tensor(weight)], find("aten.convolution.default")
    chosen = [index for index in (0, 1) if wanted[index]]

    def make(*given: ark.Tensor) -> ark.Tensor:
        known = dict(zip(chosen, given, strict=True))
        pair = [known.get(index, operand) for index, operand in enumerate(operands)]
        return convolve(described, [*pair, None, *settings], {})

    gradients: list[Any] = [_UNUSED] * 3
    found = _pulled(make, [operands[index] for index in chosen], result) if chosen else []
    for index, gradient in zip(chosen, found, strict=True):
        gradients[index] = gradient
    if wanted[2]:
        axes = tuple(axis for axis in range(result.ndim) if axis != result.ndim - operands[1].ndim + 1)
        gradients[2] = ark.reduce_sum(result, axes, keepdims=False)
    return tuple(gradients)


def _enter_pool(name: str) -> None:
    def backward(out: Out, slopes: Operand, x: Operand, *settings: Any) -> ark.Tensor:
        result = tensor(slopes)
        described = Out(result.shape, result.dtype)
        pool = find(f"aten.{name}.default")
        (gradient,) = _pulled(lambda y: pool(described, [y, *settings], {}), [tensor(x)], result)
        return gradient

    aten(f"{name}_backward.default")(backward)


for _name in ("avg_pool2d", "avg_pool3d", "_adaptive_avg_pool2d", "_adaptive_avg_pool3d"):
    _enter_pool(_name)

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
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
    wanted: Sequence[bool],
) -> tuple[Any, ...]:
    images, filters, result = tensor(x), tensor(weight), tensor(slopes)
    described = Out(images.shape, images.dtype)
    settings = (stride, padding, dilation)
    gradients: list[Any] = [_UNUSED] * 3
    if wanted[0]:  # the gradient of a convolution is the transposed one, and the reverse
        given = [result, filters, None, *settings, not transposed, output_padding, groups]
        gradients[0] = find("aten.convolution.default")(described, given, {})
    if wanted[1]:
        small, large = (images, result) if transposed else (result, images)
        shape = Out(small.shape, small.dtype)

        def convolve(weight: ark.Tensor) -> ark.Tensor:
            given = [large, weight, None, *settings, False, output_padding, groups]
            return find("aten.convolution.default")(shape, given, {})

        (gradients[1],) = _pulled(convolve, [filters], small)
    if wanted[2]:
        channels = result.ndim - filters.ndim + 1
        axes = tuple(axis for axis in range(result.ndim) if axis != channels)
        gradients[2] = ark.reduce_sum(result, axes, keepdims=False)
    return tuple(gradients)


def _enter_pool(name: str, *defaults: Any) -> None:
    def backward(out: Out, slopes: Operand, x: Operand, *settings: Any) -> ark.Tensor:
        result = tensor(slopes)
        described = Out(result.shape, result.dtype)
        pool, given = find(f"aten.{name}.default"), settings or defaults
        (gradient,) = _pulled(lambda y: pool(described, [y, *given], {}), [tensor(x)], result)
        return gradient

    aten(f"{name}_backward.default")(backward)


for _rank in (2, 3):
    _enter_pool(f"avg_pool{_rank}d")
    # The windows of an adaptive pool follow from the shape of its result.
    _enter_pool(f"_adaptive_avg_pool{_rank}d", None)

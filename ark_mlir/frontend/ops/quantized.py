"""Products with weights of 4 and 8 bits, which have a scale for each group of inputs."""

from __future__ import annotations

import math

from ...dialects import ark as dialect
from ...dtypes import fp8_e4m3, fp32, int8
from ..operands import as_tensor
from ..shapes import invalid
from ..tensor import Tensor
from .common import emit
from .composed import floor, stack
from .conditions import where
from .elementwise import cast
from .linear import matmul
from .views import reshape, unsqueeze

__all__ = ["quantized_matmul"]

# Up to this number of rows, a product takes the time of reading its weights. Threads widen the
# weights in registers; for more rows, matrix units multiply weights that one task has widened.
_STREAMING_ROWS = 16
# The zero of weights of 4 bits without zeros.
_ZERO = 8


def quantized_matmul(
    x: Tensor,
    weights: Tensor,
    scales: Tensor,
    zeros: Tensor | None = None,
    name: str | None = None,
) -> Tensor:
    """Returns the product of `x` with quantized weights, which stay quantized in memory.

    Args:
        x: ``[..., K]``, of fp32, fp16 or bf16.
        weights: of fp8_e4m3 ``[N, K]``; or of 4 bits as int8 ``[N, K / 2]``: a byte has two
            unsigned numbers, of which the one of the lower input has the lower bits.
        scales: ``[N, G]``, of fp32, fp16 or bf16, or ``[N]`` for one scale of each row. The K
            inputs are divided into G groups of equal size.
        zeros: int8 ``[N, G]``, numbers from 0 to 15 that are subtracted from weights of 4 bits
            before the product with the scale. Only the four low bits of an element count. None
            subtracts 8. Weights of fp8 have no zeros.

    The result is ``[..., N]``, in the dtype of `x`. Products and sums are fp32. Up to 16 rows of
    `x`, threads widen the weights in registers; on NVIDIA GPUs from sm_90 on, a product of one row
    streams them through weight rings if a row of weights has a suitable number of bytes. With more
    rows, the weights of the step are widened to the dtype of `x` in memory, which rounds the
    product of weight and scale. Raises InvalidUsageError if dtypes or shapes do not fit.

    Example:
        >>> weights = ark.parameter("weights", (256, 64), ark.fp8_e4m3)
        >>> scales = ark.parameter("scales", (256, 2))
        >>> ark.quantized_matmul(x, weights, scales).shape  # x: (4, 64)
        (4, 256)
        >>> packed = ark.parameter("packed", (256, 32), ark.int8)
        >>> ark.quantized_matmul(x, packed, scales).shape
        (4, 256)
    """
    x, weights, scales = (
        as_tensor(value, "quantized_matmul", key)
        for key, value in (("x", x), ("weights", weights), ("scales", scales))
    )
    if zeros is not None:
        zeros = as_tensor(zeros, "quantized_matmul", "zeros")
    if x.ndim == 0:
        raise invalid("x must have a dimension of inputs", "ark.quantized_matmul")
    if scales.ndim == 1:
        scales = unsqueeze(scales, 1)
    rows = math.prod(x.shape[:-1])
    lhs = x if x.ndim == 2 else reshape(x, (rows, x.shape[-1]))
    # The op checks dtypes and shapes, also if it is replaced below.
    product = emit(
        "quantized_matmul", dialect.QuantizedMatmulOp, name,
        lhs=lhs, weights=weights, scales=scales, zeros=zeros,
    )  # fmt: skip
    if rows > _STREAMING_ROWS:
        wide = cast(_widened(weights, scales, zeros), x.dtype)
        product = matmul(lhs, wide, transpose_other=True, name=name)
    return product if x.ndim == 2 else reshape(product, (*x.shape[:-1], weights.shape[0]))


def _widened(weights: Tensor, scales: Tensor, zeros: Tensor | None) -> Tensor:
    """Returns the weights ``[N, K]`` in fp32, times their scales."""
    columns, groups = scales.shape
    factors = unsqueeze(cast(scales, fp32), 2)
    if weights.dtype is fp8_e4m3:
        numbers = reshape(cast(weights, fp32), (columns, groups, -1))
        return reshape(numbers * factors, (columns, -1))
    assert weights.dtype is int8
    byte = cast(weights, fp32)
    byte = where(byte < 0, byte + 256, byte)
    high = floor(byte / 16)
    numbers = reshape(stack([byte - high * 16, high], -1), (columns, groups, -1))
    if zeros is None:
        return reshape((numbers - _ZERO) * factors, (columns, -1))
    zero = cast(zeros, fp32)
    zero = zero - floor(zero / 16) * 16  # the four low bits
    return reshape((numbers - unsqueeze(zero, 2)) * factors, (columns, -1))

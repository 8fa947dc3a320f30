"""Quantized weights for the rows of benchmarks/decode.py in fp8 and in 4 bits.

Scales are powers of two, so that bf16 has the dequantized weights exactly: PyTorch's arms, which
read weights of bf16, compute the same step.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from decode_settings import Sizes
from torch import Tensor

__all__ = ["quantize"]


def quantize(sizes: Sizes, weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Replaces the layers' matrices in `weights` by numbers that their quantization has, and
    returns the tensors of ark's program: the quantized matrices, and all other weights."""
    tensors = dict(weights)
    make = _eight_bits if sizes.bits == 8 else _four_bits
    for number, name in enumerate(sizes.quantized()):
        generator = torch.Generator(weights[name].device).manual_seed(number)
        weights[name], parts = make(tensors.pop(name), sizes.group, generator)
        tensors |= {f"{name}.{part}": tensor for part, tensor in parts.items()}
    return tensors


def _scales(weight: Tensor, group: int, generator: Any) -> Tensor:
    """Returns a power of two near the standard deviation of the weights for each group."""
    rows, columns = weight.shape
    shape = (rows, columns // group)
    halves = torch.randint(0, 2, shape, generator=generator, device=weight.device)
    return torch.exp2(round(math.log2(columns**-0.5)) - halves.float())


def _eight_bits(weight: Tensor, group: int, generator: Any) -> tuple[Tensor, dict[str, Tensor]]:
    scales = _scales(weight, group, generator)
    factors = scales.repeat_interleave(group, 1).to(torch.bfloat16)
    numbers = (weight / factors).to(torch.float8_e4m3fn)
    return numbers.to(torch.bfloat16) * factors, {"quantized": numbers, "scales": scales}


def _four_bits(weight: Tensor, group: int, generator: Any) -> tuple[Tensor, dict[str, Tensor]]:
    scales = _scales(weight, group, generator) / 2
    zeros = torch.randint(6, 10, scales.shape, generator=generator, device=weight.device)
    factors = scales.repeat_interleave(group, 1).to(torch.bfloat16)
    offsets = zeros.repeat_interleave(group, 1).to(torch.bfloat16)
    numbers = ((weight / factors).round() + offsets).clamp(0, 15)
    bits = numbers.to(torch.uint8)
    packed = bits[:, 0::2] | bits[:, 1::2] << 4
    parts = {
        "quantized": packed.view(torch.int8), "scales": scales.to(torch.float16),
        "zeros": zeros.to(torch.int8),
    }  # fmt: skip
    return (numbers - offsets) * factors, parts

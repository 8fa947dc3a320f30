"""Weights that stay quantized in memory: their layouts, and the names of their parameters.

The models call them kept weights, after the option `keep_quantized`. Other quantized weights are
dequantized when a model is loaded.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType

__all__ = ["KeptNames", "Layout", "kept_layers", "kept_names", "pack"]

# The parameter of a layer's quantized weights has this end.
_QUANTIZED = ".weight.quantized"


@dataclass(frozen=True)
class Layout:
    """The layout of the weights of a layer, as ``ark.quantized_matmul`` reads them.

    Attributes:
        bits: 8 for fp8_e4m3, or 4 for unsigned numbers with zeros.
        group: the number of inputs that share a scale.
        scales: the dtype of the scales.

    >>> Layout(4, 128, ark.fp16).group
    128
    """

    bits: int
    group: int
    scales: DType


@dataclass(frozen=True)
class KeptNames:
    """The names of the parameters of a layer."""

    weight: str
    scales: str
    zeros: str


def kept_names(layer: str) -> KeptNames:
    """Returns the names of the parameters of a layer whose weights stay quantized.

    >>> kept_names("a").weight
    'a.weight.quantized'
    """
    return KeptNames(f"{layer}{_QUANTIZED}", f"{layer}.weight.scales", f"{layer}.weight.zeros")


def kept_layers(parameters: Iterable[str]) -> list[str]:
    """Returns the layers whose weights stay quantized, from the names of all parameters.

    >>> kept_layers(["a.weight.quantized", "a.weight.scales", "b.weight"])
    ['a']
    """
    return [name.removesuffix(_QUANTIZED) for name in parameters if name.endswith(_QUANTIZED)]


def pack(numbers: NDArray[Any]) -> NDArray[np.int8]:
    """Returns bytes with two numbers from 0 to 15 each, the first in the lower bits.

    >>> pack(np.array([[1, 2, 3, 15]]))
    array([[ 33, -13]], dtype=int8)
    """
    parts = numbers.astype(np.uint8)
    return (parts[..., 0::2] | parts[..., 1::2] << 4).view(np.int8)

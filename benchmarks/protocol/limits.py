"""The limits of GPUs, from which the floors of rows come."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """The largest rates of a GPU.

    Attributes:
        name: the GPU, and whether the figures are measured.
        read: bytes per second of a streaming read.
        product: floating-point operations per second of dense products of bf16.
        units: the number of SMs or CUs.
        cache: bytes of the last cache before the memory.
    """

    name: str
    read: float
    product: float
    units: int
    cache: float

    def __str__(self) -> str:
        read, product = self.read / 1e12, self.product / 1e12
        return f"{read:g} TB/s and {product:g} TFLOP/s ({self.name})"


# A streaming read by bulk copies, and cuBLAS at 8192 x 8192 x 8192 in bf16.
H200 = Limits("H200, measured", 4.68e12, 790e12, 132, 50e6)
# A device of MI250X is one of its two dies.
NOMINAL = {
    "gfx90a": Limits("a die of MI250X, nominal", 1.6e12, 191.5e12, 110, 8e6),
    "gfx942": Limits("MI300X, nominal", 5.3e12, 1307e12, 304, 256e6),
    "gfx950": Limits("MI355X, nominal", 8.0e12, 2516e12, 256, 256e6),
}


def limits_of(arch: str) -> Limits:
    """Returns the limits for the architecture of a bundle; those of an H200 if it is not AMD's."""
    return NOMINAL.get(arch, H200)

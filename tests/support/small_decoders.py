"""A decoder of one layer, whose steps an emulated GPU runs in seconds, and arrays for it."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig

CONFIG = DecoderConfig(
    vocabulary=203,
    hidden=128,
    layers=1,
    heads=4,
    kv_heads=2,
    head=64,
    intermediate=176,
    eps=1e-5,
    theta=1e4,
    tied=True,
    qk_norm=True,
)
LENGTH, POSITION = 64, 5


def make_arrays(program: ark.Program) -> dict[str, Any]:
    """Returns inputs and parameters of a program of the decoder: small numbers; all integers are
    positions or tokens."""
    random = np.random.default_rng(0)
    executable = ark.compile(program, target="cpu:1", opt_level=0, cache=False)

    def make(buffer: Any) -> Any:
        if buffer.dtype.is_integer:
            return np.full(buffer.shape, POSITION, buffer.dtype.numpy)
        values: Any = random.standard_normal(buffer.shape) * 0.1
        return values.astype(buffer.dtype.numpy)

    return {buffer.name: make(buffer) for buffer in executable.inputs + executable.parameters}

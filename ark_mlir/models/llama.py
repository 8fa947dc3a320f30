"""Llama, whose programs are those of :mod:`ark_mlir.models.decoder`."""

from __future__ import annotations

from .decoder import DecoderConfig, RopeScaling, build_decode, build_prefill, rope_tables
from .generation import load_decoder as load

__all__ = [
    "DecoderConfig", "RopeScaling", "build_decode", "build_prefill", "load", "rope_tables",
]  # fmt: skip

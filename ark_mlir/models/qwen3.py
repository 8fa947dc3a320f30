"""Qwen3: the Llama decoder with RMS norms of queries and keys."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from ..dtypes import bf16
from ..frontend import Program
from . import decoder
from .decoder import DecoderConfig
from .generation import load_decoder as load

if TYPE_CHECKING:
    from ..typing import DTypeLike

__all__ = ["DecoderConfig", "build_decode", "build_prefill", "load"]


def build_decode(
    config: DecoderConfig,
    *,
    batch: int = 1,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
) -> Program:
    """Builds the program as ``ark.models.llama.build_decode`` does, with norms of q and k."""
    sizes = replace(config, qk_norm=True)
    return decoder.build_decode(
        sizes, batch=batch, max_length=max_length, dtype=dtype, sampling=sampling
    )


def build_prefill(
    config: DecoderConfig,
    *,
    batch: int = 1,
    chunk: int = 64,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
) -> Program:
    """Builds the program as ``ark.models.llama.build_prefill`` does, with norms of q and k."""
    sizes = replace(config, qk_norm=True)
    return decoder.build_prefill(
        sizes, batch=batch, chunk=chunk, max_length=max_length, dtype=dtype, sampling=sampling
    )

"""Llama: the decoder as it is."""

from __future__ import annotations

import os

from ..dtypes import DType
from .config import Config
from .decoder import DecoderConfig, RopeScaling, build_decode, build_prefill, rope_tables
from .generation import GenerativeModel, load_decoder

__all__ = [
    "DecoderConfig", "RopeScaling", "build_decode", "build_prefill", "load", "rope_tables",
]  # fmt: skip


def load(
    folder: str | os.PathLike[str],
    config: Config,
    *,
    max_length: int = 512,
    chunk: int = 32,
    dtype: DType | str | None = None,
    sampling: bool = False,
) -> GenerativeModel:
    """A Llama model from a Hugging Face folder; called through ``ark.models.load``.

    Args:
        max_length: tokens that a sequence may have.
        chunk: tokens of a prompt that run at once.
        dtype: of parameters and hidden states; by default the configuration's.
        sampling: whether ``generate`` can draw tokens by chance.
    """
    return load_decoder(
        folder,
        config,
        qk_norm=False,
        max_length=max_length,
        chunk=chunk,
        dtype=dtype,
        sampling=sampling,
    )

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
    tensor_parallel: int = 1,
) -> GenerativeModel:
    """A Llama model from a Hugging Face folder; called through ``ark.models.load``.

    Args:
        max_length: tokens that a sequence may have.
        chunk: tokens of a prompt that run at once.
        dtype: of parameters and hidden states; by default the configuration's.
        sampling: whether ``generate`` can draw tokens by chance.
        tensor_parallel: how many ranks share the attention heads and the MLP; see
            ``ark_mlir.models.sharding`` for which parts, and in which order they are summed. All
            ranks run in this process. It divides the numbers of heads, of key and value heads,
            and the MLP's width.
    """
    return load_decoder(
        folder,
        config,
        qk_norm=False,
        max_length=max_length,
        chunk=chunk,
        dtype=dtype,
        sampling=sampling,
        tensor_parallel=tensor_parallel,
    )

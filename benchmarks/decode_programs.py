"""The compiler's side of a setting of benchmarks/decode_settings.py; needs the compiler."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from decode_settings import Setting

from ark_mlir.models.decoder import DecoderConfig, RopeScaling, rope_tables


def decoder_config(setting: Setting) -> DecoderConfig:
    """Returns the sizes of a setting as those of the compiler."""
    fields = asdict(setting.sizes)
    scaling = fields.pop("scaling")
    return DecoderConfig(**fields, scaling=None if scaling is None else RopeScaling(*scaling))


def save_rope_tables(name: str, setting: Setting, folder: Path) -> None:
    """Writes the cosines and sines that PyTorch's arms need to ``<name>.npz``."""
    folder.mkdir(parents=True, exist_ok=True)
    cos, sin = rope_tables(decoder_config(setting), setting.context)
    np.savez_compressed(folder / f"{name}.npz", cos=cos, sin=sin)

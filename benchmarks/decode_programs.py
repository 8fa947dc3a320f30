"""The compiler's side of a setting of benchmarks/decode_settings.py; needs the compiler."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import numpy as np
from decode_settings import Setting

from ark_mlir.dtypes import fp16, fp32
from ark_mlir.models.decoder import DecoderConfig, RopeScaling, rope_tables
from ark_mlir.models.kept_weights import Layout


def decoder_config(setting: Setting) -> DecoderConfig:
    """Returns the sizes of a setting as those of the compiler."""
    fields = asdict(setting.sizes)
    scaling, bits, group = (fields.pop(name) for name in ("scaling", "bits", "group"))
    layout = Layout(bits, group, fp32 if bits == 8 else fp16)
    layouts = {name.removesuffix(".weight"): layout for name in setting.sizes.quantized()}
    rope = None if scaling is None else RopeScaling(*scaling)
    return DecoderConfig(**fields, scaling=rope, layouts=layouts)


def save_rope_tables(name: str, setting: Setting, folder: Path) -> None:
    """Writes the cosines and sines that PyTorch's arms need to ``<name>.npz``."""
    folder.mkdir(parents=True, exist_ok=True)
    cos, sin = rope_tables(decoder_config(setting), setting.context)
    np.savez_compressed(folder / f"{name}.npz", cos=cos, sin=sin)

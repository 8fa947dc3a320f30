"""Folders of small models with random weights, in the layout of Hugging Face."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

HIDDEN, INNER, LAYERS, HEADS, VOCABULARY, POSITIONS = 64, 128, 2, 4, 512, 128


def write_encoder(folder: Path) -> Path:
    """Writes a BERT and returns its folder."""
    config = {
        "model_type": "bert", "vocab_size": VOCABULARY, "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS, "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS, "type_vocab_size": 2, "layer_norm_eps": 1e-12,
        "hidden_act": "gelu",
    }  # fmt: skip
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (VOCABULARY, HIDDEN),
        "embeddings.position_embeddings.weight": (POSITIONS, HIDDEN),
        "embeddings.token_type_embeddings.weight": (2, HIDDEN),
        "embeddings.LayerNorm.weight": (HIDDEN,),
        "embeddings.LayerNorm.bias": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name, (rows, columns) in {
            "attention.self.query": (HIDDEN, HIDDEN), "attention.self.key": (HIDDEN, HIDDEN),
            "attention.self.value": (HIDDEN, HIDDEN), "attention.output.dense": (HIDDEN, HIDDEN),
            "intermediate.dense": (INNER, HIDDEN), "output.dense": (HIDDEN, INNER),
        }.items():  # fmt: skip
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (rows, columns)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (rows,)
        for name in ("attention.output.LayerNorm", "output.LayerNorm"):
            shapes[f"encoder.layer.{layer}.{name}.weight"] = (HIDDEN,)
            shapes[f"encoder.layer.{layer}.{name}.bias"] = (HIDDEN,)
    return _write(folder, config, shapes)


def write_decoder(folder: Path) -> Path:
    """Writes a Llama and returns its folder."""
    config = {
        "model_type": "llama", "vocab_size": VOCABULARY, "hidden_size": HIDDEN,
        "num_hidden_layers": LAYERS, "num_attention_heads": HEADS,
        "num_key_value_heads": HEADS // 2, "intermediate_size": INNER,
        "max_position_embeddings": POSITIONS, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "tie_word_embeddings": True,
    }  # fmt: skip
    keys = HIDDEN // 2
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (VOCABULARY, HIDDEN),
        "model.norm.weight": (HIDDEN,),
    }
    for layer in range(LAYERS):
        for name, shape in {
            "input_layernorm": (HIDDEN,), "post_attention_layernorm": (HIDDEN,),
            "self_attn.q_proj": (HIDDEN, HIDDEN), "self_attn.k_proj": (keys, HIDDEN),
            "self_attn.v_proj": (keys, HIDDEN), "self_attn.o_proj": (HIDDEN, HIDDEN),
            "mlp.gate_proj": (INNER, HIDDEN), "mlp.up_proj": (INNER, HIDDEN),
            "mlp.down_proj": (HIDDEN, INNER),
        }.items():  # fmt: skip
            shapes[f"model.layers.{layer}.{name}.weight"] = shape
    return _write(folder, config, shapes)


def _write(folder: Path, config: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> Path:
    """Writes ``config.json`` and ``model.safetensors``: a header of JSON, then the numbers."""
    rng = np.random.default_rng(0)
    header: dict[str, Any] = {}
    parts: list[bytes] = []
    end = 0
    for name, shape in shapes.items():
        norm = name.lower().endswith("norm.weight")
        values = rng.standard_normal(shape) * 0.2 + (1.0 if norm else 0.0)
        parts.append(values.astype("<f4").tobytes())
        begin, end = end, end + len(parts[-1])
        header[name] = {"dtype": "F32", "shape": list(shape), "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "model.safetensors").write_bytes(
        len(text).to_bytes(8, "little") + text + b"".join(parts)
    )
    return folder

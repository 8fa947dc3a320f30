"""Model folders of a few kilobytes, with weights that are equal on every machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

Arrays = dict[str, Any]

CONFIGS: dict[str, dict[str, Any]] = {
    "bert": {
        "model_type": "bert", "vocab_size": 23, "hidden_size": 16, "num_hidden_layers": 2,
        "num_attention_heads": 4, "intermediate_size": 24, "max_position_embeddings": 12,
        "type_vocab_size": 2, "layer_norm_eps": 1e-12, "hidden_act": "gelu",
    },
    "llama": {
        "model_type": "llama", "vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 40,
        "max_position_embeddings": 64, "rms_norm_eps": 1e-5, "rope_theta": 10000.0,
        "rope_scaling": {
            "rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
            "original_max_position_embeddings": 16,
        },
        "tie_word_embeddings": True,
    },
    "qwen3": {
        "model_type": "qwen3", "vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "intermediate_size": 40, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": False,
    },
    "mixtral": {
        "model_type": "mixtral", "vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "intermediate_size": 20,
        "num_local_experts": 4, "num_experts_per_tok": 2, "max_position_embeddings": 64,
        "rms_norm_eps": 1e-5, "rope_theta": 10000.0, "tie_word_embeddings": False,
    },
    "qwen3_moe": {
        "model_type": "qwen3_moe", "vocab_size": 37, "hidden_size": 32, "num_hidden_layers": 2,
        "num_attention_heads": 4, "num_key_value_heads": 2, "head_dim": 16,
        "intermediate_size": 40, "moe_intermediate_size": 12, "num_experts": 6,
        "num_experts_per_tok": 3, "norm_topk_prob": True, "mlp_only_layers": [0],
        "decoder_sparse_step": 1, "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0, "tie_word_embeddings": False,
    },
}  # fmt: skip


def weights(kind: str, config: dict[str, Any] | None = None) -> Arrays:
    """Returns arrays by Hugging Face names; `config` changes entries of the configuration."""
    entries = {**CONFIGS[kind], **(config or {})}
    shapes = _bert(entries) if kind == "bert" else _decoder(entries)
    return {name: values(name, shape) for name, shape in shapes.items()}


def values(name: str, shape: tuple[int, ...]) -> Any:
    """Returns the array of a tensor, which depends on its name and shape alone."""
    # The values are not random, since a generator's stream may change between versions of numpy.
    seed = sum(ord(c) * (i + 1) for i, c in enumerate(name))
    index = np.arange(int(np.prod(shape)), dtype=np.float64)
    wave = np.sin(index * 12.9898 + seed * 78.233)
    noise = wave * 43758.5453 % 1.0 - 0.5
    offset = 1.0 if name.lower().endswith("norm.weight") else 0.0
    return (noise + offset).reshape(shape).astype(np.float32)


def _bert(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d, f = c["hidden_size"], c["intermediate_size"]
    shapes: dict[str, tuple[int, ...]] = {
        "embeddings.word_embeddings.weight": (c["vocab_size"], d),
        "embeddings.position_embeddings.weight": (c["max_position_embeddings"], d),
        "embeddings.token_type_embeddings.weight": (c["type_vocab_size"], d),
    }

    def norm(name: str) -> None:
        shapes.update({f"{name}.weight": (d,), f"{name}.bias": (d,)})

    norm("embeddings.LayerNorm")
    for n in range(c["num_hidden_layers"]):
        layer = f"encoder.layer.{n}"
        for part, (rows, columns) in {
            "attention.self.query": (d, d), "attention.self.key": (d, d),
            "attention.self.value": (d, d), "attention.output.dense": (d, d),
            "intermediate.dense": (f, d), "output.dense": (d, f),
        }.items():  # fmt: skip
            shapes[f"{layer}.{part}.weight"] = (rows, columns)
            shapes[f"{layer}.{part}.bias"] = (rows,)
        norm(f"{layer}.attention.output.LayerNorm")
        norm(f"{layer}.output.LayerNorm")
    return {**shapes, "pooler.dense.weight": (d, d), "pooler.dense.bias": (d,)}


def _decoder(c: dict[str, Any]) -> dict[str, tuple[int, ...]]:
    d = c["hidden_size"]
    head = c.get("head_dim", d // c["num_attention_heads"])
    q, kv = c["num_attention_heads"] * head, c["num_key_value_heads"] * head
    shapes: dict[str, tuple[int, ...]] = {
        "model.embed_tokens.weight": (c["vocab_size"], d),
        "model.norm.weight": (d,),
    }
    if not c["tie_word_embeddings"]:
        shapes["lm_head.weight"] = (c["vocab_size"], d)
    for n in range(c["num_hidden_layers"]):
        for part, shape in {
            "input_layernorm": (d,), "post_attention_layernorm": (d,),
            "self_attn.q_proj": (q, d), "self_attn.k_proj": (kv, d),
            "self_attn.v_proj": (kv, d), "self_attn.o_proj": (d, q), **_mlp(c, n),
        }.items():  # fmt: skip
            shapes[f"model.layers.{n}.{part}.weight"] = shape
        if c["model_type"].startswith("qwen3"):
            for part in ("q_norm", "k_norm"):
                shapes[f"model.layers.{n}.self_attn.{part}.weight"] = (head,)
    return shapes


def _mlp(c: dict[str, Any], layer: int) -> dict[str, tuple[int, ...]]:
    """Returns the shapes of a layer's MLP, or of its router and experts."""
    d, f = c["hidden_size"], c["intermediate_size"]
    if c["model_type"] == "mixtral":
        block, parts, number = "block_sparse_moe", ("w1", "w3", "w2"), c["num_local_experts"]
    elif c["model_type"] == "qwen3_moe" and layer not in c["mlp_only_layers"]:
        block, parts, number = "mlp", ("gate_proj", "up_proj", "down_proj"), c["num_experts"]
        f = c["moe_intermediate_size"]
    else:
        return {"mlp.gate_proj": (f, d), "mlp.up_proj": (f, d), "mlp.down_proj": (d, f)}
    experts = {
        f"{block}.experts.{number}.{part}": shape
        for number in range(number)
        for part, shape in zip(parts, ((f, d), (f, d), (d, f)), strict=True)
    }
    return {f"{block}.gate": (number, d), **experts}


def write_safetensors(path: Path, arrays: Arrays) -> None:
    """Writes a safetensors file of fp32 and other simple arrays."""
    names = {
        "float32": "F32", "float16": "F16", "int32": "I32", "int64": "I64", "bfloat16": "BF16",
        "uint8": "U8", "float8_e4m3fn": "F8_E4M3",
    }  # fmt: skip
    header: dict[str, Any] = {}
    position = 0
    for name, array in arrays.items():
        end = position + array.nbytes
        header[name] = {
            "dtype": names[array.dtype.name],
            "shape": list(array.shape),
            "data_offsets": [position, end],
        }
        position = end
    text = json.dumps(header).encode()
    data = b"".join(np.ascontiguousarray(a).tobytes() for a in arrays.values())
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def write_model(
    folder: Path, kind: str, arrays: Arrays | None = None, config: dict[str, Any] | None = None
) -> Path:
    """Writes a model folder; `config` changes entries of the configuration (None removes one)."""
    folder.mkdir(parents=True, exist_ok=True)
    entries = {**CONFIGS[kind], **(config or {})}
    entries = {key: value for key, value in entries.items() if value is not None}
    (folder / "config.json").write_text(json.dumps(entries))
    write_safetensors(folder / "model.safetensors", weights(kind) if arrays is None else arrays)
    return folder

"""Decode steps on sm_90a stream all weights through rings, at the widths of known models."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.decoder import DecoderConfig, build_decode
from ark_mlir.models.decoder_reader import read_decoder

# Hidden size, query heads, KV heads, size of a head, intermediate size.
WIDTHS = {
    "Llama-3.2-1B": (2048, 32, 8, 64, 8192),
    "Llama-3.2-3B": (3072, 24, 8, 128, 8192),
    "Llama-3.1-8B": (4096, 32, 8, 128, 14336),
    "Llama-3.1-70B": (8192, 64, 8, 128, 28672),
    "TinyLlama-1.1B": (2048, 32, 4, 64, 5632),
    "Llama-2-7B": (4096, 32, 32, 128, 11008),
    "Qwen2.5-7B": (3584, 28, 4, 128, 18944),
    "Qwen3-0.6B": (1024, 16, 8, 128, 3072),
    "Qwen3-4B": (2560, 32, 8, 128, 9728),
    "Qwen3-14B": (5120, 40, 8, 128, 17408),
    "Qwen3-32B": (5120, 64, 8, 128, 25600),
    "Gemma-2-2B": (2304, 8, 4, 256, 9216),
    "Gemma-3-1B": (1152, 4, 1, 256, 6912),
    "Phi-3-mini": (3072, 32, 32, 96, 8192),
    "Phi-4": (5120, 40, 10, 128, 17920),
    "SmolLM2-135M": (576, 9, 3, 64, 1536),
    "GPT-2 XL": (1600, 25, 25, 64, 6400),
}


@pytest.mark.parametrize("model", WIDTHS)
def test_weights_stream(model: str, tmp_path: Path) -> None:
    """One layer and a small vocabulary represent the whole model."""
    hidden, heads, kv_heads, head, intermediate = WIDTHS[model]
    config = DecoderConfig(
        vocabulary=2048,
        hidden=hidden,
        layers=1,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        intermediate=intermediate,
        eps=1e-5,
        theta=10000.0,
        scaling=None,
        tied=False,
    )
    program = build_decode(config, max_length=64)
    ark.compile(program, "cuda:sm_90a", cache=False, dump_dir=str(tmp_path))
    text = next(tmp_path.rglob("07-target.mlir")).read_text()
    functions = set(re.findall(r"llvm\.func [^@\n]*@(body\w*)\(", text))
    products = {name for name in functions if "matmul" in name and not name.endswith("_stream")}
    assert products
    assert {f"{name}_stream" for name in products} <= functions


# Entries of config.json that differ from those of the whole model: one or two layers, and the
# vocabulary. The numbers of the models are in the configurations on the Hugging Face hub.
SMALL = {"vocab_size": 2048, "num_hidden_layers": 1, "max_position_embeddings": 8192}
LLAMA3 = {
    "model_type": "llama", "hidden_act": "silu", "rms_norm_eps": 1e-5, "rope_theta": 500000.0,
}  # fmt: skip
QWEN3 = {
    "model_type": "qwen3", "hidden_act": "silu", "rms_norm_eps": 1e-6, "rope_theta": 1000000.0,
    "head_dim": 128, "attention_bias": False, "num_key_value_heads": 8,
}  # fmt: skip
GEMMA2 = {
    "model_type": "gemma2", "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
    "attn_logit_softcapping": 50.0, "final_logit_softcapping": 30.0, "sliding_window": 4096,
    "head_dim": 256, "rope_theta": 10000.0, "num_hidden_layers": 2,
}  # fmt: skip
GEMMA3 = {
    "model_type": "gemma3_text", "hidden_activation": "gelu_pytorch_tanh", "rms_norm_eps": 1e-6,
    "head_dim": 256, "query_pre_attn_scalar": 256, "sliding_window": 512,
    "rope_theta": 1000000.0, "rope_local_base_freq": 10000.0, "num_hidden_layers": 2,
}  # fmt: skip


def sizes(hidden: int, heads: int, intermediate: int, **more: Any) -> dict[str, Any]:
    """Returns the entries of a configuration with the widths of a model."""
    return {
        "hidden_size": hidden, "num_attention_heads": heads, "intermediate_size": intermediate,
        **more,
    }  # fmt: skip


CONFIGS: dict[str, dict[str, Any]] = {
    "Llama-3.1-8B": LLAMA3 | sizes(4096, 32, 14336, num_key_value_heads=8),
    "Mistral-7B": sizes(
        4096, 32, 14336, num_key_value_heads=8, model_type="mistral", rms_norm_eps=1e-5,
        rope_theta=1000000.0, sliding_window=None,
    ),
    "Qwen2.5-7B": sizes(
        3584, 28, 18944, num_key_value_heads=4, model_type="qwen2", rms_norm_eps=1e-6,
        rope_theta=1000000.0, use_sliding_window=False, sliding_window=131072, max_window_layers=28,
    ),
    "Qwen3-1.7B": QWEN3 | sizes(2048, 16, 6144, tie_word_embeddings=True),
    "Qwen3-8B": QWEN3 | sizes(4096, 32, 12288),
    "Gemma-2-2B": GEMMA2 | sizes(2304, 8, 9216, num_key_value_heads=4, query_pre_attn_scalar=256),
    "Gemma-2-9B": GEMMA2 | sizes(3584, 16, 14336, num_key_value_heads=8, query_pre_attn_scalar=256),
    "Gemma-3-1B": GEMMA3 | sizes(1152, 4, 6912, num_key_value_heads=1),
    "Gemma-3-4B": GEMMA3 | sizes(2560, 8, 10240, num_key_value_heads=4),
    "Phi-3-mini": sizes(
        3072, 32, 8192, num_key_value_heads=32, model_type="phi3", rms_norm_eps=1e-5,
        sliding_window=2047, max_position_embeddings=4096, pad_token_id=2000,
    ),
    "Phi-4": sizes(
        5120, 40, 17920, num_key_value_heads=10, model_type="phi3", rms_norm_eps=1e-5,
        rope_theta=250000.0, sliding_window=None, max_position_embeddings=16384,
        pad_token_id=2000,
    ),
    "GPT-2": {
        "model_type": "gpt2", "n_embd": 768, "n_head": 12, "n_layer": 1, "n_positions": 1024,
    },
    "GPT-2 XL": {
        "model_type": "gpt2", "n_embd": 1600, "n_head": 25, "n_layer": 1, "n_positions": 1024,
    },
}  # fmt: skip


def count_streamed(folder: Path) -> int:
    """Returns the bytes that the segments of all rings read in one run of a compiled program."""
    text = next(folder.rglob("07-target.mlir")).read_text()
    found = re.search(r"@ark_stream_segment_table\(dense<\"0x([0-9A-F]+)\">", text)
    assert found, "the program has no rings"
    words = np.frombuffer(bytes.fromhex(found[1]), "<i8")
    # The table begins with the first segment of each lane and an end, before segments of three
    # words; the last word has the number of chunks and their bytes.
    first = next(at for at in range(1, len(words)) if words[at] * 3 == len(words) - at - 1) + 1
    last = words[first:].reshape(-1, 3)[:, 2]
    return int(((last & 0xFFFFFFFF) * (last >> 32 & 0xFFFF)).sum())


@pytest.mark.parametrize("model", CONFIGS)
def test_configurations_stream(model: str, tmp_path: Path) -> None:
    """The rings of a decode step read each matrix of a real configuration once."""
    entries = {**SMALL, **CONFIGS[model]}
    if entries["model_type"] == "gpt2":
        del entries["num_hidden_layers"], entries["max_position_embeddings"]
    (tmp_path / "config.json").write_text(json.dumps(entries))
    config = read_decoder(read_config(tmp_path))
    config = replace(config, names=config.names.by_outputs())  # as ark.models.load does
    program = build_decode(config, max_length=64)
    ark.compile(program, "cuda:sm_90a", cache=False, dump_dir=str(tmp_path))
    tables = {f"{config.names.positions}.weight"}
    if not config.tied:  # one row of the table of embeddings is read
        tables.add(f"{config.names.embedding}.weight")
    matrices = [
        argument.shape
        for name, argument in program.parameters.items()
        if len(argument.shape) == 2 and name not in tables
    ]
    assert len(matrices) >= 4 * config.layers
    assert count_streamed(tmp_path) == sum(2 * rows * columns for rows, columns in matrices)

"""Decode steps on sm_90a stream all weights through rings, at the widths of known models."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode

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

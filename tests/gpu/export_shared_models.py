"""Exports decoders that two ranks share, with the interpreter's tokens.

Usage: export_shared_models.py <folder> [<target>]. The folder gets the runtime part of the
package, which needs no compiler, and the models. `test_shared_models.py` runs them on one GPU and
on two.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from export_models import Steps, as_bytes, continuation, load, prompt_of
from export_runtime import copy_runtime

import ark_mlir as ark
from ark_mlir.models.sharding import Shard

RANKS = 2
# A rank's part of the odd vocabulary overlaps the other one.
WIDE = {
    "hidden_size": 256, "num_attention_heads": 8, "num_key_value_heads": 2, "head_dim": 64,
    "intermediate_size": 512, "vocab_size": 509, "tie_word_embeddings": False,
}  # fmt: skip
MODELS: dict[str, tuple[str, dict[str, Any], dict[str, Any], float]] = {
    "llama": ("llama", {}, {"max_length": 48, "chunk": 4}, 1.0),
    "untied llama": ("llama", {"tie_word_embeddings": False, "vocab_size": 64},
                     {"max_length": 48, "chunk": 7}, 1.0),
    "drawn qwen3": ("qwen3", {}, {"max_length": 48, "chunk": 4, "sampling": True}, 1.0),
    "wide llama in bf16": ("llama", WIDE, {"max_length": 64, "chunk": 16, "dtype": "bf16"}, 0.3),
}  # fmt: skip
PROMPTS = (1, 5, 11)
CHOICE = {"temperature": 1.3, "top_k": 20, "top_p": 0.95, "seed": 7}
# The GPUs that bundles are compiled for.
DEVICES = {"one GPU": [0], "a GPU for each rank": [0, 1]}


def export_shared_models(root: Path, target: str, report: Callable[[str], None]) -> int:
    """Exports all models, each in its own folder; returns their number."""
    for name, (kind, changes, options, scale) in MODELS.items():
        report(f"{name}, two ranks")
        shared = load(kind, changes, {**options, "tensor_parallel": RANKS}, scale)
        export_shared_model(root / name, shared, load(kind, changes, options, scale), target)
    return len(MODELS)


def count_decided(whole: Any, prompt: list[int], count: int) -> int:
    """Returns the number of leading tokens that rounding cannot change: the logit of each exceeds
    that of any other token by more than the bounds of both.
    """
    parameters = whole.programs["decode"].parameters.values()
    if all(parameter.dtype != ark.bf16 for parameter in parameters):
        return count
    steps = Steps(whole)
    steps.follow(prompt, count - 1, {})
    begin = len(steps.names) - count
    for number in range(count):
        logits, bounds = (
            np.asarray(steps.arrays[f"{begin + number}.{kind}.logits"], np.float64).reshape(-1)
            for kind in ("output", "bound")
        )
        best = int(logits.argmax())
        rest = np.delete(logits + bounds, best)
        if logits[best] - bounds[best] <= rest.max():
            return number
    return count


def export_shared_model(folder: Path, model: Any, whole: Any, target: str) -> None:
    folder.mkdir(parents=True)
    for setup, devices in DEVICES.items():
        for name, programs in model.ranks.items():
            with ark.compile(programs, target=target, devices=devices) as world:
                world.save(folder / f"{name} on {setup}.arkbin")
    arrays = {
        f"rank{rank}/{name}": as_bytes(array)
        for rank, program in enumerate(model.ranks["decode"])
        for name, array in Shard(rank, RANKS).parts(model.parameters, program).items()
    }
    np.savez_compressed(folder / "parameters.npz", **arrays)
    choice = CHOICE if "temperature" in model.programs["decode"].inputs else {}
    cases = [continuation(model, prompt_of(model, length), choice) for length in PROMPTS]
    # Tokens with nearly equal logits may rightly differ, so the target cpu has to find the same.
    model.compile("cpu:1")
    for case in cases:
        tokens = model.generate(case["prompt"], case["count"], stop=(), **choice)
        assert tokens == case["tokens"], (folder.name, case, tokens)
        case["decided"] = count_decided(whole, case["prompt"], case["count"])
    assert any(case["decided"] for case in cases)
    (folder / "cases.json").write_text(json.dumps(cases), encoding="utf-8")


if __name__ == "__main__":
    copy_runtime(Path(sys.argv[1]))
    export_shared_models(
        Path(sys.argv[1], "shared-models"), *(sys.argv[2:] or ["cuda:sm_90a"]), print
    )

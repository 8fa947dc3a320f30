"""Models of `export_shared_models.py`, run with the ranks of this process."""

from __future__ import annotations

import json
import os
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
from decoding import Decoder

import ark_mlir as ark

FOLDER = Path(
    os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"), "shared-models"
)


def cases(name: str) -> list[dict[str, Any]]:
    """Returns the prompts of a model with their tokens."""
    result: list[dict[str, Any]] = json.loads((FOLDER / name / "cases.json").read_text())
    return result


def tokens(name: str) -> list[list[int]]:
    """Returns the tokens that the interpreter generates for each prompt."""
    return [case["tokens"] for case in cases(name)]


def decided(name: str, generated: list[list[int]]) -> list[list[int]]:
    """Returns the tokens of each prompt before the first one that rounding may change."""
    return [some[: case["decided"]] for some, case in zip(generated, cases(name), strict=True)]


def generate(name: str, devices: list[int] | None = None) -> list[list[int]]:
    """Returns the tokens for each prompt, on some GPUs, or as a rank of a world of processes."""
    folder = FOLDER / name
    one_gpu = devices is not None and len(set(devices)) == 1
    setup = "one GPU" if one_gpu else "a GPU for each rank"
    concurrent = one_gpu and devices is not None and len(devices) > 1
    unused = ("tokens", "decided")
    with ExitStack() as stack:
        prefill, decode = (
            stack.enter_context(
                ark.load(
                    folder / f"{program} on {setup}.arkbin", devices=devices, concurrent=concurrent
                )
            )
            for program in ("prefill", "decode")
        )
        rank = "rank0/"
        own = ""
        if (member := ark.distributed.current()) is not None:
            rank, own = "", f"rank{member.rank}/"
        with np.load(folder / "parameters.npz") as file:
            parameters = {
                buffer.name: np.frombuffer(file[own + buffer.name], buffer.dtype.numpy)
                for buffer in prefill.parameters
            }
            prefill.bind(
                {
                    buffer.name: parameters[buffer.name].reshape(buffer.shape)
                    for buffer in prefill.parameters
                }
            )
        decode.share_states(prefill, parameters=True)
        decoder = Decoder(prefill, decode, rank)
        return [
            decoder.generate(**{key: value for key, value in case.items() if key not in unused})
            for case in cases(name)
        ]

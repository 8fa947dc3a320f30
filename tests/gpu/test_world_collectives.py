"""Every collective has the bits of the target cpu, on one GPU and on a GPU for each rank. On one
GPU, one launch runs all ranks, or each rank has a launch of its own.

`export_collectives.py` makes the programs and the hashes of their outputs.
"""

from __future__ import annotations

import json
from hashlib import sha256
from typing import Any

import numpy as np
import pytest
from conftest import FOLDER
from processes import count_gpus

import ark_mlir as ark

pytestmark = pytest.mark.gpu

ROOT = FOLDER / "collectives"
CASES: list[dict[str, Any]] = (
    json.loads((ROOT / "cases.json").read_text()) if (ROOT / "cases.json").exists() else []
)
IDS = [case["name"] for case in CASES]


def test_there_are_cases() -> None:
    assert {case["ranks"] for case in CASES} >= {2, 3, 4}


def hashes(arrays: dict[str, Any]) -> dict[str, str]:
    return {
        name: sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
        for name, array in arrays.items()
    }


def draw_inputs(world: Any, case: dict[str, Any]) -> list[dict[str, Any]]:
    """Returns the inputs of the export, which are drawn again from the same seed."""
    rng = np.random.default_rng(0)
    inputs: list[dict[str, Any]] = [{} for _ in range(case["ranks"])]
    for buffer in world.inputs:
        rank, _, name = buffer.name.partition("/")
        if buffer.dtype.is_float:
            values = 4 * rng.standard_normal(buffer.shape)
        else:
            values = rng.integers(0, 100, buffer.shape)
        array = values.astype(buffer.dtype.numpy)
        inputs[int(rank.removeprefix("rank"))][name] = array
    assert [hashes(arrays) for arrays in inputs] == case["inputs"], "numpy draws other numbers"
    return inputs


def check(case: dict[str, Any], setup: str, devices: list[int]) -> None:
    """Runs a case three times, the second time with several iterations."""
    path = ROOT / f"{case['name']}-{setup}.arkbin"
    concurrent = len(set(devices)) < len(devices)
    with ark.load(path, devices=devices, concurrent=concurrent) as world:
        inputs = draw_inputs(world, case)
        for iterations in (1, 20, 1):
            outputs: Any = world.run(inputs, iterations=iterations)
            assert [hashes(arrays) for arrays in outputs] == case["outputs"]


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_on_one_gpu(case: dict[str, Any]) -> None:
    check(case, "one", [0])


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_launches_at_once_on_one_gpu(case: dict[str, Any]) -> None:
    check(case, "one", [0] * case["ranks"])


@pytest.mark.parametrize("case", CASES, ids=IDS)
def test_on_a_gpu_for_each_rank(case: dict[str, Any]) -> None:
    ranks = case["ranks"]
    if count_gpus() < ranks:
        pytest.skip(f"needs {ranks} GPUs that access each other's memory (NVLink)")
    check(case, "each", list(range(ranks)))
    check(case, "each", list(reversed(range(ranks))))

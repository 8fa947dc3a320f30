"""Exports every collective for worlds of several sizes, with the bits that the target cpu computes.

Usage: export_collectives.py <folder> [<target>]. The folder gets the runtime part of the
package, which needs no compiler, and the programs. `test_world_collectives.py` runs them on one GPU
and on a GPU for each rank.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from export_runtime import copy_runtime

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from collective_programs import chunked, draw_arguments, everything, large, multiplying

import ark_mlir as ark

DTYPES = (ark.fp32, ark.fp16, ark.bf16)
ALGORITHMS = ("one-shot", "two-shot", "ring")
Case = tuple[Callable[..., ark.Program], int, Any, str]


def list_cases() -> list[Case]:
    """Returns maker, world, dtype and algorithm of each program: all algorithms among four ranks,
    and the choice by size in other worlds."""
    cases: list[Case] = []
    for size in (2, 3, 4, 8):
        for algorithm in ALGORITHMS if size == 4 else ("auto",):
            cases += [(everything, size, dtype, algorithm) for dtype in DTYPES]
            if size < 8:
                cases.append((large, size, ark.bf16, algorithm))
    cases += [(chunked, size, ark.bf16, "two-shot") for size in (2, 4)]
    cases += [(multiplying, size, ark.bf16, "auto") for size in (2, 4)]
    return [*cases, (large, 3, ark.fp32, "auto")]


def export_collectives(root: Path, target: str, report: Callable[[str], None]) -> int:
    """Exports all programs; returns their number."""
    root.mkdir(parents=True, exist_ok=True)
    cases: list[dict[str, Any]] = []
    for make, size, dtype, algorithm in list_cases():
        name = f"{make.__name__}-{size}-{dtype}-{algorithm}"
        report(name)
        programs = [make(rank, size, dtype) for rank in range(size)]
        cases.append(export_case(root, name, programs, target, algorithm))
    (root / "cases.json").write_text(json.dumps(cases, indent=1), encoding="utf-8")
    return len(cases)


def export_case(
    root: Path, name: str, programs: list[ark.Program], target: str, algorithm: str
) -> dict[str, Any]:
    """Saves the bundles of one case; returns its inputs' seed and the hashes of its outputs."""
    for setup, devices in {"one": [0], "each": None}.items():
        with ark.compile(
            programs, target=target, devices=devices, collectives=algorithm, line_info=False
        ) as world:
            world.save(root / f"{name}-{setup}.arkbin")
    rng = np.random.default_rng(0)
    inputs = [draw_arguments(rng, program.inputs) for program in programs]
    with ark.compile(programs, target="cpu:1", collectives=algorithm) as world:
        outputs = world.run(inputs)
    return {
        "name": name,
        "ranks": len(programs),
        "inputs": [hashes(arrays) for arrays in inputs],
        "outputs": [hashes(arrays) for arrays in outputs],
    }


def hashes(arrays: dict[str, Any]) -> dict[str, str]:
    """Returns the hash of each array's bytes."""
    return {
        name: sha256(np.ascontiguousarray(array).tobytes()).hexdigest()[:16]
        for name, array in arrays.items()
    }


if __name__ == "__main__":
    copy_runtime(Path(sys.argv[1]))
    export_collectives(Path(sys.argv[1], "collectives"), *(sys.argv[2:] or ["cuda:sm_90a"]), print)

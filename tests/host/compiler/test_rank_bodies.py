"""Ranks share machine code: what one rank adds to a program needs no body of its own."""

from __future__ import annotations

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from ark_mlir.compiler import compile_schedule
from ark_mlir.models.decoder import DecoderConfig, build_decode, divide

CONFIG = DecoderConfig(
    vocabulary=1024, hidden=2048, layers=2, heads=32, kv_heads=8, head=64, intermediate=8192
)


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_have_equal_bodies(ranks: int) -> None:
    """Ranks receive the parts of a sum in one order, whichever rank puts first."""
    programs = [build_decode(each, max_length=1024) for each in divide(CONFIG, ranks)]
    bodies: dict[int, set[str]] = {}
    layers = [
        task
        for task in compile_schedule(programs, "cuda:sm_90a").manifest.tasks
        if ".layers." in task.name or "/add" in task.name
    ]
    for task in layers:
        bodies.setdefault(task.body, set()).add(task.name.partition("/")[0])
    assert layers
    assert all(len(of_ranks) == ranks for of_ranks in bodies.values())

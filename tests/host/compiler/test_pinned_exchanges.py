"""Predicted times of exchanges on the SMs that a plan names."""

from __future__ import annotations

import ark_mlir as ark

LAYERS, SIZE, SMS = 4, 4096, 8


def build(rank: int, multiplies: bool, reduces: bool) -> ark.Program:
    """Returns products, their sums over two ranks on eight SMs, or both."""
    with ark.Program("gradients", rank=rank, world_size=2) as program:
        for layer in range(LAYERS):
            gradient = ark.input(f"x{layer}", (SIZE, SIZE), ark.bf16)
            if multiplies:
                values = ark.input(f"v{layer}", (SIZE, SIZE), ark.bf16)
                gradient = ark.matmul(gradient, values, transpose_other=True)
            if reduces:
                with ark.planner(sms=SMS):
                    gradient = ark.all_reduce(gradient)
            ark.output(f"y{layer}", gradient)
    return program


def predict(multiplies: bool, reduces: bool) -> float:
    programs = [build(rank, multiplies, reduces) for rank in range(2)]
    executable = ark.compile(programs, target="cuda:sm_90a", cache=False)
    return float(executable.bundle.manifest.statistics["predicted_ns"])


def test_pinned_exchanges_overlap_with_products() -> None:
    """Beside products, eight of 132 SMs have a larger part of the bandwidth than 8/132."""
    products, sums, both = predict(True, False), predict(False, True), predict(True, True)
    assert both < products + 0.6 * sums

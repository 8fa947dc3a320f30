"""Layers and decoders with experts: products with matrices that the router chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from assembled_ptx import record_ptx
from emulation import Emulation
from expert_layers import build_layer, make_arrays
from small_decoders import CONFIG, LENGTH
from small_decoders import make_arrays as make_inputs

import ark_mlir as ark
from ark_mlir.models.decoder import build_decode
from ark_mlir.models.experts import Experts
from ark_mlir.testing.bounds import assert_within

EXPERTS = Experts(8, 2, 96, normalize=True)


# With these seeds, rounding cannot change the order of the chosen experts.
@pytest.mark.parametrize(
    ("tokens", "seed", "arch"), [(1, 1, "sm_90a"), (3, 1, "sm_80"), (20, 6, "sm_90a")]
)
def test_a_layer(tokens: int, seed: int, arch: str, check: Callable[..., Any]) -> None:
    """Twenty tokens are sorted by expert, and blocks of rows are multiplied by matrix units."""
    program = build_layer(EXPERTS, tokens, 128, ark.bf16)
    check(program, make_arrays(program, seed), arch=arch)


def test_gate_and_up_of_many_rows(
    check: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Warpgroups multiply a block of 128 rows by both matrices of the group at once."""
    texts = record_ptx(monkeypatch)
    with ark.Program("gate_and_up") as program:
        x = ark.input("x", (2048, 128), ark.bf16)
        counts = ark.input("counts", (4,), ark.int32)
        gate, up = (ark.parameter(name, (4, 128, 128), ark.bf16) for name in ("gate", "up"))
        product = ark.silu(ark.grouped_matmul(x, gate, counts))
        ark.output("y", ark.mul(product, ark.grouped_matmul(x, up, counts)))
    arrays = make_arrays(program, 1)
    arrays["counts"] = np.array([700, 0, 1300, 48], np.int32)
    check(program, arrays, arch="sm_90a")
    ark.compile(program, "cuda:sm_90a", cache=False)
    assert "wgmma.mma_async" in texts[-1]
    assert "mma.sync" not in texts[-1]


def test_one_token_of_a_decoder(library: Path, tmp_path: Path) -> None:
    """The router reads one element, so that rounding does not change the order of the experts."""
    program = build_decode(replace(CONFIG, mlp="experts", experts=EXPERTS), max_length=LENGTH)
    arrays = make_inputs(program)
    router = arrays["model.layers.0.mlp.gate.weight"]
    router[:] = 0
    router[:, 0] = 4 * 1.5 ** np.arange(EXPERTS.num_experts)
    expected = ark.reference.error_spread(program, arrays)
    emulation = Emulation(program, library, tmp_path, arch="sm_90a")
    with emulation.executable as executable:
        executable.bind({name: arrays[name] for name in program.parameters})
        got = emulation.run({n: a for n, a in arrays.items() if n not in program.parameters})
    for name, array in got.items():
        assert_within(array, expected.outputs[name], expected.bounds[name], name)
    assert emulation.executable.bundle.manifest.packets

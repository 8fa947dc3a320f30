"""Layers and decoders with experts: products with matrices that the router chooses."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from expert_layers import build_layer, make_arrays
from small_decoders import CONFIG, LENGTH
from small_decoders import make_arrays as make_inputs

import ark_mlir as ark
from ark_mlir.models.decoder import build_decode
from ark_mlir.models.moe import Experts

EXPERTS = Experts(8, 2, 96, normalize=True)


# With these seeds, rounding cannot change the order of the chosen experts.
@pytest.mark.parametrize(
    ("tokens", "seed", "arch"), [(1, 1, "sm_90a"), (3, 1, "sm_80"), (20, 6, "sm_90a")]
)
def test_a_layer(tokens: int, seed: int, arch: str, check: Callable[..., Any]) -> None:
    """Twenty tokens are sorted by expert, and blocks of rows are multiplied by matrix units."""
    program = build_layer(EXPERTS, tokens, 128, ark.bf16)
    check(program, make_arrays(program, seed), arch=arch)


def test_one_token_of_a_decoder(check: Callable[..., Any]) -> None:
    program = build_decode(replace(CONFIG, experts=EXPERTS), max_length=LENGTH, dtype=ark.fp32)
    check(program, make_inputs(program), arch="sm_90a")

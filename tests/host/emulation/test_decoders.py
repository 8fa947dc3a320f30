"""Decode steps and prompts: rings of weights, packets between SMs, attention over a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from small_decoders import CONFIG, LENGTH, make_arrays

from ark_mlir.models.decoder import build_decode, build_prefill


@pytest.mark.parametrize(
    ("batch", "arch"), [(1, "sm_90a"), (1, "sm_80"), (3, "sm_90a"), (8, "sm_80")]
)
def test_one_token(batch: int, arch: str, check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=batch, max_length=LENGTH)
    emulation = check(program, make_arrays(program), arch=arch)
    assert emulation.executable.bundle.manifest.packets


def test_one_token_on_smaller_ctas(check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=1, max_length=LENGTH)
    check(program, make_arrays(program), warps=8)


def test_prompt(check: Callable[..., Any]) -> None:
    program = build_prefill(CONFIG, chunk=33, max_length=LENGTH)
    check(program, make_arrays(program))

"""Steps of decoders: rings of weights, packets between SMs, attention over a cache."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode, build_prefill

CONFIG = DecoderConfig(
    vocabulary=203,
    hidden=128,
    layers=1,
    heads=4,
    kv_heads=2,
    head=64,
    intermediate=176,
    eps=1e-5,
    theta=1e4,
    tied=True,
    qk_norm=True,
)
LENGTH, POSITION = 64, 5


def make_arrays(program: ark.Program) -> dict[str, Any]:
    """Small numbers; all integers are positions or tokens."""
    random = np.random.default_rng(0)
    executable = ark.compile(program, target="cpu:1", opt_level=0)

    def make(buffer: Any) -> Any:
        if buffer.dtype.is_integer:
            return np.full(buffer.shape, POSITION, buffer.dtype.numpy)
        return (random.standard_normal(buffer.shape) * 0.1).astype(buffer.dtype.numpy)

    return {buffer.name: make(buffer) for buffer in executable.inputs + executable.parameters}


@pytest.mark.parametrize(
    ("batch", "arch"), [(1, "sm_90a"), (1, "sm_80"), (3, "sm_90a"), (8, "sm_80")]
)
def test_one_token(batch: int, arch: str, check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=batch, max_length=LENGTH)
    emulation = check(program, make_arrays(program), arch=arch)
    assert emulation.executable.bundle.manifest.packets


def test_one_token_by_smaller_ctas(check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=1, max_length=LENGTH)
    check(program, make_arrays(program), warps=8)


def test_prompt(check: Callable[..., Any]) -> None:
    program = build_prefill(CONFIG, chunk=33, max_length=LENGTH)
    check(program, make_arrays(program))

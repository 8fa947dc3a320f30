"""A pass that succeeds reports no error: a later failure would list the error as its cause."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from expert_layers import build_layer
from op_cases import CASES
from op_cases import build as build_op
from small_decoders import CONFIG, LENGTH

import ark_mlir as ark
from ark_mlir.compiler.stages import run_passes
from ark_mlir.models.decoder import build_decode, build_prefill
from ark_mlir.models.experts import Experts

TARGETS = ["cpu:2", "cuda:sm_90a", "hip:gfx942"]
GPT = {"model_type": "gpt2", "vocab_size": 256, "n_embd": 32, "n_layer": 2, "n_head": 2,
       "n_positions": 32}  # fmt: skip


def build_step() -> ark.Program:
    entries = {"model": GPT, "data": {"text": ["-"]}, "train": {"batch": 2, "length": 16}}
    config = ark.training.TrainingConfig.parse(entries)
    return ark.training.build_step(config, corpus=5000).program


MODELS: dict[str, Callable[[], ark.Program]] = {
    "training step": build_step,
    "decode": functools.partial(build_decode, CONFIG, batch=1, max_length=LENGTH),
    "decode of a batch": functools.partial(build_decode, CONFIG, batch=8, max_length=LENGTH),
    "prefill": functools.partial(build_prefill, CONFIG, chunk=33, max_length=LENGTH),
    "experts": lambda: build_layer(Experts(4, 2, 64, normalize=True), 64, 64, ark.bf16),
}


@pytest.fixture
def errors(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The errors that passes reported without failing."""
    found: list[str] = []
    names = run_passes.__globals__

    def run(module: Any, pipeline: str) -> None:
        found.extend(names["_ark"].run_passes(module, pipeline))

    monkeypatch.setitem(names, "_run_unverified", run)
    return found


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", MODELS)
def test_models(name: str, target: str, errors: list[str]) -> None:
    ark.compile(MODELS[name](), target, cache=False).close()
    assert errors == []


@pytest.mark.parametrize("target", TARGETS)
@pytest.mark.parametrize("name", CASES)
def test_ops(name: str, target: str, errors: list[str]) -> None:
    case = CASES[name]
    ark.compile(build_op(case, case.dtypes[-1]), target, cache=False).close()
    assert errors == []

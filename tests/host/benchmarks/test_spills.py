"""The kernels of benchmarks do not spill registers.

A value without a register is written to memory and read back; the report counts such spills. ptxas
allocates registers for all bodies together: a change to one body, or to the dispatch loop, may
cause spills in another body.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode, build_prefill
from ark_mlir.models.encoder import EncoderConfig
from ark_mlir.models.encoder import build as build_encoder

from .conftest import FOLDER


@pytest.fixture
def settings(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The settings of benchmarks/decode.py."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import decode_settings

    return decode_settings.SETTINGS


def config_of(setting: Any) -> DecoderConfig:
    from decode_programs import decoder_config

    return decoder_config(setting)


def spilled(program: ark.Program, arch: str = "sm_90a") -> int:
    executable = ark.compile(program, target=f"cuda:{arch}", cache=False, line_info=False)
    bytes_ = executable.bundle.manifest.statistics["spill_bytes"]
    assert f"{bytes_} B spilled" in str(executable.report())
    return bytes_


@pytest.mark.parametrize("name", ["A", "B", "A-16k", "Llama-3.1-8B-fp8", "Llama-3.1-8B-int4"])
def test_a_decode_step_spills_nothing(settings: Any, name: str) -> None:
    setting = settings[name]
    assert spilled(build_decode(config_of(setting), max_length=setting.context)) == 0


@pytest.mark.parametrize("batch", [2, 4, 8, 16])
def test_steps_of_several_sequences_spill_nothing(settings: Any, batch: int) -> None:
    setting = settings["A"]
    program = build_decode(config_of(setting), batch=batch, max_length=setting.context)
    assert spilled(program) == 0


def test_older_gpus_have_the_instructions_of_a_decode_step(settings: Any) -> None:
    """The instructions take no more registers on older GPUs."""
    setting = settings["A"]
    assert spilled(build_decode(config_of(setting), max_length=setting.context), "sm_80") == 0


@pytest.mark.parametrize(("length", "most"), [(160, 0), (2048, 44)])
def test_a_prompt_spills_nothing(settings: Any, length: int, most: int) -> None:
    """No value stays live from one vCTA to the next: neither values derived from their ids, nor
    addresses of operands. With a long cache, an attention by warpgroups is part of the kernel;
    ptxas spills values of the kernel before its loops, and none in them. `most` is what it spills
    at present."""
    prompt = build_prefill(config_of(settings["A"]), chunk=128, max_length=length)
    assert spilled(prompt) <= most


@pytest.mark.parametrize(("arch", "most"), [("sm_90a", 0), ("sm_100a", 444)])
def test_bytes_that_an_encoder_spills(arch: str, most: int) -> None:
    """A task with three products has ten operands. The warpgroup products are inlined into the
    kernel, so that ptxas does not serialise their instructions. The task with three products by
    mma.sync spills on sm_100a; `most` is what it spills at present."""
    minilm = EncoderConfig(30522, 384, 6, 12, 1536, 512, 2, 1e-12, "gelu")
    assert spilled(build_encoder(minilm, 32, 128, "fp16"), arch) <= most


@pytest.mark.parametrize(
    ("row", "most"), [("char-128", 40), ("char-384", 0), ("gpt2-small-1x1024", 320)]
)
def test_bytes_that_a_training_step_spills(
    monkeypatch: pytest.MonkeyPatch, row: str, most: int
) -> None:
    """Each product by warpgroups computes its descriptors of shared memory. Before the dispatch
    loop, they would take the registers of all tasks. One layer has the kinds of products of all
    layers. `most` is about what it spills at present."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import training

    step = training.build(replace(training.MODELS[row], layers=1))
    assert spilled(step) <= most

"""The code objects of benchmarks for AMD GPUs: registers, LDS, and the time to compile them."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.decoder import build_decode
from ark_mlir.models.encoder import EncoderConfig
from ark_mlir.models.encoder import build as build_encoder
from ark_mlir.targets.code_object import read_metadata

from .conftest import FOLDER

# CDNA: a CU has four SIMDs, each with 512 registers of 32 bits for every one of 64 threads, which
# are allotted in groups of eight, and LDS.
SIMDS, REGISTERS, GROUP = 4, 512, 8
LDS = {"gfx90a": 64 << 10, "gfx942": 64 << 10, "gfx950": 160 << 10}
# How much longer a compilation may take than that for sm_90a.
FACTOR = 1.5
ATTEMPTS = 5
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")

# The registers of a thread at most, accumulation registers included, for each architecture. They
# are what a kernel takes at present, with room for small changes. `product` is that of 4096³.
REGISTERS_OF = {
    "A": (152, 144, 184),
    "Qwen3-8B": (208, 208, 200),
    "MiniLM": (272, 192, 200),
    "product": (264, 264, 280),
}

Build = Callable[[str], ark.Program]


@pytest.fixture
def build(monkeypatch: pytest.MonkeyPatch) -> Build:
    """``build(name)`` returns a program of `REGISTERS_OF`."""
    monkeypatch.syspath_prepend(str(FOLDER))

    def make(name: str) -> ark.Program:
        if name == "product":
            return product(4096)
        if name == "MiniLM":
            sizes = EncoderConfig(30522, 384, 6, 12, 1536, 512, 2, 1e-12, "gelu")
            return build_encoder(sizes, 32, 128, "fp16")
        from decode_programs import decoder_config
        from decode_settings import SETTINGS

        setting = SETTINGS[name]
        return build_decode(decoder_config(setting), max_length=setting.context)

    return make


def product(extent: int) -> ark.Program:
    with ark.Program("product") as program:
        x = ark.input("x", (extent, extent), ark.bf16)
        w = ark.parameter("w", (extent, extent), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    return program


def compile_for(target: str, program: ark.Program) -> ark.Executable:
    return ark.compile(program, target, cache=False, line_info=False)


def processor_seconds(work: Callable[[], object]) -> float:
    """Returns the seconds of the processor that the work takes, with those of its processes."""
    before = os.times()
    work()
    return sum(os.times()[:4]) - sum(before[:4])


def waves_of_a_simd(kernel: dict[str, Any]) -> int:
    """Returns the number of waves for which a SIMD has registers."""
    registers = -(-kernel[".vgpr_count"] // GROUP) * GROUP
    return REGISTERS // registers


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("name", REGISTERS_OF)
def test_a_cu_holds_the_kernel_in_registers(name: str, arch: str, build: Build) -> None:
    """Each SIMD holds its share of the waves of a CTA at once, and no register is spilled."""
    executable = compile_for(f"hip:{arch}", build(name))
    metadata = read_metadata(bytes(executable.bundle.sections["kernel"]))
    (kernel,) = metadata["amdhsa.kernels"]
    machine = executable.bundle.manifest.target
    assert kernel[".max_flat_workgroup_size"] == machine.warps * kernel[".wavefront_size"]
    assert waves_of_a_simd(kernel) >= -(-machine.warps // SIMDS)
    assert kernel[".group_segment_fixed_size"] == machine.shared_memory <= LDS[arch]
    assert kernel[".private_segment_fixed_size"] == 0
    assert kernel[".uses_dynamic_stack"] is False
    assert kernel[".vgpr_count"] <= REGISTERS_OF[name][ARCHITECTURES.index(arch)]
    assert kernel[".vgpr_spill_count"] == 0
    assert kernel[".sgpr_spill_count"] == 0


@pytest.mark.parametrize("name", REGISTERS_OF)
def test_a_compilation_takes_about_as_long_as_for_nvidia(name: str, build: Build) -> None:
    program = build(name)
    compile_for("hip:gfx942", product(64))  # starts the compiler
    times: list[tuple[float, float]] = []
    for _ in range(ATTEMPTS):
        amd, nvidia = (
            processor_seconds(lambda target=target: compile_for(target, program))
            for target in ("hip:gfx942", "cuda:sm_90a")
        )
        times.append((amd, nvidia))
        if amd <= FACTOR * nvidia:
            return
    pytest.fail(f"seconds for gfx942 and sm_90a: {times}")

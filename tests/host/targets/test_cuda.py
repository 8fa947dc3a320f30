"""Programs compile to cubins on a machine without a GPU. tests/gpu checks their results."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.cli.main import main
from ark_mlir.models.decoder import DecoderConfig, build_decode
from ark_mlir.targets import resolve

ELF = b"\x7fELF"
MACHINE_CUDA = 190


def layer() -> ark.Program:
    with ark.Program("layer") as program:
        x = ark.input("x", (5, 64), ark.bf16)
        w = ark.parameter("w", (96, 64), ark.bf16)
        h = ark.gelu(ark.matmul(x, w, transpose_other=True))
        ark.output("y", ark.softmax(ark.sin(ark.cast(h, ark.fp32))))
    return program


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"])
def test_every_architecture(arch: str, tmp_path: Path) -> None:
    executable = ark.compile(layer(), target=f"cuda:{arch}")
    executable.save(tmp_path / "layer.arkbin")
    image = bytes(executable.bundle.sections["kernel"])
    assert image[:4] == ELF
    assert int.from_bytes(image[18:20], "little") == MACHINE_CUDA
    statistics = executable.bundle.manifest.statistics
    assert 0 < statistics["registers"] <= 128  # 512 threads share 65,536
    assert statistics["spill_bytes"] == 0


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"])
def test_a_decode_step_of_every_architecture(arch: str) -> None:
    """With eight rows, weights and keys are prefetched before packets are polled."""
    config = DecoderConfig(
        vocabulary=512,
        hidden=2048,
        layers=1,
        heads=8,
        kv_heads=2,
        head=64,
        intermediate=4096,
        eps=1e-5,
        theta=1e4,
    )
    executable = ark.compile(build_decode(config, batch=8, max_length=64), f"cuda:{arch}")
    assert executable.bundle.manifest.packets > 0
    assert bytes(executable.bundle.sections["kernel"])[:4] == ELF


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("kind", ["bert", "llama"])
def test_a_model_on_every_architecture(tiny: Any, tmp_path: Path, kind: str, arch: str) -> None:
    """`ark compile FOLDER`: cubins of an encoder, and of both programs of a decoder."""
    folder, out = tiny.write_model(tmp_path / "model", kind), tmp_path / "m.arkbin"
    length = "length=8" if kind == "bert" else "max_length=24"
    options = ["--target", f"cuda:{arch}", "--set", length, "--set", "dtype=bf16"]
    assert main(["compile", str(folder), "-o", str(out), *options]) == 0
    bundles = [read_bundle(path) for path in sorted(tmp_path.glob("*.arkbin"))]
    assert len(bundles) == (1 if kind == "bert" else 2)
    for bundle in bundles:
        assert bundle.manifest.target.arch == arch
        assert bytes(bundle.sections["kernel"][:4]) == ELF
        assert arch != "sm_90a" or bundle.manifest.statistics["spill_bytes"] == 0


def product(rows: int, dtype: ark.DType, wide: ark.DType | None) -> ark.Program:
    """A product with fp8 weights: the left operand has their dtype, or they are cast to its wider
    dtype."""
    with ark.Program("product") as program:
        x = ark.input("x", (rows, 2048), wide or dtype)
        w = ark.parameter("w", (4096, 2048), dtype)
        factor = ark.cast(w, wide) if wide else w
        ark.output("y", ark.matmul(x, factor, transpose_other=True))
    return program


@pytest.mark.parametrize("arch", ["sm_89", "sm_90a", "sm_100a"])
@pytest.mark.parametrize("dtype", [ark.fp8_e4m3, ark.fp8_e5m2], ids=str)
@pytest.mark.parametrize("rows", [1, 8, 16])
@pytest.mark.parametrize("wide", [ark.bf16, ark.fp16, None], ids=str)
def test_weights_of_8_bits_are_read_without_a_cast(
    arch: str, dtype: ark.DType, rows: int, wide: ark.DType | None
) -> None:
    """No task casts the weights in memory: a vCTA reads a byte for each, and little more."""
    manifest = ark.compile(product(rows, dtype, wide), target=f"cuda:{arch}").bundle.manifest
    (task,) = manifest.tasks
    assert task.ops == ("matmul",)
    rereads = task.vctas * rows * 2048 * (2 if wide else 1)  # the left operand, from the L2
    assert task.bytes < 4096 * 2048 + rereads + 4 * 4096 * rows + 1
    if arch != "sm_89":
        assert manifest.statistics["spill_bytes"] == 0
    # Rings of shared memory serve single rows, from sm_90 on.
    assert (manifest.target.shared_memory > 65536) == (rows == 1 and arch != "sm_89")


@pytest.mark.parametrize("arch", ["sm_80", "sm_86", "sm_89", "sm_100a"])
def test_large_products_have_stages_of_shared_memory(arch: str, tmp_path: Path) -> None:
    """Tiles of 128 by 128 need 33 KB for each stage, of which there are at least two."""
    with ark.Program("product") as program:
        x, w = ark.input("x", (2048, 2048), ark.bf16), ark.parameter("w", (2048, 2048), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    dump = str(tmp_path)
    executable = ark.compile(program, target=f"cuda:{arch}", cache=False, dump_dir=dump)
    assert "nvvm.cp.async.shared.global" in next(tmp_path.rglob("07-target.mlir")).read_text()
    manifest = executable.bundle.manifest
    assert manifest.statistics["spill_bytes"] == 0
    assert manifest.target.shared_memory > 2 * 33000


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_86", "cuda:sm_90a", "hip:gfx942"])
@pytest.mark.parametrize("share", [0.3, 0.49, 0.51, 0.99, 3.0])
def test_rows_longer_than_the_memory_of_an_sm(target: str, share: float) -> None:
    """For each op, the values that its readers share are a row of fp32, and no result of the
    task."""
    extent = int(share * resolve(target).shared_memory / 4)
    with ark.Program("rows") as program:
        x = ark.input("x", (1, extent), ark.bf16)
        ark.output("softmax", ark.silu(ark.softmax(ark.gelu(x)) * x))
        ark.output("norm", ark.layernorm(ark.gelu(x)))
        ark.output("cast", ark.cast(ark.softmax(ark.cast(x, ark.fp32)), ark.fp16))
    with ark.compile(program, target) as executable:
        manifest = executable.bundle.manifest
    assert manifest.target.shared_memory <= resolve(target).shared_memory
    # Intermediates of a row are in the arena, and are no larger than rows of fp32.
    assert manifest.arena <= (len(manifest.tasks) + 1) * (4 * extent + 4096)
    assert {output.name: output.shape for output in manifest.outputs} == dict.fromkeys(
        ("softmax", "norm", "cast"), (1, extent)
    )


def test_the_report_lists_the_resources_of_the_kernel() -> None:
    executable = ark.compile(layer(), target="cuda:sm_90a")
    report = executable.report()
    target = executable.bundle.manifest.target
    assert report.registers == executable.bundle.manifest.statistics["registers"]
    assert (report.spill_bytes, report.shared_bytes) == (0, target.shared_memory)
    assert f"({report.registers} registers, 0 B spilled, " in str(report)
    on_cpu = ark.compile(layer(), target="cpu:2").report()
    assert on_cpu.registers is None
    assert "registers" not in str(on_cpu)


def test_ark_compile_prints_the_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source = tmp_path / "layer.mlir"
    source.write_text(layer().mlir)
    command = ["compile", str(source), "-o", str(tmp_path / "layer.arkbin")]
    assert main([*command, "--target", "cuda:sm_90a", "--report"]) == 0
    assert re.search(
        r"kernel +\S+ KiB \(\d+ registers, 0 B spilled, .* of shared memory\)",
        capsys.readouterr().out,
    )


def test_equal_programs_give_equal_bundles(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ark.compile(layer(), target="cuda:sm_90a").save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_one_rank_has_the_kernel_of_a_program_without_ranks() -> None:
    """Support for several ranks costs a program of one rank nothing."""

    def build(**ranks: int) -> ark.Program:
        with ark.Program("p", **ranks) as program:
            x = ark.input("x", (4, 256), ark.bf16)
            w = ark.parameter("w", (256, 256), ark.bf16)
            y = ark.rmsnorm(x @ w, ark.parameter("g", (256,), ark.bf16)) @ w
            ark.output("y", ark.all_reduce(y) if ranks else y)
        return program

    options = {"target": "cuda:sm_90a", "cache": False, "line_info": False}
    plain = ark.compile(build(), **options).bundle.sections
    ranked = ark.compile([build(rank=0, world_size=1)], **options).bundle.sections
    assert plain.keys() == ranked.keys()
    assert {name for name in plain if bytes(plain[name]) != bytes(ranked[name])} == set()

"""Programs compile to code objects on a machine without an AMD GPU. Tests in ``emulation`` check
results of the kernels, but not of the machine code, since no AMD GPU was available."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from op_cases import CASES as OP_CASES
from op_cases import build

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.cli.main import main
from ark_mlir.dtypes import DType
from ark_mlir.targets.code_object import read_metadata, read_resources

ELF = b"\x7fELF"
MACHINE_AMDGPU = 224


def layer() -> ark.Program:
    with ark.Program("layer") as program:
        x = ark.input("x", (5, 64), ark.bf16)
        w = ark.parameter("w", (96, 64), ark.bf16)
        h = ark.gelu(ark.matmul(x, w, transpose_other=True))
        ark.output("y", ark.softmax(ark.sin(ark.cast(h, ark.fp32))))
    return program


def matmul(m: int, n: int, k: int, dtype: DType, transposed: bool = True) -> ark.Program:
    with ark.Program("matmul") as program:
        x = ark.input("x", (m, k), dtype)
        w = ark.parameter("w", (n, k) if transposed else (k, n), dtype)
        ark.output("y", ark.matmul(x, w, transpose_other=transposed))
    return program


def compile_to(target: str, program: ark.Program) -> bytes:
    """Compiles to a code object, and checks the properties of all code objects."""
    executable = ark.compile(program, target=target)
    image = bytes(executable.bundle.sections["kernel"])
    assert image[:4] == ELF
    assert int.from_bytes(image[18:20], "little") == MACHINE_AMDGPU
    metadata = read_metadata(image)
    assert metadata["amdhsa.target"] == f"amdgcn-amd-amdhsa--{target.removeprefix('hip:')}"
    (kernel,) = metadata["amdhsa.kernels"]
    assert (kernel[".name"], kernel[".wavefront_size"]) == ("ark_kernel", 64)
    machine = executable.bundle.manifest.target
    assert kernel[".max_flat_workgroup_size"] == machine.warps * 64
    assert kernel[".group_segment_fixed_size"] == machine.shared_memory <= 160 * 1024
    # Four warps on four SIMDs of 512 registers each.
    assert 0 < kernel[".vgpr_count"] <= 512
    return image


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_every_architecture(arch: str) -> None:
    compile_to(f"hip:{arch}", layer())


CASES = [
    pytest.param(case, dtype, id=f"{name}-{dtype.name}")
    for name, case in OP_CASES.items()
    for dtype in case.dtypes
]


@pytest.mark.parametrize("kind", ["bert", "llama", "qwen3"])
def test_a_model(tiny: Any, tmp_path: Path, kind: str) -> None:
    """`ark compile FOLDER`: code objects of an encoder, and of both programs of a decoder."""
    folder, out = tiny.write_model(tmp_path / "model", kind), tmp_path / "m.arkbin"
    length = "length=8" if kind == "bert" else "max_length=24"
    options = ["--target", "hip:gfx942", "--set", length, "--set", "dtype=bf16"]
    assert main(["compile", str(folder), "-o", str(out), *options]) == 0
    bundles = [read_bundle(path) for path in sorted(tmp_path.glob("*.arkbin"))]
    assert len(bundles) == (1 if kind == "bert" else 2)
    for bundle in bundles:
        image = bytes(bundle.sections["kernel"])
        assert read_metadata(image)["amdhsa.target"].endswith("gfx942")
        assert bundle.manifest.packets > 0


@pytest.mark.parametrize(("case", "dtype"), CASES)
def test_every_op(case: Any, dtype: DType) -> None:
    compile_to("hip:gfx942", build(case, dtype))


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize(
    ("shape", "dtype", "transposed"),
    [
        ((1, 2048, 2048), ark.bf16, True),
        ((8, 8192, 2048), ark.bf16, True),
        ((4096, 4096, 4096), ark.bf16, True),
        ((1000, 1001, 512), ark.fp16, True),
        ((1024, 1024, 1024), ark.fp32, True),
        ((256, 256, 512), ark.fp16, False),
    ],
    ids=["row", "few-rows", "large", "odd", "fp32", "untransposed"],
)
def test_products_keep_their_accumulators_in_registers(
    shape: tuple[int, int, int], dtype: DType, transposed: bool, arch: str
) -> None:
    """tests/python/hip_matrix_product.py lists the instructions of a product."""
    image = compile_to(f"hip:{arch}", matmul(*shape, dtype, transposed))
    assert read_resources(image)["spill_bytes"] == 0


def test_the_report_lists_the_resources_of_the_kernel(tmp_path: Path) -> None:
    executable = ark.compile(layer(), target="hip:gfx942")
    resources = read_resources(bytes(executable.bundle.sections["kernel"]))
    report = executable.report()
    assert (report.registers, report.scalar_registers) == (
        resources["registers"],
        resources["scalar_registers"],
    )
    assert (report.spill_bytes, report.shared_bytes) == (0, resources["shared_bytes"])
    words = (
        f"{report.registers} registers, {report.scalar_registers} scalar registers, 0 B spilled, "
    )
    assert words in str(report)
    executable.save(tmp_path / "layer.arkbin")


def test_ark_compile_and_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    source, bundle = tmp_path / "layer.mlir", tmp_path / "layer.arkbin"
    source.write_text(layer().mlir)
    command = ["compile", str(source), "-o", str(bundle), "--target", "hip:gfx942", "--report"]
    assert main(command) == 0
    assert re.search(
        r"kernel +\S+ KiB \(\d+ registers, \d+ scalar registers, ", capsys.readouterr().out
    )
    assert main(["run", str(bundle)]) == 1
    assert f"{bundle}: a program for hip needs" in capsys.readouterr().err
    assert main(["compile", str(source), "-o", str(bundle), "--target", "hip:gfx000"]) == 1
    assert "target 'hip:gfx000' is not known: expected one of gfx90a" in capsys.readouterr().err


def test_equal_programs_give_equal_bundles(tmp_path: Path) -> None:
    for name in ("a", "b"):
        ark.compile(layer(), target="hip:gfx942", cache=False).save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_an_unknown_architecture_raises() -> None:
    from ark_mlir.targets import Target, resolve

    unknown = Target.parse(resolve("hip:gfx942").mlir.replace("gfx942", "gfx1100"))
    with pytest.raises(ark.InvalidUsageError, match=r"gfx1100' is not known: state `gpu"):
        ark.compile(layer(), target=unknown)


@pytest.mark.parametrize(
    ("arch", "warp_size", "message"),
    [("gfx1100", 32, "has warps of 32 threads"), ("gfx9zork", 64, "gfx9zork")],
)
def test_facts_that_no_kernel_fits_raise(arch: str, warp_size: int, message: str) -> None:
    from dataclasses import replace

    from ark_mlir.targets import resolve

    facts = f'#ark.gpu<warp_size = {warp_size}, scopes = #ark.scopes<device = "agent">>'
    machine = replace(resolve("hip:gfx942"), arch=arch, gpu=facts)
    with pytest.raises(ark.CompileError, match=message):
        ark.compile(layer(), target=machine)


@pytest.mark.parametrize("damage", ["machine", "note", "end", "tag"])
def test_a_file_that_is_no_code_object_raises(damage: str) -> None:
    image = bytearray(compile_to("hip:gfx942", layer()))
    note = image.index(b"AMDGPU\0") + 8
    if damage == "machine":
        image[18] = 62
    elif damage == "note":
        image[note - 12 : note - 8] = bytes(4)
    elif damage == "end":
        image[note] = 0x8F
    else:
        image[note] = 0xC1
    with pytest.raises(ark.CompileError, match=r"code object"):
        read_resources(bytes(image))


def test_a_target_with_less_lds() -> None:
    """The remedy of the error for a GPU whose workgroups have too little LDS."""
    from dataclasses import replace

    from ark_mlir.targets import resolve

    whole = resolve("hip:gfx942")
    product = matmul(4096, 4096, 512, ark.bf16)
    usual, small = (
        ark.compile(product, target).bundle.manifest.target.shared_memory
        for target in (whole, replace(whole, shared_memory=16 << 10))
    )
    assert small <= 16 << 10 < usual <= whole.shared_memory

"""An installed wheel, which contains LLVM, works on a system without LLVM.

Run by `make check-wheel`, which hides the LLVM of this machine.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.targets.linker import find_linker
from ark_mlir.testing.bounds import assert_within

PACKAGE = Path(ark.__file__).parent
LIBRARIES = PACKAGE / "_mlir_libs"
ARK_OPT = Path(sysconfig.get_path("scripts"), "ark-opt")
ELF = b"\x7fELF"
# Libraries of every Linux with Python.
SYSTEM = {
    "ld-linux-x86-64.so.2", "libc.so.6", "libdl.so.2", "libgcc_s.so.1", "libm.so.6",
    "libpthread.so.0", "librt.so.1", "libstdc++.so.6", "linux-vdso.so.1",
}  # fmt: skip


def mlp() -> ark.Program:
    with ark.Program("mlp") as program:
        x = ark.input("x", (32, 64), ark.fp32)
        up = ark.parameter("up", (256, 64), ark.fp32)
        down = ark.parameter("down", (64, 256), ark.fp32)
        h = ark.gelu(ark.matmul(x, up, transpose_other=True))
        ark.output("y", ark.softmax(ark.matmul(h, down, transpose_other=True)))
    return program


def test_the_package_uses_no_other_llvm() -> None:
    assert [shutil.which(name) for name in ("ld.lld", "ld.lld-22", "opt", "mlir-opt")] == [None] * 4
    assert Path(find_linker()).parent == LIBRARIES
    ark.compile(mlp(), target="cpu:2")
    maps = Path("/proc/self/maps").read_text(encoding="utf-8")
    loaded = {line.rpartition("/")[2] for line in maps.splitlines() if ".so" in line}
    assert "libArkPythonCAPI.so" in loaded
    assert [name for name in loaded if re.match(r"lib(LLVM|MLIR(?!PythonSupport)|lld)", name)] == []


def test_the_package_has_type_information() -> None:
    assert (PACKAGE / "py.typed").is_file()
    assert not (PACKAGE / "py.typed").read_bytes()  # a complete package, not a partial one


def test_the_package_has_no_tests() -> None:
    """The emulator of GPUs and other helpers of tests stay in the repository."""
    files = importlib.metadata.files("ark-mlir")
    assert files
    for file in files:
        assert re.match(r"ark_mlir/|ark_mlir-[^/]+\.dist-info/|(\.\./)+bin/ark[\w-]*$", str(file))
        assert "emulation" not in file.parts
    assert importlib.util.find_spec("emulation") is None


def test_its_libraries_need_only_system_libraries() -> None:
    files = [f for f in LIBRARIES.iterdir() if f.is_file() and f.read_bytes()[:4] == ELF]
    assert {"ark-opt", "ld.lld", "libArkPythonCAPI.so"} <= {file.name for file in files}
    own = {file.name for file in files}
    for file in files:
        done = subprocess.run(["ldd", file], capture_output=True, text=True, check=True)
        needed = {Path(line.split()[0]).name for line in done.stdout.splitlines()}
        assert needed <= SYSTEM | own, file.name
        assert "not found" not in done.stdout, file.name


def test_a_program_runs_on_cpu() -> None:
    program = mlp()
    rng = np.random.default_rng(0)
    shapes = {"x": (32, 64), "up": (256, 64), "down": (64, 256)}
    arrays = {name: rng.standard_normal(shape, np.float32) for name, shape in shapes.items()}
    expected = ark.reference.evaluate(program, arrays, bound=True)
    executable = ark.compile(program, target="cpu:2")
    executable.bind({name: arrays[name] for name in ("up", "down")})
    got = executable.run(x=arrays["x"])["y"]
    assert_within(got, expected.outputs["y"], expected.bounds["y"], "y")


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a", "sm_100a"])
def test_a_program_compiles_for_cuda(arch: str) -> None:
    executable = ark.compile(mlp(), target=f"cuda:{arch}")
    assert bytes(executable.bundle.sections["kernel"])[:4] == ELF


def test_a_program_compiles_for_hip() -> None:
    executable = ark.compile(mlp(), target="hip:gfx942")
    assert bytes(executable.bundle.sections["kernel"])[:4] == ELF


def test_ark_opt_runs(tmp_path: Path) -> None:
    source = tmp_path / "mlp.mlir"
    source.write_text(mlp().mlir)
    command = [ARK_OPT, source, "--ark-compile-to=synchronization", "--ark-target=cuda:sm_90a"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "ark.run" in done.stdout
    (tmp_path / "bad.mlir").write_text("ark.nothing")
    done = subprocess.run([ARK_OPT, tmp_path / "bad.mlir"], capture_output=True, check=False)
    assert done.returncode == 1


@pytest.mark.parametrize(
    ("triple", "known"),
    [
        ("x86_64-unknown-linux-gnu", True),
        ("nvptx64-nvidia-cuda", True),
        ("amdgcn-amd-amdhsa", True),
        ("riscv64-unknown-linux-gnu", False),
    ],
)
def test_it_has_three_llvm_targets(triple: str, known: bool, tmp_path: Path) -> None:
    source = tmp_path / "empty.mlir"
    attribute = f'#llvm.target<triple = "{triple}", chip = "">'
    source.write_text(f"module attributes {{llvm.target = {attribute}}} {{}}")
    command = [ARK_OPT, source, "--llvm-target-to-data-layout=initialize-llvm-targets=true"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode == 0, "dlti.dl_spec" in done.stdout) == (known, known), done.stderr

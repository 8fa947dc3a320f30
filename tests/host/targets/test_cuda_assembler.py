"""The assemblers that make cubins: the choice between them, with and without each tool, and their
errors.

`make test` installs the packages of nvJitLink, which these tests need.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.targets import cuda_assembler, cuda_toolkit
from ark_mlir.targets.cuda_assembler import assemble, choose_assembler, read_resources
from ark_mlir.targets.cuda_toolkit import find_toolkit

ELF = b"\x7fELF"
ARCHITECTURES = ["sm_80", "sm_86", "sm_89", "sm_90a", "sm_100a"]
KEPT = (cuda_toolkit.find_toolkit, cuda_toolkit.find_libdevice, cuda_assembler.load_nvjitlink)


def layer() -> ark.Program:
    """A program with every function of libdevice that ark uses."""
    with ark.Program("layer") as program:
        x = ark.input("x", (5, 64), ark.bf16)
        w = ark.parameter("w", (96, 64), ark.bf16)
        h = ark.cast(ark.gelu(ark.matmul(x, w, transpose_other=True)), ark.fp32)
        ark.output("waves", ark.sin(h) * ark.cos(h) + ark.pow(ark.abs(h), h))
        ark.output("roots", ark.sqrt(h) + ark.rsqrt(h) + ark.tanh(h))
        ark.output("y", ark.softmax(h))
    return program


LAYER = layer()
PTXAS = str(find_toolkit().ptxas)  # before any test hides it


def compiled(arch: str = "sm_90a", **options: Any) -> ark.Executable:
    return ark.compile(LAYER, target=f"cuda:{arch}", **{"cache": False, **options})


def kernel(executable: ark.Executable) -> bytes:
    return bytes(executable.bundle.sections["kernel"])


@pytest.fixture
def hide(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """``hide("toolkit", "nvjitlink")`` simulates a machine without these tools."""

    def act(*tools: str) -> None:
        for found in KEPT:
            found.cache_clear()
        if "toolkit" in tools:
            monkeypatch.setattr(cuda_toolkit, "_candidates", lambda: [Path("/nowhere")])
            for name in ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT"):  # MLIR searches this folder itself
                monkeypatch.delenv(name, raising=False)
        if "nvjitlink" in tools:
            monkeypatch.setitem(__import__("sys").modules, "cuda.bindings.nvjitlink", None)

    yield act
    for found in KEPT:
        found.cache_clear()


@pytest.fixture
def only_nvjitlink(hide: Callable[..., None], monkeypatch: pytest.MonkeyPatch) -> None:
    hide()
    monkeypatch.setenv("ARK_ASSEMBLER", "nvjitlink")


class FakeJitLink:
    """A stand-in for the library's functions; `fails` names the one that fails."""

    class nvJitLinkError(Exception):
        """The exception of the bindings."""

    InputType = SimpleNamespace(PTX=2)
    LOG = (
        b"ptxas info    : Function properties for ark_execute_work_item\n"
        b"ptxas         .     16 bytes stack frame, 8 bytes spill stores, 12 bytes spill loads\n"
        b"ptxas info    : Used 40 registers, used 1 barriers\n\0"
        b"info    : used 126 registers, used 1 barriers, 112 stack\n\0"
    )

    def __init__(self, fails: str = "") -> None:
        self.fails = fails
        self.held = 0
        self.calls: list[str] = []

    def _enter(self, name: str) -> None:
        self.calls.append(name)
        if name == self.fails:
            raise self.nvJitLinkError("ERROR_PTX_COMPILE (4)")

    def version(self) -> tuple[int, int]:
        return 12, 9

    def create(self, count: int, options: list[str]) -> int:
        assert (count, options) == (3, ["-arch=sm_90a", "-O3", "-verbose"])
        self._enter("create")
        self.held += 1
        return 7

    def destroy(self, handle: int) -> None:
        self.held -= 1

    def add_data(self, handle: int, kind: int, data: bytes, size: int, name: str) -> None:
        assert (kind, size) == (2, len(data))
        self._enter("add_data")

    def complete(self, handle: int) -> None:
        self._enter("complete")

    def get_linked_cubin_size(self, handle: int) -> int:
        self._enter("get_linked_cubin_size")
        return 4

    def get_linked_cubin(self, handle: int, into: bytearray) -> None:
        self._enter("get_linked_cubin")
        into[:] = ELF

    def get_info_log_size(self, handle: int) -> int:
        self._enter("get_info_log_size")
        return len(self.LOG)

    def get_info_log(self, handle: int, into: bytearray) -> None:
        self._enter("get_info_log")
        into[:] = self.LOG

    def get_error_log_size(self, handle: int) -> int:
        return 27

    def get_error_log(self, handle: int, into: bytearray) -> None:
        into[:] = b"ptxas fatal : syntax error\0"


# -- choice of the assembler -----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("hidden", "taken"),
    [
        ((), "ptxas"),
        (("nvjitlink",), "ptxas"),
        (("toolkit", "nvjitlink"), "driver"),
        (("toolkit",), "nvjitlink"),
    ],
)
def test_the_order_of_preference(
    hide: Callable[..., None], hidden: tuple[str, ...], taken: str
) -> None:
    hide(*hidden)
    assert choose_assembler().name == taken
    executable = compiled()
    assert executable.bundle.manifest.options["assembler"] == taken
    assert executable.report().assembler == taken


def test_a_missing_assembler_that_the_user_named_is_an_error(hide: Callable[..., None]) -> None:
    """No other assembler replaces a missing one that the user has named."""
    hide("toolkit", "nvjitlink")
    for name, message in (
        ("ptxas", "there is no ptxas.*install the package nvidia-cuda-nvcc"),
        ("nvjitlink", "there is no nvJitLink.*install the packages cuda-bindings"),
    ):
        with (
            ark.knobs.scope(ARK_ASSEMBLER=name),
            pytest.raises(ark.UnsupportedError, match=message),
        ):
            compiled()
    with (
        ark.knobs.scope(ARK_ASSEMBLER="nvcc"),
        pytest.raises(ark.InvalidUsageError, match="expected one of auto, ptxas, nvjitlink"),
    ):
        compiled()


def test_the_bindings_without_the_library(
    hide: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing() -> Any:
        raise RuntimeError("libnvJitLink.so.12: No such file\nsearched everywhere")

    hide("toolkit")
    monkeypatch.setattr(cuda_assembler, "load_nvjitlink", missing)
    assert choose_assembler().name == "driver"
    with (
        ark.knobs.scope(ARK_ASSEMBLER="nvjitlink"),
        pytest.raises(ark.UnsupportedError, match=r"note: libnvJitLink\.so\.12: No such file$"),
    ):
        compiled()
    monkeypatch.undo()


def test_the_cache_distinguishes_assemblers(hide: Callable[..., None], tmp_path: Path) -> None:
    hide()
    for name in ("ptxas", "driver"):
        with ark.knobs.scope(ARK_ASSEMBLER=name):
            for _ in range(2):
                executable = compiled(cache=tmp_path)
                assert executable.bundle.manifest.options["assembler"] == name
    assert len(list(tmp_path.glob("*.arkbin"))) == 2


def test_another_version_changes_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    library = FakeJitLink()
    one = cuda_assembler.NvJitLink(library).fingerprint()
    monkeypatch.setattr(library, "version", lambda: (13, 0))
    assert cuda_assembler.NvJitLink(library).fingerprint() != one


# -- ptxas -----------------------------------------------------------------------------------------


def test_ptx_that_ptxas_refuses() -> None:
    with pytest.raises(ark.CompileError, match="ptxas failed with status"):
        assemble("no PTX", "sm_90a", 3)


def test_a_ptxas_that_cannot_be_run(tmp_path: Path) -> None:
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "ptxas").write_text("not executable")
    tool = cuda_assembler.Ptxas(cuda_toolkit.Toolkit(tmp_path))
    with pytest.raises(ark.CompileError, match=r"/ptxas cannot be run: Permission denied$"):
        tool.assemble("", "sm_90a", 3)


def test_a_full_disk_for_the_input_of_ptxas(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The message names the folder, since the failing write does not name the file."""

    def fail(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(Path, "write_text", fail)
    with pytest.raises(ark.CompileError, match=f"^{tmp_path}: No space left on device$"):
        cuda_assembler.Ptxas(cuda_toolkit.find_toolkit()).assemble("", "sm_90a", 3)
    assert list(tmp_path.iterdir()) == []


def test_spills_of_called_functions_count() -> None:
    output = """\
ptxas info    : Function properties for ark_kernel
    1960 bytes stack frame, 60 bytes spill stores, 80 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 1960 bytes cumulative stack size
ptxas info    : Function properties for ark_execute_work_item
    0 bytes stack frame, 24 bytes spill stores, 0 bytes spill loads
ptxas info    : Function properties for body_matmul
    0 bytes stack frame, 2084 bytes spill stores, 3868 bytes spill loads
"""
    assert read_resources(output) == (128, 60 + 80 + 24 + 2084 + 3868)
    with pytest.raises(ark.CompileError, match="does not report the kernel"):
        read_resources("ptxas info    : 0 bytes gmem")


# -- nvJitLink -------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.usefixtures("only_nvjitlink")
def test_nvjitlink_for_every_architecture(arch: str) -> None:
    executable = compiled(arch)
    assert kernel(executable)[:4] == ELF
    assert b".version 8" not in kernel(executable)  # the copy of the PTX is removed
    report = executable.report()
    assert report.registers is not None
    assert 0 < report.registers <= 128
    assert report.spill_bytes == 0
    assert re.search(r"assembler +nvjitlink\n", str(report))


@pytest.mark.usefixtures("only_nvjitlink")
def test_ptx_that_nvjitlink_refuses() -> None:
    with pytest.raises(ark.CompileError, match=r"nvJitLink failed: ERROR_\w+") as caught:
        assemble(".version 8.6\n.target sm_90a\nnonsense\n", "sm_90a", 3)
    assert "syntax error" in str(caught.value)
    with pytest.raises(ark.CompileError, match="'sm_90b' is not defined for option"):
        assemble(".version 8.6\n.target sm_90a\n.address_size 64\n", "sm_90b", 3)


def test_registers_are_those_of_the_linked_kernel() -> None:
    """Before linking, the kernel alone has fewer registers than the functions that it calls."""
    library = FakeJitLink()
    made = cuda_assembler.NvJitLink(library).assemble("ptx", "sm_90a", 3)
    assert (made.image, made.registers, made.spill_bytes) == (ELF, 126, 8 + 12)
    assert library.held == 0


def test_any_call_of_nvjitlink_fails() -> None:
    """Any failing call gives a typed error with the library's log, and leaks nothing."""
    good = FakeJitLink()
    cuda_assembler.NvJitLink(good).assemble("ptx", "sm_90a", 3)
    for name in good.calls:
        library = FakeJitLink(fails=name)
        with pytest.raises(ark.CompileError, match=r"ERROR_PTX_COMPILE \(4\)") as caught:
            cuda_assembler.NvJitLink(library).assemble("ptx", "sm_90a", 3)
        assert name == "create" or "note: ptxas fatal : syntax error" in str(caught.value)
        assert library.held == 0, name


# -- the driver ------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_ptx_for_the_driver(arch: str, hide: Callable[..., None], tmp_path: Path) -> None:
    """The PTX needs no software of NVIDIA; if ptxas is installed, it assembles the same PTX."""
    hide("toolkit", "nvjitlink")
    executable = compiled(arch)
    text = kernel(executable)
    assert text.endswith(b"\0")
    assert re.search(rb"^\.target " + arch.encode() + rb"$", text, re.MULTILINE)
    report = executable.report()
    assert (report.registers, report.spill_bytes) == (None, None)
    assert re.search(r"assembler +driver, at load, so that registers .* not known", str(report))
    source = tmp_path / "kernel.ptx"
    source.write_bytes(text.rstrip(b"\0"))
    command = [PTXAS, f"-arch={arch}", str(source), "-o", str(tmp_path / "kernel.cubin")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_a_function_that_only_libdevice_provides(
    hide: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    from ark_mlir.targets import cuda_math

    hide("toolkit", "nvjitlink")
    monkeypatch.delitem(cuda_math._FUNCTIONS, "__nv_sinf")
    with pytest.raises(ark.UnsupportedError, match="needs __nv_sinf of NVIDIA's device library"):
        compiled()

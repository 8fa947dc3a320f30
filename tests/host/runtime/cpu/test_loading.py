"""Loading a kernel: wrong targets and malformed images are rejected."""

from __future__ import annotations

import os
import platform
import struct
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import write_bundle
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cpu import host, image
from ark_mlir.runtime.drivers.table import all_drivers
from ark_mlir.testing.toy import ToyProgram, add_program, compile_c, compile_kernel, run

Array = np.ndarray[Any, Any]


@pytest.fixture
def build(kernel: bytes, tmp_path: Path) -> Callable[..., bytes]:
    """Builds a shared object from C text."""

    def compile_text(text: str, *options: str) -> bytes:
        source = tmp_path / "kernel.c"
        source.write_text(text)
        return compile_c(source, *options)

    return compile_text


def load(kernel: bytes, change: Callable[[dict[str, Any]], object] = lambda m: None) -> Executable:
    manifest, sections = add_program().parts(kernel)
    change(manifest)
    return Executable.from_parts(manifest, sections).prepare()


# -- targets -------------------------------------------------------------------------------------


def test_another_architecture(kernel: bytes) -> None:
    with pytest.raises(
        ark.BundleError, match=f"is for sparc; this machine is {host.architecture()}"
    ):
        load(kernel, lambda m: m["target"].update(arch="sparc"))


def test_a_feature_that_this_machine_lacks(kernel: bytes) -> None:
    have = "sse2" if host.architecture() == "x86_64" else "neon"
    load(kernel, lambda m: m["target"].update(features=[have])).close()
    with pytest.raises(ark.BundleError, match=r"needs avx9000 .* which this machine's"):
        load(kernel, lambda m: m["target"].update(features=[have, "avx9000"]))


def test_another_backend(kernel: bytes, tmp_path: Path) -> None:
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend="hip", arch="gfx942")
    write_bundle(tmp_path / "a.arkbin", manifest, sections)
    message = r"a\.arkbin: the bundle is for hip \(gfx942\); this runtime runs .* cpu, cuda"
    some = {name: all_drivers()[name] for name in ("cpu", "cuda")}
    with pytest.raises(ark.UnsupportedError, match=message):
        ark.load(tmp_path / "a.arkbin", some)


def test_a_program_for_another_machine_can_be_saved_and_reported(
    kernel: bytes, tmp_path: Path
) -> None:
    """A machine without a GPU, for example, compiles for a GPU."""
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend="hip", arch="gfx942")
    executable = Executable.from_parts(manifest, sections)
    executable.save(tmp_path / "a.arkbin")
    assert executable.report().target == "hip (gfx942)"
    with pytest.raises(ark.UnsupportedError, match="a program for hip needs"):
        executable.bind({})
    executable.close()
    with pytest.raises(ark.InvalidUsageError, match="is closed"):
        executable.bind({})


# A server of 2022: the names of its features in LLVM and in Linux.
LLVM_FEATURES = (
    "64bit adx aes avx avx2 avx512bf16 avx512bitalg avx512bw avx512cd avx512dq avx512f avx512ifma "
    "avx512vbmi avx512vbmi2 avx512vl avx512vnni avx512vpopcntdq bmi bmi2 clflushopt clwb clzero "
    "cmov crc32 cx16 cx8 f16c fma fsgsbase fxsr gfni invpcid lzcnt mmx movbe pclmul popcnt prfchw "
    "rdpid rdrnd rdseed sahf sha shstk sse sse2 sse3 sse4.1 sse4.2 sse4a ssse3 vaes vpclmulqdq "
    "xsave xsavec xsaveopt xsaves"
)
LINUX_FLAGS = (
    "fpu cx8 cmov clflush mmx fxsr sse sse2 syscall lm pni pclmulqdq ssse3 fma cx16 sse4_1 sse4_2 "
    "movbe popcnt aes xsave avx f16c rdrand lahf_lm abm sse4a 3dnowprefetch fsgsbase bmi1 avx2 "
    "bmi2 invpcid avx512f avx512dq rdseed adx avx512ifma clflushopt clwb avx512cd sha_ni avx512bw "
    "avx512vl xsaveopt xsavec avx512_bf16 avx512vbmi avx512_vbmi2 gfni vaes vpclmulqdq "
    "avx512_vnni avx512_bitalg avx512_vpopcntdq rdpid"
)


def test_names_of_features(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM and Linux name the same features differently; none may seem to be missing."""
    flags = frozenset(flag.replace("_", "") for flag in LINUX_FLAGS.split())
    monkeypatch.setattr(host, "features", lambda: flags)
    assert host.missing_features(tuple(LLVM_FEATURES.split())) == ()
    assert host.missing_features(("avx2", "amx-tile", "sve")) == ("amx-tile", "sve")


@pytest.mark.skipif(platform.machine() != "x86_64", reason="names of x86")
def test_this_machine_has_its_base() -> None:
    assert host.missing_features(("64bit", "sse2", "fxsr", "x87", "cmov", "mmx", "cx8")) == ()


# -- images --------------------------------------------------------------------------------------


def test_bytes_that_are_no_image_raise(kernel: bytes) -> None:
    for bad in (b"x", b"MZ" * 100, kernel[:64], kernel[:20], b"\x7fELF\2\1" + bytes(58)):
        with pytest.raises(ark.BundleError, match="section kernel"):
            load(bad)


def test_an_image_for_another_machine(kernel: bytes) -> None:
    other = kernel[:18] + struct.pack("<H", 243) + kernel[20:]
    with pytest.raises(ark.BundleError, match="machine 243"):
        load(other)


def test_a_program_is_no_kernel(build: Callable[..., bytes]) -> None:
    program = build("int main(void) { return 0; }", "-no-pie", "-fno-pic", "-Wl,-no-pie")
    with pytest.raises(ark.BundleError, match="section kernel"):
        load(program)
    with pytest.raises(ark.BundleError, match="section kernel"):
        load(Path(sys.executable).read_bytes())


def test_constructors_are_refused(build: Callable[..., bytes], tmp_path: Path) -> None:
    """Code must not run on load: this would leave a file."""
    mark = tmp_path / "ran"
    text = f"""
    #include <stdio.h>
    __attribute__((constructor)) void start(void) {{ fclose(fopen("{mark}", "w")); }}
    int ark_kernel(const void *c, long lane) {{ return 0; }}
    """
    with pytest.raises(ark.BundleError, match="constructor"):
        load(build(text, "-nostartfiles"))
    with pytest.raises(ark.BundleError, match="structor"):
        load(build(text))
    assert not mark.exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("-Wl,-rpath,/tmp", "library path"),
        ("-Wl,-z,execstack", "executable stack"),
        ("-Wl,-init=ark_kernel", "constructor"),
        ("-Wl,-fini=ark_kernel", "destructor"),
    ],
)
def test_kernels_with_forbidden_parts_raise(kernel: bytes, option: str, message: str) -> None:
    with pytest.raises(ark.BundleError, match=message):
        load(compile_kernel(option))


def test_libraries_are_refused(build: Callable[..., bytes], tmp_path: Path) -> None:
    (tmp_path / "libother.so").write_bytes(build("int other;", "-nostartfiles"))
    text = "extern int other; int ark_kernel(const void *c, long l) { return other; }"
    with pytest.raises(ark.BundleError, match="needs the library 'libother"):
        load(build(text, "-nostartfiles", f"-L{tmp_path}", "-Wl,--no-as-needed", "-lother"))


def test_no_entry(kernel: bytes) -> None:
    with pytest.raises(ark.BundleError, match="does not export 'other'"):
        load(kernel, lambda m: m.update(entry="other"))


def test_undefined_symbols(build: Callable[..., bytes]) -> None:
    text = "int nowhere(void); int ark_kernel(const void *c, long l) { return nowhere(); }"
    with pytest.raises(ark.BundleError, match="nowhere"):
        load(build(text, "-nostartfiles"))


def test_two_kernels_at_once_and_one_after_the_other(build: Callable[..., bytes]) -> None:
    """The C library identifies libraries by path: a kernel must not get the code of another one."""

    def returning(code: int) -> bytes:
        return build(f"int ark_kernel(const void *c, long l) {{ return {code}; }}", "-nostartfiles")

    program = ToyProgram(sms=1)
    program.lane(0, [run(program.task("nothing"), 0, 1)])
    kept: list[Executable] = []
    for code in (7, 8, 9, 10):
        executable = Executable.from_parts(*program.parts(returning(code)))
        with pytest.raises(ark.DeviceError, match=rf"codes \{{0: {code}\}}"):
            executable.run()
        kept.append(executable)
        if code % 2:
            executable.close()
    with pytest.raises(ark.DeviceError, match=r"\{0: 8\}"):
        kept[1].run()


def test_where_anonymous_files_cannot_be_run(
    kernel: bytes, x: Array, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """With vm.memfd_noexec, a private file is used and removed at once."""

    def refuse(data: memoryview) -> Any:
        raise OSError("anonymous files may not be executed here")

    monkeypatch.setattr(image, "_through_memory", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    executable = load(kernel).bind({"w": np.ones(128, np.float32)})
    assert list(tmp_path.iterdir()) == []
    assert np.array_equal(executable.run(x=x)["y"], np.arange(128) + 1.5)
    executable.close()


def test_a_folder_for_temporary_files_that_others_can_write(
    kernel: bytes, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Without the sticky bit of /tmp, another user could replace the kernel."""

    def refuse(data: memoryview) -> Any:
        raise OSError("anonymous files may not be executed here")

    monkeypatch.setattr(image, "_through_memory", refuse)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(ark.BundleError, match="anonymous files may not") as caught:
        load(kernel)
    assert f"no safe folder for temporary files: {tmp_path} can be written" in str(caught.value)
    assert list(tmp_path.iterdir()) == []
    tmp_path.chmod(0o1777)
    load(kernel).close()


def test_tools_that_leave_code_where_others_can_write(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    from ark_mlir.targets.scratch import scratch_folder

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    tmp_path.chmod(0o777)
    with pytest.raises(ark.CompileError, match="no safe folder for"), scratch_folder():
        pass
    assert list(tmp_path.iterdir()) == []
    tmp_path.chmod(0o1777)
    with scratch_folder() as folder:
        assert folder.is_dir()


# -- code that loading must not run --------------------------------------------------------------

AUDIT = """
import sys
import ark_mlir as ark, numpy as np
import ark_mlir.runtime.cpu.driver, ark_mlir.runtime.cpu.image
import ctypes, _ctypes, json.decoder, ml_dtypes
ark.bf16.numpy
seen = []
names = ("exec", "compile", "import", "pickle", "marshal", "subprocess", "os.exec", "os.system",
         "os.fork", "os.posix_spawn", "socket")
sys.addaudithook(lambda name, args: seen.append((name, args)) if name.startswith(names) else None)
executable = ark.load(sys.argv[1])
print([event for event in seen if event[0] != "import" or event[1][0] not in sys.modules])
"""


def test_loading_runs_no_code(kernel: bytes, tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts(kernel))
    result = subprocess.run(
        [sys.executable, "-c", AUDIT, tmp_path / "a.arkbin"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (result.stdout, result.stderr) == ("[]\n", "")


def test_the_runtime_imports_neither_compiler_nor_mlir(kernel: bytes, tmp_path: Path) -> None:
    write_bundle(tmp_path / "a.arkbin", *add_program().parts(kernel))
    script = (
        "import sys, ark_mlir.runtime, ark_mlir as ark; ark.load(sys.argv[1]).report();"
        "print([name for name in sys.modules if name.startswith("
        "('ark_mlir.ir', 'ark_mlir._mlir', 'ark_mlir.compiler', 'ark_mlir.frontend',"
        " 'ark_mlir.dialects', 'torch', 'safetensors'))])"
    )
    result = subprocess.run(
        [sys.executable, "-c", script, tmp_path / "a.arkbin"],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert result.stdout == "[]\n"

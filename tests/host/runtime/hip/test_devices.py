"""Missing software, GPUs that a bundle is not for, and launches that are not cooperative."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import write_bundle
from ark_mlir.cli.main import main
from ark_mlir.runtime.gpu.peers import ExportedPart, MappedParts, page_size
from ark_mlir.runtime.hip import api as hip_api
from ark_mlir.runtime.hip import library
from ark_mlir.runtime.hip.api import HipApi
from ark_mlir.runtime.hip.devices import make_driver
from ark_mlir.runtime.hip.library import ENUMERATIONS, FUNCTIONS, HipLibrary
from ark_mlir.testing.fake_gpu import FakeHip, OnDevice, fake_executable, fake_world
from ark_mlir.testing.toy import ToyProgram, add_program, ring_program, run, signal, wait

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)


class NoRocm(FakeHip):
    def hipInit(self, flags: int) -> Any:
        raise RuntimeError("failed to dlopen 'b'libamdhip64.so'': b'libamdhip64.so: no such file'")


class NoGpu(FakeHip):
    def hipInit(self, flags: int) -> Any:
        return (self.hipError_t.hipErrorNoDevice,)


class Empty(FakeHip):
    def hipGetDeviceCount(self) -> Any:
        return self.hipError_t.hipSuccess, 0


@pytest.mark.parametrize(
    ("hip", "message"),
    [
        (NoRocm(), r"hipInit failed: failed to dlopen libamdhip64\.so: libamdhip64\.so: no"),
        (NoGpu(), "needs a GPU of AMD: hipInit failed: hipErrorNoDevice"),
        (Empty(), "needs a GPU of AMD: this machine has none"),
    ],
    ids=["no ROCm", "no GPU", "no GPU in the list"],
)
def test_the_missing_requirement_is_named(hip: Any, message: str) -> None:
    with pytest.raises(ark.UnsupportedError, match=message) as caught:
        make_driver(library=hip)
    assert caught.value.notes == (
        "install ROCm 6.0 or later, and check that rocminfo lists the GPU",
    )


def test_a_gpu_that_is_not_there() -> None:
    with pytest.raises(ark.UnsupportedError, match="there is no GPU 2: this process sees 2 GPUs"):
        make_driver([2], FakeHip(devices=2))


def test_a_gpu_of_several_that_is_not_there() -> None:
    with pytest.raises(ark.UnsupportedError, match="there is no GPU 2") as caught:
        make_driver([0, 2], FakeHip(devices=2))
    assert caught.value.notes == ("compile with devices=[0] to run all ranks on one GPU",)


def test_rocm_without_uncached_memory(kernel: bytes) -> None:
    """Stores of another GPU would not arrive in memory that a GPU keeps in its L2."""
    hip = FakeHip(devices=2)
    hip.has_uncached = False
    world = fake_world(hip, kernel, ring_program(2), 2)
    with pytest.raises(ark.UnsupportedError, match="no uncached memory that GPUs share") as caught:
        world.prepare()
    assert caught.value.notes == (
        "install a later ROCm, or compile with devices=[0] to share one GPU",
    )
    assert hip.held == 0


def test_memory_of_a_file_descriptor() -> None:
    """A part that is exported is mapped beside a part of this process, and both are freed."""
    hip = FakeHip(devices=2, version=70151831)
    api = HipApi(hip)
    api.open()
    page = page_size(api)
    exported, own = ExportedPart(api, page), ExportedPart(api, page)
    file = exported.export()
    parts = MappedParts(api, own, [file, None], page)
    os.close(file)
    assert [parts.part(number).address - parts.address for number in range(2)] == [0, page]
    assert hip.may_access(hip.devices[0], parts.address, 2 * page)
    parts.free()
    exported.release()
    own.release()
    assert hip.held == 0


def test_rocm_that_imports_no_file_descriptors() -> None:
    hip = FakeHip(version=70051831)
    api = HipApi(hip)
    api.open()
    page = page_size(api)
    exported = ExportedPart(api, page)
    file = exported.export()
    with pytest.raises(
        ark.UnsupportedError, match=r"from ROCm 7\.1 on; this is HIP 7\.0"
    ) as caught:
        MappedParts(api, None, [file], page)
    os.close(file)
    assert caught.value.notes == ("install ROCm 7.1 or later",)
    exported.release()
    assert hip.held == 0


def test_without_the_package(
    kernel: bytes,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend="hip", arch="gfx942")
    path = tmp_path / "a.arkbin"
    write_bundle(path, manifest, sections)
    message = f"{path}: a program for hip needs the package hip-python to run"
    with pytest.raises(ark.UnsupportedError, match=message) as caught:
        ark.load(path)
    assert caught.value.notes == ("pip install 'ark-mlir[hip]'",)
    assert main(["run", str(path)]) == 1
    assert message in capsys.readouterr().err


def complete_module() -> Any:
    """Returns a module with all names that the runtime needs."""
    enumerations = {
        name: SimpleNamespace(**dict.fromkeys(members, 0)) for name, members in ENUMERATIONS.items()
    }
    return SimpleNamespace(**dict.fromkeys(FUNCTIONS, print), **enumerations)


def pretend_torch(monkeypatch: pytest.MonkeyPatch, hip: str | None) -> None:
    """Makes a module torch seem imported, which is built for a version of HIP or for CUDA."""
    torch = SimpleNamespace(version=SimpleNamespace(hip=hip), __file__="/site/torch/__init__.py")
    monkeypatch.setitem(sys.modules, "torch", torch)


def pretend_files(monkeypatch: pytest.MonkeyPatch, folder: Path, *names: str) -> None:
    """Makes this process seem to have mapped files, each at two addresses."""
    lines = [
        f"7f{number:02x}0000-7f{number:02x}1000 r-xp 00000000 08:01 {number}    {name}"
        for number, name in enumerate(sorted(names * 2))
    ]
    maps = folder / "maps"
    maps.write_text("\n".join(lines), encoding="utf-8")
    monkeypatch.setattr(library, "_MAPS", maps)


OF_ROCM, OF_TORCH = "/opt/rocm/lib/libamdhip64.so.6.4.43484", "/site/torch/lib/libamdhip64.so"


def test_pytorch_and_hip_python_with_a_library_each(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The error names both, and the variable that leads hip-python to PyTorch's."""
    pretend_torch(monkeypatch, "6.4")
    pretend_files(monkeypatch, tmp_path, OF_ROCM, OF_TORCH, "/usr/lib/libc.so.6")
    with pytest.raises(ark.UnsupportedError) as caught:
        HipApi(FakeHip())
    assert f"two HIP libraries, {OF_ROCM} and {OF_TORCH}" in caught.value.message
    assert "ROCM_PATH=/site/torch" in caught.value.notes[0]


def test_a_library_that_was_replaced_and_one_that_pytorch_does_not_contain(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_torch(monkeypatch, "6.4")
    spaced = "/lib/a folder/libamdhip64.so"
    pretend_files(monkeypatch, tmp_path, f"{OF_ROCM} (deleted)", spaced)
    with pytest.raises(ark.UnsupportedError) as caught:
        HipApi(FakeHip())
    assert f"two HIP libraries, {spaced} and {OF_ROCM}, and" in caught.value.message
    assert "ROCM_PATH" not in caught.value.notes[0]


@pytest.mark.parametrize(
    ("hip", "names"),
    [
        ("6.4", [OF_TORCH, "/usr/lib/libc.so.6"]),
        ("6.4", [OF_ROCM, "/opt/rocm/lib/libamdhip64.so.debug/other"]),
        (None, [OF_ROCM, OF_TORCH]),
    ],
    ids=["one library", "another file", "torch for CUDA"],
)
def test_one_hip_library(
    hip: str | None, names: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    pretend_torch(monkeypatch, hip)
    pretend_files(monkeypatch, tmp_path, *names)
    assert HipApi(FakeHip()).device_count == 1


def test_a_system_that_lists_no_files(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    pretend_torch(monkeypatch, "6.4")
    monkeypatch.setattr(library, "_MAPS", tmp_path / "none")
    assert HipApi(FakeHip()).device_count == 1


@pytest.mark.parametrize(
    ("text", "at_once"),
    [(None, True), ("-1\n", True), ("8\n", True), ("?", True), ("0\n", False), ("1\n", False)],
)
def test_kernels_of_several_processes(
    text: str | None, at_once: bool, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """An option of AMD's kernel module limits the processes; a container may hide the option."""
    option = tmp_path / "hws_max_conc_proc"
    if text is not None:
        option.write_text(text, encoding="ascii")
    monkeypatch.setattr(hip_api, "_PROCESSES", option)
    assert HipApi(FakeHip()).runs_processes_at_once is at_once


@pytest.mark.parametrize("missing", ["hipExtMallocWithFlags", "hipDeviceAttribute_t"])
def test_a_package_that_is_too_old(missing: str) -> None:
    HipLibrary(complete_module())
    module = complete_module()
    delattr(module, missing)
    with pytest.raises(ark.UnsupportedError, match="hip-python is too old: it has no hip") as error:
        HipLibrary(module)
    assert error.value.notes == ("pip install 'ark-mlir[hip]'",)


@pytest.mark.parametrize(
    ("says", "kind", "match"),
    [
        (
            RuntimeError("failed to dlsym 'hipModuleLaunchKernel'"),
            ark.UnsupportedError,
            "ROCm of this machine is too old: .*hipModuleLaunchKernel",
        ),
        (RuntimeError("out of handles"), ark.DeviceError, "LaunchKernel failed: out of handles"),
        (ValueError("1099 is not a valid hipError_t"), ark.DeviceError, "failed: 1099 is not"),
    ],
    ids=["ROCm that is too old", "anything else", "an error that hip-python does not know"],
)
def test_errors_of_the_package(
    kernel: bytes, x: Array, says: Exception, kind: type[ark.ArkError], match: str
) -> None:
    class Raises(FakeHip):
        def hipModuleLaunchKernel(self, *arguments: Any) -> Any:
            raise says

    hip = Raises()
    with fake_executable(hip, kernel, add_program()) as exe:
        exe.bind({"w": W})
        with pytest.raises(kind, match=match):
            exe.run(x=x)
    assert hip.held == 0


# -- bundles ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("arch", ["gfx90a", "gfx950", "gfx9"])
def test_a_gpu_of_another_architecture(kernel: bytes, arch: str) -> None:
    hip = FakeHip()
    exe = fake_executable(hip, kernel, add_program(), target={"arch": arch})
    with pytest.raises(ark.UnsupportedError, match=f"for {arch}; this GPU is gfx942") as error:
        exe.prepare()
    assert error.value.notes == ("compile the program with the target hip:gfx942",)
    assert hip.held == 0


def test_a_code_object_that_the_loader_refuses(kernel: bytes) -> None:
    hip = FakeHip()
    hip.refuses_image = True
    exe = fake_executable(hip, kernel, add_program())
    failed = "hipModuleLoadData failed: hipErrorNoBinaryForGpu"
    with pytest.raises(ark.DeviceError, match=failed) as error:
        exe.prepare()
    assert "compile the program again with the target hip:gfx942" in str(error.value)
    assert hip.held == 0
    hip.refuses_image = False
    exe.prepare().close()
    assert hip.held == 0


def test_bytes_that_are_no_code_object() -> None:
    hip = FakeHip()
    with pytest.raises(ark.BundleError, match="section kernel: is not a code object"):
        fake_executable(hip, b"nonsense", add_program()).prepare()
    assert hip.held == 0


# -- launches --------------------------------------------------------------------------------------


def test_lanes_begin_as_others_end(kernel: bytes, x: Array) -> None:
    """A launch is not cooperative: without waits between lanes it needs no room for all of them."""
    hip = FakeHip(sms=3)
    program = ToyProgram(sms=3)
    state = program.buffer("n", "state", "int64", [3])
    for lane in range(3):
        program.lane(lane, [run(program.task("count", 1, [(state, 8 * lane)]), 0, 1)])
    with fake_executable(hip, kernel, program) as exe:
        hip.busy = 2
        exe.run()
        assert exe.states["n"].tolist() == [1, 1, 1]
    assert hip.held == 0


def _late_program() -> ToyProgram:
    """Lane 0 waits for lane 1."""
    program = ToyProgram(sms=2)
    state, done = program.buffer("n", "state", "int64", []), program.semaphore(1)
    count = program.task("count", 1, [(state, 0)])
    program.lane(0, [wait(done, 1), run(count, 0, 1)])
    program.lane(1, [signal(done)])
    return program


def test_a_lane_without_room(kernel: bytes) -> None:
    """The lane that has begun waits for one that has not: the error has their number."""
    hip = FakeHip(sms=2)
    with ark.knobs.scope(ARK_TIMEOUT="0.2"), fake_executable(hip, kernel, _late_program()) as exe:
        hip.busy = 1
        late = r"1 of 2 lanes had not begun when lane 0 .* had waited 0.2 s for semaphore"
        with pytest.raises(ark.BusyError, match=late) as error:
            exe.run()
        assert "wait for other work on the GPU to end" in str(error.value)
        hip.busy = 0
        exe.reset()
        exe.run()
        assert exe.states["n"] == 1
    assert hip.held == 0


def test_a_lane_without_room_in_a_block_of_resident(kernel: bytes) -> None:
    hip = FakeHip(sms=2)
    with ark.knobs.scope(ARK_TIMEOUT="0.2"), fake_executable(hip, kernel, _late_program()) as exe:
        hip.busy = 1
        late = "1 of 2 lanes had not begun"
        with exe.resident() as session, pytest.raises(ark.BusyError, match=late):
            session.run()
        hip.busy = 0
        exe.reset()
        exe.run()
        assert exe.states["n"] == 1
    assert hip.held == 0


def test_a_hang_of_lanes_that_have_begun(kernel: bytes) -> None:
    """A wait that no lane satisfies is a HangError, without notes on lanes."""
    program = ToyProgram(sms=2)
    state, never = program.buffer("n", "state", "int64", []), program.semaphore(2)
    program.lane(0, [wait(never, 2), run(program.task("count", 1, [(state, 0)]), 0, 1)])
    program.lane(1, [signal(never)])
    hip = FakeHip(sms=2)
    with ark.knobs.scope(ARK_TIMEOUT="0.2"), fake_executable(hip, kernel, program) as exe:
        with pytest.raises(ark.HangError, match="saw 1, expected 2") as error:
            exe.run()
        assert "begun" not in str(error.value)
    assert hip.held == 0


def test_a_kernel_that_fails(kernel: bytes, x: Array) -> None:
    """The failed run, every later run and `close` raise the reason."""
    hip = FakeHip()
    with fake_executable(hip, kernel, add_program()) as exe:
        exe.bind({"w": W}).run(x=x)
        hip.crashes = True
        for _ in range(2):
            with pytest.raises(ark.DeviceError, match="hipErrorIllegalAddress"):
                exe.run(x=x)
        with pytest.raises(ark.DeviceError, match="hipErrorIllegalAddress"):
            exe.close()


# -- the current device, and errors that threads keep ----------------------------------------------


def test_another_current_device_is_restored(kernel: bytes, x: Array) -> None:
    """Memory may be freed in a thread that uses another GPU."""
    hip = FakeHip(devices=2)
    exe = fake_executable(hip, kernel, add_program()).bind({"w": W})
    exe.run(x=x)
    hip.hipSetDevice(1)
    exe.close()
    assert hip.hipGetDevice()[1] == 1
    assert hip.held == 0


def test_no_error_is_left_for_other_libraries(kernel: bytes, x: Array) -> None:
    """PyTorch reports the last error of its thread as its own."""
    hip = FakeHip()
    assert HipApi(hip).ordinal_of(64) is None
    assert hip.last_error == 0
    with fake_executable(hip, kernel, add_program()) as exe:
        exe.bind({"w": W})
        hip.fail_at = len(hip.calls) + 3
        with pytest.raises(ark.DeviceError):
            exe.run(x=x)
    assert hip.last_error == 0


def test_arrays_of_cuda_are_refused(kernel: bytes, x: Array) -> None:
    hip = FakeHip()
    given = OnDevice(x)
    given.device_type = 2
    with fake_executable(hip, kernel, add_program()) as exe:
        exe.bind({"w": OnDevice(W)})
        with pytest.raises(ark.InvalidUsageError, match="on cuda:0; the program runs on rocm:0"):
            exe.run(x=given)

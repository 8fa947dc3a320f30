"""Arrays on a GPU are bound, read and written in place, on stand-ins for GPUs."""

from __future__ import annotations

import gc
import threading
import time
import weakref
from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from internals import driver_of

import ark_mlir as ark
from ark_mlir import dtypes
from ark_mlir.runtime import Executable
from ark_mlir.runtime.arrays.dlpack import DeviceExporter, Exporter
from ark_mlir.testing import fake_gpu
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, run

Array = np.ndarray[Any, Any]
W = np.arange(128, dtype=np.float32)
CUDA = 2


def aligned(array: Array, offset: int = 0) -> Array:
    """Returns a copy that begins `offset` bytes after a multiple of 256."""
    block = np.zeros(array.nbytes + 512, np.uint8)
    start = -block.ctypes.data % 256 + offset
    copy = block[start : start + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class OnDevice:
    """An array on the stand-in's device that has only DLPack."""

    def __init__(self, array: Array, number: int = 0) -> None:
        self.array = array
        self.number = number
        self.streams: list[object] = []

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        self.streams.append(stream)
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return fake_gpu.OnDevice.device_type, self.number


class Interface:
    """An array on the stand-in's device that has only the CUDA array interface."""

    def __init__(self, array: Array, stream: int | None = None) -> None:
        self.array = array
        record = array.__array_interface__
        self.__cuda_array_interface__ = {**record, "version": 3, "stream": stream}


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield executable
    assert cuda.held == 0


@pytest.mark.parametrize("library", [OnDevice, Interface])
def test_parameters_and_inputs_are_used_in_place(
    exe: Executable, x: Array, library: type[Any]
) -> None:
    w, x = aligned(W), aligned(x)
    exe.bind({"w": library(w)})
    assert exe.report().bound_in_place == 512
    y = np.zeros(128, np.float32)
    exe.run(x=library(x), out={"y": library(y := aligned(y))})
    np.testing.assert_array_equal(y, x.ravel() + W + 0.5)
    # The array is bound in place, so that later writes to it are visible.
    w += 1
    exe.run(x=library(x), out={"y": library(y)})
    np.testing.assert_array_equal(y, x.ravel() + W + 1.5)


def test_host_arrays_beside_those_of_the_device(exe: Executable, x: Array) -> None:
    exe.bind({"w": W})
    assert exe.report().bound_copied == 512
    y = aligned(np.zeros(128, np.float32))
    exe.run(x=x, out={"y": OnDevice(y)})
    np.testing.assert_array_equal(y, x.ravel() + W + 0.5)
    result = exe.run(x=x)["y"]
    assert isinstance(result, np.ndarray)
    np.testing.assert_array_equal(result, y)


def test_outputs_stay_where_inputs_are(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    """Without a framework's allocator, outputs are ark's memory, which lives as long as they do."""
    exe.bind({"w": W}).run(x=x)
    held = cuda.held
    result = exe.run(x=OnDevice(aligned(x)))["y"]
    assert result.__dlpack_device__() == (cuda.device_type, 0)
    assert cuda.held == held + 1
    record = result.__cuda_array_interface__
    assert (record["shape"], record["typestr"]) == ((128,), "<f4")
    read = np.asarray(type("Host", (), {"__array_interface__": record}))
    np.testing.assert_array_equal(read, x.ravel() + W + 0.5)
    del result
    gc.collect()
    assert cuda.held == held


@pytest.mark.parametrize("dtype", dtypes.ALL, ids=str)
def test_an_exported_array_is_read_unchanged(dtype: ark.DType) -> None:
    """A round trip preserves address, dtype, owner and device."""
    from ark_mlir.runtime.arrays.dlpack import describe_dlpack

    array = aligned(np.arange(6).reshape(2, 3).astype(dtype.numpy))
    owner = type("Owner", (), {})()
    gone = weakref.ref(owner)
    exported = DeviceExporter(array.ctypes.data, dtype, (2, 3), (CUDA, 1), owner)
    del owner
    address, found, shape, dense, capsule = describe_dlpack(exported, "x", 1)
    assert (address, found, shape, dense) == (array.ctypes.data, dtype, (2, 3), True)
    assert exported.__dlpack_device__() == (CUDA, 1)
    del exported
    gc.collect()
    assert gone() is not None
    del capsule
    gc.collect()
    assert gone() is None


def test_an_export_to_another_device_raises() -> None:
    exported = DeviceExporter(256, ark.fp32, (1,), (CUDA, 0), None)
    for arguments in ({"copy": True}, {"dl_device": (1, 0)}):
        with pytest.raises(BufferError):
            exported.__dlpack__(**arguments)  # type: ignore[arg-type]


BAD: dict[str, tuple[Any, str]] = {
    "device": (
        lambda a: OnDevice(aligned(a), 1),
        "is on (cuda|rocm):1; the program runs on (cuda|rocm):0",
    ),
    "dtype": (lambda a: OnDevice(aligned(a).view(np.int32)), "has elements of int32; expected"),
    "shape": (lambda a: OnDevice(aligned(a)[..., :3]), "has shape "),
    "strides": (
        lambda a: OnDevice(np.repeat(aligned(a), 2, -1)[..., ::2]),
        "is not dense and row-major",
    ),
    "alignment": (lambda a: OnDevice(aligned(a, 4)), "begins at .* not a multiple of 16"),
    "interface": (
        lambda a: Interface(np.repeat(aligned(a), 2, -1)[..., ::2]),
        "is not dense and row-major",
    ),
    "elements": (lambda a: Interface(a.astype(np.float64)), "has elements of <f8"),
    "big-endian": (lambda a: Interface(a.astype(">f4")), "has elements of >f4"),
}


@pytest.mark.parametrize("case", BAD)
def test_arrays_that_a_kernel_cannot_use(exe: Executable, x: Array, case: str) -> None:
    """`bind` and `run` raise an error that names the array; the next call works."""
    spoil, message = BAD[case]
    with pytest.raises(ark.InvalidUsageError, match=f"parameter 'w' {message}"):
        exe.bind({"w": spoil(W)})
    exe.bind({"w": OnDevice(aligned(W))})
    with pytest.raises(ark.InvalidUsageError, match=f"input 'x' {message}"):
        exe.run(x=spoil(x))
    with pytest.raises(ark.InvalidUsageError, match=f"output 'y' {message}"):
        exe.run(x=x, out={"y": spoil(W)})
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)


def test_outputs_that_cannot_be_written_raise(exe: Executable, x: Array) -> None:
    exe.bind({"w": W})
    with pytest.raises(ark.InvalidUsageError, match="there is no output 'z'"):
        exe.run(x=x, out={"z": W})
    with pytest.raises(ark.InvalidUsageError, match="output 'y' cannot be written in place"):
        exe.run(x=x, out={"y": np.zeros(128, np.float32)})


def test_a_malformed_interface(exe: Executable, x: Array) -> None:
    bad = Interface(W)
    bad.__cuda_array_interface__ = {"shape": (128,), "data": None, "typestr": "<f4"}
    with pytest.raises(ark.InvalidUsageError, match="parameter 'w' has a malformed"):
        exe.bind({"w": bad})


def test_a_misaligned_host_array_is_copied(exe: Executable, x: Array) -> None:
    exe.bind({"w": aligned(W, 4)})
    np.testing.assert_array_equal(exe.run(x=aligned(x, 4))["y"], x.ravel() + W + 0.5)


def test_bound_arrays_live_as_long_as_the_executable(exe: Executable, x: Array) -> None:
    w = OnDevice(aligned(W))
    gone = weakref.ref(w.array)
    exe.bind({"w": w})
    del w
    gc.collect()
    assert gone() is not None
    exe.run(x=x)
    exe.close()
    gc.collect()
    assert gone() is None


def test_inputs_live_as_long_as_the_run(exe: Executable, x: Array) -> None:
    exe.bind({"w": W})
    given = aligned(x)
    gone = weakref.ref(given)
    exe.run(x=OnDevice(given))
    exe.run(x=x)
    del given
    gc.collect()
    assert gone() is None


def test_initial_values_of_states(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "int64", [])
    program.lane(0, [run(program.task("count", 1, [(state, 0)]), 0, 1)])
    with fake_executable(cuda, kernel, program) as exe:
        initial = aligned(np.array(40, np.int64))
        exe.bind({"n": OnDevice(initial)})
        initial[...] = 0
        exe.run(iterations=2)
        assert exe.states["n"] == 42
        exe.reset()
        assert exe.states["n"] == 40


def test_scalars_on_the_device(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=1)
    n = program.buffer("n", "scalar", "int32", [], max=7)
    y = program.buffer("y", "output", "int32", [3])
    program.lane(0, [run(program.task("fill", 3, [(y, 0), (n, 0)]), 0, 3)])
    with fake_executable(cuda, kernel, program) as exe:
        for shape in ((), (1,), (1, 1)):
            y5 = aligned(np.zeros(3, np.int32))
            exe.run(n=OnDevice(aligned(np.full(shape, 5, np.int32))), out={"y": OnDevice(y5)})
            assert y5.tolist() == [5, 5, 5]
        assert exe.run(n=7)["y"].tolist() == [7, 7, 7]
        with pytest.raises(ark.InvalidUsageError, match="n' is 8; it must be in"):
            exe.run(n=8)
        with pytest.raises(ark.InvalidUsageError, match="n' has elements of int64"):
            exe.run(n=OnDevice(aligned(np.full((), 5, np.int64))))
        with pytest.raises(ark.InvalidUsageError, match=r"n' has shape \[2\]"):
            exe.run(n=OnDevice(aligned(np.full(2, 5, np.int32))))


@pytest.mark.parametrize("rows", [64, 40_000])
def test_arrays_of_every_size_from_the_host(cuda: FakeCuda, kernel: bytes, rows: int) -> None:
    """Small inputs are part of the launch record; large ones are copied separately."""
    program = ToyProgram(sms=1)
    x = program.buffer("x", "input", "bf16", [rows, 32])
    y = program.buffer("y", "output", "bf16", [rows, 32])
    program.lane(0, [run(program.task("copy", rows, [(y, 0), (x, 0)]), 0, rows)])
    with fake_executable(cuda, kernel, program) as exe:
        for seed in range(3):
            values = np.random.default_rng(seed).standard_normal((rows, 32))
            array = values.astype(ml_dtypes.bfloat16)
            np.testing.assert_array_equal(exe.run(x=array)["y"], array)
            np.testing.assert_array_equal(exe.run(x=array[::-1])["y"], array[::-1])
    assert cuda.held == 0


def test_a_run_uses_the_given_stream(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    exe.bind({"w": W})
    stream = cuda.new_stream()
    exe.run(x=x)
    exe.run(x=x, stream=stream)
    exe.run(x=x, stream=type("Stream", (), {"__cuda_stream__": lambda self: (0, stream)})())
    exe.run(x=x, stream=type("Stream", (), {"cuda_stream": stream})())
    exe.run(x=x, stream=type("Stream", (), {"ptr": 0})())
    assert cuda.launched[1:] == [stream, stream, stream, 0]
    assert cuda.launched[0] not in (0, stream)
    for bad in ("x", True, 1.5, object()):
        with pytest.raises(ark.InvalidUsageError, match="stream is a"):
            exe.run(x=x, stream=bad)


def write_late(cuda: FakeCuda, stream: int, array: Array, values: Array) -> None:
    """Writes an array on a stream that takes 0.1 s for it."""
    start = time.monotonic()

    def write() -> bool:
        if time.monotonic() - start < 0.1:
            return False
        array[...] = values
        return True

    cuda.delay(stream, write)


def test_a_run_waits_for_the_streams_that_write_its_inputs(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """A slow stream writes an input; the run on another stream reads the written values."""
    exe.bind({"w": W})
    producer, late = cuda.new_stream(), aligned(np.zeros_like(x))
    write_late(cuda, producer, late, x)
    y = aligned(np.zeros(128, np.float32))
    exe.run(x=Interface(late, stream=producer), out={"y": Interface(y)})
    np.testing.assert_array_equal(y, x.ravel() + W + 0.5)
    assert [second for _, second in cuda.waits] == [producer]


def test_runs_do_not_wait_for_unrelated_streams(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    exe.bind({"w": W})
    done = threading.Event()
    cuda.delay(cuda.new_stream(), done.is_set)
    cuda.delay(0, done.is_set)
    np.testing.assert_array_equal(exe.run(x=x)["y"], x.ravel() + W + 0.5)
    assert exe.report().bound_copied == 512
    done.set()


def test_producers_get_the_number_of_the_reading_stream(
    exe: Executable, cuda: FakeCuda, x: Array
) -> None:
    """DLPack's number of CUDA's legacy default stream is 1, and of HIP's default stream 0."""
    w, given = OnDevice(aligned(W)), OnDevice(aligned(x))
    exe.bind({"w": w})
    stream = cuda.new_stream()
    y = OnDevice(aligned(np.zeros(128, np.float32)))
    for number in (stream, 0):
        exe.run(x=given, stream=number, out={"y": y})
    default = 1 if cuda.device_type == CUDA else 0
    assert given.streams == y.streams == [stream, default]
    assert w.streams == [driver_of(exe)._streams.kernels]  # type: ignore[attr-defined]


def test_parameters_are_ready_when_bound(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    producer, w = cuda.new_stream(), aligned(np.zeros_like(W))
    write_late(cuda, producer, w, W)
    exe.bind({"w": Interface(w, stream=producer)})
    assert w[1] == 1


def test_a_cpu_program_has_no_stream(kernel: bytes, x: Array) -> None:
    with Executable.from_parts(*add_program().parts(kernel)) as exe:
        exe.bind({"w": W})
        with pytest.raises(ark.InvalidUsageError, match="takes no stream"):
            exe.run(x=x, stream=0)
        y = aligned(np.zeros(128, np.float32))
        assert exe.run(x=x, out={"y": y})["y"] is y
        np.testing.assert_array_equal(y, x.ravel() + W + 0.5)
        with pytest.raises(ark.InvalidUsageError, match="cannot be written in place"):
            exe.run(x=x, out={"y": np.zeros(256, np.float32)[::2]})
        exe.check()

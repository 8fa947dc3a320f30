"""Arrays and streams on the GPUs of several ranks, on stand-ins for GPUs."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any

import numpy as np
import pytest
from ring_worlds import bound_world, check_run, inputs, weights

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime.arrays import streams as array_streams
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_api, fake_world
from ark_mlir.testing.toy import ring_program

Array = np.ndarray[Any, Any]
Arrays = list[dict[str, Any]]


def on_gpus(arrays: Arrays) -> list[dict[str, OnDevice]]:
    """Copies of each rank's arrays on the GPU with the number of the rank."""
    return [
        {name: OnDevice(array, rank) for name, array in entry.items()}
        for rank, entry in enumerate(arrays)
    ]


def sums(scale: int = 1) -> list[Array]:
    """The outputs of `ring_program` for two ranks."""
    sent = [
        given["x"] + bound["w"] for given, bound in zip(inputs(2, scale), weights(2), strict=True)
    ]
    return [each + np.float32(0.5) for each in reversed(sent)]


def read(exported: Any) -> Array:
    """The values of an output on a GPU, which is memory of the host."""
    record = exported.__cuda_array_interface__
    return np.asarray(type("Host", (), {"__array_interface__": record}))


def check(outputs: Arrays, scale: int = 1) -> None:
    for output, expected in zip(outputs, sums(scale), strict=True):
        np.testing.assert_array_equal(read(output["y"]), expected)


# -- arrays ----------------------------------------------------------------------------------


def test_parameters_are_used_in_place(two: FakeCuda, kernel: bytes) -> None:
    given = on_gpus(weights(2))
    with fake_world(two, kernel, ring_program(2), 2).bind(given) as world:
        assert world.report().bound_in_place == 2 * 512
        check_run(world)
        given[0]["w"].array[...] = 0
        np.testing.assert_array_equal(world.run(inputs(2))[1]["y"], np.full(128, 10.5))


def test_inputs_and_outputs_are_used_in_place(two: FakeCuda, kernel: bytes) -> None:
    out = on_gpus([{"y": np.zeros(128, np.float32)}] * 2)
    with bound_world(two, kernel) as world:
        check_run(world)
        two.operations.clear()
        results = world.run(on_gpus(inputs(2)), out=out)
        # The launch records alone, and no array, are copied.
        assert two.operations.count("cuMemcpyHtoDAsync") == 2
        assert two.operations.count("cuMemcpyDtoHAsync") == 2
        assert "cuMemAlloc" not in two.operations
    for rank in range(2):
        assert results[rank]["y"] is out[rank]["y"]
        np.testing.assert_array_equal(out[rank]["y"].array, sums()[rank])


def test_new_outputs_are_where_the_inputs_of_their_rank_are(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        mixed = [inputs(2)[0], on_gpus(inputs(2))[1]]
        here, there = world.run(mixed)
        assert isinstance(here["y"], np.ndarray)
        assert there["y"].__dlpack_device__() == (two.device_type, 1)
        both = world.run(on_gpus(inputs(2)))
        assert [entry["y"].__dlpack_device__() for entry in both] == [
            (two.device_type, 0),
            (two.device_type, 1),
        ]
        np.testing.assert_array_equal(here["y"], sums()[0])
        del here, there, both


def test_initial_values_of_states(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        counts = [{"n": np.array(10 * rank, np.int64)} for rank in range(2)]
        world.bind(on_gpus(counts), strict=False)
        check_run(world)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(2)] == [1, 11]


def test_a_resident_world(two: FakeCuda, kernel: bytes) -> None:
    out = on_gpus([{"y": np.zeros(128, np.float32)}] * 2)
    with bound_world(two, kernel) as world, world.resident() as resident:
        for scale in (1, 2):
            resident.run(on_gpus(inputs(2, scale)), out=out)
            for rank in range(2):
                np.testing.assert_array_equal(out[rank]["y"].array, sums(scale)[rank])


def test_gpus_that_are_not_the_first_ones(vendor: type[FakeCuda], kernel: bytes) -> None:
    cuda = vendor(devices=4)
    numbers = [3, 1]
    given = [{"x": OnDevice(inputs(2)[rank]["x"], numbers[rank])} for rank in range(2)]
    with bound_world(cuda, kernel, devices=numbers) as world:
        outputs = world.run(given)
        assert [entry["y"].__dlpack_device__()[1] for entry in outputs] == numbers
        del outputs
        with pytest.raises(ark.InvalidUsageError, match=r"'rank0/x' is on \w+:1; rank 0 runs"):
            world.run(given[::-1])


@pytest.mark.parametrize("rank", [0, 1])
def test_an_array_on_the_gpu_of_another_rank(two: FakeCuda, kernel: bytes, rank: int) -> None:
    """The error names the rank and both GPUs, and no kernel is launched."""
    name = {"cuda": "cuda", "hip": "rocm"}[two.backend]
    there = f"is on {name}:{1 - rank}; rank {rank} runs on {name}:{rank}"
    x, w = inputs(2)[rank]["x"], weights(2)[rank]["w"]
    y = np.zeros(128, np.float32)
    with bound_world(two, kernel) as world:
        wrong = inputs(2)
        wrong[rank] = {"x": OnDevice(x, 1 - rank)}  # type: ignore[dict-item]
        with pytest.raises(ark.InvalidUsageError, match=f"input 'rank{rank}/x' {there}"):
            world.run(wrong)
        with pytest.raises(ark.InvalidUsageError, match=f"parameter 'rank{rank}/w' {there}"):
            world.bind({f"rank{rank}/w": OnDevice(w, 1 - rank)}, strict=False)
        with pytest.raises(ark.InvalidUsageError, match=f"output 'rank{rank}/y' {there}"):
            world.run(inputs(2), out={f"rank{rank}/y": OnDevice(y, 1 - rank)})
        assert two.launched == []
        check_run(world)


class Interface:
    """An array of a GPU that has only the CUDA array interface, which does not name the GPU."""

    def __init__(self, exported: Any) -> None:
        self._exported = exported

    @property
    def __cuda_array_interface__(self) -> dict[str, Any]:
        return self._exported.__cuda_array_interface__


def test_arrays_that_do_not_name_their_gpu(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        made = [{"x": Interface(entry["y"])} for entry in world.run(on_gpus(inputs(2)))]
        outputs = world.run(made)
        for rank in range(2):
            expected = sums()[1 - rank] + weights(2)[1 - rank]["w"] + np.float32(0.5)
            np.testing.assert_array_equal(read(outputs[rank]["y"]), expected)
        with pytest.raises(ark.InvalidUsageError, match=r"'rank0/x' is on \w+:1; rank 0 runs"):
            world.run(made[::-1])
        del made, outputs


def test_outputs_that_cannot_be_written(two: FakeCuda, kernel: bytes) -> None:
    y = np.zeros(128, np.float32)
    with bound_world(two, kernel) as world:
        with pytest.raises(ark.InvalidUsageError, match="'rank1/y' cannot be written in place"):
            world.run(inputs(2), out=[{}, {"y": y}])
        with pytest.raises(ark.InvalidUsageError, match="there is no output 'rank1/z'"):
            world.run(inputs(2), out=[{}, {"z": OnDevice(y, 1)}])
        with pytest.raises(ark.InvalidUsageError, match="a dict for each of the 2 ranks, not 1"):
            world.run(inputs(2), out=[{}])


def test_arrays_live_as_long_as_a_kernel_may_use_them(two: FakeCuda, kernel: bytes) -> None:
    """All outputs outlive the world."""
    with bound_world(two, kernel) as world:
        outputs = world.run(on_gpus(inputs(2)))
    assert two.held > 0
    check(outputs)
    del outputs


# -- streams ---------------------------------------------------------------------------------


def new_streams(cuda: FakeCuda) -> list[int]:
    """A stream of the caller on each of two GPUs."""
    streams: list[int] = []
    for ordinal in range(2):
        with cuda.on_device(ordinal):
            streams.append(cuda.new_stream())
    return streams


def test_streams_of_the_caller(two: FakeCuda, kernel: bytes) -> None:
    """Every launch waits for earlier work in the other streams."""
    given = on_gpus(inputs(2))
    with bound_world(two, kernel) as world:
        first, second = new_streams(two)
        check(world.run(given, stream=[first, second]))
        assert two.launched == [first, second]
        assert {(first, second), (second, first)} <= set(two.waits)
        assert [each["x"].streams for each in given] == [[first], [second]]
        own = world.run(inputs(2), stream=[None, second])
        np.testing.assert_array_equal(own[1]["y"], sums()[1])
        assert two.launched[3] == second
        assert two.launched[2] not in (first, second)


@pytest.mark.parametrize("late", [0, 1])
def test_no_kernel_begins_before_the_work_of_all_streams(
    two: FakeCuda, kernel: bytes, late: int
) -> None:
    """A kernel that began would hold its GPU, and its waits would time out."""
    x = [OnDevice(np.zeros(128, np.float32), rank) for rank in range(2)]
    ready = threading.Event()
    begun: list[int] = []

    def write() -> bool:
        if not ready.is_set():
            begun.append(sum(device.lanes for device in two.devices))
            return False
        for rank in range(2):
            x[rank].array[...] = inputs(2)[rank]["x"]
        return True

    with bound_world(two, kernel) as world, ark.knobs.scope(ARK_TIMEOUT="0.1"):
        streams = new_streams(two)
        two.delay(streams[late], write)
        threading.Timer(0.5, ready.set).start()
        outputs = world.run([{"x": each} for each in x], stream=streams)
        check(outputs)
        del outputs
    assert set(begun) == {0}


def test_wrong_streams(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        first, second = new_streams(two)
        with pytest.raises(ark.InvalidUsageError, match="pass a list with a stream for each rank"):
            world.run(inputs(2), stream=first)
        with pytest.raises(ark.InvalidUsageError, match="a stream for each of the 2 ranks, not 3"):
            world.run(inputs(2), stream=[first, second, first])
        with pytest.raises(ark.InvalidUsageError, match="stream is a str; pass a handle"):
            world.run(inputs(2), stream=["a", "b"])  # type: ignore[list-item]
        check_run(world)


@pytest.mark.parametrize("captured", [0, 1])
def test_a_captured_stream(two: FakeCuda, kernel: bytes, captured: int) -> None:
    with bound_world(two, kernel) as world:
        check_run(world)
        streams = new_streams(two)
        two.begin_capture(streams[captured])
        with pytest.raises(ark.InvalidUsageError, match="cannot be part of a graph"):
            world.run(on_gpus(inputs(2)), stream=streams)
        two.end_capture(streams[captured])
        check_run(world)


def test_threads_of_ranks(two: FakeCuda, kernel: bytes, in_threads: Callable[..., None]) -> None:
    """Each thread passes the arrays and the stream of its rank."""
    given = on_gpus(inputs(2))
    out = on_gpus([{"y": np.zeros(128, np.float32)}] * 2)
    with bound_world(two, kernel) as world:
        streams = new_streams(two)

        def run(rank: int) -> None:
            y = world.rank(rank).run(given[rank], stream=streams[rank], out=out[rank])["y"]
            assert y is out[rank]["y"]

        in_threads(lambda: run(0), lambda: run(1))
        assert two.launched == streams
    for rank in range(2):
        np.testing.assert_array_equal(out[rank]["y"].array, sums()[rank])


def test_the_streams_of_ranks_on_one_gpu() -> None:
    """The run is launched in the first stream, and waits for the other streams."""
    given = array_streams.StreamsByRank((None, 7, 8))
    chosen = array_streams.choose_run_stream(given, (), (2, 0), default=5)
    assert (chosen.stream, chosen.producers) == (7, {7, 8})
    nobody = array_streams.StreamsByRank((None, None))
    assert array_streams.choose_run_stream(nobody, (), (2, 0), default=5).stream == 5


# -- all ranks on one GPU --------------------------------------------------------------------


@pytest.fixture
def shared(cuda: FakeCuda, kernel: bytes) -> Generator[ark.World]:
    """Two ranks in one launch on one GPU."""
    manifest, sections = ring_program(2).parts(kernel, ranks=2)
    manifest["target"].update(backend=cuda.backend, arch=cuda.arch, warps=8, shared_memory=1024)
    drivers = {cuda.backend: lambda: GpuDriver(fake_api(cuda))}
    with ark.World(Bundle.from_parts(manifest, sections), drivers) as world:
        yield world
    assert (cuda.held, cuda.running) == (0, 0)


def test_arrays_of_ranks_on_one_gpu(shared: ark.World, cuda: FakeCuda) -> None:
    shared.bind([{"w": OnDevice(entry["w"])} for entry in weights(2)])
    out = [{"y": OnDevice(np.zeros(128, np.float32))} for _ in range(2)]
    given = [{"x": OnDevice(entry["x"])} for entry in inputs(2)]
    results = shared.run(given, out=out, stream=cuda.new_stream())
    for rank in range(2):
        assert results[rank]["y"] is out[rank]["y"]
        np.testing.assert_array_equal(out[rank]["y"].array, sums()[rank])
    mixed = shared.run([given[0], inputs(2)[1]])
    assert mixed[0]["y"].__dlpack_device__() == (cuda.device_type, 0)
    assert isinstance(mixed[1]["y"], np.ndarray)
    del mixed


def test_streams_of_ranks_on_one_gpu(shared: ark.World, cuda: FakeCuda) -> None:
    """One launch, in the first stream, waits for the other streams."""
    shared.bind(weights(2))
    first, second = cuda.new_stream(), cuda.new_stream()
    check_run(shared, stream=[first, second])
    assert cuda.launched == [first]
    assert (first, second) in cuda.waits
    check_run(shared, stream=second)


def test_a_graph_of_ranks_on_one_gpu(shared: ark.World, cuda: FakeCuda) -> None:
    shared.bind(weights(2))
    given = [{"x": OnDevice(entry["x"])} for entry in inputs(2)]
    out = [{"y": OnDevice(np.zeros(128, np.float32))} for _ in range(2)]
    stream = cuda.new_stream()
    shared.run(given, out=out, stream=stream)
    cuda.begin_capture(stream)
    shared.run(given, out=out, stream=stream)
    replay = cuda.end_capture(stream)
    for entry in given:
        entry["x"].array[...] *= 2
    replay(stream)
    shared.check(stream)
    for rank in range(2):
        np.testing.assert_array_equal(out[rank]["y"].array, sums(2)[rank])


@pytest.mark.parametrize("rank", [0, 1])
def test_a_fault_in_every_call_of_a_run_with_streams(
    two: FakeCuda, kernel: bytes, rank: int
) -> None:
    """The run raises it, no kernel is left, and the next run is right."""
    given = on_gpus(inputs(2))
    out = on_gpus([{"y": np.zeros(128, np.float32)}] * 2)
    with bound_world(two, kernel) as world:
        streams: list[int | None] = list(new_streams(two))
        streams[1 - rank] = None
        world.run(given, stream=streams, out=out)
        before = len(two.calls)
        world.run(given, stream=streams, out=out)
        count = len(two.calls) - before
        for k in range(1, count + 1):
            two.fail_at = len(two.calls) + k
            with pytest.raises(ark.DeviceError, match=f"failed: {two.error()}"):
                world.run(given, stream=streams, out=out)
            assert two.running == 0
            two.fail_at = -1
            check_run(world, 3)

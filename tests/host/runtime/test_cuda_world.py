"""Several ranks, each on a GPU of its own, on a stand-in for CUDA with several GPUs."""

from __future__ import annotations

import ctypes
import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime.cuda import api as cuda_api
from ark_mlir.runtime.cuda import driver as cuda_driver
from ark_mlir.runtime.ranks.world import make_executable
from ark_mlir.testing.fake_cuda import FakeCuda, fake_world
from ark_mlir.testing.toy import ToyProgram, barrier, ring_program, run, signal, wait

Array = np.ndarray[Any, Any]
Arrays = list[dict[str, Array]]
PAGE = 2 << 20


def weights(size: int) -> Arrays:
    return [{"w": np.arange(128, dtype=np.float32) * (rank + 1)} for rank in range(size)]


def inputs(size: int, scale: int = 1) -> Arrays:
    return [{"x": np.full(128, scale * (rank + 10), np.float32)} for rank in range(size)]


def bound_world(cuda: FakeCuda, kernel: bytes, size: int = 2, **options: Any) -> ark.World:
    return fake_world(cuda, kernel, ring_program(size), size, **options).bind(weights(size))


def check_run(world: ark.World, scale: int = 1, **options: Any) -> None:
    """A run of `ring_program` gives the sums of the rank before each rank."""
    outputs = world.run(inputs(world.size, scale), **options)
    for rank, output in enumerate(outputs):
        source = (rank - 1) % world.size
        x, w = inputs(world.size, scale)[source]["x"], weights(world.size)[source]["w"]
        np.testing.assert_array_equal(output["y"], x + w + np.float32(0.5))


@pytest.fixture
def two() -> Iterator[FakeCuda]:
    """Two GPUs; all that was taken is released at the end, and no GPU touched what it must not."""
    cuda = FakeCuda(devices=2)
    yield cuda
    gc.collect()
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


# -- results ---------------------------------------------------------------------------------


@pytest.mark.parametrize("size", [2, 3])
def test_results_are_those_of_the_cpu(kernel: bytes, size: int) -> None:
    cuda = FakeCuda(devices=size)
    parts = ring_program(size).parts(kernel, ranks=size)
    with (
        bound_world(cuda, kernel, size) as world,
        ark.World(Bundle.from_parts(*parts)).bind(weights(size)) as cpu,
    ):
        for scale in (1, 2):
            check_run(world, scale)
            expected = cpu.run(inputs(size, scale))
            for got, wanted in zip(world.run(inputs(size, scale)), expected, strict=True):
                np.testing.assert_array_equal(got["y"], wanted["y"])
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


def test_each_rank_runs_on_its_gpu(two: FakeCuda, kernel: bytes) -> None:
    """The GPUs need not be the first ones, nor in order."""
    cuda = FakeCuda(devices=4)
    with bound_world(cuda, kernel, devices=[3, 1]) as world:
        check_run(world)
        assert [device.held > 0 for device in cuda.devices] == [False, True, False, True]
        assert len(cuda.launched) == len(set(cuda.launched)) == 2
    assert (cuda.held, cuda.foreign_accesses) == (0, [])


def test_iterations_and_states(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        for iterations in (1, 4, 2):
            check_run(world, iterations=iterations)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(2)] == [7, 7]
        assert [int(world.glance(f"rank{rank}/n")) for rank in range(2)] == [7, 7]
        world.reset()
        check_run(world, iterations=3)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(2)] == [3, 3]


def test_a_resident_world(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        with world.resident() as resident:
            for scale in (1, 3):
                outputs = resident.run(inputs(2, scale))
                assert outputs[1]["y"][0] == scale * 10 + 0.5
        check_run(world)
        assert int(world.states["rank1/n"]) == 3


def test_other_parameters(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        check_run(world)
        world.bind([{"w": np.zeros(128, np.float32)}, {}], strict=False)
        y = world.run(inputs(2))[1]["y"]
        np.testing.assert_array_equal(y, np.full(128, 10.5, np.float32))


def test_a_trace_is_of_the_program_of_all_ranks(
    two: FakeCuda, kernel: bytes, tmp_path: Any
) -> None:
    program = ring_program(2)
    with fake_world(two, kernel, program, 2, trace=True).bind(weights(2)) as world:
        check_run(world, trace=tmp_path / "trace.json")
    text = (tmp_path / "trace.json").read_text()
    assert all(f"rank{rank}/{name}" in text for rank in range(2) for name in ("send", "receive"))


# -- what is wrong with a call ---------------------------------------------------------------


def test_errors_of_bind_and_run_name_the_rank(two: FakeCuda, kernel: bytes) -> None:
    with fake_world(two, kernel, ring_program(2), 2) as world:
        with pytest.raises(ark.InvalidUsageError, match="rank1/w"):
            world.bind([{"w": weights(2)[0]["w"]}, {"w": np.zeros(3, np.float32)}])
        with pytest.raises(ark.InvalidUsageError, match="parameter"):
            world.run(inputs(2))
        world.bind(weights(2))
        with pytest.raises(ark.InvalidUsageError, match="'rank1/x' has shape"):
            world.run([inputs(2)[0], {"x": np.zeros(3, np.float32)}])
        with pytest.raises(ark.InvalidUsageError, match="'rank1/x' is missing"):
            world.run([inputs(2)[0], {}])
        check_run(world)


@pytest.fixture
def installed(monkeypatch: pytest.MonkeyPatch, kernel: bytes) -> Callable[..., Any]:
    """``installed(cuda, devices)``: a world on GPUs by their numbers, with the stand-in in place of
    the package of CUDA."""

    def make(cuda: FakeCuda, devices: list[int] | None) -> Any:
        monkeypatch.setattr(cuda_api, "_import_driver", lambda: cuda)
        manifest, sections = ring_program(2).parts(kernel, ranks=2)
        manifest["target"].update(backend="cuda", arch="sm_90a", warps=16, shared_memory=1024)
        return make_executable(Bundle.from_parts(manifest, sections), devices=devices)

    return make


@pytest.mark.parametrize("devices", [None, [1, 0]])
def test_devices_by_number(installed: Any, two: FakeCuda, devices: list[int] | None) -> None:
    with installed(two, devices) as world:
        check_run(world.bind(weights(2)))


@pytest.mark.parametrize(
    ("devices", "message"),
    [
        ([0, 0], "a GPU is named twice"),
        ([0, 1, 2], "which run on one GPU or on 2"),
        ([], "expected numbers of GPUs"),
        ([0, -1], "expected numbers of GPUs"),
        ([0, True], "expected numbers of GPUs"),
    ],
)
def test_devices_that_cannot_be(
    installed: Any, two: FakeCuda, devices: list[int], message: str
) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        installed(two, devices)
    assert two.calls == []


def test_no_such_device(installed: Any, two: FakeCuda) -> None:
    with pytest.raises(ark.UnsupportedError, match="cuDeviceGet failed: CUDA_ERROR_INVALID_DEVICE"):
        installed(two, [0, 2]).bind(weights(2))


def test_as_many_devices_as_ranks(two: FakeCuda, kernel: bytes) -> None:
    world = fake_world(two, kernel, ring_program(2), 2, devices=[0])
    with pytest.raises(ark.InvalidUsageError, match="has 2 ranks, and 1 devices are given"):
        world.bind(weights(2))


@pytest.mark.parametrize("pair", [(0, 1), (1, 0)])
def test_no_peer_access(two: FakeCuda, kernel: bytes, pair: tuple[int, int]) -> None:
    two.unlinked = {pair}
    message = f"GPU {pair[0]} cannot access the memory of GPU {pair[1]}"
    with pytest.raises(ark.UnsupportedError, match=message):
        bound_world(two, kernel)
    assert two.held == 0


@pytest.mark.parametrize("page", [4 << 20, 3 << 20])
def test_pages_that_do_not_divide_a_part(two: FakeCuda, kernel: bytes, page: int) -> None:
    two.page = page
    with pytest.raises(ark.UnsupportedError, match=f"share memory in pages of {page} bytes"):
        bound_world(two, kernel)
    assert two.held == 0


def test_full_memory_on_one_device(two: FakeCuda, kernel: bytes) -> None:
    """Whatever allocation it is that does not fit."""
    sizes = (*range(0, 2 * PAGE, PAGE // 4), *range(2 * PAGE, 2 * PAGE + 60_000, 5_000))
    errors: list[str] = []
    for two.devices[1].memory in sizes:
        try:
            bound_world(two, kernel).close()
            errors.append("")
        except ark.DeviceError as error:
            errors.append(error.message)
        gc.collect()
        assert two.held == 0
    assert {"OUT_OF_MEMORY" in error for error in errors if error} == {True}
    # More memory is never worse.
    assert not any(errors[errors.index("") :])


# -- failures --------------------------------------------------------------------------------


def living(cuda: FakeCuda, kernel: bytes) -> None:
    """Load, bind, two runs, states and close."""
    with bound_world(cuda, kernel) as world:
        check_run(world)
        check_run(world, iterations=2)
        assert int(world.states["rank1/n"]) == 3
        world.reset()


def dropping(cuda: FakeCuda, kernel: bytes) -> None:
    """A world that nobody closes."""
    check_run(bound_world(cuda, kernel))


SESSIONS = [living, dropping]
# Tests among which the calls of a session are divided.
SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.__name__)
def test_the_kth_call_fails(
    kernel: bytes,
    session: Callable[[FakeCuda, bytes], None],
    share: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A typed error, nothing is left, nothing hangs."""
    monkeypatch.setenv("ARK_TIMEOUT", "2")
    dropped: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: dropped.append(str(args.exc_value)))
    good = FakeCuda(devices=2)
    session(good, kernel)
    gc.collect()
    assert (good.held, good.running, dropped) == (0, 0, [])
    for k, name in list(enumerate(good.calls, start=1))[share::SHARES]:
        cuda = FakeCuda(devices=2, fail_at=k)
        with pytest.raises((ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: CUDA_"):
            _collected(session, cuda, kernel, dropped)
        gc.collect()
        assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, []), (k, name)


def _collected(session: Any, cuda: FakeCuda, kernel: bytes, dropped: list[str]) -> None:
    """Runs a session; raises its error, or else the last one of a finalizer, without a traceback
    that refers to the world."""
    try:
        session(cuda, kernel)
        gc.collect()
    except ark.ArkError as error:
        raise type(error)(error.message) from None
    if dropped:
        raise ark.DeviceError(dropped.pop())


def test_the_kth_call_of_a_run_fails(two: FakeCuda, kernel: bytes) -> None:
    """The run raises it, and the next run is right."""
    with bound_world(two, kernel) as world:
        check_run(world)
        before = len(two.calls)
        check_run(world, 2)
        count = len(two.calls) - before
        for k in range(1, count + 1):
            two.fail_at = len(two.calls) + k
            name = two.calls[before + k - 1]
            with pytest.raises(ark.DeviceError, match=f"{name} failed: CUDA_"):
                check_run(world)
            assert two.running == 0
            two.fail_at = -1
            check_run(world, 3, iterations=2)


def test_the_kth_call_of_a_run_after_a_failed_run_fails(two: FakeCuda, kernel: bytes) -> None:
    """Semaphores are cleared on all GPUs or on none that a run relies on."""
    with bound_world(two, kernel) as world:

        def fail_at(call: int) -> None:
            two.fail_at = len(two.calls) + call
            with pytest.raises(ark.DeviceError, match="failed: CUDA_"):
                check_run(world)
            two.fail_at = -1

        check_run(world)
        fail_at(3)
        before = len(two.calls)
        check_run(world)
        for k in range(1, len(two.calls) - before + 1):
            fail_at(3)
            fail_at(k)
            assert two.running == 0
            check_run(world, 3, iterations=2)


def test_two_worlds_on_the_same_gpus(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as first, bound_world(two, kernel, devices=[1, 0]) as second:
        for scale in range(3):
            check_run(first, scale)
            check_run(second, scale + 1, iterations=2)
        first.close()
        check_run(second)


def test_threads_that_have_no_context(
    two: FakeCuda, kernel: bytes, in_threads: Callable[..., None]
) -> None:
    with bound_world(two, kernel) as world:
        in_threads(*[lambda: check_run(world)] * 3)
        in_threads(lambda: world.reset())
        check_run(world)
        assert int(world.states["rank1/n"]) == 1


@pytest.mark.parametrize("crashed", [0, 1])
def test_a_lost_context(two: FakeCuda, kernel: bytes, crashed: int) -> None:
    """The other GPU ends its kernel. A new world runs after all is released."""
    world = bound_world(two, kernel)
    check_run(world)
    launch = two._cuLaunchKernelEx
    seen: list[int] = []

    def crash(*arguments: Any) -> Any:
        two.crashes = len(seen) == crashed
        seen.append(0)
        return launch(*arguments)

    setattr(two, "_cuLaunchKernelEx", crash)  # noqa: B010
    with pytest.raises(ark.DeviceError, match="ILLEGAL_ADDRESS"):
        world.run(inputs(2))
    delattr(two, "_cuLaunchKernelEx")
    with pytest.raises(ark.DeviceError):
        world.close()
    del world
    gc.collect()
    assert (two.held, two.running) == (0, 0)
    with bound_world(two, kernel) as world:
        check_run(world)


def waiting_program(hangs: int) -> ToyProgram:
    """Two ranks; a lane of rank `hangs` waits for a signal that comes only if its input is not 0.

    On the other rank a lane waits for that one at a barrier.
    """
    program = ToyProgram(sms=2, arena=2 * PAGE)
    again, never = program.semaphore(2, "again"), program.semaphore(1, "never")
    for rank in range(2):
        state = program.buffer(f"rank{rank}/n", "state", "int64", [])
        count = program.task("count", 1, [(state, 0)], f"rank{rank}/count")
        if rank == hangs:
            program.lane(rank, [wait(never, 1), run(count, 0, 1), barrier(again, 2), signal(never)])
        else:
            program.lane(rank, [run(count, 0, 1), barrier(again, 2)])
    return program


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_rank_that_hangs(
    two: FakeCuda, kernel: bytes, hangs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_TIMEOUT", "0.3")
    with fake_world(two, kernel, waiting_program(hangs), 2) as world:
        for _ in range(2):
            with pytest.raises(ark.HangError) as caught:
                world.run()
            # Either GPU may be the first that has waited too long.
            assert f"cause: a cycle of waits: lane {hangs} → lane {hangs}" in str(caught.value)
            assert f"rank{hangs}/count" in str(caught.value)
            assert two.running == 0


def gathering_program() -> ToyProgram:
    """Each of two ranks gathers a row of its own table, then waits for the other one."""
    program = ToyProgram(sms=2, arena=2 * PAGE)
    again = program.semaphore(2, "again")
    for rank in range(2):
        name = f"rank{rank}/"
        ids = program.buffer(f"{name}ids", "input", "int32", [1])
        table = program.buffer(f"{name}table", "parameter", "fp32", [8, 16])
        y = program.buffer(f"{name}y", "output", "fp32", [1, 16])
        task = program.task("gather", 1, [(y, 0), (ids, 0), (table, 0)], f"{name}gather")
        program.lane(rank, [run(task, 0, 1), barrier(again, 2)])
    return program


@pytest.mark.parametrize("bad", [0, 1])
def test_a_rank_with_bad_data(two: FakeCuda, kernel: bytes, bad: int) -> None:
    tables = [{"table": np.full((8, 16), rank, np.float32)} for rank in range(2)]
    good = [{"ids": np.array([rank], np.int32)} for rank in range(2)]
    with fake_world(two, kernel, gathering_program(), 2).bind(tables) as world:
        for _ in range(2):
            wrong = [dict(entry) for entry in good]
            wrong[bad] = {"ids": np.array([9], np.int32)}
            with pytest.raises(ark.DeviceError, match="index 9 is out of range") as caught:
                world.run(wrong)
            assert f"rank{bad}/gather" in str(caught.value)
            assert [out["y"][0, 0] for out in world.run(good)] == [0, 1]


@pytest.mark.parametrize("rank", [0, 1])
def test_an_interrupt_while_the_host_waits(two: FakeCuda, kernel: bytes, rank: int) -> None:
    """All kernels end before the interrupt is raised, and the next run starts clean."""
    with bound_world(two, kernel) as world:
        check_run(world)
        driver: Any = world._runner.driver
        part = driver._ranks[rank]
        join = part._join

        def interrupted(*arguments: Any, **options: Any) -> None:
            part._join = join
            raise KeyboardInterrupt

        part._join = interrupted
        with pytest.raises(KeyboardInterrupt):
            world.run(inputs(2), iterations=10**4)
        assert two.running == 0
        world.reset()
        check_run(world, 2)
        assert [int(world.states[f"rank{n}/n"]) for n in range(2)] == [1, 1]


def endless_program() -> ToyProgram:
    """A task of rank 1 ends when a state is 1, whatever the host says."""
    program = ToyProgram(sms=2, arena=2 * PAGE)
    again = program.semaphore(2, "again")
    flag = program.buffer("rank1/flag", "state", "int32", [])
    task = program.task("endless", 1, [(flag, 0)], "rank1/endless")
    program.lane(0, [barrier(again, 2)])
    program.lane(1, [run(task, 0, 1), barrier(again, 2)])
    return program


class Stuck:
    """A world whose run was interrupted while its kernel on GPU 1 does not end.

    Args:
        cuda: the stand-in.
        kernel: the kernel.
        monkeypatch: shortens the time that the host waits for the end of a kernel.
    """

    def __init__(self, cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(cuda_driver, "_GRACE_SECONDS", 0.2)
        self.world = fake_world(cuda, kernel, endless_program(), 2).prepare()
        driver: Any = self.world._runner.driver
        slots: Any = self.world._runner.storage.slots()
        self._flag = ctypes.c_int32.from_address(slots[1].address)
        join, started = driver._ranks[0]._join, self._has_started

        def interrupted(*arguments: Any, **options: Any) -> None:
            driver._ranks[0]._join = join
            while not started():
                cuda.cuEventQuery(driver._ranks[0]._done)
            raise KeyboardInterrupt

        driver._ranks[0]._join = interrupted
        with pytest.raises(KeyboardInterrupt):
            self.world.run()

    def _has_started(self) -> bool:
        return self._flag.value == 2

    def end(self) -> None:
        """Lets the kernel end."""
        self._flag.value = 1


def test_memory_of_all_gpus_outlives_a_stuck_kernel(
    two: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 0 holds the shared memory, which rank 1 may still access."""
    stuck = Stuck(two, kernel, monkeypatch)
    driver: Any = stuck.world._runner.driver
    counters = driver._ranks[0]._loaded().semaphores.address
    with pytest.raises(ark.DeviceError, match="has not ended"):
        stuck.world.close()
    assert two.running == 1
    assert two.may_access(two.devices[1], counters, PAGE)
    stuck.end()
    # The next world on these GPUs releases what was left.
    bound_world(two, kernel).close()
    assert two.held == 0


def test_counters_are_cleared_after_the_end_of_a_stuck_kernel(
    two: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The kernel may signal until its end, and the next run waits for that."""
    stuck = Stuck(two, kernel, monkeypatch)
    cleared: list[int] = []
    clear = two._cuMemsetD8Async

    def note(address: int, byte: int, nbytes: int, stream: int) -> Any:
        cleared.append(two.running)
        return clear(address, byte, nbytes, stream)

    monkeypatch.setattr(two, "_cuMemsetD8Async", note)
    timer = threading.Timer(0.1, stuck.end)
    timer.start()
    with stuck.world as world:
        world.run()
        assert int(world.states["rank1/flag"]) == 1
    timer.join()
    assert cleared == [0, 0]


def test_closing_while_other_threads_look_at_states(
    two: FakeCuda, kernel: bytes, in_threads: Callable[..., None]
) -> None:
    world = bound_world(two, kernel)
    check_run(world)
    started = threading.Event()
    seen: set[int] = set()

    def look_again_and_again() -> None:
        while True:
            seen.add(int(world.glance("rank1/n")))
            seen.add(int(world.states["rank1/n"]))
            started.set()

    def look() -> None:
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            look_again_and_again()

    def close() -> None:
        started.wait(60)
        world.close()

    in_threads(look, look, close)
    assert seen == {1}


def test_a_state_of_a_rank_lies_on_its_gpu(two: FakeCuda, kernel: bytes) -> None:
    with bound_world(two, kernel) as world:
        slots: Any = world._runner.storage.slots()
        for buffer in world.bundle.manifest.buffers:
            if buffer.kind in ("state", "parameter"):
                block = two.find_block(slots[buffer.slot].address)
                assert block is not None
                assert block.devices == {two.devices[int(buffer.name[4])]}


def test_the_stand_in_refuses_memory_of_another_gpu(two: FakeCuda, kernel: bytes) -> None:
    """Otherwise none of the tests here could show that a kernel touches it."""
    world = bound_world(two, kernel)
    check_run(world)
    driver: Any = world._runner.driver
    driver._constants.clear()  # rank 1 gets the constants of rank 0
    with pytest.raises(ark.DeviceError, match="ILLEGAL_ADDRESS"):
        world.run(inputs(2))
    assert two.foreign_accesses == ["GPU 1: slot 1 of task 4"]
    two.foreign_accesses.clear()
    with pytest.raises(ark.DeviceError):
        world.close()

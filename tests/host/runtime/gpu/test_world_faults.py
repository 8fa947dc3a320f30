"""Runs and calls that fail on one of several GPUs, on stand-ins for GPUs."""

from __future__ import annotations

import ctypes
import gc
import itertools
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from internals import driver_of, ranks_of, storage_of
from ring_worlds import PAGE, bound_world, check_run, inputs, waiting_program

import ark_mlir as ark
from ark_mlir.runtime.gpu import driver as gpu_driver
from ark_mlir.testing.fake_gpu import FakeCuda, fake_world
from ark_mlir.testing.toy import ToyProgram, barrier, run


def living(cuda: FakeCuda, kernel: bytes) -> None:
    """Loads, binds, runs twice, reads states and closes."""
    with bound_world(cuda, kernel) as world:
        check_run(world)
        check_run(world, iterations=2)
        assert int(world.states["rank1/n"]) == 3
        world.reset()


def dropping(cuda: FakeCuda, kernel: bytes) -> None:
    """Drops a world without closing it."""
    check_run(bound_world(cuda, kernel))


SESSIONS = [living, dropping]
# The number of tests among which the calls of a session are divided.
SHARES = 4


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.__name__)
def test_the_kth_call_fails(
    vendor: type[FakeCuda],
    kernel: bytes,
    session: Callable[[FakeCuda, bytes], None],
    share: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A typed error is raised, and nothing leaks or hangs."""
    monkeypatch.setenv("ARK_TIMEOUT", "2")
    dropped: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: dropped.append(str(args.exc_value)))
    good = vendor(devices=2)
    session(good, kernel)
    gc.collect()
    assert (good.held, good.running, dropped) == (0, 0, [])
    for k, name in list(enumerate(good.calls, start=1))[share::SHARES]:
        cuda = vendor(devices=2, fail_at=k)
        with pytest.raises(
            (ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: {cuda.error()}"
        ):
            _collected(session, cuda, kernel, dropped)
        gc.collect()
        assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, []), (k, name)


def _collected(session: Any, cuda: FakeCuda, kernel: bytes, dropped: list[str]) -> None:
    """Runs a session; raises its error, or else the last error of a finalizer, without a traceback
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
            with pytest.raises(ark.DeviceError, match=f"{name} failed: {two.error()}"):
                check_run(world)
            assert two.running == 0
            two.fail_at = -1
            check_run(world, 3, iterations=2)


@pytest.mark.parametrize("failed", ["cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"])
def test_the_kth_call_of_a_run_after_a_failed_run_fails(
    two: FakeCuda, kernel: bytes, failed: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Semaphores are cleared on all GPUs or on none that a run relies on. The first copy of the
    failed run comes before the first launch, and the other one after it."""
    monkeypatch.setenv("ARK_TIMEOUT", "2")
    with bound_world(two, kernel) as world:

        def fail_at(call: int) -> None:
            two.fail_at = len(two.calls) + call
            with pytest.raises(ark.DeviceError, match=f"failed: {two.error()}"):
                check_run(world)
            two.fail_at = -1

        check_run(world)
        two.operations.clear()
        check_run(world)
        first = two.operations.index(failed) + 1
        fail_at(first)
        before = len(two.calls)
        check_run(world)
        for k in range(1, len(two.calls) - before + 1):
            fail_at(first)
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


def interrupting(vendor: type[FakeCuda]) -> Any:
    """Returns two GPUs; an interrupt comes after a call of the vendor's driver. The attribute
    `interrupt_after` is the number of the call, counted from when the number was set."""
    cuda: Any = vendor(devices=2)
    cuda.interrupt_after = 0
    answer_call = cuda._answer

    def answer(name: str, arguments: tuple[Any, ...], result: Any) -> tuple[Any, ...]:
        answered = answer_call(name, arguments, result)
        # The number of polls of a waiting host varies between runs.
        if name != "cuEventQuery" and cuda.interrupt_after:
            cuda.interrupt_after -= 1
            if not cuda.interrupt_after:
                raise KeyboardInterrupt
        return answered

    cuda._answer = answer
    return cuda


@pytest.mark.parametrize("iterations", [1, 100])
def test_an_interrupt_after_the_kth_call_of_a_run(
    vendor: type[FakeCuda], kernel: bytes, iterations: int
) -> None:
    """All kernels end, and the next run is right."""
    cuda = interrupting(vendor)
    interrupts = 0
    with bound_world(cuda, kernel) as world:
        for k in itertools.count(1):
            check_run(world)
            cuda.interrupt_after = k
            try:
                check_run(world, 2, iterations=iterations)
            except KeyboardInterrupt:
                interrupts += 1
            if cuda.interrupt_after:
                break
            assert cuda.running == 0
        cuda.interrupt_after = 0
        check_run(world, 3)
    gc.collect()
    assert interrupts > 10
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


@pytest.mark.parametrize("crashed", [0, 1])
def test_a_lost_context(two: FakeCuda, kernel: bytes, crashed: int) -> None:
    """The other GPU ends its kernel. A new world runs after all is released; HIP has no contexts,
    so that only a new process releases what a GPU with a failed kernel holds."""
    world = bound_world(two, kernel)
    check_run(world)
    launch = two._cuLaunchKernelEx
    seen: list[int] = []

    def crash(*arguments: Any) -> Any:
        two.crashes = len(seen) == crashed
        seen.append(0)
        return launch(*arguments)

    setattr(two, "_cuLaunchKernelEx", crash)  # noqa: B010
    with pytest.raises(ark.DeviceError, match=two.error("ILLEGAL_ADDRESS")):
        world.run(inputs(2))
    delattr(two, "_cuLaunchKernelEx")
    with pytest.raises(ark.DeviceError):
        world.close()
    del world
    gc.collect()
    assert two.running == 0
    if not two.contexts:
        return
    assert two.held == 0
    with bound_world(two, kernel) as world:
        check_run(world)


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_rank_that_hangs(
    two: FakeCuda, kernel: bytes, hangs: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ARK_TIMEOUT", "0.3")
    with fake_world(two, kernel, waiting_program(hangs), 2) as world:
        for _ in range(2):
            with pytest.raises(ark.HangError) as caught:
                world.run()
            # Either GPU may reach its timeout first.
            assert f"cause: a cycle of waits: lane {hangs} → lane {hangs}" in str(caught.value)
            assert f"rank{hangs}/count" in str(caught.value)
            assert two.running == 0


def gathering_program() -> ToyProgram:
    """Each of two ranks gathers a row of its own table, then waits for the other rank."""
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
        driver = driver_of(world)
        part = ranks_of(driver)[rank]
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
    """A task of rank 1 ends when a state is 1, and ignores an abort by the host."""
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
        monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", 0.2)
        self.world = fake_world(cuda, kernel, endless_program(), 2).prepare()
        driver = driver_of(self.world)
        slots = storage_of(self.world).slots()
        self._flag = ctypes.c_int32.from_address(slots[1].address)
        join, started = ranks_of(driver)[0]._join, self._has_started

        def interrupted(*arguments: Any, **options: Any) -> None:
            ranks_of(driver)[0]._join = join
            while not started():
                cuda.advance()
            raise KeyboardInterrupt

        ranks_of(driver)[0]._join = interrupted
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
    driver = driver_of(stuck.world)
    counters = ranks_of(driver)[0]._loaded().semaphores.address
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

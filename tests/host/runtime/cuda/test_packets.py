"""The memory of packets between tasks, and when it is zeroed, on a stand-in for a GPU."""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from typing import Any

import pytest
from internals import driver_of, kernel_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.drivers.abi import SEMAPHORE_STRIDE
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, run, signal

BYTES = 128
SLOT = 2  # after the slot of the only buffer


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    """Counts in the first words of its packets, and in the last ones."""
    program = ToyProgram(sms=1)
    program.buffer("n", "state", "int64", [])
    tasks = [
        program.task("count", 1, [operand]) for operand in ((1, 0), (SLOT, 0), (SLOT, BYTES - 8))
    ]
    ends = [program.semaphore(1) for _ in range(3)]
    program.lane(0, [*(run(task, 0, 1) for task in tasks), *map(signal, ends)])
    with fake_executable(cuda, kernel, program, packets=BYTES) as executable:
        yield executable.prepare()
    assert cuda.held == 0


def driver(exe: Executable) -> Any:
    return driver_of(exe)


def packets(record: Any) -> list[int]:
    """Returns the first and the last words."""
    begin = int(record.slots[SLOT])
    return [ctypes.c_int64.from_address(begin + offset).value for offset in (0, BYTES - 8)]


def test_packets_lie_behind_the_semaphores(exe: Executable) -> None:
    """Semaphores and packets share one allocation, so that one memset zeroes both."""
    exe.run()
    record, semaphores = driver(exe).record, kernel_of(driver(exe)).semaphores
    assert record.slots[SLOT] == semaphores.address + 3 * SEMAPHORE_STRIDE
    assert semaphores.nbytes == 3 * SEMAPHORE_STRIDE + BYTES


def test_packets_outlive_a_run(exe: Executable) -> None:
    exe.run()
    exe.run(iterations=2)
    assert packets(driver(exe).record) == [3, 3]


def test_packets_are_zeroed_with_the_semaphores(exe: Executable, cuda: FakeCuda) -> None:
    """After a failed run, iterations count from one again."""
    exe.run(iterations=5)
    length = len_of_a_run(exe, cuda)
    cuda.fail_at = len(cuda.calls) + length
    with pytest.raises(ark.DeviceError):
        exe.run()
    exe.run()
    assert packets(driver(exe).record) == [1, 1]
    assert kernel_of(driver(exe)).counters(kernel_of(driver(exe)).semaphores, 0).tolist() == [
        1,
        1,
        1,
    ]


def len_of_a_run(exe: Executable, cuda: FakeCuda) -> int:
    """Returns the calls of NVIDIA's driver in a run; the last call comes after the launch."""
    before = len(cuda.calls)
    exe.run()
    return len(cuda.calls) - before


def test_each_captured_run_has_packets_of_its_own(exe: Executable, cuda: FakeCuda) -> None:
    """Each replay zeroes the packets."""
    exe.run()
    stream = cuda.new_stream()
    cuda.begin_capture(stream)
    exe.run(stream=stream)
    replay = cuda.end_capture(stream)
    (captured,) = driver(exe)._captured.runs
    begin, own = captured.semaphores.address, driver(exe).record.slots[SLOT]
    assert captured.record.slots[SLOT] == begin + 3 * SEMAPHORE_STRIDE != own
    for _ in range(3):
        replay(0)
        cuda.synchronize(0)
        assert packets(captured.record) == [1, 1]
    assert packets(driver(exe).record) == [1, 1]

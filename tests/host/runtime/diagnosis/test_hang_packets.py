"""Runs that poll for packets that never come, and the diagnosis of the kernel's report."""

from __future__ import annotations

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.runtime.diagnosis.hang import LaneHangError, failure
from ark_mlir.runtime.drivers.interface import Outcome, Stop
from ark_mlir.testing.toy import Instruction, ToyProgram, run, signal, wait

SECOND = 1_000_000_000
# The slot of the packets, after that of the only buffer.
SLOT = 2
SENDER, READER = 0, 1
NO_SEMAPHORE = -1


def bundle(*lanes: list[Instruction], packets: int = 64) -> Bundle:
    """Task 0 sends packets, and task 1 polls for them; semaphore 0 is available to the schedule."""
    program = ToyProgram(sms=len(lanes))
    program.buffer("n", "state", "int64", [])
    operands = [(SLOT if packets else 1, 0)]
    program.task("count", 1, operands, name="sender", location="net.py:3", ops=["ark.matmul"])
    program.task("count", 1, operands, name="reader", location="net.py:4", ops=["ark.gelu"])
    program.semaphore(1, "go")
    for sm, items in enumerate(lanes):
        program.lane(sm, items)
    manifest, sections = program.parts(packets=packets)
    manifest["target"].update(backend="cuda", arch="sm_90a", warps=16)
    return Bundle.from_parts(manifest, sections)


def hang(
    bundle: Bundle, codes: tuple[int, ...], stop: Stop, counter: int = 0, epoch: int = 0
) -> LaneHangError:
    outcome = Outcome(codes, stop, counters=np.array([counter], np.uint64), epoch=epoch)
    error = failure(bundle, outcome, SECOND)
    assert isinstance(error, LaneHangError)
    return error


def polling(instruction: int, seen: int, expected: int) -> Stop:
    return Stop(1, 1, instruction, NO_SEMAPHORE, seen, expected)


def test_the_task_whose_packets_were_awaited_is_named() -> None:
    """The lane that would send them waits for a signal that only comes afterwards."""
    spoilt = bundle(
        [wait(0, 1), run(SENDER, 0, 1)],
        [run(READER, 0, 1), signal(0)],
    )
    error = hang(spoilt, (1, 2), polling(2, 0, 1))
    assert str(error).startswith(
        "net.py:4: ark.gelu: lane 1 (SM 1), task 'reader' vCTAs [0, 1) waited more than 1 s for "
        "packets of task 'sender': saw epoch 0 in one of them, expected 1 in all"
    )
    assert "a cycle of waits: lane 1 → lane 0 → lane 1" in str(error)
    assert "produced by lane 0 (SM 0), task 'sender' vCTAs [0, 1) at net.py:3" in str(error)
    assert "for semaphore 'go': saw 0, expected 1" in str(error)
    assert error.diagnosis.cycle
    assert (error.location, error.op) == ("net.py:4", "ark.gelu")


def test_a_sender_that_never_ends_is_the_root() -> None:
    stuck = bundle([run(SENDER, 0, 1)], [run(READER, 0, 1)])
    error = hang(stuck, (1, 2), polling(1, 0, 1))
    assert "task 'sender' vCTAs [0, 1) at net.py:3 had not ended, so it had not sent" in str(error)
    assert not error.diagnosis.cycle


def test_packets_that_were_lost() -> None:
    lost = bundle([run(SENDER, 0, 1)], [run(READER, 0, 1)])
    error = hang(lost, (0, 2), polling(1, 1, 1))
    assert "or packets were lost or overwritten" in str(error)


def test_another_lane_at_a_semaphore_is_blamed() -> None:
    """The schedule lacks the signal for this semaphore."""
    spoilt = bundle([wait(0, 1), run(SENDER, 0, 1)], [run(READER, 0, 1)])
    error = hang(spoilt, (1, 2), polling(2, 0, 1))
    assert "and the schedule has 0" in str(error)


@pytest.mark.parametrize(
    ("epoch", "expected", "iteration"),
    [
        (0, 1, 0),
        (0, 3, 2),
        (7, 10, 9),
        (65534, 0, 65535),
        (65535, 1, 65536),
        (200000, 3395, 200002),
    ],
)
def test_the_iteration_is_counted_on(epoch: int, expected: int, iteration: int) -> None:
    """A packet has the lower half of the epoch; the first epoch of the launch gives the rest."""
    stuck = bundle([run(SENDER, 0, 1)], [run(READER, 0, 1)])
    error = hang(stuck, (1, 2), polling(1, expected - 1, expected), epoch=epoch)
    assert error.diagnosis.waiter.iteration == iteration
    assert error.diagnosis.waiter.sender == SENDER
    assert error.diagnosis.waiter.semaphore is None


@pytest.mark.parametrize("packets", [0, 64])
def test_a_run_that_polls_for_no_packets_is_an_invalid_report(packets: int) -> None:
    good = bundle([run(SENDER, 0, 1)], [run(READER, 0, 1)], packets=packets)
    lane, instruction = (1, 1) if packets == 0 else (0, 0)
    stop = Stop(1, lane, instruction, NO_SEMAPHORE, 0, 1)
    error = failure(good, Outcome((2, 2), stop, counters=np.zeros(1, np.uint64)), SECOND)
    assert isinstance(error, ark.DeviceError)
    assert "is inconsistent" in str(error)

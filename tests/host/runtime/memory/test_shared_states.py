"""States that executables share: runs exclude each other, and the last borrower frees them."""

from __future__ import annotations

import ctypes
import gc
import threading
import time
from collections.abc import Callable

import numpy as np
import pytest
from concurrency import SECONDS, together
from internals import driver_of, storage_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import ToyProgram, counting_program, run, signal, wait

Make = Callable[..., Executable]


def counters(
    make: Callable[[ToyProgram], Executable], number: int
) -> tuple[Executable, list[Executable]]:
    """Returns an executable that counts its iterations, and others that share its state."""
    owner = make(counting_program()).prepare()
    return owner, [make(counting_program()).share_states(owner) for _ in range(number)]


def test_runs_on_shared_states_exclude_each_other(make: Make) -> None:
    """No iteration is lost, as it would be if two executables read the same count."""
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "fp32", [16])
    one = program.constant("one", np.ones(16, np.float32), "fp32")
    # Reads the state, sleeps for 20 ms, and writes the state.
    tasks = (
        program.task("copy", 1, [(0, 0), (state, 0)]),
        program.task("nap"),
        program.task("add", 1, [(state, 0), (0, 0), (one, 0)]),
    )
    program.lane(0, [run(task, 0, 1) for task in tasks])
    owner = make(program)
    guests = [make(program).share_states(owner) for _ in range(2)]

    def count(executable: Executable) -> Callable[[], None]:
        def work() -> None:
            for _ in range(2):
                executable.run(iterations=2)

        return work

    together(*map(count, (owner, *guests)))
    for executable in (owner, *guests):
        np.testing.assert_array_equal(executable.states["n"], np.full(16, 12))


def test_runs_on_shared_states_of_a_gpu_exclude_each_other(cuda: FakeCuda, kernel: bytes) -> None:
    owner, (guest,) = counters(lambda program: fake_executable(cuda, kernel, program), 1)

    def count(executable: Executable) -> Callable[[], None]:
        def work() -> None:
            for _ in range(5):
                executable.run(iterations=500)

        return work

    together(count(owner), count(guest))
    assert owner.states["n"] == 5000
    guest.close()
    owner.close()
    assert cuda.held == 0


def test_sharing_in_both_directions_at_once(make: Make) -> None:
    for _ in range(20):
        first, second, third = (make(counting_program()) for _ in range(3))
        together(
            lambda a=first, b=second: a.share_states(b),
            lambda a=second, b=third: a.share_states(b),
            lambda a=third, b=first: a.share_states(b),
            lambda a=first, b=third: a.share_states(b),
            lambda a=second: a.run(),
        )
        for executable in (first, second, third):
            executable.run()


def test_the_lender_closes_in_a_run_of_a_borrower(make: Make, napping: ToyProgram) -> None:
    """Closing waits for this run, which completes; the next one raises."""
    owner, guest = make(napping), make(napping)
    guest.share_states(owner)
    driver = driver_of(guest)

    def run_again_and_again() -> None:
        while True:
            guest.run(iterations=10)

    def work() -> None:
        with pytest.raises(ark.InvalidUsageError, match="whose states 'toy' shares, is closed"):
            run_again_and_again()
        with pytest.raises(ark.InvalidUsageError, match="whose states 'toy' shares, is closed"):
            guest.peek("n")

    thread = threading.Thread(target=work, daemon=True)
    thread.start()
    while guest.peek("n") < 2:
        time.sleep(0.001)
    owner.close()
    assert driver.epoch > 0
    assert driver.epoch % 10 == 0
    thread.join(SECONDS)
    assert not thread.is_alive()


def test_borrowing_from_a_borrower_borrows_from_the_lender(make: Make) -> None:
    """The executable shares the memory of the first one, and raises when that one closes, as all
    others do."""
    owner, (guest,) = counters(make, 1)
    other = make(counting_program()).share_states(guest)
    for executable in (owner, guest, other):
        executable.run()
    assert other.states["n"] == 3
    guest.close()
    other.run()
    assert owner.states["n"] == 4
    owner.close()
    with pytest.raises(ark.InvalidUsageError, match="is closed"):
        other.run()


@pytest.mark.parametrize("drop", [False, True], ids=["closed", "dropped"])
def test_the_memory_goes_with_the_last_borrower(cuda: FakeCuda, kernel: bytes, drop: bool) -> None:
    owner, (guest,) = counters(lambda program: fake_executable(cuda, kernel, program), 1)
    owner.run(iterations=5)
    states = storage_of(owner).states.memories
    address: int = states["n"].address
    del states
    if not drop:
        owner.close()
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            guest.run()
    del owner
    gc.collect()
    assert ctypes.c_int64.from_address(address).value == 5
    if drop:
        guest.run()
        assert guest.states["n"] == 6
    guest.close()
    assert cuda.held == 0


def test_sharing_again_frees_the_first_memory(cuda: FakeCuda, kernel: bytes) -> None:
    def make(program: ToyProgram) -> Executable:
        return fake_executable(cuda, kernel, program)

    owner, (guest,) = counters(make, 1)
    other = make(counting_program()).prepare()
    held = cuda.held
    guest.share_states(other)
    assert cuda.held == held
    owner.share_states(guest)
    assert cuda.held == held - 1
    for executable in (owner, other, guest):
        executable.run()
    assert other.states["n"] == 3
    for executable in (other, owner, guest):
        executable.close()
    assert cuda.held == 0


def test_sharing_with_a_closed_or_resident_executable_raises(make: Make) -> None:
    owner, guest = make(counting_program()), make(counting_program())
    with guest.resident(), pytest.raises(ark.InvalidUsageError, match="is resident"):
        guest.share_states(owner)
    owner.close()
    for one, other in ((guest, owner), (owner, guest)):
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            one.share_states(other)
    guest.run()
    assert guest.states["n"] == 1


def test_a_run_of_a_resident_program_and_of_one_that_shares_its_states(make: Make) -> None:
    owner, (guest,) = counters(make, 1)
    with owner.resident() as resident:
        together(
            lambda: [resident.run(iterations=100) for _ in range(20)],
            lambda: [guest.run(iterations=100) for _ in range(20)],
        )
    assert owner.states["n"] == 4000


def test_alternating_runs_on_shared_states(make: Make) -> None:
    """Programs of different schedules run alternately on one state."""
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    count, nothing = program.task("count", 1, [(state, 0)]), program.task("nothing")
    done = program.semaphore(1)
    program.lane(0, [run(nothing, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(count, 0, 1)])
    owner = make(program)
    guest = make(counting_program()).share_states(owner)
    for index in range(10):
        (owner, guest)[index % 2].run(iterations=index + 1)
    assert owner.states["n"] == sum(range(11))
    guest.reset()
    assert owner.states["n"] == 0

"""Calls from several threads: which calls exclude each other, and that there is no deadlock."""

from __future__ import annotations

import gc
import signal as signals
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from concurrency import SECONDS, together
from internals import runner_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program

Array = np.ndarray[Any, Any]
Make = Callable[..., Executable]
W = np.ones(128, np.float32)


def until_closed(call: Callable[[], object]) -> Callable[[], None]:
    """Repeats a call until the executable is closed."""

    def again_and_again() -> None:
        while True:
            call()

    def work() -> None:
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            again_and_again()

    return work


CALLS: dict[str, Callable[[Executable], object]] = {
    "bind": lambda exe: exe.bind({"w": W}),
    "reset": lambda exe: exe.reset(),
    "run": lambda exe: exe.run(x=np.zeros((8, 16), np.float32)),
    "states": lambda exe: dict(exe.states),
    "check": lambda exe: exe.check(),
    "report": lambda exe: exe.prepare().report(),
    "share_states": lambda exe: exe.share_states(exe),
}


@pytest.fixture
def restless() -> Iterator[None]:
    """Makes the interpreter switch threads at almost every step."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


@pytest.mark.usefixtures("restless")
@pytest.mark.parametrize("name", CALLS)
def test_closing_in_another_thread(kernel: bytes, name: str) -> None:
    manifest, sections = add_program().parts(kernel)
    for _ in range(100):
        executable = Executable.from_parts(manifest, sections).bind({"w": W})
        started = threading.Event()

        def call(exe: Executable = executable, started: threading.Event = started) -> None:
            CALLS[name](exe)
            started.set()

        def close(exe: Executable = executable, started: threading.Event = started) -> None:
            started.wait(SECONDS)
            exe.close()

        together(until_closed(call), close)


@pytest.mark.parametrize("name", ["bind", "reset", "run", "check"])
def test_closing_while_a_call_is_under_way(
    add: Executable, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another thread begins to close when the call has begun, and waits for its end."""
    runner = runner_of(add.prepare())
    call_open, inside = runner.call_open, threading.Event()

    def slowly(work: Callable[[], object], on_behalf: object = None) -> object:
        def begin() -> object:
            inside.set()
            time.sleep(0.1)
            return work()

        return call_open(begin, on_behalf)

    monkeypatch.setattr(runner, "call_open", slowly)

    def close() -> None:
        inside.wait(SECONDS)
        add.close()

    together(lambda: CALLS[name](add), close)
    with pytest.raises(ark.InvalidUsageError, match="is closed"):
        add.run()


def test_all_calls_at_once(kernel: bytes) -> None:
    manifest, sections = add_program().parts(kernel)
    for _ in range(5):
        executable = Executable.from_parts(manifest, sections).bind({"w": W})

        def close(exe: Executable = executable) -> None:
            time.sleep(0.05)
            exe.close()

        calls = [until_closed(lambda exe=executable, c=c: c(exe)) for c in CALLS.values()]
        together(close, *calls)


def test_a_call_within_a_call_is_refused(make: Make, napping: ToyProgram) -> None:
    """A signal handler that uses the executable would wait for its own thread."""
    executable, caught = make(napping), list[str]()

    def handler(number: int, frame: object) -> None:
        for call in (executable.close, executable.reset, executable.run):
            with pytest.raises(ark.InvalidUsageError, match="within a call of this executable"):
                call()
            caught.append(call.__name__)

    before = signals.signal(signals.SIGALRM, handler)
    try:
        signals.setitimer(signals.ITIMER_REAL, 0.2)
        executable.run(iterations=30)
    finally:
        signals.signal(signals.SIGALRM, before)
    assert caught == ["close", "reset", "run"]
    executable.run()
    assert executable.states["n"] == 31


def test_outputs_of_several_threads(cuda: FakeCuda, kernel: bytes, x: Array) -> None:
    """Each thread gets the outputs of its own runs while others drop and close executables."""
    with fake_executable(cuda, kernel, add_program()).bind({"w": W}) as executable:

        def work(scale: int) -> None:
            for _ in range(10):
                y = executable.run(x=OnDevice(scale * x))["y"]
                record = {"__array_interface__": y.__cuda_array_interface__}
                read = np.asarray(type("Host", (), record))
                np.testing.assert_array_equal(read, scale * x.ravel() + 1.5)

        def drop() -> None:
            for _ in range(5):
                fake_executable(cuda, kernel, counting_program()).run()

        together(lambda: work(1), lambda: work(2), drop)
    gc.collect()
    assert cuda.held == 0

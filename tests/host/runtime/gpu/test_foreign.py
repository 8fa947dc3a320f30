"""A kernel of another library on a non-blocking stream, for which calls of NVIDIA's driver wait."""

from __future__ import annotations

import gc
import logging
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest
from internals import runner_of

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.gpu import backlog
from ark_mlir.runtime.gpu import driver as gpu_driver
from ark_mlir.runtime.gpu.limits import LimitedCall
from ark_mlir.testing.fake_gpu import WAITS_FOR_ALL, FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, run

Array = np.ndarray[Any, Any]
W = np.arange(128, dtype=np.float32)
NEVER = 30.0  # ends a call that waits for the kernel in vain, and fails the test
LIMIT = 0.2
BOUND = 5.0  # on a busy machine
RELEASES = [WAITS_FOR_ALL, *({name} for name in ("cuMemFree", "cuMemFreeHost", "cuModuleUnload"))]
TAKE = ("cuMemAlloc", "cuMemHostAlloc", "cuModuleLoadData", "cuModuleGetFunction")


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LIMIT_SECONDS", LIMIT)
    monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", LIMIT)


@pytest.fixture
def unraisable(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Collects the errors that finalizers and threads raised."""
    caught: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: caught.append(args.exc_value))
    return caught


@contextmanager
def foreign(cuda: FakeCuda, names: Iterable[str] = WAITS_FOR_ALL) -> Generator[None]:
    """A kernel of another library for which some functions wait, until the end of the block."""

    def end() -> None:
        cuda.foreign = frozenset()

    cuda.foreign = frozenset(names)
    timer = threading.Timer(NEVER, end)
    timer.daemon = True
    timer.start()
    start = time.monotonic()
    try:
        yield
        assert time.monotonic() - start < BOUND
    finally:
        timer.cancel()
        end()


def held_at_last(cuda: FakeCuda, expected: int = 0) -> int:
    """Returns the number of held handles when it is the expected one, or after a limit."""
    end = time.monotonic() + BOUND
    while cuda.held != expected and time.monotonic() < end:
        time.sleep(0.001)
    return cuda.held


def added(cuda: FakeCuda, kernel: bytes) -> Executable:
    return fake_executable(cuda, kernel, add_program()).bind({"w": W})


def assert_adds(executable: Executable, x: Array) -> None:
    np.testing.assert_array_equal(executable.run(x=x)["y"], x.ravel() + W + 0.5)


@pytest.mark.parametrize("names", RELEASES, ids=lambda names: "+".join(sorted(names))[:14])
@pytest.mark.parametrize("dropped", [False, True], ids=["closed", "dropped"])
def test_closing(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    names: Iterable[str],
    dropped: bool,
    unraisable: list[Any],
) -> None:
    """The error names the call; all is freed when the kernel ends, without further calls of ark."""
    executable = added(cuda, kernel)
    assert_adds(executable, x)
    with foreign(cuda, names):
        if dropped:
            del executable
            gc.collect()
            (error,) = unraisable
        else:
            with pytest.raises(ark.BusyError) as caught:
                executable.close()
            error = caught.value
        assert isinstance(error, ark.BusyError)
        called = "|".join(map(cuda.pattern, names))
        waits = "has not returned within 0.2 s: it waits for other work"
        assert re.search(f"({called}) {waits}", str(error))
        assert cuda.held > 0
    assert held_at_last(cuda) == 0


@pytest.mark.parametrize("name", TAKE)
@pytest.mark.parametrize("fails", [False, True])
def test_loading(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    name: str,
    fails: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing leaks, whether the call succeeds or fails when it returns at last."""
    executable = fake_executable(cuda, kernel, add_program())
    with monkeypatch.context() as failing, foreign(cuda, {name}):
        with pytest.raises(
            ark.BusyError, match=f"{cuda.pattern(name)} has not returned within 0.2 s"
        ):
            executable.prepare()
        if fails:
            failing.setattr(cuda, f"_{name}", lambda *arguments: (2, None), raising=False)
        cuda.foreign = frozenset()
        assert held_at_last(cuda) == 0
    assert_adds(executable.bind({"w": W}), x)
    executable.close()
    assert cuda.held == 0


def test_binding(cuda: FakeCuda, kernel: bytes, x: Array) -> None:
    executable = fake_executable(cuda, kernel, add_program()).prepare()
    held = cuda.held
    with (
        foreign(cuda),
        pytest.raises(ark.BusyError, match=f"{cuda.pattern('cuMemAlloc')} has not returned"),
    ):
        executable.bind({"w": W})
    assert held_at_last(cuda, held) == held
    assert_adds(executable.bind({"w": W}), x)
    executable.close()
    assert held_at_last(cuda) == 0


def test_runs_go_on(cuda: FakeCuda, kernel: bytes, x: Array) -> None:
    """A program that was loaded before runs, also while another program frees its memory."""
    executable, other = added(cuda, kernel), added(cuda, kernel)
    assert_adds(executable, x)
    with foreign(cuda):
        assert_adds(executable, x)
        with pytest.raises(ark.BusyError):
            other.close()
        assert_adds(executable, x)
    executable.close()
    assert held_at_last(cuda) == 0


def test_dropping_an_output(cuda: FakeCuda, kernel: bytes, x: Array, unraisable: list[Any]) -> None:
    """The first call waits until the limit, and the others do not wait."""
    executable = added(cuda, kernel)
    outputs = [executable.run(x=OnDevice(x))["y"] for _ in range(3)]
    gc.collect()
    held = cuda.held
    with foreign(cuda):
        while outputs:
            outputs.pop()
        runner_of(executable)._fixed = None
        gc.collect()
        assert [type(error) for error in unraisable] == [ark.BusyError]
        assert cuda.held == held
    assert_adds(executable, x)
    executable.close()
    assert held_at_last(cuda) == 0


def test_zeroing_waits_for_an_sm(cuda: FakeCuda, kernel: bytes) -> None:
    program = ToyProgram(sms=1)
    state = program.buffer("n", "state", "fp32", [1 << 16])
    program.lane(0, [run(program.task("count", 1, [(state, 0)]), 0, 1)])
    executable = fake_executable(cuda, kernel, program)
    cuda.occupied = True
    start = time.monotonic()
    with pytest.raises(ark.BusyError, match="memory has not been zeroed within 0\\.2 s"):
        executable.prepare()
    assert time.monotonic() - start < BOUND
    cuda.occupied = False
    executable.prepare().close()
    assert cuda.held == 0


@pytest.mark.parametrize("call", ["load", "close"])
def test_ctrl_c(cuda: FakeCuda, kernel: bytes, call: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(backlog, "LIMIT_SECONDS", NEVER)
    executable = fake_executable(cuda, kernel, add_program())
    if call == "close":
        executable.prepare()
    timer = threading.Timer(0.1, lambda: os.kill(os.getpid(), signal.SIGINT))
    with foreign(cuda):
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            executable.prepare() if call == "load" else executable.close()
    assert held_at_last(cuda) == 0


def test_late_failures_are_logged(
    cuda: FakeCuda,
    kernel: bytes,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    executable = fake_executable(cuda, kernel, add_program()).prepare()
    memories = cuda.operations.count("cuMemAlloc")
    with foreign(cuda, {"cuMemFree"}):
        monkeypatch.setattr(cuda, "_cuMemFree", lambda address: (1,))
        with pytest.raises(ark.BusyError):
            executable.close()
        caplog.set_level(logging.WARNING, "ark")
    end = time.monotonic() + BOUND
    while len(caplog.records) < memories and time.monotonic() < end:
        time.sleep(0.001)
    # The call that had exceeded the limit, and those that waited for it.
    texts = [record.getMessage() for record in caplog.records]
    assert len(texts) == memories == held_at_last(cuda, memories)
    failed = f"{cuda.pattern('cuMemFree')} failed: {cuda.error('INVALID_VALUE')}"
    assert all(re.search(failed, text) for text in texts)


@pytest.mark.parametrize("fails", [False, True])
def test_a_call_whose_caller_has_abandoned_it(fails: bool) -> None:
    late: list[object] = []
    returns, left = threading.Event(), threading.Event()

    def work() -> str:
        returns.wait()
        if fails:
            raise ark.DeviceError("fails")
        return "handle"

    def keep(result: object) -> None:
        late.append(result)
        left.set()

    call = LimitedCall(work, keep)
    assert not call.wait(0.01)
    assert not call.ended
    returns.set()
    assert left.wait(BOUND)
    assert (call.ended, late) == (True, [None if fails else "handle"])


def test_a_call_within_a_call_uses_its_thread() -> None:
    threads: list[int] = []

    def note() -> None:
        threads.append(threading.get_ident())

    def work() -> bool:
        note()
        return LimitedCall(note, threads.append).wait(0)

    outer = LimitedCall(work, threads.append)
    assert outer.wait(BOUND)
    assert outer.result()
    assert threads[0] == threads[1] != threading.get_ident()

"""Executables that are closed while a run is queued, or while a kernel does not end."""

from __future__ import annotations

import ctypes
import gc
import sys
import threading
import time
import weakref
from concurrent.futures import Future
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from internals import driver_of, storage_of
from occupied_gpus import NEVER, occupied, shorten_limits

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.gpu import driver as gpu_driver
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program, run

Array = np.ndarray[Any, Any]
W = np.ones(128, np.float32)


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    shorten_limits(monkeypatch)


def abandon(executable: Executable, x: Array, stays: bool) -> None:
    """Makes a run that stays queued behind a foreign kernel until the host abandons the run."""
    if stays:
        with pytest.raises(ark.BusyError), executable.resident() as resident:
            resident.run(x=x)
    else:
        with pytest.raises(ark.BusyError):
            executable.run(x=x)


@pytest.mark.parametrize("stays", [False, True])
def test_closing_waits_for_a_run_that_was_abandoned(
    cuda: FakeCuda, kernel: bytes, x: Array, stays: bool
) -> None:
    executable = fake_executable(cuda, kernel, add_program()).bind({"w": W})
    with occupied(cuda):
        abandon(executable, x, stays)
        closed = Future[None]()
        closer = threading.Thread(target=lambda: closed.set_result(executable.close()))
        closer.start()
        closer.join(0.5)
        assert closer.is_alive()
        assert cuda.held
    closer.join()
    closed.result(0)
    assert (cuda.held, cuda.running) == (0, 0)


@pytest.mark.parametrize("stays", [False, True])
def test_closing_does_not_wait_for_ever(
    cuda: FakeCuda, kernel: bytes, x: Array, stays: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Resources that the run may still use are freed after its end."""
    monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", 0.1)
    others = fake_executable(cuda, kernel, counting_program()).prepare()
    before = cuda.held
    executable = fake_executable(cuda, kernel, add_program())
    weight = OnDevice(W)
    alive = weakref.ref(weight.array)
    executable.bind({"w": weight})
    del weight
    held = cuda.held
    with occupied(cuda):
        abandon(executable, x, stays)
        start = time.monotonic()
        with pytest.raises(ark.BusyError, match="'toy' is closed, and its last run is still queu"):
            executable.close()
        assert time.monotonic() - start < NEVER / 4
        # No handle is freed: the kernel may begin at any time, and freeing memory of other programs
        # would wait for it.
        assert cuda.held >= held
        others.close()
        gc.collect()
        assert alive() is not None
        executable.close()
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            executable.run(x=x)
    cuda.synchronize(cuda.launched[-1])
    assert cuda.running == 0
    fake_executable(cuda, kernel, counting_program()).prepare().close()
    assert cuda.held == 0 < before
    gc.collect()
    assert alive() is None


@pytest.mark.parametrize("dropped", [False, True])
def test_closing_does_not_wait_for_a_kernel_of_others(
    cuda: FakeCuda,
    kernel: bytes,
    x: Array,
    dropped: bool,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Freeing memory would wait without a limit, so that it is deferred to the kernel's end."""
    monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", 0.1)
    unraisable: list[Any] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda args: unraisable.append(args.exc_value))
    executable = fake_executable(cuda, kernel, add_program()).bind({"w": W})
    executable.run(x=x)
    held = cuda.held
    with occupied(cuda):
        start = time.monotonic()
        if dropped:
            del executable
            gc.collect()
            (error,) = unraisable
        else:
            with pytest.raises(ark.BusyError) as caught:
                executable.close()
            error = caught.value
        assert time.monotonic() - start < NEVER / 4
        assert "'toy' is closed, and work of others on the GPU has not ended within" in str(error)
        assert cuda.held == held
    fake_executable(cuda, kernel, counting_program()).prepare().close()
    assert cuda.held == 0


def test_closing_waits_for_a_kernel_of_others_that_ends(cuda: FakeCuda, kernel: bytes) -> None:
    executable = fake_executable(cuda, kernel, counting_program()).prepare()
    with occupied(cuda, 0.2):
        executable.close()
    assert cuda.held == 0


def test_closing_while_a_kernel_does_not_end(
    cuda: FakeCuda, kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The lane is in an endless task, and never checks for an abort."""
    monkeypatch.setattr(gpu_driver, "GRACE_SECONDS", 0.1)
    program = ToyProgram(sms=1)
    flag = program.buffer("flag", "state", "int32", [])
    program.lane(0, [run(program.task("endless", 1, [(flag, 0)]), 0, 1)])
    executable = fake_executable(cuda, kernel, program).prepare()
    states = storage_of(executable).states.memories
    address: int = states["flag"].address

    def interrupt() -> Any:
        raise KeyboardInterrupt

    driver = driver_of(executable)
    watch = driver._watch.start
    monkeypatch.setattr(driver._watch, "start", lambda _: SimpleNamespace(poll=interrupt))
    with pytest.raises(ark.DeviceError, match="does not end"):
        executable.run()
    monkeypatch.setattr(driver._watch, "start", watch)
    with pytest.raises(ark.DeviceError, match=r"its kernel has not ended within 0\.1 s"):
        executable.close()
    assert cuda.held
    ctypes.c_int32.from_address(address).value = 1
    cuda.synchronize(cuda.launched[-1])
    fake_executable(cuda, kernel, counting_program()).prepare().close()
    assert (cuda.held, cuda.running) == (0, 0)

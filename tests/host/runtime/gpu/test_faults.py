"""Every call of the vendor's driver fails once, on each path: a typed error is raised, and nothing
leaks or hangs.

On a stand-in for CUDA, which counts the handles that are not released.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_executable
from ark_mlir.testing.toy import ToyProgram, add_program, counting_program, run

Array = np.ndarray[Any, Any]
Session = Callable[[FakeCuda, bytes], None]
W = np.arange(128, dtype=np.float32)
X = np.arange(128, dtype=np.float32).reshape(8, 16)
ROWS = 2000  # rows of 64 bytes: more than a memset without an SM can zero


def adding(cuda: FakeCuda, kernel: bytes) -> Executable:
    return fake_executable(cuda, kernel, add_program())


def copying(cuda: FakeCuda, kernel: bytes) -> Executable:
    """``y = x``, too large for a launch record, on a lane for every SM."""
    program = ToyProgram(sms=1)
    x = program.buffer("x", "input", "fp32", [ROWS, 16])
    y = program.buffer("y", "output", "fp32", [ROWS, 16])
    program.lane(0, [run(program.task("copy", ROWS, [(y, 0), (x, 0)]), 0, ROWS)])
    return fake_executable(cuda, kernel, program)


def read(value: Any) -> Array:
    """Returns an array of the stand-in's device."""
    record = {"__array_interface__": value.__cuda_array_interface__}
    return np.array(np.asarray(type("Host", (), record)))


def binding(cuda: FakeCuda, kernel: bytes) -> None:
    """Binds several parameters and states, twice."""
    program = ToyProgram(sms=1)
    for name in "abc":
        program.buffer(name, "parameter", "fp32", [16])
    for name in "st":
        program.buffer(name, "state", "fp32", [16], init=1)
    program.lane(0, [run(program.task("nothing"), 0, 1)])
    with fake_executable(cuda, kernel, program) as executable:
        for value in (1, 2):
            executable.bind({name: np.full(16, value, np.float32) for name in "abcst"})
            executable.run()
            executable.reset()


def exporting(cuda: FakeCuda, kernel: bytes) -> None:
    """Reads outputs that outlive their executable."""
    executable = adding(cuda, kernel)
    try:
        executable.bind({"w": OnDevice(W)})
        outputs = [executable.run(x=OnDevice(scale * X))["y"] for scale in range(3)]
    finally:
        executable.close()
    for scale, output in enumerate(outputs):
        np.testing.assert_array_equal(read(output), scale * X.ravel() + W + 0.5)


def dropping(cuda: FakeCuda, kernel: bytes) -> None:
    """Drops the executable without `close`."""
    executable = adding(cuda, kernel).bind({"w": W})
    executable.run(x=OnDevice(X))
    executable.run(x=X, iterations=2)


def staying(cuda: FakeCuda, kernel: bytes) -> None:
    """Runs a resident kernel with outputs that are not tensors and too large for the launch
    record."""
    array = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    with copying(cuda, kernel) as executable, executable.resident() as resident:
        outputs = [resident.run(x=OnDevice(scale * array))["y"] for scale in range(2)]
        np.testing.assert_array_equal(resident.run(x=array)["y"], array)
    for scale, output in enumerate(outputs):
        np.testing.assert_array_equal(read(output), scale * array)


def sharing(cuda: FakeCuda, kernel: bytes) -> None:
    """A program shares the states of another one and is closed after it."""
    with (
        fake_executable(cuda, kernel, counting_program()) as guest,
        fake_executable(cuda, kernel, counting_program()) as owner,
    ):
        guest.share_states(owner)
        owner.run()
        guest.run(iterations=2)
        assert owner.states["n"] == guest.states["n"] == 3


def looking(cuda: FakeCuda, kernel: bytes) -> None:
    with fake_executable(cuda, kernel, counting_program()) as executable:
        executable.run()
        executable.reset()
        assert executable.peek("n") == executable.states["n"] == 0


def closing_in_a_block(cuda: FakeCuda, kernel: bytes) -> None:
    with adding(cuda, kernel).bind({"w": W}) as executable, executable.resident() as resident:
        resident.run(x=X)
        executable.close()


def collected(session: Session, cuda: FakeCuda, kernel: bytes, dropped: Sequence[str] = ()) -> None:
    """Runs a session; raises its error, or else the last one of `dropped`, without a traceback
    that refers to what the session held.

    Args:
        session: the session.
        cuda: its driver.
        kernel: its kernel.
        dropped: messages of errors that finalizers raised.
    """
    try:
        session(cuda, kernel)
    except ark.ArkError as error:
        raise type(error)(error.message) from None
    if dropped:
        raise ark.DeviceError(dropped[-1])


SESSIONS = [binding, exporting, dropping, staying, sharing, looking, closing_in_a_block]


@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.__name__)
def test_the_kth_call_fails(
    vendor: type[FakeCuda], kernel: bytes, session: Session, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A resident kernel without rings ends after this time.
    monkeypatch.setenv("ARK_TIMEOUT", "1")
    dropped: list[str] = []
    monkeypatch.setattr("sys.unraisablehook", lambda args: dropped.append(str(args.exc_value)))
    good = vendor()
    session(good, kernel)
    gc.collect()
    assert (good.held, good.running, dropped) == (0, 0, [])
    for k, name in enumerate(good.calls, start=1):
        cuda = vendor(fail_at=k)
        with pytest.raises(
            (ark.DeviceError, ark.UnsupportedError), match=f"{name} failed: {cuda.error()}"
        ):
            collected(session, cuda, kernel, dropped)
        if cuda.held:
            gc.collect()
        assert (cuda.held, cuda.running) == (0, 0), (k, name)


# After a fault, HIP has no context that a process could release.
@pytest.mark.parametrize("vendor", [FakeCuda], ids=["cuda"])
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.__name__)
def test_the_context_is_lost_at_the_kth_call(
    vendor: type[FakeCuda],
    kernel: bytes,
    session: Session,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """After a lost context every call fails. After all handles are freed, a new start works."""
    monkeypatch.setenv("ARK_TIMEOUT", "1")
    # Errors in finalizers go to `sys.unraisablehook`.
    monkeypatch.setattr("sys.unraisablehook", lambda args: None)
    good = vendor()
    session(good, kernel)
    launches = good.operations.count("cuLaunchKernelEx")
    for launch in range(launches):
        cuda = vendor()
        seen = [0]

        def crash(*arguments: Any, cuda: Any = cuda, seen: Any = seen, at: int = launch) -> Any:
            cuda.crashes = seen[0] == at
            seen[0] += 1
            return type(cuda)._cuLaunchKernelEx(cuda, *arguments)

        monkeypatch.setattr(cuda, "_cuLaunchKernelEx", crash)
        with pytest.raises(ark.DeviceError, match=cuda.error("ILLEGAL_ADDRESS")):
            collected(session, cuda, kernel)
        gc.collect()
        assert cuda.held == 0
        session(cuda, kernel)
        gc.collect()
        assert cuda.held == 0


def test_outputs_of_a_kernel_that_stays_need_no_sm(
    vendor: type[FakeCuda], kernel: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A memset would wait for the end of a resident kernel that occupies all SMs, so that each
    run would launch it again."""
    monkeypatch.setenv("ARK_TIMEOUT", "5")
    array = np.arange(ROWS * 16, dtype=np.float32).reshape(ROWS, 16)
    cuda = vendor(sms=1)
    with copying(cuda, kernel) as executable, executable.resident() as resident:
        # The memory of outputs is not freed within the block, since that waits for the kernel.
        outputs = [resident.run(x=OnDevice(array))["y"]]
        before = len(cuda.calls)
        outputs += [resident.run(x=OnDevice(scale * array))["y"] for scale in range(5)]
        assert "cuMemsetD8Async" not in cuda.operations[before:]
        assert len(cuda.launched) == 1
    for scale in (4, 3, 2, 1, 0, 1):
        np.testing.assert_array_equal(read(outputs.pop()), scale * array)
    gc.collect()
    assert cuda.held == 0

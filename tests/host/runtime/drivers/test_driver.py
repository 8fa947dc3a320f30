"""The launch path with a failing driver: each failure is raised, and nothing leaks."""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable, Fault, Launch, Outcome, Stop
from ark_mlir.runtime.arrays.streams import RunStream
from ark_mlir.runtime.cpu.exchange import HostExchange
from ark_mlir.runtime.cpu.kernel import HostMemory
from ark_mlir.testing.toy import add_program

Array = np.ndarray[Any, Any]


class FakeDriver:
    """Counts its calls and fails at a given call; does not run kernels."""

    def __init__(self, fail_at: int = -1, outcome: Outcome | None = None) -> None:
        self.calls: list[str] = []
        self.launches: list[Launch] = []
        self.fail_at = fail_at
        self.outcome = outcome or Outcome((0, 0))
        self.closed = 0

    def _call(self, name: str) -> None:
        assert not self.closed, "called after close"
        self.calls.append(name)
        if len(self.calls) == self.fail_at:
            raise ark.DeviceError(f"{name} failed")

    def load(self, bundle: Any) -> None:
        self._call("load")
        self.bundle = bundle

    def allocate(self, nbytes: int, alignment: int, **options: int) -> HostMemory:
        self._call("allocate")
        return HostMemory(nbytes, alignment)

    def adopt(self, array: Array, alignment: int) -> int | None:
        self._call("adopt")
        return None

    device = (1, 0)

    def run_stream(self, stream: object, values: Any) -> RunStream:
        return RunStream()

    def synchronize(self, run_stream: RunStream) -> None:
        self._call("synchronize")

    def download(self, address: int, dtype: Any, shape: tuple[int, ...], rank: int = 0) -> Array:
        raise AssertionError("nothing lies on a device")

    def exchange(self, stays: bool) -> HostExchange:
        return HostExchange(self, self.bundle.manifest, stays)

    def captures(self, run_stream: RunStream) -> bool:
        return False

    def recorded(self, stream: object) -> list[Outcome]:
        return []

    def launch(self, launch: Launch) -> None:
        self._call("launch")
        self.launches.append(launch)

    def wait(self) -> Outcome:
        self._call("wait")
        return self.outcome

    def cancel(self) -> None:
        self._call("cancel")

    def make_resident(self) -> None:
        self._call("make_resident")

    def make_coherent(self) -> None:
        self._call("make_coherent")

    def end_residency(self) -> None:
        self._call("end_residency")

    def close(self) -> None:
        self.closed += 1


def executable(driver: FakeDriver) -> Executable:
    return Executable.from_parts(*add_program().parts(), drivers={"cpu": lambda: driver})


def session(driver: FakeDriver, x: Array) -> dict[str, Any]:
    with executable(driver) as exe:
        exe.bind({"w": np.ones(128, np.float32)})
        return exe.run(x=x)


def test_the_calls_of_a_run(x: Array) -> None:
    driver = FakeDriver()
    y = session(driver, x)["y"]
    assert y.shape == (128,)
    assert driver.calls[0] == "load"
    assert driver.calls[-2:] == ["launch", "wait"]
    assert driver.closed == 1
    # One address per slot, in the order of slots: x, w, c, y.
    assert len(set(driver.launches[0].addresses)) == 4


def test_failure_at_every_call(x: Array) -> None:
    """The k-th call fails, for every k: a DeviceError, and the driver is closed once."""
    good = FakeDriver()
    session(good, x)
    for index, name in enumerate(good.calls, start=1):
        driver = FakeDriver(fail_at=index)
        with pytest.raises(ark.DeviceError, match=f"{name} failed"):
            session(driver, x)
        assert driver.closed == 1


def test_a_failed_run_does_not_spoil_the_next(x: Array) -> None:
    driver = FakeDriver()
    exe = executable(driver).bind({"w": np.ones(128, np.float32)})
    exe.run(x=x)
    driver.fail_at = len(driver.calls) + 3
    with pytest.raises(ark.DeviceError):
        exe.run(x=x)
    exe.run(x=x)


@pytest.mark.parametrize(
    ("outcome", "error", "message"),
    [
        (Outcome((1, 2), Stop(1, 0, 3, 0, 1, 2)), ark.HangError, "saw 1, expected 2"),
        (Outcome((1, 2), Stop(1, 99, 3, 0, 1, 2)), ark.DeviceError, "is inconsistent"),
        (Outcome((1, 2), Stop(1, 1, 3, 0, 1, 2)), ark.DeviceError, "is inconsistent"),
        (Outcome((1, 2), Stop(1, 0, 1, 0, 1, 2)), ark.DeviceError, "is inconsistent"),
        (Outcome((2, 2), Stop(2)), ark.DeviceError, "aborted"),
        (Outcome((5, 2), Stop(2)), ark.DeviceError, r"codes \{0: 5\}"),
        (Outcome((0, 3)), ark.DeviceError, r"codes \{1: 3\}"),
        (Outcome((0, 0), fault=Fault(1, 9, 8, 1)), ark.InvalidUsageError, r"net.py:8: .*\[0, 8\)"),
        (Outcome((0, 0), fault=Fault(1, 9, 8, 77)), ark.InvalidUsageError, "index 9 is out"),
        (Outcome((0, 0), fault=Fault(1, 9, 8, -1)), ark.InvalidUsageError, "index 9 is out"),
        (
            Outcome((0, 0), fault=Fault.of([1, 9, 8, (3 << 32) | 1])),
            ark.DataRangeError,
            r"net.py:8: .*sequence 2: index 9 is out of range \[0, 8\)",
        ),
        (Outcome((0, 0), fault=Fault.of([1, 9, 8, -1])), ark.DataRangeError, "[^:]*index 9 is out"),
    ],
)
def test_outcomes(x: Array, outcome: Outcome, error: type[ark.ArkError], message: str) -> None:
    """Any words in a kernel's report give an error and not a crash."""
    counters = np.array([1, 0], np.uint64)
    spoilt = Outcome(outcome.codes, outcome.stop, outcome.fault, counters)
    with pytest.raises(error, match=message):
        session(FakeDriver(outcome=spoilt), x)


def test_no_driver_for_a_backend() -> None:
    with pytest.raises(ark.UnsupportedError, match=f"for cpu \\({platform.machine()}\\)"):
        Executable.from_parts(*add_program().parts(), drivers={}).prepare()


def test_a_missing_buffer_raises() -> None:
    with pytest.raises(ark.DeviceError, match="no memory for"):
        HostMemory(1 << 62)
    assert HostMemory(0).nbytes == 0
    assert HostMemory(0).read(np.dtype(np.float32), (0, 3)).shape == (0, 3)
    for alignment in (64, 4096):
        assert HostMemory(100, alignment).address % alignment == 0

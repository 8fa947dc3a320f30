"""Resident kernels execute many runs in one launch, and end after errors, too."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from internals import driver_of

import ark_mlir as ark

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]

pytestmark = pytest.mark.gpu


def stays(executable: ark.Executable) -> bool:
    driver = driver_of(executable)
    return driver._resident is not None and driver._resident.is_running


def test_the_same_results(load: Load, arrays: Arrays) -> None:
    """A resident kernel has the same bits as launches, which run first: it occupies all SMs."""
    random = np.random.default_rng(0)
    inputs = [random.standard_normal((4, 64)).astype(arrays["input.x"].dtype) for _ in range(300)]

    def results(run: Callable[..., dict[str, Any]]) -> list[dict[str, bytes]]:
        return [
            {name: value.tobytes() for name, value in run(x=x, position=step % 60).items()}
            for step, x in enumerate(inputs)
        ]

    exe = load("weights").bind({"w": arrays["input.w"]})
    expected = results(exe.run)
    exe.reset()
    with exe.resident() as resident:
        assert results(resident.run) == expected
        assert stays(exe)
    assert not stays(exe)


def test_an_idle_kernel_ends(load: Load) -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    exe = load("good")
    expected = exe.run(x=x)["y"]
    with ark.knobs.scope(ARK_TIMEOUT="0.2"), exe.resident() as resident:
        for _ in range(3):
            np.testing.assert_array_equal(resident.run(x=x)["y"], expected)
            assert stays(exe)
            time.sleep(0.5)
            assert not stays(exe)


def test_rings_around_the_end_of_the_kernel(load: Load) -> None:
    """A ring at any moment around the end is answered, by this kernel or by the next launch."""
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    exe = load("good")
    expected = exe.run(x=x)["y"]
    pauses = np.random.default_rng(0).uniform(0.008, 0.012, 300)
    with ark.knobs.scope(ARK_TIMEOUT="0.01"), exe.resident() as resident:
        for pause in pauses:
            np.testing.assert_array_equal(resident.run(x=x)["y"], expected)
            time.sleep(pause)


def test_other_kernels_run_after_the_block(load: Load, torch: Any) -> None:
    x = torch.randn(64, 256, device="cuda")
    exe = load("good")
    expected = exe.run(x=x)["y"]
    y = torch.empty_like(expected)
    torch.cuda.synchronize()
    with exe.resident() as resident:
        # Arrays on the GPU are used in place by a resident kernel, too.
        for _ in range(20):
            resident.run(x=x, out={"y": y})
    assert torch.equal(y, expected)


def test_other_kernels_wait_no_longer_than_the_timeout(load: Load, torch: Any) -> None:
    x = np.zeros((64, 256), np.float32)
    with ark.knobs.scope(ARK_TIMEOUT="0.5"), load("good").resident() as resident:
        resident.run(x=x)
        start = time.monotonic()
        torch.randn(1 << 20, device="cuda").sum().item()
        assert time.monotonic() - start < 2
        resident.run(x=x)


def test_runs_after_a_hang(load: Load) -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    good = load("good")
    expected = good.run(x=x)["y"]
    with ark.knobs.scope(ARK_TIMEOUT="0.3"), load("hang").resident() as resident:
        for _ in range(3):
            with pytest.raises(ark.HangError, match="softmax"):
                resident.run(x=x)
            np.testing.assert_array_equal(good.run(x=x)["y"], expected)


def test_iterations_and_states(load: Load) -> None:
    exe = load("stop")
    with exe.resident() as resident:
        total = 0
        for length in [1, 2, 3, 50] * 20:
            total += length
            result: Any = resident.run(limit=total, iterations=100)
            assert (result["y"] == 16 * total).all()
        assert exe.states["count"] == total
        resident.reset()
        assert exe.states["count"] == 0


def test_closing_in_the_block(load: Load) -> None:
    x = np.zeros((64, 256), np.float32)
    exe = load("good")
    with exe.resident() as resident:
        resident.run(x=x)
        start = time.monotonic()
        exe.close()
        assert time.monotonic() - start < 1
        with pytest.raises(ark.InvalidUsageError, match="is closed"):
            resident.run(x=x)


@pytest.mark.parametrize("resident", [False, True])
def test_ctrl_c(load: Load, resident: bool) -> None:
    exe = load("good")
    x = np.zeros((64, 256), np.float32)

    def send() -> None:
        time.sleep(0.3)
        os.kill(os.getpid(), signal.SIGINT)

    def endless() -> None:
        if resident:
            with exe.resident() as stay:
                stay.run(x=x, iterations=10**9)
        else:
            exe.run(x=x, iterations=10**9)

    expected = exe.run(x=x)["y"]
    thread = threading.Thread(target=send)
    start = time.monotonic()
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        endless()
    assert time.monotonic() - start < 2
    thread.join()
    np.testing.assert_array_equal(exe.run(x=x)["y"], expected)

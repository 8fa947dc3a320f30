"""Foreign kernels that occupy stand-ins for GPUs."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import pytest

from ark_mlir.runtime.gpu import queue

# A long timeout, since lanes may begin late on a busy machine.
TIMEOUT, LIMIT_FACTOR = "2", 0.15
NEVER = 20.0  # longer than any timeout, but finite, so that a wrong test ends and fails


@contextmanager
def occupied(gpu: Any, seconds: float = NEVER) -> Generator[None]:
    """A foreign kernel that occupies all SMs for `seconds`, at most until the end of the block.

    Args:
        gpu: a stand-in for the GPU driver with one GPU, or one of its `devices`.
        seconds: the time of the kernel.
    """

    def end() -> None:
        gpu.occupied = False

    gpu.occupied = True
    timer = threading.Timer(seconds, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        end()


def shorten_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes a queued run fail with `BusyError` after 0.3 s."""
    monkeypatch.setenv("ARK_TIMEOUT", TIMEOUT)
    monkeypatch.setattr(queue, "_LIMIT_FACTOR", LIMIT_FACTOR)
    monkeypatch.setattr(queue, "_MAX_SECONDS_BETWEEN_POLLS", 0.25)

"""Foreign kernels that occupy stand-ins for GPUs."""

from __future__ import annotations

import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

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

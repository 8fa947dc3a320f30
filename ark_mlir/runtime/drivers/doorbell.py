"""The doorbell, with which the host starts the runs of a resident kernel."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from . import abi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .interface import Memory

# A waiting host yields at first, since most runs are short and lanes may need its core. Later it
# sleeps for a fraction of the time that it has waited so far, as the kernel does.
_YIELD_SECONDS = 0.001
_SLEEP_SHARE = 1 / 16
_MAX_SLEEP_SECONDS = 0.001


class Doorbell:
    """Two counters in separate cache lines: of started runs, and of answers of the lanes.

    Every lane answers every run once, when its part of the run is done and it no longer reads the
    arguments of the run.

    Args:
        memory: zeroed memory of ``abi.DOORBELL_WORDS`` words that the host can address.
        lanes: the number of lanes that answer.
    """

    def __init__(self, memory: Memory, lanes: int) -> None:
        self.address = memory.address
        self._lanes = lanes
        self._memory = memory
        self._words: NDArray[np.uint64]
        self._words = memory.read(np.dtype(np.uint64), (abi.DOORBELL_WORDS,))
        self._fence = threading.Lock()

    def ring(self) -> None:
        """Starts the next run; lanes that see it also see all earlier writes of the host."""
        # Python has no atomics. The release of a lock orders the writes before it, and the
        # following acquire orders the write of the counter after it.
        with self._fence:
            pass
        with self._fence:
            self._words[abi.DOORBELL_RINGS] += 1

    @property
    def answered(self) -> bool:
        """True if every lane has answered every run."""
        answers = int(self._words[abi.DOORBELL_ANSWERS])
        return answers == int(self._words[abi.DOORBELL_RINGS]) * self._lanes


def rest(since: float) -> float:
    """Yields the processor between two polls of a word, or sleeps if the wait is long.

    `since` is the start of the wait, in seconds of the monotonic clock. Returns the seconds from
    then until the call.
    """
    waited = time.monotonic() - since
    if waited < _YIELD_SECONDS:
        os.sched_yield()
    else:
        time.sleep(min(waited * _SLEEP_SHARE, _MAX_SLEEP_SECONDS))
    return waited

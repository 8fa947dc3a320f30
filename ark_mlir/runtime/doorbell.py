"""The doorbell: how the host starts the runs of a kernel that stays on its device."""

from __future__ import annotations

import os
import threading
import time
from typing import TYPE_CHECKING

import numpy as np

from . import abi

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .driver import Memory

# A waiting host yields at first, since most runs are short and lanes may want its core; then it
# sleeps for a part of the time waited so far, as the kernel does.
_YIELD_SECONDS = 0.001
_SLEEP_SHARE = 1 / 16
_MAX_SLEEP_SECONDS = 0.001


class Doorbell:
    """Two words of memory, in cache lines of their own: rings of the host, answers of lanes.

    Every lane answers every ring once, when its part of the run is done and it reads nothing
    more of what the host prepared for it.

    Args:
        memory: zeroed memory of ``abi.DOORBELL_WORDS`` words that the host can address.
        lanes: how many lanes answer.
    """

    def __init__(self, memory: Memory, lanes: int) -> None:
        self.address = memory.address
        self._lanes = lanes
        self._memory = memory
        self._words: NDArray[np.uint64]
        self._words = memory.read(np.dtype(np.uint64), (abi.DOORBELL_WORDS,))
        self._fence = threading.Lock()

    def ring(self) -> None:
        """Starts the next run; what was written before is visible to the lanes that see it."""
        # Python has no atomics. Giving a lock back orders what was before it, and taking it
        # again what comes after.
        with self._fence:
            pass
        with self._fence:
            self._words[abi.DOORBELL_RINGS] += 1

    @property
    def answered(self) -> bool:
        """Returns True if every lane has answered every ring."""
        answers = int(self._words[abi.DOORBELL_ANSWERS])
        return answers == int(self._words[abi.DOORBELL_RINGS]) * self._lanes


def rest(since: float) -> float:
    """Yields the processor between two looks at a word; `since` is when the wait began (monotonic
    s).

    Returns the seconds waited before.
    """
    waited = time.monotonic() - since
    if waited < _YIELD_SECONDS:
        os.sched_yield()
    else:
        time.sleep(min(waited * _SLEEP_SHARE, _MAX_SLEEP_SECONDS))
    return waited

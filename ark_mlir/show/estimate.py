"""Estimated times for a schedule without predicted times.

Not every scheduler predicts times. The timeline then shows the order of the tasks, the waits, and
the sizes of the tasks, on a scale of work instead of time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..bundle import Opcode

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Bundle

# Work per ns of one lane; only the ratios matter.
_BYTES_PER_NS = 10.0
_FLOPS_PER_NS = 50.0
_LEAST_NS = 50.0


def estimate_timeline(bundle: Bundle) -> NDArray[np.int64]:
    """Simulates a schedule; returns start and duration of each instruction, int64 ``[I, 2]``.

    Instructions after a cycle of waits never run; their duration is zero.
    """
    return _Simulation(bundle).run()


class _Simulation:
    def __init__(self, bundle: Bundle) -> None:
        self._rows: list[list[int]] = bundle.tables.instructions.tolist()
        self._lanes: list[list[int]] = bundle.tables.lanes.tolist()
        self._costs = [
            max(task.bytes / _BYTES_PER_NS, task.flops / _FLOPS_PER_NS, _LEAST_NS) / task.vctas
            for task in bundle.manifest.tasks
        ]
        count = len(bundle.manifest.semaphores)
        self._arrived = [0] * count
        self._latest = [0.0] * count
        self._waiting: list[list[int]] = [[] for _ in range(count)]
        self._clock = [0.0] * len(self._lanes)
        self._next = [first for _, first, _ in self._lanes]
        self._signalled: set[int] = set()
        self._times = np.zeros((len(self._rows), 2))

    def run(self) -> NDArray[np.int64]:
        ready = list(range(len(self._lanes)))
        while ready:
            ready += self._advance(ready.pop())
        for lane, (_, _, last) in enumerate(self._lanes):
            self._times[self._next[lane] : last, 0] = self._clock[lane]
        return np.rint(self._times).astype(np.int64)

    def _advance(self, lane: int) -> list[int]:
        """Runs a lane until it must wait; returns the lanes that its signals may release."""
        woken: list[int] = []
        last = self._lanes[lane][2]
        while self._next[lane] < last:
            index = self._next[lane]
            code, subject, begin, end = self._rows[index]
            start = self._clock[lane]
            if code == Opcode.RUN:
                self._clock[lane] += self._costs[subject] * (end - begin)
            if code in (Opcode.SIGNAL, Opcode.BARRIER) and index not in self._signalled:
                self._signalled.add(index)
                self._arrived[subject] += 1
                self._latest[subject] = max(self._latest[subject], start)
                woken += self._waiting[subject]
                self._waiting[subject] = []
            if code in (Opcode.WAIT, Opcode.BARRIER):
                if self._arrived[subject] < begin:
                    self._waiting[subject].append(lane)
                    return woken
                self._clock[lane] = max(start, self._latest[subject])
            self._times[index] = start, self._clock[lane] - start
            self._next[lane] += 1
        return woken

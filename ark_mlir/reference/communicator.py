"""The connection between ranks whose programs are interpreted concurrently.

Each rank runs in a separate thread; the threads synchronise at the collectives.
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import queue
import threading
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from ..errors import RankFailedError
from .values import Value, fail

__all__ = ["TIMEOUT", "Communicator", "Endpoint"]

TIMEOUT = 60.0  # seconds that a rank waits for another


class Communicator:
    """The values, messages and barrier that the ranks of a run share."""

    def __init__(self, size: int) -> None:
        self.size = size
        self.slots: list[tuple[str, Value] | None] = [None] * size
        self.barrier = threading.Barrier(size)
        self.mail: dict[tuple[int, int, int], queue.Queue[Value]] = defaultdict(queue.Queue)
        self.lock = threading.Lock()

    def mailbox(self, source: int, target: int, tag: int) -> queue.Queue[Value]:
        """Returns the queue of messages from one rank to another under a tag."""
        with self.lock:
            return self.mail[source, target, tag]


@dataclass(frozen=True)
class Endpoint:
    """The access of one rank to a communicator."""

    number: int
    communicator: Communicator

    def exchange(self, op: Any, value: Value) -> list[Value]:
        """Returns the values that all ranks pass to this collective, in order of rank."""
        self.communicator.slots[self.number] = (str(op.operation.name), value)
        self._meet()
        slots = [slot for slot in self.communicator.slots if slot is not None]
        self._meet()
        names = {name for name, _ in slots}
        if len(names) > 1:
            raise fail(op, f"ranks call different collectives: {', '.join(sorted(names))}")
        return [value for _, value in slots]

    def _meet(self) -> None:
        try:
            self.communicator.barrier.wait(TIMEOUT)
        except threading.BrokenBarrierError:
            raise RankFailedError(
                f"rank {self.number}: another rank failed, or did not reach the collective within "
                f"{TIMEOUT:g} s"
            ) from None

"""Launches that are queued on a GPU: their deadline, and records of launches that were given up."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...errors import BusyError

if TYPE_CHECKING:
    from .kernel import CudaKernel
    from .record import LaunchRecord

# The deadline of a queued launch, as a multiple of the limit of a wait. A kernel of ark's that is
# ahead in the queue, and hangs or is resident without runs, ends after one such limit.
_PATIENCE = 5
_LOOKS = 40
_MAX_SECONDS_BETWEEN_LOOKS = 0.25


class QueueWatch:
    """Reports a kernel that does not begin.

    Time counts only from when the stream has come to the launch: what was given to the stream
    before may take as long as it likes, and so may the kernel once it has begun.

    Args:
        kernel: which one.
        records: those of its launches that may be queued.
        name: the kernel in messages; None names its program.
    """

    def __init__(
        self, kernel: CudaKernel, records: Iterable[LaunchRecord], name: str | None = None
    ) -> None:
        self._kernel = kernel
        self._records = records
        self._name = name or f"the kernel of {kernel.bundle.manifest.program!r}"
        self._seconds = self._next = 0.0
        self._since: float | None = None

    def start(self, timeout_ns: int) -> QueueWatch:
        """Restarts the timer for waits of at most `timeout_ns`; returns itself.

        Every run restarts the timer, and only long runs look.
        """
        self._seconds = _PATIENCE * timeout_ns / 1e9
        self._next = 0.0
        self._since = None
        return self

    def look(self) -> None:
        """Looks now and then; raises BusyError when the kernel has been queued for too long."""
        now = time.monotonic()
        if now < self._next:
            return
        first = not self._next
        self._next = now + min(self._seconds / _LOOKS, _MAX_SECONDS_BETWEEN_LOOKS)
        if first:
            return
        if not any(record.queued for record in self._records):
            self._since = None
        elif self._since is None:
            self._since = now
        elif now - self._since > self._seconds:
            raise self.error()

    def error(self) -> BusyError:
        """Returns the error for a kernel that has been queued for too long."""
        return BusyError(
            f"{self._name} has not begun for {self._seconds:g} s: another kernel "
            "holds SMs that it needs",
            notes=[
                f"all {self._kernel.lanes} CTAs of the program have to be on the GPU at once: let "
                "what else runs there end (a kernel of another stream or process, a block of "
                "resident()), then run again",
            ],
        )


class GivenUp(NamedTuple):
    """A launch that nobody waits for any more, and that may not have ended.

    Attributes:
        end: the event of its end.
        timeout_ns: how long one of its waits may last.
        owners: what it may touch, which is not given back before.
    """

    end: object
    timeout_ns: int
    owners: object

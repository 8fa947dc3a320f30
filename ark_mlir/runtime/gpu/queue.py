"""Launches that are queued on a GPU: their deadline, and abandoned launches."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from ...errors import BusyError

if TYPE_CHECKING:
    from .kernel import GpuKernel
    from .record import LaunchRecord

_log = logging.getLogger("ark")

# A kernel that runs for this time is reported, and again after twice the time, and so on.
_LONG_SECONDS = 60.0
# The deadline of a queued launch, as a multiple of the time limit of a wait. An earlier kernel of
# ark's in the queue, if it hangs or is resident and idle, ends after one such limit.
_LIMIT_FACTOR = 5
# Polls within one deadline, and the longest time between two of them.
_POLLS = 40
_MAX_SECONDS_BETWEEN_POLLS = 0.25


class QueueWatch:
    """Detects a kernel that does not begin, and reports one that runs for long.

    The time counts from the moment at which the stream reaches the launch: earlier work of the
    stream has no limit, and neither has a kernel that has begun. Waits of a kernel have deadlines,
    but a defect may stop its threads elsewhere, such as at a barrier. So a kernel that runs for a
    minute causes a warning.

    Args:
        kernel: the kernel.
        records: the launch records of its launches that may be queued.
        name: the name of the kernel in messages; None selects that of its program.
        notes: further notes of the error.
    """

    def __init__(
        self,
        kernel: GpuKernel,
        records: Iterable[LaunchRecord],
        name: str | None = None,
        notes: Iterable[str] = (),
    ) -> None:
        self._kernel = kernel
        self._records = records
        self._name = name or f"the kernel of {kernel.bundle.manifest.program!r}"
        self._notes = tuple(notes)
        self._seconds = self._next = 0.0
        self._since: float | None = None
        self._began: float | None = None
        self._report_after = _LONG_SECONDS

    def start(self, timeout_ns: int) -> QueueWatch:
        """Restarts the timer for waits of at most `timeout_ns`; returns itself.

        Every run restarts the timer, so this method makes no call of the vendor's driver; only long
        runs poll.
        """
        self._seconds = _LIMIT_FACTOR * timeout_ns / 1e9
        self._next = 0.0
        self._since = self._began = None
        self._report_after = _LONG_SECONDS
        return self

    def poll(self) -> None:
        """Polls at most every `_MAX_SECONDS_BETWEEN_POLLS`.

        Raises BusyError if the kernel has been queued for too long.
        """
        now = time.monotonic()
        if now < self._next:
            return
        first = not self._next
        self._next = now + min(self._seconds / _POLLS, _MAX_SECONDS_BETWEEN_POLLS)
        if first:
            return
        if not any(record.queued for record in self._records):
            self._since = None
            self._report(now)
        elif self._since is None:
            self._since = now
        elif now - self._since > self._seconds:
            raise self.error()

    def _report(self, now: float) -> None:
        """Logs a warning if the kernel has run for long."""
        if self._began is None:
            self._began = now
        if now - self._began >= self._report_after:
            limit = self._seconds / _LIMIT_FACTOR
            _log.warning(
                "%s has run for %d s. Each of its waits ends after %g s with a report; threads "
                "that are stuck elsewhere, such as at a barrier, do not end.",
                self._name, self._report_after, limit,
            )  # fmt: skip
            self._report_after *= 2

    def error(self) -> BusyError:
        """Returns the error for a kernel that has been queued for too long."""
        return BusyError(
            f"{self._name} has not begun for {self._seconds:g} s: another kernel "
            "holds SMs that it needs",
            notes=[
                f"all {self._kernel.lanes} CTAs of the program have to be on the GPU at once: wait "
                "for other work on the GPU to end (a kernel of another stream or process, a block "
                "of resident()), then run again",
                *self._notes,
            ],
        )


class AbandonedLaunch(NamedTuple):
    """An abandoned launch, whose kernel may still be queued or run.

    Attributes:
        end: the event of its end.
        timeout_ns: the time limit of one of its waits.
        owners: owners of its memory, kept until it ends.
    """

    end: object
    timeout_ns: int
    owners: object

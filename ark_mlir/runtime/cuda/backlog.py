"""Handles of a GPU's driver that cannot be given back yet."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import BusyError, DeviceError
from .limits import LimitedCall

# How long a call that waits for other work may last.
LIMIT_SECONDS = 10.0

_log = logging.getLogger("ark")


# Functions that give back and may wait for all kernels of the device.
_WAITS = {"cuMemFree", "cuMemFreeHost", "cuModuleUnload"}


class Stuck(NamedTuple):
    """A kernel that was told to end and has not, or a call of the driver that does not return.

    Attributes:
        has_ended: returns True if it has ended; raises DeviceError if the kernel has failed.
        owners: what keeps the memory alive that the kernel may touch and that is not ark's.
    """

    has_ended: Callable[[], bool]
    owners: object


class Backlog:
    """Handles of one device that are given back later.

    The driver waits for all kernels of a context when memory is given back, without a limit and
    with a lock that other threads need. So nothing is given back while a kernel does not end. What
    waits here is given back when the kernel has ended and ark next takes or gives back anything.

    The driver does not tell of all kernels of others. So a call that may wait runs in a thread of
    its own, with a limit. After a call that has exceeded the limit nothing more is given back until
    the call has returned; then its thread gives back what waits here.

    Neither garbage collection within a method nor another thread spoils it: each step is one
    operation of a list, a dict or a deque.
    """

    def __init__(self) -> None:
        self._stuck: dict[object, Stuck] = {}
        self._later: deque[tuple[Callable[[], object], str]] = deque()

    def wait_for(self, kernel: Stuck) -> None:
        """Gives no handle back from now on until a kernel has ended."""
        self._stuck[object()] = kernel

    def give_back(self, call: Callable[[], object], name: str) -> None:
        """Calls a function of the driver that gives a handle back, when no kernel is stuck.

        Args:
            call: the call.
            name: the function's name.

        Raises BusyError if a call waits for other work for longer than the limit.
        """
        if self.settle():
            self._give_back(call, name)
        else:
            self._later.append((call, name))

    def _give_back(self, call: Callable[[], object], name: str) -> None:
        if name in _WAITS:
            self.limited(call, name, lambda _: None)
        else:
            call()

    def limited(
        self,
        call: Callable[[], Any],
        name: str,
        late: Callable[[Any], object],
        seconds: float | None = None,
    ) -> Any:
        """Calls a function of the driver that may wait for other work on the GPU.

        Args:
            call: the call.
            name: the function's name.
            late: what to do with the result, or None after an error, when nobody waits any more.
            seconds: the limit; None is LIMIT_SECONDS.

        Raises BusyError after the limit, and gives no handle back until the call has returned.
        """
        limit = LIMIT_SECONDS if seconds is None else seconds

        def end(result: Any) -> None:
            late(result)
            self.settle()

        limited = LimitedCall(call, end)
        try:
            if limited.wait(limit):
                return limited.result()
        finally:
            if not limited.ended:
                self.wait_for(Stuck(lambda: limited.ended, None))
        raise BusyError(
            f"{name} has not returned within {limit:g} s: it waits for other work on the GPU",
            notes=["what ark holds is given back when that work has ended"],
        )

    def settle(self) -> bool:
        """Gives waiting handles back; returns True if no kernel is stuck.

        What the driver refuses goes to the log.
        """
        while True:
            for key, kernel in list(self._stuck.items()):
                if _has_ended(kernel):
                    self._stuck.pop(key, None)
            if self._stuck:
                return False
            try:
                call, name = self._later.popleft()
            except IndexError:
                return True
            try:
                self._give_back(call, name)
            except DeviceError as error:
                _log.warning("a GPU does not take back what ark held: %s", error)


def _has_ended(kernel: Stuck) -> bool:
    try:
        return kernel.has_ended()
    except DeviceError:
        # Its context is lost, and nothing runs there any more.
        return True


_backlogs: weakref.WeakKeyDictionary[Any, dict[int, Backlog]] = weakref.WeakKeyDictionary()


def backlog_of(driver: Any, ordinal: int) -> Backlog:
    """The backlog of a device, which all programs on that device share."""
    return _backlogs.setdefault(driver, {}).setdefault(ordinal, Backlog())

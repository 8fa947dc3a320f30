"""Handles of a GPU's driver that cannot be given back yet."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import DeviceError

_log = logging.getLogger("ark")


class Stuck(NamedTuple):
    """A kernel that was told to end and has not.

    Attributes:
        has_ended: asks the driver; raises DeviceError where the kernel has failed.
        owners: what keeps the memory alive that the kernel may touch and that is not ark's.
    """

    has_ended: Callable[[], bool]
    owners: object


class Backlog:
    """Handles of one device that are given back later.

    The driver waits for all kernels of a context when memory is given back, without a limit and
    with a lock that other threads need. So nothing is given back while a kernel does not end. What
    waits here is given back when the kernel has ended and ark next takes or gives back anything.

    Neither garbage collection within a method nor another thread spoils it: each step is one
    operation of a list, a dict or a deque.
    """

    def __init__(self) -> None:
        self._stuck: dict[object, Stuck] = {}
        self._later: deque[Callable[[], object]] = deque()

    def wait_for(self, kernel: Stuck) -> None:
        """Gives no handle back from now on until a kernel has ended."""
        self._stuck[object()] = kernel

    def add(self, give_back: Callable[[], object]) -> None:
        """Calls `give_back` when no kernel is stuck any more."""
        self._later.append(give_back)

    def settle(self) -> bool:
        """Gives waiting handles back; returns True if no kernel is stuck.

        What the driver refuses goes to the log.
        """
        if self._stuck:
            for key, kernel in list(self._stuck.items()):
                if _has_ended(kernel):
                    self._stuck.pop(key, None)
            if self._stuck:
                return False
        for _ in range(len(self._later)):
            try:
                give_back = self._later.popleft()
            except IndexError:  # another thread was faster
                break
            try:
                give_back()
            except DeviceError as error:
                _log.warning("a GPU does not take back what ark held: %s", error)
        return True


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

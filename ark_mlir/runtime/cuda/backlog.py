"""The deferred release of CUDA handles while a kernel does not end."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import DeviceError

_log = logging.getLogger("ark")


class Stuck(NamedTuple):
    """A kernel that was told to end and has not ended.

    Attributes:
        has_ended: queries the CUDA driver; raises DeviceError if the kernel has failed.
        owners: the owners of foreign memory that the kernel may access.
    """

    has_ended: Callable[[], bool]
    owners: object


class Backlog:
    """The handles of one device whose release is deferred.

    To free memory, the CUDA driver waits for all kernels of the context, without a limit and with a
    lock that other threads need. No handle is therefore released while a kernel does not end. The
    deferred handles are released when the kernel has ended and ark next allocates or frees one.

    The garbage collector may interrupt methods, and several threads may call them: each step is one
    atomic operation of a list, a dict or a deque.
    """

    def __init__(self) -> None:
        self._stuck: dict[object, Stuck] = {}
        self._later: deque[Callable[[], object]] = deque()

    def wait_for(self, kernel: Stuck) -> None:
        """Defers the release of all handles until a kernel has ended."""
        self._stuck[object()] = kernel

    def add(self, give_back: Callable[[], object]) -> None:
        """Adds a handle: `give_back` is called when no kernel is stuck any more."""
        self._later.append(give_back)

    def settle(self) -> bool:
        """Releases the deferred handles if no kernel is stuck, and returns True in that case.

        Errors of the CUDA driver are logged.
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
            except IndexError:  # another thread has taken the last handle
                break
            try:
                give_back()
            except DeviceError as error:
                _log.warning("a handle of a GPU cannot be released: %s", error)
        return True


def _has_ended(kernel: Stuck) -> bool:
    try:
        return kernel.has_ended()
    except DeviceError:
        # The context is lost, so that no kernel runs in it any more.
        return True


_backlogs: weakref.WeakKeyDictionary[Any, dict[int, Backlog]] = weakref.WeakKeyDictionary()


def backlog_of(driver: Any, ordinal: int) -> Backlog:
    """Returns the backlog of a device, which all programs on that device share."""
    return _backlogs.setdefault(driver, {}).setdefault(ordinal, Backlog())

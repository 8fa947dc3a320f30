"""The deferred release of handles while a kernel does not end."""

from __future__ import annotations

import logging
import weakref
from collections import deque
from collections.abc import Callable
from typing import Any, NamedTuple

from ...errors import BusyError, DeviceError
from .limits import LimitedCall

# The limit for a call that waits for other work.
LIMIT_SECONDS = 10.0

_log = logging.getLogger("ark")


class Stuck(NamedTuple):
    """A kernel that ignores an abort, or a call of the vendor's driver that has not returned.

    Attributes:
        has_ended: returns True if it has ended; raises DeviceError if the kernel has failed.
        owners: the owners of foreign memory that the kernel may access.
    """

    has_ended: Callable[[], bool]
    owners: object


class Backlog:
    """The handles of one device whose release is deferred.

    To free memory, the vendor's driver waits for all kernels of the context, without a limit and
    with a lock that other threads need. No handle is therefore released while a kernel does not
    end. The deferred handles are released when the kernel has ended and ark next allocates or frees
    one.

    The vendor's driver does not report all kernels of other programs. A call that may wait
    therefore runs in a separate thread, with a limit. After a call that has exceeded the limit, no
    handle is released until the call has returned; its thread then releases the deferred handles.

    The garbage collector may interrupt methods, and several threads may call them: each step is one
    atomic operation of a list, a dict or a deque.

    Args:
        waits: names of functions that release a handle and may wait for all kernels of the device.
    """

    def __init__(self, waits: frozenset[str] = frozenset()) -> None:
        self._waits = waits
        self._stuck: dict[object, Stuck] = {}
        self._later: deque[tuple[Callable[[], object], str]] = deque()

    def wait_for(self, kernel: Stuck) -> None:
        """Defers the release of all handles until a kernel has ended."""
        self._stuck[object()] = kernel

    def release(self, call: Callable[[], object], name: str) -> None:
        """Calls a function that releases a handle of the vendor's driver, when no kernel is stuck.

        Args:
            call: the call.
            name: the function's name.

        Raises BusyError if a call waits for other work for longer than the limit.
        """
        if self.release_deferred():
            self._release(call, name)
        else:
            self._later.append((call, name))

    def _release(self, call: Callable[[], object], name: str) -> None:
        if name in self._waits:
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
        """Calls a function of the vendor's driver that may wait for other work on the GPU.

        Args:
            call: the call.
            name: the function's name.
            late: called with the result, or None after an error, if the call returns after the
                limit.
            seconds: the limit; None is LIMIT_SECONDS.

        Raises BusyError after the limit, and defers all releases until the call has returned.
        """
        limit = LIMIT_SECONDS if seconds is None else seconds

        def end(result: Any) -> None:
            try:
                late(result)
                if limited.error is not None:
                    raise limited.error
            except DeviceError as error:
                _log.warning("a call that ark no longer waits for has failed: %s", error)
            self.release_deferred()

        limited = LimitedCall(call, end)
        try:
            if limited.wait(limit):
                return limited.result()
        finally:
            if not limited.ended:
                self.wait_for(Stuck(lambda: limited.ended, None))
        raise BusyError(
            f"{name} has not returned within {limit:g} s: it waits for other work on the GPU",
            notes=["ark frees its memory when that work has ended"],
        )

    def release_deferred(self) -> bool:
        """Releases the deferred handles if no kernel is stuck, and returns True in that case.

        Errors of the vendor's driver are logged.
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
                self._release(call, name)
            except DeviceError as error:
                _log.warning("a handle of a GPU cannot be released: %s", error)


def _has_ended(kernel: Stuck) -> bool:
    try:
        return kernel.has_ended()
    except DeviceError:
        # The context is lost, so that no kernel runs in it any more.
        return True


_backlogs: weakref.WeakKeyDictionary[Any, dict[int, Backlog]] = weakref.WeakKeyDictionary()


def backlog_of(driver: Any, ordinal: int, waits: frozenset[str]) -> Backlog:
    """Returns the backlog of a device, which all programs on that device share.

    Args:
        driver: the module of the vendor's driver.
        ordinal: the number of the device.
        waits: see :class:`Backlog`.
    """
    return _backlogs.setdefault(driver, {}).setdefault(ordinal, Backlog(waits))

"""KeyboardInterrupt at each point of a call, and the locks that it leaves acquired."""

from __future__ import annotations

import itertools
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from types import FrameType
from typing import Any

from internals import is_pending


def interrupt_everywhere(work: Callable[[], object], atomic: str = "") -> Iterator[int]:
    """Calls `work` repeatedly, and raises KeyboardInterrupt at the return of its first function in
    the first call, of its second function in the second call, and so on, until `work` ends first.

    Python itself raises KeyboardInterrupt at these points, among others. Yields the number of each
    point after the interrupt. Functions of files whose path contains `atomic`, and functions that
    they call, stand for code in C and are not interrupted.
    """
    for point in itertools.count():
        seen = 0

        def profile(frame: FrameType, event: str, argument: Any, point: int = point) -> None:
            nonlocal seen
            del argument
            if event in ("return", "c_return") and not (atomic and is_within(frame.f_back, atomic)):
                seen += 1
                if seen > point:
                    sys.setprofile(None)
                    raise KeyboardInterrupt

        sys.setprofile(profile)
        try:
            work()
        except KeyboardInterrupt:
            yield point
        else:
            return
        finally:
            sys.setprofile(None)


def interrupt_runs(
    executable: Any,
    is_resident: bool,
    run: Callable[[Any], object],
    check: Callable[[Any], object],
    atomic: str = "",
) -> int:
    """Interrupts a run at each point, and checks that its launch has ended; returns the number of
    points.

    Args:
        executable: the program.
        is_resident: True keeps the kernel on the device.
        run: runs its argument, which is the executable or its resident.
        check: the same, and checks the results; called after each interrupt.
        atomic: see `interrupt_everywhere`.
    """
    points = 0
    with executable.resident() if is_resident else nullcontext(executable) as runs:
        run(runs)
        for _ in interrupt_everywhere(lambda: run(runs), atomic):
            assert not is_pending(executable)
            check(runs)
            points += 1
    return points


def is_within(frame: FrameType | None, path: str) -> bool:
    """Returns True if a frame, or one of its callers, runs code of a file with `path`."""
    while frame is not None:
        if path in frame.f_code.co_filename:
            return True
        frame = frame.f_back
    return False


def is_free(lock: Any) -> bool:
    """Returns True if another thread can acquire a lock of this thread."""
    acquired: list[bool] = []

    def acquire() -> None:
        acquired.append(lock.acquire(timeout=1))
        if acquired[0]:
            lock.release()

    thread = threading.Thread(target=acquire)
    thread.start()
    thread.join()
    return acquired[0]

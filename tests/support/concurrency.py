"""Calls from several threads at once, for tests."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

# A deadlock fails the test after this time.
SECONDS = 30.0


def together(*work: Callable[[], object]) -> None:
    """Runs all of `work` concurrently; fails if one never ends or raises an error."""
    errors: list[BaseException] = []
    barrier = threading.Barrier(len(work))

    def guarded(call: Callable[[], object]) -> None:
        try:
            barrier.wait(SECONDS)
            call()
        except BaseException as error:  # re-raised in the thread of the test
            errors.append(error)

    threads = [threading.Thread(target=guarded, args=(call,), daemon=True) for call in work]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + SECONDS
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a deadlock"
    for error in errors:
        raise error

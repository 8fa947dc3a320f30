"""What the tests expect of the process that runs them."""

from __future__ import annotations

import os
import signal


def pytest_configure() -> None:
    # Tests compile what they test; those of the cache say which one they mean.
    os.environ["ARK_CACHE"] = "0"
    # Jobs that a shell starts in the background ignore Ctrl-C, which some tests send.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)

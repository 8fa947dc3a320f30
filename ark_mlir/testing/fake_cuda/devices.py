"""A device of the stand-in, and the device that a thread uses."""

from __future__ import annotations

import threading
from dataclasses import dataclass

# The result of a function that waits, and lets other threads call in the meantime.
AGAIN = object()


@dataclass(eq=False)
class Device:
    """One GPU.

    Attributes:
        ordinal: its number, and its handle.
        memory: its bytes.
        retained: references to its primary context.
        held: handles that were taken in its context and not released, with the context itself.
        running: launches that a stream was given and that have not ended.
        lanes: CTAs that run.
        name: its kind.
        broken: True if a kernel or a copy has failed, until the context is released.
        occupied: True if a kernel of others has all SMs, so that launches and what zeroes memory
            wait for its end.
    """

    ordinal: int
    memory: int
    retained: int = 0
    held: int = 0
    running: int = 0
    lanes: int = 0
    name: str = "stand-in"
    broken: bool = False
    occupied: bool = False

    @property
    def context(self) -> str:
        """The primary context."""
        return f"context of {self.ordinal}"


class Contexts:
    """The stack of contexts of each thread; the last one is current."""

    def __init__(self, devices: list[Device]) -> None:
        self._devices = {device.context: device for device in devices}
        self._threads = threading.local()

    @property
    def stack(self) -> list[object]:
        """The contexts of this thread."""
        stack: list[object] | None = getattr(self._threads, "stack", None)
        if stack is None:
            stack = self._threads.stack = []
        return stack

    @property
    def device(self) -> Device | None:
        """The device of the current context; None if there is no context of a device."""
        return self._devices.get(str(self.stack[-1])) if self.stack else None

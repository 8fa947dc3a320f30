"""The devices of the stand-in, and the contexts of each thread."""

from __future__ import annotations

import threading
from dataclasses import dataclass

# The result of a function that has to wait; the caller tries again, after other threads.
AGAIN = object()


@dataclass(eq=False)
class Device:
    """One GPU.

    Attributes:
        ordinal: the number of the GPU, which is also its handle.
        memory: the size of the memory in bytes.
        retained: the number of references to its primary context.
        held: the number of handles of its context that are not released, with the context itself.
        running: the number of launches that are queued or run.
        lanes: the number of CTAs that run.
        name: the name of the model.
        broken: True from a failed kernel or copy until the context is released.
        serial: True if the GPU runs one launch after the other.
        occupied: True if a foreign kernel occupies all SMs, so that launches and memsets wait for
            its end.
    """

    ordinal: int
    memory: int
    retained: int = 0
    held: int = 0
    running: int = 0
    lanes: int = 0
    name: str = "stand-in"
    broken: bool = False
    serial: bool = False
    occupied: bool = False

    @property
    def context(self) -> str:
        """Returns the primary context."""
        return f"context of {self.ordinal}"


class Contexts:
    """The stack of contexts of each thread; the last one is current."""

    def __init__(self, devices: list[Device]) -> None:
        self._devices = {device.context: device for device in devices}
        self._threads = threading.local()

    @property
    def stack(self) -> list[object]:
        """Returns the contexts of this thread."""
        stack: list[object] | None = getattr(self._threads, "stack", None)
        if stack is None:
            stack = self._threads.stack = []
        return stack

    @property
    def device(self) -> Device | None:
        """Returns the device of the current context; None without a context of a device."""
        return self._devices.get(str(self.stack[-1])) if self.stack else None

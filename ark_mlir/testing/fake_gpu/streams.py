"""Streams, events and captured graphs of the stand-in."""

from __future__ import annotations

import itertools
import threading
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING

from .devices import AGAIN
from .names import (
    CAPTURE_IMPLICIT,
    CAPTURE_INVALIDATED,
    CAPTURE_UNSUPPORTED,
    DEFAULT_STREAMS,
    INVALID_HANDLE,
    NOT_READY,
    UNSAFE_IN_CAPTURE,
    CaptureMode,
)

if TYPE_CHECKING:
    from .devices import Device

# Does its work and returns True, or returns False if it has to wait.
Operation = Callable[[], bool]


class Event:
    """An event, and the number of its records that have not happened."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.pending = 0
        # The stream of the last record.
        self.stream = 0


class Stream:
    """A stream and its queued work."""

    def __init__(self, device: Device) -> None:
        self.device = device
        self.queue: deque[Operation] = deque()
        # The nodes of a graph during a capture.
        self.graph: list[Callable[[], Operation]] | None = None
        self.invalidated = False

    def advance(self) -> None:
        """Does queued work until an operation has to wait."""
        while self.queue and self.queue[0]():
            self.queue.popleft()


class StreamFunctions:
    """The functions of NVIDIA's driver for streams and events.

    Attributes:
        waits: pairs of streams; the first stream waited for an event of the second stream.
    """

    def __init__(self, devices: list[Device]) -> None:
        self.waits: list[tuple[int, int]] = []
        self._handles = itertools.count(1000)
        self._defaults = {device: Stream(device) for device in devices}
        self._streams: dict[int, Stream] = {}
        self._capture = threading.local()

    def _current(self) -> Device:
        raise NotImplementedError

    def _stream(self, handle: int) -> Stream:
        """Returns the stream of a handle; raises KeyError if there is none."""
        if handle in DEFAULT_STREAMS:
            return self._defaults[self._current()]
        return self._streams[handle]

    def _all_streams(self) -> list[Stream]:
        return [*self._defaults.values(), *self._streams.values()]

    def _drop_streams(self, device: Device) -> None:
        """Drops the streams of a destroyed context."""
        self._defaults[device] = Stream(device)
        self._streams = {
            handle: stream
            for handle, stream in self._streams.items()
            if stream.device is not device
        }

    def _new_stream(self, device: Device) -> int:
        handle = next(self._handles)
        self._streams[handle] = Stream(device)
        return handle

    # -- captures ----------------------------------------------------------------------------

    def begin_capture(self, stream: int) -> None:
        """Begins the capture of a stream in a graph."""
        self._stream(stream).graph = []

    def end_capture(self, stream: int) -> Callable[[int], None]:
        """Ends a capture; returns a function that launches the graph on a stream.

        Raises RuntimeError if a call has invalidated the capture.
        """
        captured = self._stream(stream)
        nodes, invalidated = captured.graph, captured.invalidated
        assert nodes is not None
        captured.graph, captured.invalidated = None, False
        if invalidated:
            raise RuntimeError(f"error {CAPTURE_INVALIDATED}: a call has ended the capture")

        def replay(target: int) -> None:
            for node in nodes:
                self._stream(target).queue.append(node())
            self._advance()

        return replay

    def _advance(self) -> None:
        raise NotImplementedError

    @property
    def _capture_mode(self) -> int:
        """Returns the capture mode of this thread."""
        return getattr(self._capture, "mode", CaptureMode.CU_STREAM_CAPTURE_MODE_GLOBAL)

    def _invalidate_captures(self, name: str) -> int:
        """Invalidates all captures if a function does so; returns its error, or zero."""
        if name not in UNSAFE_IN_CAPTURE:
            return 0
        if self._capture_mode == CaptureMode.CU_STREAM_CAPTURE_MODE_RELAXED:
            return 0
        captured = [stream for stream in self._all_streams() if stream.graph is not None]
        for stream in captured:
            stream.invalidated = True
        return CAPTURE_UNSUPPORTED if captured else 0

    def _cuThreadExchangeStreamCaptureMode(self, mode: int) -> int:
        before, self._capture.mode = self._capture_mode, mode
        return before

    def _cuStreamIsCapturing(self, stream: int) -> tuple[int, int]:
        if stream in DEFAULT_STREAMS and self._is_capturing():
            return CAPTURE_IMPLICIT, 0
        return 0, int(self._stream(stream).graph is not None)

    def _is_capturing(self) -> bool:
        return any(other.graph is not None for other in self._all_streams())

    # -- streams -----------------------------------------------------------------------------

    def _cuStreamCreate(self, flags: int) -> int:
        del flags
        return self._new_stream(self._current())

    def _cuStreamDestroy(self, stream: int) -> None:
        del self._streams[stream]

    def _cuStreamSynchronize(self, stream: int) -> object:
        return AGAIN if self._stream(stream).queue else None

    def _not_ready(self, name: str, arguments: tuple[object, ...]) -> int:
        """Returns NOT_READY for a query of work that has not ended, or zero."""
        if name == "cuEventQuery":
            event = arguments[0]
            assert isinstance(event, Event)
            return NOT_READY if event.pending else 0
        if name == "cuStreamQuery":
            handle = arguments[0]
            assert isinstance(handle, int)
            return NOT_READY if self._stream(handle).queue else 0
        return 0

    def _give(self, stream: int, make: Callable[[], Operation]) -> tuple[int]:
        """Adds work to a stream, or to its graph during a capture; each replay does this work."""
        target = self._stream(stream)
        if target.graph is not None:
            target.graph.append(make)
        elif stream in DEFAULT_STREAMS and self._is_capturing():
            for other in self._all_streams():
                other.invalidated = other.graph is not None
            return (CAPTURE_IMPLICIT,)
        else:
            target.queue.append(make())
        return (0,)

    # -- events ------------------------------------------------------------------------------

    def _cuEventCreate(self, flags: int) -> Event:
        del flags
        return Event(self._current())

    def _cuEventRecord(self, event: Event, stream: int) -> tuple[int]:
        if self._stream(stream).device is not event.device:
            return (INVALID_HANDLE,)
        event.pending += 1
        event.stream = stream

        def happen() -> bool:
            # The foreign kernel runs on the default stream.
            if stream in DEFAULT_STREAMS and event.device.occupied:
                return False
            event.pending -= 1
            return True

        return self._give(stream, lambda: happen)

    def _cuStreamWaitEvent(self, stream: int, event: Event, flags: int) -> tuple[int]:
        del flags
        self.waits.append((stream, event.stream))
        return self._give(stream, lambda: lambda: not event.pending)

    def _cuEventQuery(self, event: Event) -> None:
        pass

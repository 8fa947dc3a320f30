"""The streams and events of a driver for GPUs: the order of runs and copies, and waits for it."""

from __future__ import annotations

import time
from collections.abc import Iterable
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from ..arrays.streams import RunStream, choose_run_stream
from .api import DISABLE_TIMING, NON_BLOCKING, GpuApi

if TYPE_CHECKING:
    from .queue import QueueWatch

# A waiting host first spins, since most runs are short, then sleeps between queries.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005


class GpuStreams:
    """The streams and events of a driver on one GPU.

    A run uses the caller's stream, or else `kernels`. Copies use `side`, so that the host can abort
    a running kernel. Both streams wait only for the producer streams that a run names.

    Args:
        api: the API of the vendor's driver, with its context open.
        resources: releases the streams and events when it is closed.

    Attributes:
        kernels: the stream of runs without a stream of the caller.
        side: the stream of copies during a kernel, such as that of the abort.
        done: the event of the end of a run.
        ready: the event of earlier work of another stream.
        ended: the event of the end of the resident kernel.
    """

    def __init__(self, api: GpuApi, resources: ExitStack) -> None:
        self._api = api
        self._resources = resources
        self._device = (api.device_type, api.ordinal)
        self.kernels, self.side = self._make_stream(), self._make_stream()
        self.done, self.ready, self.ended = self.make_event(), self.make_event(), self.make_event()

    def _make_stream(self) -> int:
        stream = self._api.call(self._api.names.create_stream, NON_BLOCKING)
        self._resources.callback(self._api.own(self, self._api.names.destroy_stream, stream))
        return int(stream)

    def make_event(self) -> Any:
        """Returns a new event, which lives as long as the streams."""
        event = self._api.call(self._api.names.create_event, DISABLE_TIMING)
        self._resources.callback(self._api.own(self, self._api.names.destroy_event, event))
        return event

    # -- order -------------------------------------------------------------------------------

    def choose(self, stream: object, values: Iterable[object], *, is_resident: bool) -> RunStream:
        """Returns the stream of a run, with the producer streams of its arrays.

        Args:
            stream: the stream of the caller, or None.
            values: the arrays of the run.
            is_resident: True if the resident kernel occupies its stream; copies then use `side`.
        """
        if is_resident:
            run_stream = RunStream(self._device, self.side)
        else:
            run_stream = choose_run_stream(stream, values, self._device, self.kernels)
        run_stream.locate = self._api.ordinal_of
        return run_stream

    def handle_of(self, run_stream: RunStream) -> int:
        """Returns the handle of the stream of a run."""
        return self.kernels if run_stream.stream is None else run_stream.stream

    def is_foreign(self, run_stream: RunStream) -> bool:
        """Returns True if the stream of a run, or a producer stream, is not `kernels`."""
        return bool(run_stream.producers) or self.handle_of(run_stream) != self.kernels

    def follow(self, run_stream: RunStream) -> int:
        """Returns the stream of a run, after it waits for the producers of the arrays."""
        stream = self.handle_of(run_stream)
        for producer in run_stream.producers:
            if producer != stream:
                self.record(self.ready, producer)
                self._api.call(self._api.names.follow_event, stream, self.ready, 0)
        return stream

    def record(self, event: object, stream: int) -> None:
        """Makes an event happen when a stream reaches this point."""
        self._api.call(self._api.names.record_event, event, stream)

    def is_captured(self, run_stream: RunStream) -> bool:
        """Returns True if the stream of a run is being captured to a graph."""
        stream = self.handle_of(run_stream)
        if stream in (self.kernels, self.side):
            return False
        return bool(int(self._api.call(self._api.names.is_capturing, stream)))

    # -- waits -------------------------------------------------------------------------------

    def synchronize(self, run_stream: RunStream) -> None:
        """Waits until a stream and the producers of its arrays have done their work."""
        self._api.call(self._api.names.await_stream, self.follow(run_stream))

    def wait(
        self, event: object, watch: QueueWatch | None = None, seconds: float = float("inf")
    ) -> bool:
        """Waits for an event; returns False if it has not happened after `seconds`.

        Raises the errors of `watch`, which a long wait polls.
        """
        if self._api.has_happened(event):
            return True
        start = time.monotonic()
        while not self._api.has_happened(event):
            waited = time.monotonic() - start
            if waited > seconds:
                return False
            if waited > _SPIN_SECONDS:
                time.sleep(_SLEEP_SECONDS)
                if watch is not None:
                    watch.poll()
        return True

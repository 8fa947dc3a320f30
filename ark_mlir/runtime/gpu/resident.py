"""A resident kernel on a GPU, whose runs a doorbell starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError
from ..drivers import abi
from ..drivers.doorbell import Doorbell, rest
from .memory import DeviceBytes, PinnedMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .api import GpuApi
    from .kernel import GpuKernel
    from .record import LaunchRecord

_SHORT_SECONDS = 0.002


class _HostWords:
    """The host's words of a doorbell, with the interface of memory that :class:`Doorbell` takes."""

    def __init__(self, memory: PinnedMemory) -> None:
        self._memory = memory
        self.address = memory.address
        self.nbytes = memory.nbytes

    def read(self, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        return self._memory.view(0, dtype, shape)

    def write(self, dtype: np.dtype[Any], shape: tuple[int, ...], value: object) -> None:
        self.read(dtype, shape)[...] = value

    def free(self) -> None:
        self._memory.free()


class GpuResident:
    """A resident kernel from its first run to its end.

    Lane 0 polls words in pinned memory of the host, forwards the number of the run to the other
    lanes through words on the device, and answers for all lanes. If the host does not ring for as
    long as a wait may last, the kernel ends, and the next run launches the kernel again. So the
    kernel never occupies the GPU for a host that does not ring.

    Args:
        api: the API of the vendor's driver.
        kernel: the kernel to launch.
        stream: the stream of the kernel.
        side: the stream for copies while the kernel runs.
        ended, copied: events for the end of the kernel and of a copy.
    """

    def __init__(
        self,
        api: GpuApi,
        kernel: GpuKernel,
        stream: int,
        side: int,
        ended: object,
        copied: object,
    ) -> None:
        self._api = api
        self._kernel = kernel
        self._stream, self._side = stream, side
        self._ended, self._copied = ended, copied
        self._words = kernel.memory(8 * abi.DOORBELL_WORDS)
        self._host = kernel.pinned(8 * abi.DOORBELL_WORDS)
        self._doorbell = Doorbell(_HostWords(self._host), 1)
        self._launched = False

    @property
    def address(self) -> int:
        """The device address of the doorbell."""
        return self._words.address

    @property
    def is_running(self) -> bool:
        """True if the kernel is on the device."""
        if self._launched and self._api.has_happened(self._ended):
            self._launched = False
        return self._launched

    def ring(self, record: LaunchRecord, clear: DeviceBytes | None) -> None:
        """Starts the run of a prepared launch record.

        Args:
            record: the record, which has the address of the doorbell.
            clear: semaphores to zero first, or None; the kernel must not be on the device then.
        """
        if self.is_running:
            record.upload(self._side)
            self._api.call(self._api.names.record_event, self._copied, self._side)
            self.wait_for(self._copied)
        if not self.is_running:
            self._launch(record, clear)
        self._doorbell.ring()

    def _launch(self, record: LaunchRecord, clear: DeviceBytes | None) -> None:
        words = np.zeros(abi.DOORBELL_WORDS, np.uint64)
        words[abi.DOORBELL_HOST] = self._host.address
        words[abi.DOORBELL_LANES] = self._kernel.lanes
        self._host.bytes[:] = 0
        self._words.upload(words)
        # The mark covers the memset after the copy, too, which needs SMs as the kernel does.
        record.mark_queued()
        record.upload(self._stream)
        if clear is not None:
            clear.clear(self._stream)
        self._kernel.launch(record, self._stream)
        self._launched = True
        self._api.call(self._api.names.record_event, self._ended, self._stream)

    @property
    def missed_run(self) -> bool:
        """True if the kernel ended before it saw that the host rang.

        Always False for old bundles for GPUs without doorbells: their kernel runs once and ends.
        """
        words = self._words.read(np.dtype(np.uint64), (abi.DOORBELL_WORDS,))
        return int(words[abi.DOORBELL_RINGS]) == abi.DOORBELL_LEAVE

    @property
    def answered(self) -> bool:
        """True if all lanes have completed the last run."""
        return self._doorbell.answered

    def wait_for(self, event: object, seconds: float = float("inf")) -> None:
        """Waits for an event; raises DeviceError if it takes longer than `seconds`."""
        start = time.monotonic()
        while not self._api.has_happened(event):
            if time.monotonic() - start > seconds:
                raise DeviceError("the kernel does not end")
            rest(start)

    def join(self, again: Callable[[], bool], poll: Callable[[], None]) -> None:
        """Waits for the answer of the lanes or for the end of the kernel.

        Args:
            again: called if the kernel ended without an answer; returns True if the kernel ended
                before it saw that the host rang, so that it was launched again.
            poll: called repeatedly in a long wait; may raise an error.
        """
        start = time.monotonic()
        while not self.answered:
            if not self.is_running and not self.answered and not again():
                return
            if rest(start) > _SHORT_SECONDS:
                poll()

    def dismiss(self, record: LaunchRecord, seconds: float) -> None:
        """Ends the kernel between two runs; raises DeviceError if a lane never ends."""
        if self.is_running:
            record.prepare(0, 0, 0, doorbell=self.address)
            record.upload(self._side)
            self._api.call(self._api.names.await_stream, self._side)
            self._doorbell.ring()
            self.leave(seconds)

    def leave(self, seconds: float) -> None:
        """Waits for a kernel after its dismissal; raises DeviceError after `seconds`."""
        if self._launched:
            self.wait_for(self._ended, seconds)
            self._launched = False

"""A kernel that stays on a GPU between runs, which a doorbell starts."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import DeviceError
from .. import abi
from ..doorbell import Doorbell, rest
from .memory import DeviceBytes, PinnedMemory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from .api import CudaApi
    from .kernel import CudaKernel
    from .record import LaunchRecord

_SHORT_SECONDS = 0.002


class _HostWords:
    """The host's words of a doorbell, as :class:`Doorbell` takes its memory."""

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


class CudaResident:
    """The kernel between the first ring and its end.

    Lane 0 looks at words in pinned memory of the host, passes a ring on to the others through
    words on the device, and answers for all. When no ring comes for as long as a wait may last,
    the kernel ends by itself, and the next ring starts it again: nothing on the GPU waits for
    ever for a host that does not ring.

    Args:
        api: the driver API.
        kernel: what is launched.
        stream: the kernel's stream.
        side: the stream for copies, which go on while the kernel runs.
        ended, copied: events to use: that the kernel has ended, and that a copy has.
    """

    def __init__(
        self,
        api: CudaApi,
        kernel: CudaKernel,
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
        """The address of the doorbell on the device."""
        return self._words.address

    @property
    def there(self) -> bool:
        """Returns True if the kernel is on the device."""
        if self._launched and self._api.has_happened(self._ended):
            self._launched = False
        return self._launched

    def ring(self, record: LaunchRecord, clear: DeviceBytes | None) -> None:
        """Starts the run that a record was prepared for.

        Args:
            record: it has the doorbell's address.
            clear: semaphores to be zeroed first; the kernel is not there then.
        """
        if self.there:
            record.upload(self._side)
            self._api.call("cuEventRecord", self._copied, self._side)
            self.wait_for(self._copied)
        if not self.there:
            self._launch(record, clear)
        self._doorbell.ring()

    def _launch(self, record: LaunchRecord, clear: DeviceBytes | None) -> None:
        words = np.zeros(abi.DOORBELL_WORDS, np.uint64)
        words[abi.DOORBELL_HOST] = self._host.address
        words[abi.DOORBELL_LANES] = self._kernel.lanes
        self._host.bytes[:] = 0
        self._words.upload(words)
        # What follows the record waits for SMs as the kernel does, and with it.
        record.mark_queued()
        record.upload(self._stream)
        if clear is not None:
            clear.clear(self._stream)
        self._kernel.launch(record, self._stream)
        self._launched = True
        self._api.call("cuEventRecord", self._ended, self._stream)

    @property
    def left_alone(self) -> bool:
        """Returns True if the kernel has ended before it saw a ring.

        One from before there were doorbells on GPUs says no such thing: it runs once and leaves.
        """
        words = self._words.read(np.dtype(np.uint64), (abi.DOORBELL_WORDS,))
        return int(words[abi.DOORBELL_RINGS]) == abi.DOORBELL_LEAVE

    @property
    def answered(self) -> bool:
        """Returns True if all lanes have done the run that was rung for."""
        return self._doorbell.answered

    def wait_for(self, event: object, seconds: float = float("inf")) -> None:
        """Waits for an event; raises DeviceError when it takes longer than `seconds`."""
        start = time.monotonic()
        while not self._api.has_happened(event):
            if time.monotonic() - start > seconds:
                raise DeviceError("the kernel does not end")
            rest(start)

    def join(self, again: Callable[[], bool], look: Callable[[], None]) -> None:
        """Waits for the run's end: the answer of the lanes, or the end of the kernel.

        Args:
            again: asked when the kernel has ended without an answer: whether it left before it
                saw the ring, so that it is launched again.
            look: called in a wait that is not short; may raise.
        """
        start = time.monotonic()
        while not self.answered:
            if not self.there and not self.answered and not again():
                return
            if rest(start) > _SHORT_SECONDS:
                look()

    def dismiss(self, record: LaunchRecord, seconds: float) -> None:
        """Ends a kernel that is in no run; raises DeviceError if a lane never ends."""
        if self.there:
            record.prepare(0, 0, 0, doorbell=self.address)
            record.upload(self._side)
            self._api.call("cuStreamSynchronize", self._side)
            self._doorbell.ring()
            self.leave(seconds)

    def leave(self, seconds: float) -> None:
        """Waits for a kernel that was told to end."""
        if self._launched:
            self.wait_for(self._ended, seconds)
            self._launched = False

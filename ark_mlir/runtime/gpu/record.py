"""The launch record: all data that host and kernel exchange in a run, in one block of memory.

The block exists on the device and in pinned memory of the host, so that a run costs one copy to the
device, one launch and one copy back:

    context | slots | small inputs | report | status | codes | small outputs
    '-------------------- to the device --------------------'
                                     '---------- back to the host -----------'

If a small input is an array on the device, its part of the block stays unused.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..drivers import abi
from ..drivers.abi import ArkContext
from ..drivers.interface import Fault, Stop
from .memory import DeviceMemory, PinnedMemory, download

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from ...bundle import Buffer, Manifest
    from .api import GpuApi

_ALIGNMENT = 64
# Larger inputs are copied separately; otherwise each launch would copy their part of the block.
_SMALL_INPUT = 4096
# Larger outputs are copied separately after the run, which costs another wait.
_SMALL_OUTPUT = 1 << 20
_CONTEXT_WORDS = {name: index for index, (name, *_) in enumerate(ArkContext._fields_)}


class RecordLayout:
    """Offsets of the parts of a launch record, in bytes.

    Args:
        manifest: the manifest of the program.
        lanes: the number of lanes, each of which returns a code.
        further: the number of additional slots, after those of the program.
    """

    def __init__(self, manifest: Manifest, lanes: int, further: int = 0) -> None:
        self._end = 0
        self.lanes = lanes
        # The slots that a launch sets: after that of the arena, before that of the packets.
        self.bound = slice(1, 1 + len(manifest.buffers))
        self.clears_queued = manifest.clears_queued
        self.slot_count = self.bound.stop + bool(manifest.packets) + further
        self.context = self._take(ctypes.sizeof(ArkContext))
        self.slots = self._take(8 * self.slot_count)
        self.inputs = self._offsets(manifest.inputs, _SMALL_INPUT)
        self.report = self._take(8 * abi.REPORT_WORDS)
        self.status = self._take(8 * abi.STATUS_WORDS)
        self.codes = self._take(4 * lanes)
        self.result_end = self._end
        self.outputs = self._offsets(manifest.outputs, _SMALL_OUTPUT)
        self.nbytes = self._end

    def _take(self, nbytes: int) -> int:
        begin = self._end
        self._end += -(-nbytes // _ALIGNMENT) * _ALIGNMENT
        return begin

    def _offsets(self, buffers: Iterable[Buffer], most: int) -> dict[int, int]:
        return {buffer.slot: self._take(buffer.bytes) for buffer in buffers if buffer.bytes <= most}


class LaunchResults(NamedTuple):
    """The results of a launch in its launch record."""

    codes: tuple[int, ...]
    stop: Stop
    fault: Fault
    # The number of iterations after which the program ended the launch, or zero.
    stopped: int

    @property
    def good(self) -> bool:
        """True if the launch had no error."""
        return not (self.stop.abort or self.fault.code or any(self.codes))


def read_results(layout: RecordLayout, results: NDArray[np.uint8]) -> LaunchResults:
    """Returns the results in the bytes of a launch record from its report on."""
    status, codes = layout.status - layout.report, layout.codes - layout.report
    words: NDArray[np.int64] = np.ndarray(codes // 8, np.int64, results.data)
    lanes: NDArray[np.int32] = np.ndarray(layout.lanes, np.int32, results.data, codes)
    return LaunchResults(
        tuple(lanes.tolist()),
        Stop(*words[:6].tolist()),
        Fault.of(words[status // 8 : status // 8 + abi.STATUS_WORDS].tolist()),
        int(words[6]),
    )


class LaunchRecord:
    """One launch record in memory of device and host; see this module.

    Args:
        api: the API of the vendor's driver.
        stream: the stream for copies of single words.
        layout: the offsets of the parts.
        device: the memory on the device, which the record then owns; None allocates it.
    """

    def __init__(
        self,
        api: GpuApi,
        stream: object,
        layout: RecordLayout,
        device: DeviceMemory | None = None,
    ) -> None:
        self._api = api
        self._side = stream
        self.layout = layout
        self._sent: NDArray[np.uint64] | None = None
        self.host = PinnedMemory(api, layout.nbytes)
        try:
            self.device = device or DeviceMemory(api, stream, layout.nbytes, coherent=True)
        except BaseException:
            self.host.free()
            raise
        words = np.dtype(np.uint64)
        self._context = self.host.view(layout.context, words, (len(_CONTEXT_WORDS),))
        self.slots = self.host.view(layout.slots, words, (layout.slot_count,))
        # The words from here to the end of the codes are zero at a launch.
        count = (layout.result_end - layout.report) // 8
        self._results = self.host.view(layout.report, words, (count,))
        self._nothing = bytes(8 * count)
        self._good = LaunchResults((0,) * layout.lanes, Stop(), Fault(), 0)
        # The kernel parameters of a launch: the address of an array of addresses. Neither
        # changes, so that they are converted once and not at every launch.
        self._argument = ctypes.c_uint64(self.device.address + layout.context)
        self._arguments = (ctypes.c_void_p * 1)(ctypes.addressof(self._argument))
        self.parameters = ctypes.addressof(self._arguments)
        self.set(
            buffers=self.device.address + layout.slots,
            report=self.device.address + layout.report,
            status=self.device.address + layout.status,
            codes=self.device.address + layout.codes,
        )

    @property
    def report_address(self) -> int:
        """The device address of the kernel's report."""
        return self.device.address + self.layout.report

    def set(self, **fields: int) -> None:
        """Sets fields of the context by their names; zero is a null pointer."""
        for name, value in fields.items():
            self._context[_CONTEXT_WORDS[name]] = value

    def prepare(
        self, epoch: int, iterations: int, timeout_ns: int, trace: int = 0, doorbell: int = 0
    ) -> None:
        """Sets the fields of one run, and zeroes report, status and codes.

        With a doorbell, the launched kernel waits until the host rings.
        """
        context = self._context
        context[_EPOCH] = epoch
        context[_ITERATIONS] = iterations
        context[_TIMEOUT] = timeout_ns
        context[_TRACE] = trace
        context[_DOORBELL] = doorbell
        self._results[:] = 0

    def mark_queued(self) -> None:
        """Marks the record for the copy that precedes a launch; see :attr:`queued`."""
        if self.layout.clears_queued:
            self._results[abi.REPORT_QUEUED] = 1

    @property
    def queued(self) -> bool:
        """True if the marked record is on the device and its kernel has not begun.

        Always False for old bundles whose kernels do not clear the mark.
        """
        word = download(self._api, self._side, self._queued_address, np.dtype(np.uint64), (1,))
        return bool(word[0])

    @property
    def _queued_address(self) -> int:
        return self.report_address + 8 * abi.REPORT_QUEUED

    def forget_queued(self) -> None:
        """Clears the mark on the device after a launch that failed."""
        self._send_word(self._queued_address, 0)
        self._api.call(self._api.names.await_stream, self._side)

    def _send_word(self, address: int, value: int) -> None:
        # HIP may read the word until the stream has copied it.
        word = self._sent = np.array([value], np.uint64)
        name, source = self._api.names.to_device, word.ctypes.data
        self._api.call(name, address, source, word.nbytes, self._side)

    def abort(self) -> None:
        """Tells all lanes to end; a kernel that has not begun ends at its start.

        Sets the word on host and device, since the copy from the host may still be queued.
        """
        self._results[0] = abi.Abort.HOST
        self._send_word(self.report_address, abi.Abort.HOST)

    def upload(self, stream: int) -> None:
        """Copies the arguments and small inputs to the device, in the order of a stream."""
        self._api.call(
            self._api.names.to_device, self.device.address, self.host.address,
            self.layout.result_end, stream,
        )  # fmt: skip

    def download(self, stream: int, outputs: bool) -> None:
        """Copies the results to the host, with the small outputs if `outputs` is True, in the order
        of a stream."""
        begin = self.layout.report
        end = self.layout.nbytes if outputs else self.layout.result_end
        self._api.call(
            self._api.names.to_host, self.host.address + begin, self.device.address + begin,
            end - begin, stream,
        )  # fmt: skip

    def results(self) -> LaunchResults:
        """Returns the results of the last download."""
        layout = self.layout
        # The fast path: all words are zero after a run without errors.
        if self._results.tobytes() == self._nothing:
            return self._good
        return read_results(layout, self.host.bytes[layout.report : layout.result_end])

    def input(self, buffer: Buffer) -> NDArray[Any] | None:
        """Returns the array of a small input on the host, or None if the input is large."""
        offset = self.layout.inputs.get(buffer.slot)
        return None if offset is None else self._array(offset, buffer)

    def output(self, buffer: Buffer) -> NDArray[Any] | None:
        """Returns the array of a small output on the host, or None if the output is large."""
        offset = self.layout.outputs.get(buffer.slot)
        return None if offset is None else self._array(offset, buffer)

    def _array(self, offset: int, buffer: Buffer) -> NDArray[Any]:
        return self.host.view(offset, buffer.dtype.numpy, buffer.shape)

    def free(self) -> None:
        """Frees the memory."""
        try:
            self.device.free()
        finally:
            self.host.free()


_EPOCH, _ITERATIONS = _CONTEXT_WORDS["epoch"], _CONTEXT_WORDS["iterations"]
_TIMEOUT, _TRACE = _CONTEXT_WORDS["timeout_ns"], _CONTEXT_WORDS["trace"]
_DOORBELL = _CONTEXT_WORDS["doorbell"]

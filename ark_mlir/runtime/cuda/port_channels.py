"""Port channels of MSCCL++, as the kernel of one rank and the host use them.

A kernel adds triggers to a FIFO, and a thread of MSCCL++ copies and signals for it. The kernel text
CudaPortChannels.mlir describes the protocol. While no kernel runs, the host adds triggers, too: to
test the channels, and to wait for messages of a run that was aborted.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...errors import DeviceError, UnsupportedError
from ..drivers.abi import SEMAPHORE_STRIDE
from ..gpu.memory import DeviceBytes, DeviceMemory, download

if TYPE_CHECKING:
    from ..ranks.routes import Routes
    from .api import CudaApi
    from .port_layouts import PortHandle, PortLayout

__all__ = ["PortChannels", "PortMemory"]

# Bits of a trigger's second word: the kinds, and the first bits of the fields after the offset.
COPY, SIGNAL = 1 << 50, 2 << 50
_SOURCE, _DESTINATION, SEMAPHORE = 32, 41, 53
_MARK = 63
# Seconds in which the proxies of all ranks execute the triggers of a test, or of an aborted run.
_SECONDS = 10.0
_LINE_WORDS = SEMAPHORE_STRIDE // 8
# The word of a counter that has the address of its list of tokens.
TOKENS_WORD = 1

Poll = Callable[[], object]


class PortMemory(NamedTuple):
    """The memory of this rank that other ranks access.

    Attributes:
        begin: the address of the first byte.
        mark: during the test, the first word of a rank's memory is `mark` plus the number of the
            rank.
    """

    begin: int
    mark: int


def _pause() -> None:
    time.sleep(0.0002)


class PortChannels:
    """The port channels of one rank to the ranks of other NVLink domains.

    Args:
        api: the API of NVIDIA's driver on the rank's GPU, with its context open.
        layout: the layout of the installed version of MSCCL++.
        channels: for each rank of another domain, the handles of the channels to it. The first one
            is for the host. The further ones are for counters, in the order of the routes.
        routes: the counters that ranks signal.
        rank, ranks: this rank, and the number of ranks.
        pause: is called between two polls.

    Attributes:
        numbers: the semaphore that stands for a counter, by the rank and the counter.
    """

    def __init__(
        self,
        api: CudaApi,
        layout: PortLayout,
        channels: Mapping[int, Sequence[PortHandle]],
        routes: Routes,
        rank: int,
        ranks: int,
        pause: Callable[[], object] = _pause,
    ) -> None:
        self._api = api
        self._layout = layout
        self._channels = channels
        self._rank = rank
        self._pause = pause
        self._fifo = next(iter(channels.values()))[0]
        self.numbers = {
            (other, counter): handle.semaphore
            for other, handles in channels.items()
            for counter, handle in zip(routes.get((rank, other), ()), handles[1:], strict=False)
        }
        # For each counter of this rank, the addresses of the tokens that stand for it.
        self._tokens: dict[int, list[int]] = {}
        for other, handles in channels.items():
            counters = routes.get((other, rank), ())
            for counter, handle in zip(counters, handles[1:], strict=False):
                self._tokens.setdefault(counter, []).append(handle.token)
        self._bases: dict[int, int] = {}
        # The signals that the host has sent, to the ranks in turn.
        self._announced = 0
        self._lock = threading.Lock()
        self._resources = ExitStack()
        try:
            self._allocate(ranks)
        except BaseException:
            self.free()
            raise

    def _allocate(self, ranks: int) -> None:
        api = self._api
        api.enter()
        flags = api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        self._stream = api.call("cuStreamCreate", flags)
        self._resources.callback(api.own(self, "cuStreamDestroy", self._stream))
        # The tokens before the first signal.
        self._starts = {
            handle.token: self._read(handle.token)
            for handles in self._channels.values()
            for handle in handles
        }
        words = np.array([*self._record(ranks)], np.uint64)
        self._ports = self._take(words.nbytes)
        self._ports.upload(words)
        # Each list has a pair for each token, and a pair of zeros.
        self._lists = self._take(16 * sum(len(each) + 1 for each in self._tokens.values()))

    def _take(self, nbytes: int) -> DeviceMemory:
        memory = DeviceMemory(self._api, self._stream, nbytes)
        self._resources.callback(memory.free)
        return memory

    def _record(self, ranks: int) -> Iterator[int]:
        """Yields the words of the record of ports (``kPorts`` in KernelAbi.def)."""
        fifo, layout = self._fifo, self._layout
        yield from (fifo.triggers, fifo.head, fifo.tail, fifo.tail_cache)
        yield from (fifo.size, fifo.size.bit_length() - 1)
        yield from (layout.laps, layout.stride, layout.polled, layout.signal)
        for other in range(ranks):
            yield self._copy_word(other) if other in self._channels else 0

    @property
    def meetings(self) -> int:
        """The number of signals that the host has sent to each other rank."""
        return self._announced // len(self._channels)

    @property
    def address(self) -> int:
        """The address of the record of ports."""
        return self._ports.address

    def free(self) -> None:
        """Frees the memory of this object; no kernel may use it any more."""
        self._resources.close()

    # -- counters ----------------------------------------------------------------------------

    def arm(self, counters: DeviceBytes, stream: object) -> None:
        """Writes the lists of tokens for counters of this rank, which have just been zeroed.

        All signals of earlier runs must have arrived. The copies block, and have the order of the
        stream.

        Args:
            counters: the counters of this rank.
            stream: the stream in which the counters were zeroed.
        """
        if not self._tokens:
            return
        lines = np.zeros((max(self._tokens) + 1, _LINE_WORDS), np.uint64)
        words: list[int] = []
        for counter, tokens in self._tokens.items():
            lines[counter, TOKENS_WORD] = self._lists.address + 8 * len(words)
            for token in tokens:
                self._bases[token] = self._read(token)
                words += (token, self._bases[token])
            words += (0, 0)
        self._lists.upload(np.array(words, np.uint64))
        self._api.call(
            "cuMemcpyHtoDAsync", counters.address, lines.ctypes.data, lines.nbytes, stream
        )
        self._api.await_stream(stream)

    def arrivals(self) -> dict[int, int]:
        """Returns the signals of counters since they were zeroed, for counters with tokens."""
        return {
            counter: sum(self._read(token) - self._bases.get(token, 0) for token in tokens)
            for counter, tokens in self._tokens.items()
        }

    def _read(self, address: int) -> int:
        return int(download(self._api, self._stream, address, np.dtype(np.uint64), (1,))[0])

    # -- triggers of the host ----------------------------------------------------------------

    def _copy_word(self, other: int) -> int:
        """Returns the second word of a copy to a rank, without the offset."""
        handle = self._channels[other][0]
        memories = handle.source << _SOURCE | handle.destination << _DESTINATION
        return COPY | memories | handle.semaphore << SEMAPHORE

    def _signal(self, semaphore: int) -> tuple[int, int]:
        return self._layout.signal, SIGNAL | semaphore << SEMAPHORE

    def _push(self, triggers: Iterable[tuple[int, int]], poll: Poll | None) -> None:
        """Adds triggers to the FIFO while no kernel of this rank runs.

        If a wait for a free slot raises, the triggers before it are part of the FIFO.
        """
        fifo = self._fifo
        tail = ctypes.c_uint64.from_address(fifo.tail)
        position = self._read(fifo.head)
        try:
            for first, second in triggers:
                self._await(lambda at=position: at < tail.value + fifo.size, "free a slot", poll)
                self._write_slot(position, first, second)
                position += 1
        finally:
            head = np.array([position], np.uint64)
            self._api.call("cuMemcpyHtoDAsync", fifo.head, head.ctypes.data, 8, self._stream)
            self._api.await_stream(self._stream)

    def _write_slot(self, position: int, first: int, second: int) -> None:
        fifo, layout = self._fifo, self._layout
        slot = fifo.triggers + position % fifo.size * layout.stride
        lap = position // fifo.size & layout.laps
        words = [first, second | (lap ^ 1) << _MARK]
        if layout.polled == 0:
            words.reverse()
        ctypes.c_uint64.from_address(slot + (layout.polled ^ 8)).value = words[0]
        # Python has no memory fence. The release of a lock and its next acquisition keep the first
        # store before the second one, also on processors that reorder stores.
        for _ in range(2):
            with self._lock:
                pass
        ctypes.c_uint64.from_address(slot + layout.polled).value = words[1]

    def _await(self, holds: Callable[[], bool], work: str, poll: Poll | None) -> None:
        """Polls until a condition holds; raises DeviceError after a limit, and what `poll` does."""
        deadline = time.monotonic() + _SECONDS
        while not holds():
            if poll is not None:
                poll()
            if time.monotonic() > deadline:
                raise DeviceError(
                    f"the port channels of MSCCL++ did not {work} within {_SECONDS:g} s at rank "
                    f"{self._rank}",
                    notes=[
                        "set CUDA_MODULE_LOADING=EAGER: otherwise the proxy may wait for a kernel"
                    ],
                )
            self._pause()

    # -- meetings ----------------------------------------------------------------------------

    def meet(self, meetings: int, poll: Poll | None = None) -> None:
        """Waits until all earlier messages from the ranks of other domains have arrived.

        A signal arrives after earlier copies and signals of its connection. So each rank signals
        all others until it has signalled them `meetings` times, and waits for as many signals.

        Args:
            meetings: the same number at all ranks, more than :attr:`meetings` at each of them.
            poll: is called while this rank waits, and raises an error if another rank has failed.

        Raises DeviceError if the signals do not arrive within 10 s.
        """
        self.announce(meetings, poll)
        self.await_others(meetings, poll)

    def announce(self, meetings: int, poll: Poll | None = None) -> None:
        """Sends the signals of :meth:`meet`."""
        self._push(self._announcements(meetings * len(self._channels)), poll)

    def _announcements(self, count: int) -> Iterator[tuple[int, int]]:
        """Yields signals to all ranks in turn until the host has sent `count` of them.

        A signal counts when the next one is requested, since its slot is then written.
        """
        signals = [self._signal(handles[0].semaphore) for handles in self._channels.values()]
        while self._announced < count:
            yield signals[self._announced % len(signals)]
            self._announced += 1

    def await_others(self, meetings: int, poll: Poll | None = None) -> None:
        """Waits for the signals of :meth:`meet`."""
        for other in self._channels:
            self._await(
                lambda rank=other: self._heard(rank) >= meetings,
                f"deliver the signals of rank {other}",
                poll,
            )

    def _heard(self, other: int) -> int:
        """Returns how often the host of a rank has signalled this rank."""
        token = self._channels[other][0].token
        return self._read(token) - self._starts[token]

    def test(self, memory: PortMemory) -> None:
        """Tests all channels; all ranks call this function together, before the first kernel.

        A rank copies a word to each other rank, signals each semaphore once, and signals the
        semaphores of the host until each slot of the FIFO has been used, and the first ones twice.

        Raises UnsupportedError if a word or a signal is not where it should be.
        """
        triggers: list[tuple[int, int]] = []
        for other, handles in self._channels.items():
            triggers.append((8, self._copy_word(other) | self._test_offset(self._rank)))
            triggers += [self._signal(handle.semaphore) for handle in handles[1:]]
        try:
            self._push(triggers, None)
            self.meet(self._fifo.size + 1)
        except DeviceError as error:
            raise UnsupportedError(self._wrong(error.message), notes=error.notes) from error
        for other, handles in self._channels.items():
            for handle in handles[1:]:
                if (signals := self._read(handle.token) - self._starts[handle.token]) != 1:
                    raise UnsupportedError(
                        self._wrong(f"a token of rank {other} has {signals} signals instead of 1"),
                        notes=["use IbMode.Host: each semaphore then has a token of its own"],
                    )
            found = self._read(memory.begin + self._test_offset(other))
            if found != memory.mark + other:
                raise UnsupportedError(
                    self._wrong(
                        f"rank {other} copied {found:#x} instead of {memory.mark + other:#x}"
                    )
                )

    @staticmethod
    def _test_offset(rank: int) -> int:
        """Returns the offset to which a rank copies the word at offset 0."""
        return 8 * (rank + 1)

    def _wrong(self, problem: str) -> str:
        return (
            f"port channels with the layout of MSCCL++ {self._layout.name} do not work: {problem}"
        )

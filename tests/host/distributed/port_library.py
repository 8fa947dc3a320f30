"""A stand-in for the port channels of MSCCL++: a proxy, its FIFO, semaphores and connections.

A thread is the proxy. It executes the triggers that the host adds to the FIFO, each after a short
time. Processes map the memory and the tokens of each other.
"""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from types import ModuleType, SimpleNamespace
from typing import Any

from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.cuda.port_layouts import LAYOUTS, PortHandle, PortLayout
from ark_mlir.runtime.gpu.peers import ExportedPart, MappedParts
from ark_mlir.testing.port_handles import pack_handle

PAGE = 2 << 20
# The most semaphores of a pair of ranks.
_MOST = 64
_KINDS, _COPY, _SIGNAL = 50, 1, 2


def _word(address: int) -> Any:
    return ctypes.c_uint64.from_address(address)


class Tokens:
    """The tokens of this process, and those of the other processes.

    Args:
        cuda: the stand-in for CUDA.
        broker: the connection to the other processes.
    """

    def __init__(self, cuda: Any, broker: Any) -> None:
        self._broker = broker
        self.api = CudaApi(cuda, broker.rank)
        self.api.open()
        part = ExportedPart(self.api, PAGE)
        try:
            self._own = MappedParts(self.api, part, [None], PAGE)
            ctypes.memset(self._own.address, 0, PAGE)
            others = broker.exchange(self.api, part, PAGE)
        finally:
            part.release()
        self._others = dict(
            zip((rank for rank in range(broker.ranks) if rank != broker.rank), others, strict=True)
        )

    def find(self, home: int, sender: int, number: int) -> int:
        """Returns the address of the token at the rank `home` for signals of a rank."""
        if self._broker.fault == "ports forwarding":
            number = 0  # one token for each connection
        begin = self._own.address if home == self._broker.rank else self._others[home].address
        return begin + 8 * (sender * _MOST + number)

    def close(self) -> None:
        """Frees the tokens."""
        for mapped in self._others.values():
            mapped.free()
        self._own.free()
        self.api.close()

    def __del__(self) -> None:
        self.close()


class Connection:
    """A stand-in for ``mscclpp.Connection``."""

    def __init__(self, tokens: Tokens, rank: int, peer: int) -> None:
        self._tokens = tokens
        self._rank, self._peer = rank, peer
        self._count = 0

    def build(self) -> Any:
        """Returns the next semaphore: the addresses of its tokens."""
        number, self._count = self._count, self._count + 1
        return SimpleNamespace(
            own=self._tokens.find(self._rank, self._peer, number),
            other=self._tokens.find(self._peer, self._rank, number),
            tokens=self._tokens,
        )


class ProxyService:
    """A stand-in for ``mscclpp.ProxyService``.

    Args:
        cuda: the stand-in for CUDA.
        layout: the layout of handles and FIFO.
        broker: the connection to the other processes.
        slots: the number of slots.

    Attributes:
        delay: seconds from one trigger to the next.
    """

    delay = 0.0

    def __init__(self, cuda: Any, layout: PortLayout, broker: Any, slots: int) -> None:
        self._layout = layout
        self._fault = broker.fault
        self._slots = slots
        self._semaphores: list[Any] = []
        self._memories: list[Any] = []
        self._ends = threading.Event()
        self._thread: threading.Thread | None = None
        self._api = CudaApi(cuda, broker.rank)
        self._api.open()
        self._triggers = int(self._api.call("cuMemHostAlloc", slots * layout.stride, 2))
        self._tail = int(self._api.call("cuMemHostAlloc", 8, 2))
        self._head = int(self._api.call("cuMemAlloc", 8))
        self._cache = int(self._api.call("cuMemAlloc", 8))
        ctypes.memset(self._triggers, 0, slots * layout.stride)
        for address in (self._tail, self._head, self._cache):
            _word(address).value = 0

    def __del__(self) -> None:
        for address in (self._triggers, self._tail):
            self._api.call("cuMemFreeHost", address)
        for address in (self._head, self._cache):
            self._api.call("cuMemFree", address)
        self._api.close()

    def add_memory(self, memory: Any) -> int:
        """Returns the number of a registered memory."""
        self._memories.append(memory)
        return len(self._memories) - 1

    def add_semaphore(self, semaphore: Any) -> int:
        """Returns the number of a semaphore."""
        self._semaphores.append(semaphore)
        return len(self._semaphores) - 1

    def port_channel(self, number: int, dst: int, src: int) -> Any:
        """Returns a channel, with its handle."""
        handle = PortHandle(
            number, self._semaphores[number].own, self._triggers, self._head, self._tail,
            self._cache, self._slots, dst, src,
        )  # fmt: skip
        raw = pack_handle(handle, self._layout)
        if self._fault == "ports length":
            raw += bytes(8)
        if self._fault == "ports handle":
            raw = raw[4:] + bytes(4)
        return SimpleNamespace(device_handle=lambda: SimpleNamespace(raw=raw))

    def start_proxy(self, blocking: bool) -> None:
        """Starts the thread."""
        assert blocking
        if self._fault != "ports silent":
            self._thread = threading.Thread(target=self._work, daemon=True)
            self._thread.start()

    def stop_proxy(self) -> None:
        """Ends the thread."""
        self._ends.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _work(self) -> None:
        stride = 32 if self._fault == "ports stride" else self._layout.stride
        while not self._ends.is_set():
            position = _word(self._tail).value
            slot = self._triggers + position % self._slots * stride
            if not self._is_ready(position, slot):
                time.sleep(0.0001)
                continue
            time.sleep(self.delay)
            first, second = _word(slot).value, _word(slot + 8).value
            if self._layout.polled == 0:
                _word(slot).value = 0
            self._execute(first, second)
            _word(self._tail).value = position + 1

    def _is_ready(self, position: int, slot: int) -> bool:
        if self._layout.polled == 0:
            return _word(slot).value != 0
        mark = (position // self._slots & self._layout.laps) ^ 1
        return _word(slot + 8).value >> 63 == mark

    def _execute(self, first: int, second: int) -> None:
        kinds = second >> _KINDS & 7
        if kinds & _COPY:
            target, source = self._memories[second >> 41 & 511], self._memories[second >> 32 & 511]
            to, nbytes = second & 0xFFFFFFFF, first & 0xFFFFFFFF
            if self._fault == "ports copies":
                to += 8
            ctypes.memmove(target.address + to, source.address + (first >> 32), nbytes)
        if kinds & _SIGNAL:
            _word(self._semaphores[second >> 53 & 1023].other).value += 1


def install_port_channels(cuda: Any, broker: Any) -> None:
    """Adds port channels to the module of MSCCL++; `broker.fault` ends with the layout."""
    number = int(broker.fault[-1]) if broker.fault[-1:].isdigit() else len(LAYOUTS) - 1
    layout = LAYOUTS[number]
    module: Any = sys.modules.get("mscclpp") or ModuleType("mscclpp")
    module.__version__ = "0.8.0" if broker.fault == "ports version" else f"{layout.versions[-1]}0"
    module.Device = lambda kind, ordinal: (kind, ordinal)
    module.DeviceType = SimpleNamespace(GPU="GPU")
    module.EndpointConfig = lambda transport, device: (transport, device)
    module.ProxyService = lambda slots: ProxyService(cuda, layout, broker, slots)
    sys.modules["mscclpp"] = module

"""Copies of the stand-in: work of streams that reads or writes memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from .devices import Device
from .memory import MemoryFunctions


class CopyFunctions(MemoryFunctions):
    """The functions of NVIDIA's driver that copy to and from devices, and that set memory."""

    def _do(self, stream: int, address: int, nbytes: int, work: Callable[[], object]) -> tuple[int]:
        """Queues work of a stream on memory of its device."""
        device = self._stream(stream).device

        def operation() -> bool:
            if self._reaches(device, address, nbytes):
                work()
            return True

        return self._give(stream, lambda: operation)

    def _reaches(self, device: Device, address: int, nbytes: int) -> bool:
        """Returns True if a device may access memory; otherwise its context is lost.

        A context that is already lost also returns False.
        """
        if not device.broken and not self.may_access(device, address, nbytes):
            device.broken = True
        return not device.broken

    def _cuMemsetD8Async(self, address: int, byte: int, nbytes: int, stream: int) -> tuple[int]:
        device = self._stream(stream).device

        def operation() -> bool:
            if self._all_sms_taken(device):
                return False
            if self._reaches(device, address, nbytes):
                self._set(address, byte, nbytes)
            return True

        return self._give(stream, lambda: operation)

    def _all_sms_taken(self, device: Device) -> bool:
        raise NotImplementedError

    def _cuMemcpyHtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        # Memory that is not pinned is read before the call returns.
        kept = None if self.find_block(source) else ctypes.string_at(source, nbytes)
        return self._do(
            stream,
            target,
            nbytes,
            lambda: self._write(target, source if kept is None else kept, nbytes),
        )

    def _cuMemcpyDtoHAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        return self._do(stream, source, nbytes, lambda: self._read(target, source, nbytes))

    def _cuMemcpyDtoDAsync(self, target: int, source: int, nbytes: int, stream: int) -> tuple[int]:
        device = self._stream(stream).device

        def operation() -> bool:
            if self._reaches(device, source, nbytes) and self._reaches(device, target, nbytes):
                self._move(target, source, nbytes)
            return True

        return self._give(stream, lambda: operation)

    def _move(self, target: int, source: int, nbytes: int) -> None:
        kept = ctypes.create_string_buffer(nbytes)
        self._read(ctypes.addressof(kept), source, nbytes)
        self._write(target, kept.raw, nbytes)

    def _set(self, address: int, byte: int, nbytes: int) -> None:
        ctypes.memset(address, byte, nbytes)

    def _write(self, target: int, source: int | bytes, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

    def _read(self, target: int, source: int, nbytes: int) -> None:
        ctypes.memmove(target, source, nbytes)

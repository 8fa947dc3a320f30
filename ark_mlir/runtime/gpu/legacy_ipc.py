"""Memory that processes share by older functions for IPC (``cuIpcOpenMemHandle``, ``hip…``).

Containers may refuse file descriptors of memory, which :mod:`.peers` needs, and allow these
functions. A process cannot choose the address at which it maps the memory of another one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from ...errors import UnsupportedError

if TYPE_CHECKING:
    from .api import GpuApi

__all__ = ["BorrowedBlock", "LentBlock"]

_PAGE = 2 << 20


class LentBlock:
    """Memory on one GPU that other processes can map, from a multiple of 2 MiB on.

    Args:
        api: the API of the vendor's driver on the GPU, with its context open.
        nbytes: the size.

    Attributes:
        address: the address of the first byte.
        offset: the offset of the first byte in the allocation. Other processes map the whole
            allocation.

    Raises DeviceError if memory is short.
    """

    def __init__(self, api: GpuApi, nbytes: int) -> None:
        self._api = api
        api.enter()
        self._allocation = api.allocate_lent(nbytes + _PAGE)
        self._free = api.own(self, api.names.free, self._allocation)
        self.offset = -self._allocation % _PAGE
        self.address = self._allocation + self.offset

    def handle(self) -> bytes:
        """Returns the IPC handle, with which other processes map the memory.

        Raises DeviceError if the vendor's driver refuses it.
        """
        self._api.enter()
        return bytes(self._api.call(self._api.names.lend, self._allocation).reserved)

    def free(self) -> None:
        """Frees the memory; no process may have it mapped any more."""
        self._free()


class BorrowedBlock:
    """The memory of another process, mapped for the GPU of this one.

    Args:
        api: the API of the vendor's driver on the GPU of this process, with its context open.
        handle: the result of :meth:`LentBlock.handle` in the other process.
        offset: the attribute of the :class:`LentBlock` in the other process.

    Attributes:
        address: the address of the first byte.

    Raises DeviceError if the vendor's driver refuses it, and UnsupportedError if the memory does
    not begin at a multiple of 2 MiB here.
    """

    def __init__(self, api: GpuApi, handle: bytes, offset: int) -> None:
        api.enter()
        pointer = api.borrow(handle)
        self._close = api.own(self, api.names.close_borrowed, pointer)
        self.address = pointer + offset
        if self.address % _PAGE:
            self.close()
            raise UnsupportedError(
                f"{api.vendor}'s driver maps shared memory at an address that is not a multiple of "
                "2 MiB"
            )

    def close(self) -> None:
        """Unmaps the memory; no kernel of this process may use it any more."""
        self._close()

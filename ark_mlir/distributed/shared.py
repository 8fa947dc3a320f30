"""Memory that the processes of a world share: an anonymous file that each of them maps."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundle.format import ALIGNMENT
from ..errors import DeviceError
from ..runtime.cpu.driver import HostMemory, shared_sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Manifest

__all__ = ["Segment", "SharedMemory", "create_segment"]


class SharedMemory(HostMemory):
    """A part of a segment; see :class:`ark_mlir.runtime.cpu.driver.HostMemory`."""

    def __init__(self, part: NDArray[np.uint8]) -> None:
        self.bytes = part


def create_segment(manifest: Manifest) -> int:
    """A file, all zeros, as large as what the ranks of a program share; the caller closes it.

    It has no name: it is gone when the last process that maps it is. Raises DeviceError where
    there is no memory for it.
    """
    size = sum(map(_rounded, shared_sizes(manifest)))
    file = os.memfd_create("ark_ranks", os.MFD_CLOEXEC)
    try:
        os.ftruncate(file, size)
    except OSError as error:
        os.close(file)
        raise DeviceError(f"no memory for {size} bytes: {error.strerror}") from None
    return file


class Segment:
    """A mapping of such a file, handed out in the same order by every rank."""

    def __init__(self, file: int) -> None:
        try:
            mapping: Any = mmap.mmap(file, os.fstat(file).st_size)
        except (OSError, ValueError) as error:
            raise DeviceError(f"cannot map shared memory: {error}") from None
        # Unmapped when the last array of it is gone.
        self._bytes: NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)
        self._taken = 0

    def take(self, nbytes: int) -> SharedMemory:
        """Returns the next bytes, as many as asked for."""
        begin = self._taken
        self._taken += _rounded(nbytes)
        return SharedMemory(self._bytes[begin : begin + nbytes])


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT

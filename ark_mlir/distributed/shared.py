"""Memory that the processes of a world share: an anonymous file that each process maps."""

from __future__ import annotations

import mmap
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundle.format import ALIGNMENT
from ..errors import DeviceError
from ..runtime.cpu.kernel import HostMemory, shared_sizes

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Manifest

__all__ = ["Segment", "SharedMemory", "create_segment"]


class SharedMemory(HostMemory):
    """Consecutive bytes of a segment, as memory of the cpu driver."""

    def __init__(self, part: NDArray[np.uint8]) -> None:
        self._hold(part)


def create_segment(manifest: Manifest) -> int:
    """Returns an anonymous file of zeros with the size of a program's shared memory.

    The caller closes the file. The system frees it when no process has it open or mapped. Raises
    DeviceError if there is not enough memory.
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
    """A mapping of a file of `create_segment`.

    All ranks call :meth:`take` with the same sizes in the same order, so that they share memory.
    """

    def __init__(self, file: int) -> None:
        try:
            mapping: Any = mmap.mmap(file, os.fstat(file).st_size)
        except (OSError, ValueError) as error:
            raise DeviceError(f"cannot map shared memory: {error}") from None
        # The file is unmapped when the last array over it is freed.
        self._bytes: NDArray[np.uint8] = np.frombuffer(mapping, np.uint8)
        self._taken = 0

    def take(self, nbytes: int) -> SharedMemory:
        """Returns the next `nbytes` bytes of the segment."""
        begin = self._taken
        self._taken += _rounded(nbytes)
        return SharedMemory(self._bytes[begin : begin + nbytes])

    def free(self) -> None:
        """Does nothing: the file is unmapped when the last array over it is freed."""


def _rounded(nbytes: int) -> int:
    return -(-nbytes // ALIGNMENT) * ALIGNMENT

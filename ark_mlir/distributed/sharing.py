"""Sharing: how processes get access to memory on each other's GPUs."""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Protocol

from ..errors import DeviceError, UnsupportedError
from ..runtime.cuda.peers import ExportedPart, MappedParts, imported_memory
from .frames import close_files

if TYPE_CHECKING:
    from ..runtime.cuda.api import CudaApi
    from .circle import Turn

__all__ = ["DescriptorSharing", "Sharing", "agree"]


class Sharing(Protocol):
    """A way to share memory between processes.

    Attributes:
        name: the name in messages.
    """

    name: str

    def share(self, turn: Turn, api: CudaApi, name: str, rank: int, part: int) -> MappedParts:
        """Returns memory with a part on the GPU of each rank, together with all ranks.

        Args:
            turn: the turn of the world.
            api: the driver API of this rank's GPU, with its context open.
            name: the name of the memory, for phases of the turn.
            rank: the rank of this process.
            part: bytes of each part, a multiple of 2 MiB.

        Raises the same UnsupportedError at every rank if the memory of one of them cannot be
        shared, and DeviceError if memory is short.
        """
        ...


class DescriptorSharing:
    """Ranks send file descriptors of their memory to each other, over the sockets of the world."""

    name = "file descriptors"

    def share(self, turn: Turn, api: CudaApi, name: str, rank: int, part: int) -> MappedParts:
        """See :meth:`Sharing.share`."""
        own = ExportedPart(api, part)
        try:
            files = self._exchange(turn, name, rank, own)
            try:
                mapped, problem = self._map(api, own, files, part)
            finally:
                close_files([each for each in files if each is not None])
            with ExitStack() as on_error:
                if mapped is not None:
                    on_error.callback(mapped.free)
                agree(turn, f"{name} mapped", problem)
                on_error.pop_all()
            assert mapped is not None
            return mapped
        finally:
            own.release()

    def _exchange(self, turn: Turn, name: str, rank: int, own: ExportedPart) -> list[int | None]:
        """Returns file descriptors of the parts of all ranks, which the caller closes; None for the
        own part."""
        file, problem = self._export(own)
        try:
            words = turn.meet(name, problem, file=file)
        finally:
            if file is not None:
                os.close(file)
        files = [None if word.sender == rank else word.file for word in words]
        refused = next((word for word in words if word.body is not None), None)
        if refused is not None:
            close_files([each for each in files if each is not None])
            raise UnsupportedError(f"rank {refused.sender}: {refused.body}")
        return files

    def _export(self, own: ExportedPart) -> tuple[int | None, str | None]:
        """Returns a file descriptor, or the reason why the driver refuses it."""
        try:
            return own.export(), None
        except (DeviceError, UnsupportedError) as error:
            return None, f"this driver cannot share memory with other processes: {error.message}"

    def _map(
        self, api: CudaApi, own: ExportedPart, files: Sequence[int | None], part: int
    ) -> tuple[MappedParts | None, str | None]:
        """Returns the mapping, or the reason why the driver refuses it."""
        try:
            with ExitStack() as imported:
                handles = [
                    own.handle
                    if file is None
                    else imported.enter_context(imported_memory(api, file))
                    for file in files
                ]
                return MappedParts(api, handles, part), None
        except (DeviceError, UnsupportedError) as error:
            return None, f"this driver cannot map the memory of other processes: {error.message}"


def agree(turn: Turn, phase: str, problem: str | None) -> None:
    """Raises UnsupportedError at every rank if one of them has a problem."""
    for word in turn.meet(phase, problem):
        if word.body is not None:
            raise UnsupportedError(f"rank {word.sender}: {word.body}")

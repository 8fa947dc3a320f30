"""Programs of ranks whose shared memory lies at distant addresses, on emulated GPUs.

The vendor's driver chooses the addresses of memory of legacy IPC and of other libraries.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ark_mlir.runtime.gpu.blocks import divide_blocks
from ark_mlir.runtime.gpu.peers import PeerMemory
from ark_mlir.runtime.gpu.world import GpuWorldDriver
from ark_mlir.runtime.ranks.rank_bundle import bytes_of_block
from ark_mlir.runtime.ranks.relocation import relocate

from . import Emulation

if TYPE_CHECKING:
    from pathlib import Path

    from ark_mlir.bundle import Bundle
    from ark_mlir.runtime import Driver
    from ark_mlir.runtime.gpu.api import GpuApi
    from ark_mlir.runtime.gpu.kernel import SharedMemory

    from .machine import EmulatedCuda

_PAGE = 2 << 20


class FarWorldDriver(GpuWorldDriver):
    """Runs ranks on a GPU each: the shared memory of each rank is one block.

    Args:
        apis: the API of each GPU.
        cuda: the emulated GPUs.
        gaps: for each rank, bytes between its block and earlier memory.

    Attributes:
        begins: the address of the block of each rank.
        relocated: the relocated program of each rank.
    """

    def __init__(self, apis: Sequence[GpuApi], cuda: EmulatedCuda, gaps: Sequence[int]) -> None:
        super().__init__(apis)
        self._cuda, self._gaps = cuda, gaps
        self.relocated: list[Bundle] = []

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        nbytes = -(-bytes_of_block(bundle) // _PAGE) * _PAGE
        self.begins: list[int] = []
        for rank, gap in enumerate(self._gaps):
            self._cuda.gap = gap
            block = PeerMemory(self._apis, nbytes)
            self._free_last(block.free)
            self.begins.append(block.part(rank).address)
        self._cuda.gap = 0
        super().load(bundle)

    def _relocate(self, rank: int, shared: SharedMemory) -> tuple[Bundle, SharedMemory]:
        del shared  # its parts are at consecutive addresses
        api = self._apis[rank]
        api.enter()
        addresses, own_shared = divide_blocks(api, self._bundle, rank, self.begins)
        self.relocated.append(relocate(self._linked[rank].bundle, addresses))
        return self.relocated[-1], own_shared


class FarEmulation(Emulation):
    """Programs of ranks with distant memory; see :class:`Emulation`.

    Args:
        gaps: for each rank, bytes between its memory and earlier memory.

    Attributes:
        driver: the driver of the program that was loaded last.
    """

    driver: FarWorldDriver

    def __init__(
        self, programs: Any, library: Path, folder: Path, gaps: Sequence[int], **options: Any
    ) -> None:
        self._gaps = gaps
        super().__init__(programs, library, folder, **options)

    def _make_driver(self) -> Driver:
        self.driver = FarWorldDriver(self._make_apis(), self._cuda, self._gaps)
        return self.driver

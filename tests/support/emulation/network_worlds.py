"""Programs of ranks in several NVLink domains, on emulated GPUs.

GPUs of one domain access each other's memory. Between domains, the emulator's network adapters copy
and signal.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.blocks import NetworkHandles, divide_blocks
from ark_mlir.runtime.gpu.memory import DeviceMemory
from ark_mlir.runtime.gpu.peers import PeerMemory
from ark_mlir.runtime.gpu.world import GpuWorldDriver
from ark_mlir.runtime.ranks.rank_bundle import bytes_of_block
from ark_mlir.runtime.ranks.relocation import relocate

from . import Emulation

if TYPE_CHECKING:
    from ark_mlir.bundle import Bundle
    from ark_mlir.runtime import Driver
    from ark_mlir.runtime.gpu.kernel import SharedMemory

_PAGE = 2 << 20


class NetworkWorldDriver(GpuWorldDriver):
    """Runs ranks of several domains, each on its own GPU: each rank's shared memory is one block,
    and ranks of other domains have no address."""

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        self._blocks: list[PeerMemory] = []
        domains = bundle.manifest.domains
        nbytes = -(-bytes_of_block(bundle) // _PAGE) * _PAGE
        for domain in sorted(set(domains)):
            apis = [self._apis[rank] for rank, each in enumerate(domains) if each == domain]
            block = PeerMemory(apis, nbytes)
            self._free_last(block.free)
            self._blocks.append(block)
        begins = [0] * len(domains)
        for block, domain in zip(self._blocks, sorted(set(domains)), strict=True):
            ranks = [rank for rank, each in enumerate(domains) if each == domain]
            for number, rank in enumerate(ranks):
                begins[rank] = block.part(number).address
        self._begins = begins
        super().load(bundle)

    def _relocate(self, rank: int, shared: SharedMemory) -> tuple[Bundle, SharedMemory]:
        del shared  # this memory has parts of all domains
        api = self._apis[rank]
        assert isinstance(api, CudaApi)
        domains = self._bundle.manifest.domains
        api.enter()
        handles = self._handles(rank)
        known = [
            begin if domains[other] == domains[rank] else None
            for other, begin in enumerate(self._begins)
        ]
        addresses, own_shared = divide_blocks(api, self._bundle, rank, known, handles)
        return relocate(self._linked[rank].bundle, addresses), own_shared

    def _handles(self, rank: int) -> NetworkHandles:
        """Returns the handles of NCCL's network: the table of the window, and a communicator that
        nothing reads."""
        window = DeviceMemory(self._apis[rank], 0, 8 * len(self._begins))
        window.upload(np.array(self._begins, np.uint64))
        self._free_last(window.free)
        return NetworkHandles(window.address, window.address)


class NetworkEmulation(Emulation):
    """Programs of ranks in several domains; see :class:`Emulation`, with `domains` as an option."""

    def _make_driver(self) -> Driver:
        return NetworkWorldDriver([CudaApi(self._cuda, each) for each in self._ordinals])

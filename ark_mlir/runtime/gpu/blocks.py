"""Blocks: the memory of each rank that other ranks access, as one block of bytes per rank.

A block has the rank's parts of the arena, the counters and the task packets, in this order. The
block of a rank in another NVLink domain has no address in this process: a network library accesses
it by its offset in a window.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from ..ranks.relocation import PartAddresses, domain_address
from .kernel import SharedMemory, begun_word
from .memory import DeviceBytes

if TYPE_CHECKING:
    from ...bundle import Bundle
    from ..cuda.port_channels import PortChannels
    from .api import GpuApi

__all__ = ["NetworkHandles", "divide_blocks"]


class NetworkHandles(NamedTuple):
    """The handles that a kernel passes to the functions of a network library.

    Attributes:
        communicator: the address of the communicator, or of the record of port channels, in memory
            of the GPU.
        window: the handle of the window that has the block of each rank; 0 for port channels.
        ports: the port channels of MSCCL++; None for another library.
    """

    communicator: int
    window: int
    ports: PortChannels | None = None


def divide_blocks(
    api: GpuApi,
    bundle: Bundle,
    rank: int,
    begins: Sequence[int | None],
    network: NetworkHandles | None = None,
) -> tuple[PartAddresses, SharedMemory]:
    """Divides the blocks of all ranks into arenas, counters and task packets.

    Args:
        api: the API of the vendor's driver on the GPU of `rank`.
        bundle: the program of all ranks.
        rank: the rank of the kernel.
        begins: the address of each rank's block; None for a rank of another domain.
        network: the handles of the network library that reaches these ranks.
    """
    ranks = bundle.manifest.ranks
    arena, packets = bundle.manifest.arena // ranks, bundle.manifest.packets // ranks
    counters = RANK_COUNTERS * SEMAPHORE_STRIDE
    known = [
        domain_address(other, 0) if begin is None else begin for other, begin in enumerate(begins)
    ]
    record: tuple[int, ...] = ()
    ports = None
    if network is not None:
        communicator, window, ports = network
        record = (communicator, window, known[rank], arena, ranks, rank)
    addresses = PartAddresses(
        rank=rank,
        arenas=tuple(known),
        counters=tuple(begin + arena for begin in known),
        packets=tuple(begin + arena + counters for begin in known),
        arena_part=arena,
        packets_part=packets,
        apart=frozenset(other for other, begin in enumerate(begins) if begin is None),
        numbers={} if ports is None else ports.numbers,
    )
    shared = SharedMemory(
        arena=DeviceBytes(api, addresses.arena, 0),
        semaphores=DeviceBytes(api, addresses.counters[rank], counters),
        packets=DeviceBytes(api, addresses.own_packets, 0),
        own_packets=DeviceBytes(api, addresses.packets[rank], packets),
        begun=tuple(begun_word(each, rank) for each in addresses.counters),
        slots=addresses.slots,
        network=record,
        ports=ports,
    )
    return addresses, shared

"""Programs of ranks in several NVLink domains, between which emulated proxies copy and signal."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.cuda.port_channels import PortChannels
from ark_mlir.runtime.cuda.port_layouts import LAYOUTS, PortHandle, PortLayout, read_handle
from ark_mlir.runtime.gpu.blocks import NetworkHandles
from ark_mlir.runtime.gpu.memory import DeviceMemory, PinnedMemory
from ark_mlir.runtime.ranks.rank_bundle import bytes_of_block
from ark_mlir.runtime.ranks.routes import NetworkPlan, count_semaphores, plan_network
from ark_mlir.testing.port_handles import pack_handle

from .network_worlds import NetworkEmulation, NetworkWorldDriver

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from ark_mlir.bundle import Bundle
    from ark_mlir.runtime import Driver
    from ark_mlir.runtime.drivers.interface import Launch


class _Service:
    """The proxy of a rank, with its FIFO in memory of the host."""

    def __init__(
        self, library: Any, number: int, api: CudaApi, layout: PortLayout, slots: int
    ) -> None:
        self._library = library
        self._number = number
        self._layout = layout
        self._slots = slots
        self.memories = [
            PinnedMemory(api, slots * layout.stride), PinnedMemory(api, 8),
            DeviceMemory(api, 0, 8), DeviceMemory(api, 0, 8),
        ]  # fmt: skip
        triggers, tail, *_ = self.memories
        number = library.simt_add_proxy(
            triggers.address, tail.address, slots, layout.stride, layout.polled, layout.laps
        )
        assert number == self._number
        self._semaphores = 0

    def connect(self, peer: int, own_token: int, other_token: int, target: int) -> PortHandle:
        """Returns a channel: signals add to `other_token`, and copies go to memory `target`."""
        self._library.simt_add_semaphore(self._number, other_token, peer)
        semaphore, self._semaphores = self._semaphores, self._semaphores + 1
        triggers, tail, head, cache = (memory.address for memory in self.memories)
        handle = PortHandle(
            semaphore, own_token, triggers, head, tail, cache, self._slots, target, 0
        )
        return read_handle(pack_handle(handle, self._layout), self._layout)


class PortWorldDriver(NetworkWorldDriver):
    """Runs ranks of several domains, between which port channels copy.

    Args:
        apis: the API of each rank's GPU.
        library: the emulator.
        layout: the layout of the channels.
        slots: the slots of each FIFO.

    Attributes:
        ports: the port channels of each rank.
        meets: False does not wait for messages of a run that was aborted, which is a mistake.
    """

    def __init__(
        self, apis: Sequence[CudaApi], library: Any, layout: PortLayout, slots: int
    ) -> None:
        super().__init__(apis)
        self._cuda_apis = list(apis)
        self.meets = True
        self._library = library
        self._layout = layout
        self._slots = slots
        self.ports: dict[int, PortChannels] = {}

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        self._library.simt_clear_ports()
        # The memory of proxies is freed after this.
        self._free_last(self._library.simt_clear_ports)
        self._plan = plan_network(bundle)
        super().load(bundle)

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`: waits for messages of an aborted run, as processes do."""
        if self.meets and any(driver.dirty for driver in self._ranks):
            for driver in self._ranks:
                driver.await_abandoned()
            meetings = 1 + max(ports.meetings for ports in self.ports.values())
            for ports in self.ports.values():
                ports.announce(meetings)
            for ports in self.ports.values():
                ports.await_others(meetings)
            assert self._library.simt_count_messages() == 0
        super().launch(launch)

    def _handles(self, rank: int) -> NetworkHandles:
        if not self.ports:
            self._connect()
        ports = self.ports[rank]
        return NetworkHandles(ports.address, 0, ports)

    def _connect(self) -> None:
        services = [
            _Service(self._library, rank, api, self._layout, self._slots)
            for rank, api in enumerate(self._cuda_apis)
        ]
        for service in services:
            for memory in service.memories:
                self._free_last(memory.free)
        channels = _connect_all(self, services, self._plan)
        for rank, each in enumerate(channels):
            own = self._cuda_apis[rank]
            own.enter()
            ports = PortChannels(
                own, self._layout, each, self._plan.routes, rank, len(channels),
                pause=self._library.simt_run_ports,
            )  # fmt: skip
            self._free_last(ports.free)
            self.ports[rank] = ports

    def take_tokens(self, rank: int, count: int) -> list[int]:
        """Returns addresses of zeroed tokens on the GPU of a rank."""
        memory = DeviceMemory(self._apis[rank], 0, 8 * count)
        self._free_last(memory.free)
        return [memory.address + 8 * number for number in range(count)]

    def add_memories(self, rank: int) -> dict[int, int]:
        """Gives the proxy of a rank the memory of all ranks; returns their numbers."""
        order = [rank, *(other for other in range(len(self._apis)) if other != rank)]
        nbytes = bytes_of_block(self._bundle)
        for other in order:
            self._library.simt_add_memory(rank, self._begins[other], nbytes)
        return {other: number for number, other in enumerate(order)}


def _connect_all(
    driver: PortWorldDriver, services: Sequence[_Service], plan: NetworkPlan
) -> list[dict[int, list[PortHandle]]]:
    """Returns the channels of each rank to each rank of another domain."""
    ranks = range(len(services))
    tokens = {
        (rank, other): driver.take_tokens(rank, count_semaphores(plan.routes, rank, other))
        for rank in ranks
        for other in plan.others(rank)
    }
    channels: list[dict[int, list[PortHandle]]] = []
    for rank in ranks:
        targets = driver.add_memories(rank)
        channels.append(
            {
                other: [
                    services[rank].connect(other, own, far, targets[other])
                    for own, far in zip(tokens[rank, other], tokens[other, rank], strict=True)
                ]
                for other in plan.others(rank)
            }
        )
    return channels


class PortEmulation(NetworkEmulation):
    """Programs of ranks in several domains with port channels; see :class:`Emulation`.

    Args:
        programs, library, folder: see :class:`Emulation`.
        layout: the layout of the channels.
        slots: the slots of each FIFO.
        options: further options of :class:`Emulation`.

    Attributes:
        driver: the driver of the program that is loaded.
    """

    driver: PortWorldDriver

    def __init__(
        self,
        programs: Any,
        library: Path,
        folder: Path,
        layout: PortLayout = LAYOUTS[-1],
        slots: int = 4,
        **options: Any,
    ) -> None:
        self._layout = layout
        self._slots = slots
        super().__init__(programs, library, folder, network="mscclpp", **options)

    def _make_driver(self) -> Driver:
        apis = [CudaApi(self._cuda, each) for each in self._ordinals]
        self.driver = PortWorldDriver(apis, self._library, self._layout, self._slots)
        return self.driver

    def hold(self, after: int) -> None:
        """Makes all proxies stop after a number of triggers; -1 lets them go on."""
        self._library.simt_hold_ports(after)

    def check(self) -> None:
        """See :meth:`Emulation.check`; raises RuntimeError for a wrong trigger, too."""
        super().check()
        if problem := self._library.simt_get_port_problem():
            raise RuntimeError(problem.decode())

    def count_messages(self) -> int:
        """Returns the number of messages that have not arrived."""
        return self._library.simt_count_messages()

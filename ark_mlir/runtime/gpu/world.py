"""The driver for GPUs with several ranks in this process, each on another GPU."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from typing import TYPE_CHECKING, Any

import numpy as np

from ...errors import ArkError, BusyError, DeviceError, InvalidUsageError, UnsupportedError
from ..arrays.streams import RankStreams, RunStream, StreamsByRank
from ..drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE, Abort
from ..drivers.interface import Launch, Outcome
from ..ranks.linking import LinkedRank, link
from ..ranks.outcomes import join_outcomes
from .api import GpuApi
from .driver import BEGAN_LATE, GpuDriver
from .kernel import GpuKernel, SharedMemory, begun_word
from .memory import DeviceBytes, DeviceMemory
from .peers import USE_ONE, PeerMemory, require_one_kind, require_peer_access
from .queue import QueueWatch

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle
    from ..arrays.binding import Array
    from ..arrays.device import Results
    from ..arrays.exchange import Slots
    from .exchange import GpuExchange

__all__ = ["GpuWorldDriver", "open_devices"]


class GpuWorldDriver:
    """Runs a program of several ranks, each on its own GPU.

    See :class:`ark_mlir.runtime.Driver`.

    Each GPU executes the lanes of its rank in a separate kernel. The kernels exchange data and
    signals through memory that all GPUs map, without the host. There are no resident kernels:
    every run is a launch.

    Several ranks may have the same GPU. Each of these ranks has a part of the SMs, and its kernel a
    stream of its own, so that the launches run at once.

    Args:
        apis: the API of the vendor's driver on each rank's GPU, in the order of the ranks.
    """

    def __init__(self, apis: Sequence[GpuApi]) -> None:
        self._apis = apis
        self._resources = ExitStack()
        self._ranks: list[_RankDriver] = []
        self._linked: list[LinkedRank] = []
        self._constants: dict[int, dict[int, DeviceMemory]] = {}
        # The limit of a wait in the present run.
        self._timeout_ns = 0
        # The number of ranks on each GPU, by its ordinal.
        self._ranks_on = Counter(api.ordinal for api in apis)
        try:
            for rank, api in enumerate(apis):
                driver = _RankDriver(api, rank, apis[0], self._ranks_on[api.ordinal])
                self._ranks.append(driver)
                self._resources.callback(driver.close)
        except BaseException:
            self._resources.close()
            raise

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        ranks = bundle.manifest.ranks
        if ranks != len(self._ranks):
            raise InvalidUsageError(
                f"{bundle.manifest.program!r} has {ranks} ranks, and {len(self._ranks)} devices "
                "are given: pass one device for each rank, or one device for all ranks"
            )
        require_one_kind(self._apis)
        require_peer_access(self._apis)
        self._bundle = bundle
        self._linked = link(bundle)
        arena = self._share(bundle.manifest.arena // ranks)
        semaphores = self._share(RANK_COUNTERS * SEMAPHORE_STRIDE)
        packets = self._share(bundle.manifest.packets // ranks)
        assert semaphores is not None
        for rank, driver in enumerate(self._ranks):
            empty = DeviceBytes(driver.api, 0, 0)
            shared = SharedMemory(
                arena=empty if arena is None else arena.all,
                semaphores=semaphores.part(rank),
                packets=empty if packets is None else packets.all,
                own_packets=empty if packets is None else packets.part(rank),
                begun=tuple(
                    begun_word(semaphores.part(each).address, rank) for each in range(ranks)
                ),
            )
            driver.load(*self._relocate(rank, shared))
            driver.clear_semaphores()
            if driver.api.ordinal != self._apis[0].ordinal:
                self._constants[rank] = self._copy_constants(bundle, driver)
        self._check_residency()

    def _relocate(self, rank: int, shared: SharedMemory) -> tuple[Bundle, SharedMemory]:
        """Returns the linked program of a rank for the addresses of the shared memory."""
        return self._linked[rank].bundle, shared

    def _check_residency(self) -> None:
        """Raises UnsupportedError unless the CTAs of all ranks on a GPU fit on it at once."""
        for ordinal, count in self._ranks_on.items():
            kernels = [each.kernel for each in self._ranks if each.api.ordinal == ordinal]
            lanes = sum(kernel.lanes for kernel in kernels)
            most = min(kernel.most_lanes for kernel in kernels)
            if lanes > most:
                raise UnsupportedError(
                    f"the {count} ranks on GPU {ordinal} have {lanes} lanes; this GPU holds {most} "
                    "of their CTAs at once",
                    location=self._bundle.where,
                    notes=[
                        "compile with the same devices= and concurrent=True, for a part of the GPU "
                        "each"
                    ],
                )

    def _share(self, part_bytes: int) -> PeerMemory | None:
        """Returns memory with a part on each GPU, or None if parts have no bytes."""
        if not part_bytes:
            return None
        memory = PeerMemory(self._apis, part_bytes)
        # A running kernel may access the memory until its driver is closed.
        self._free_last(memory.free)
        return memory

    def _free_last(self, free: Callable[[], object]) -> None:
        others = self._resources.pop_all()
        self._resources.callback(free)
        self._resources.enter_context(others)

    def _copy_constants(self, bundle: Bundle, driver: _RankDriver) -> dict[int, DeviceMemory]:
        """Returns copies of the constants, by slot, for a GPU other than the first one."""
        copies: dict[int, DeviceMemory] = {}
        for buffer in bundle.manifest.of_kind("constant"):
            memory = driver.allocate(buffer.bytes, buffer.alignment, zeroed=False)
            memory.upload(np.frombuffer(bundle.constant(buffer), np.uint8))
            copies[buffer.slot] = memory
        return copies

    # -- memory ------------------------------------------------------------------------------

    def allocate(
        self,
        nbytes: int,
        alignment: int,
        *,
        zeroed: bool = True,
        lasting: bool = False,
        rank: int = 0,
    ) -> DeviceMemory:
        """See :meth:`Driver.allocate`: memory of the GPU of `rank`."""
        return self._ranks[rank].allocate(nbytes, alignment, zeroed=zeroed, lasting=lasting)

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: arrays of the host are copied."""
        del array, alignment
        return None

    def download(
        self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...], rank: int = 0
    ) -> NDArray[Any]:
        """See :meth:`Driver.download`."""
        return self._ranks[rank].download(address, dtype, shape)

    def run_stream(self, stream: object, values: Iterable[object]) -> RankStreams:
        """See :meth:`Driver.run_stream`: a stream on each GPU."""
        size = len(self._ranks)
        if stream is not None and not isinstance(stream, StreamsByRank):
            raise InvalidUsageError(
                f"one stream for a program on {size} GPUs: pass a list with a stream for each rank"
            )
        given = tuple(values)
        streams = [None] * size if stream is None else stream
        return RankStreams(
            [
                driver.run_stream(each, given)
                for driver, each in zip(self._ranks, streams, strict=True)
            ]
        )

    def synchronize(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.synchronize`."""
        for driver, stream in self._by_rank(run_stream):
            driver.synchronize(stream)

    def _by_rank(self, run_stream: RunStream) -> list[tuple[_RankDriver, RunStream]]:
        """Returns the driver and the stream of each rank."""
        assert isinstance(run_stream, RankStreams)
        return list(zip(self._ranks, run_stream.ranks, strict=True))

    def exchange(self, stays: bool) -> _WorldExchange:
        """See :meth:`Driver.exchange`."""
        return _WorldExchange([(driver, driver.exchange(stays)) for driver in self._ranks])

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`; raises InvalidUsageError if a stream is being captured: a
        graph does not launch the kernels of several GPUs together."""
        for driver, stream in self._by_rank(run_stream):
            driver.api.enter()
            if driver.captures(stream):
                raise InvalidUsageError("a run on several GPUs cannot be part of a graph")
        return False

    def recorded(self, stream: object) -> list[Outcome]:
        """See :meth:`Driver.recorded`: there are no captured launches."""
        del stream
        return []

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`: starts the kernels of all ranks before it waits for one."""
        if any(driver.dirty for driver in self._ranks):
            # The kernel of an abandoned launch may still signal, also to other GPUs.
            for driver in self._ranks:
                driver.await_abandoned()
            # If the counters of one GPU cannot be zeroed, those of all GPUs are invalid.
            for driver in self._ranks:
                driver.invalidate()
            # All counters are zeroed before the first launch: a kernel may signal to a GPU whose
            # own kernel has not begun.
            for driver in self._ranks:
                driver.clear_semaphores()
        self._timeout_ns = launch.timeout_ns
        streams = self._gather(launch.run_stream)
        started: list[_RankDriver] = []
        try:
            for rank, driver in enumerate(self._ranks):
                driver.api.enter()
                driver.launch(self._launch_of(launch, rank, streams[rank]))
                started.append(driver)
        except BaseException:
            self._end(started)
            raise

    def _gather(self, run_stream: RunStream) -> list[RunStream]:
        """Returns the streams of the launches.

        If a stream may have work of the caller, each stream waits for the earlier work of all
        streams. No kernel then occupies its GPU while the kernel of another rank cannot begin.
        For the same reason, no two kernels have the same stream.
        """
        streams = self._by_rank(run_stream)
        if not any(driver.is_foreign(stream) for driver, stream in streams):
            return [stream for _, stream in streams]
        # A handle such as that of the default stream may be that of a stream of each GPU.
        marks: list[tuple[int, int, object]] = []
        for driver, stream in streams:
            driver.api.enter()
            marks.append((driver.api.ordinal, *driver.mark(stream)))
        chosen: list[tuple[int, int]] = []
        for driver, (ordinal, marked, _) in zip(self._ranks, marks, strict=True):
            driver.api.enter()
            handle = driver.own_stream if (ordinal, marked) in chosen else marked
            chosen.append((ordinal, handle))
            for *other, reached in marks:
                if tuple(other) != (ordinal, handle):
                    driver.api.call(driver.api.names.follow_event, handle, reached, 0)
        return [
            RunStream(stream.device, handle)
            for (_, stream), (_, handle) in zip(streams, chosen, strict=True)
        ]

    def _launch_of(self, launch: Launch, rank: int, stream: RunStream) -> Launch:
        """Returns the launch of one rank, with the constants on its GPU."""
        addresses = launch.addresses
        if constants := self._constants.get(rank):
            addresses = np.array(addresses)
            for slot, memory in constants.items():
                addresses[slot - 1] = memory.address
        return launch._replace(addresses=addresses, run_stream=stream)

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        outcomes: list[Outcome] = []
        try:
            for rank, driver in enumerate(self._ranks):
                driver.api.enter()
                outcomes.append(driver.wait())
                if outcomes[-1].stop.abort == Abort.PEERS:
                    raise self._late(outcomes[-1].stop.seen)
                if outcomes[-1].stop.abort:
                    # The other ranks would wait until their timeout.
                    for other in self._ranks[rank + 1 :]:
                        other.end_kernel()
        except BaseException:
            self._end(self._ranks[len(outcomes) :])
            raise
        outcome = join_outcomes(self._bundle, self._linked, outcomes)
        if outcome.good:
            for driver in self._ranks:
                driver.epoch = (outcome.epoch + outcome.iterations) % (1 << 64)
        return outcome

    def cancel(self) -> None:
        """See :meth:`Driver.cancel`."""
        self._end(self._ranks)

    def _late(self, rank: int) -> BusyError:
        """Ends the kernel of a rank after the wait of another rank for its start has timed out.

        Returns the error to raise.
        """
        driver = self._ranks[rank]
        driver.api.enter()
        error = driver.queue_error(self._timeout_ns)
        driver.cancel()
        if not driver.has_abandoned:
            error.notes += (BEGAN_LATE,)
        return error

    def _end(self, drivers: Iterable[_RankDriver]) -> None:
        """Aborts the launches of these ranks; suppresses further errors."""
        for driver in drivers:
            with suppress(ArkError):
                driver.cancel()

    def make_resident(self) -> None:
        """See :meth:`Driver.make_resident`: the kernels are launched for every run."""

    def make_coherent(self) -> None:
        """See :meth:`Driver.make_coherent`: no kernel is resident."""

    def end_residency(self) -> None:
        """See :meth:`Driver.end_residency`: no kernel is resident."""

    def close(self) -> None:
        """See :meth:`Driver.close`."""
        self._resources.close()


def open_devices(
    make_api: Callable[[int], GpuApi], devices: Sequence[int]
) -> GpuDriver | GpuWorldDriver:
    """Returns the driver for GPUs: one GPU for all ranks, or the GPU of each rank.

    Args:
        make_api: returns the API of the vendor's driver on the GPU with an ordinal.
        devices: the ordinals.

    Raises UnsupportedError if this machine has no such GPU.
    """
    try:
        apis = [make_api(number) for number in devices]
    except UnsupportedError as error:
        if len(devices) > 1:
            error.notes += (USE_ONE,)
        raise
    return GpuDriver(apis[0]) if len(apis) == 1 else GpuWorldDriver(apis)


class _RankDriver(GpuDriver):
    """The driver of one rank's GPU.

    Args:
        api: the API of the vendor's driver on the GPU.
        rank: the rank.
        keeper: the API of the vendor's driver on the GPU that frees the shared memory.
        sharing: the number of ranks on the GPU.
    """

    def __init__(self, api: GpuApi, rank: int, keeper: GpuApi, sharing: int) -> None:
        super().__init__(api)
        self.api = api
        self.rank = rank
        self._sharing = sharing
        self._keeper = keeper
        # Event: earlier work of a run's stream.
        self._reached = self._streams.make_event()

    def mark(self, run_stream: RunStream) -> tuple[int, object]:
        """Returns the stream of a run, and the event of its earlier work."""
        stream = self._streams.follow(run_stream)
        self._streams.record(self._reached, stream)
        return stream, self._reached

    @property
    def own_stream(self) -> int:
        """The stream of this rank's kernels, which no other rank and no caller uses."""
        return self._streams.kernels

    @property
    def kernel(self) -> GpuKernel:
        """The kernel that is loaded."""
        return self._loaded()

    @property
    def dirty(self) -> bool:
        """True if the semaphores do not have the values that the next run expects."""
        return self._dirty

    def invalidate(self) -> None:
        """Makes the next run zero the semaphores."""
        self._dirty = True

    def clear_semaphores(self) -> None:
        """Zeroes semaphores and packets, and waits for the memset."""
        self.api.enter()
        self._loaded().clear_shared(self._streams.side)
        self.api.await_stream(self._streams.side)
        self.epoch = 0
        self._dirty = False

    def _make_watch(self, kernel: GpuKernel) -> QueueWatch:
        program = kernel.bundle.manifest.program
        name = f"the kernel of rank {self.rank} of {program!r} (GPU {self.api.ordinal})"
        notes = (
            f"GPU {self.api.ordinal} has a launch for each of {self._sharing} ranks; if it does "
            f"not run them at once, devices=[{self.api.ordinal}] runs all ranks in one launch",
        )
        return QueueWatch(kernel, (self.record,), name, notes if self._sharing > 1 else ())

    def queue_error(self, timeout_ns: int) -> BusyError:
        """Returns the error for a launch that has been queued for too long."""
        return self._watch.start(timeout_ns).error()

    @property
    def has_abandoned(self) -> bool:
        """True if an abandoned launch may not have ended."""
        return self._abandoned is not None

    def await_abandoned(self) -> None:
        """Waits for the end of an abandoned launch, if there is one."""
        if self._abandoned is not None:
            self.api.enter()
            self._await_abandoned(self._abandoned)

    def _await_end(self, event: object, owners: object, error: Callable[[], DeviceError]) -> None:
        try:
            super()._await_end(event, owners, error)
        except DeviceError:
            # The kernel may still access the memory that all GPUs share.
            if self._keeper is not self.api:
                self._keeper.wait_for(event, owners)
            raise

    def end_kernel(self) -> None:
        """Aborts the kernel, unless it has ended: its own report stays."""
        self.api.enter()
        if not self.api.has_happened(self._end):
            self.record.abort()


class _WorldExchange:
    """Transfers of the arrays of each rank to its GPU and back."""

    def __init__(self, exchanges: Sequence[tuple[_RankDriver, GpuExchange]]) -> None:
        self._exchanges = exchanges

    def bring(self, arrays: Mapping[str, Array], results: Results, where: RunStream) -> Slots:
        """See :meth:`Exchange.bring`."""
        assert isinstance(where, RankStreams)
        slots: Slots = {}
        for (driver, exchange), stream in zip(self._exchanges, where.ranks, strict=True):
            driver.api.enter()
            slots |= exchange.bring(arrays, results, stream)
        return slots

    def fetch(self) -> dict[str, Any]:
        """See :meth:`Exchange.fetch`."""
        values: dict[str, Any] = {}
        for driver, exchange in self._exchanges:
            driver.api.enter()
            values |= exchange.fetch()
        return values

"""The cuda driver of several ranks that have a GPU each, all of them in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bundle import Opcode
from ...errors import ArkError, DeviceError, InvalidUsageError
from ..abi import RANK_COUNTERS, SEMAPHORE_STRIDE, Abort
from ..arrays.streams import RunStream
from ..driver import Launch, Outcome, Stop
from ..ranks.linking import LinkedRank, link
from .api import CudaApi
from .driver import CudaDriver
from .kernel import SharedMemory
from .memory import CudaMemory, DeviceBytes
from .peers import PeerMemory, require_peer_access

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle
    from ..arrays.binding import Array
    from ..arrays.device import Results
    from ..arrays.exchange import Slots
    from .exchange import CudaExchange

__all__ = ["CudaWorldDriver"]


class CudaWorldDriver:
    """Runs a program of several ranks on a GPU for each; see
    :class:`ark_mlir.runtime.driver.Driver`.

    Each GPU executes the lanes of its rank in a kernel of its own. The kernels exchange data and
    signals through memory that all GPUs map, without the host. A program that stays (`hold`) is
    launched again for every run.

    Args:
        apis: the driver API of each rank's GPU, in the order of the ranks.
    """

    def __init__(self, apis: Sequence[CudaApi]) -> None:
        self._apis = apis
        self._resources = ExitStack()
        self._ranks: list[_RankDriver] = []
        self._linked: list[LinkedRank] = []
        self._constants: dict[int, dict[int, CudaMemory]] = {}
        try:
            for rank, api in enumerate(apis):
                driver = _RankDriver(api, rank, apis[0])
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
                "are given: pass one for each rank, or one for all"
            )
        require_peer_access(self._apis)
        self._bundle = bundle
        self._linked = link(bundle)
        arena = self._share(bundle.manifest.arena // ranks)
        semaphores = self._share(RANK_COUNTERS * SEMAPHORE_STRIDE)
        assert semaphores is not None
        for rank, driver in enumerate(self._ranks):
            whole = DeviceBytes(driver.api, 0, 0) if arena is None else arena.all
            driver.load(self._linked[rank].bundle, SharedMemory(whole, semaphores.part(rank)))
            driver.clear_semaphores()
            if rank:
                self._constants[rank] = self._copy_constants(bundle, driver)

    def _share(self, part: int) -> PeerMemory | None:
        """Memory with a part on each GPU; None if parts have no bytes."""
        if not part:
            return None
        memory = PeerMemory(self._apis, part)
        # Before the drivers: a kernel that runs may use it until its driver has ended it.
        self._free_last(memory.free)
        return memory

    def _free_last(self, free: Callable[[], object]) -> None:
        others = self._resources.pop_all()
        self._resources.callback(free)
        self._resources.enter_context(others)

    def _copy_constants(self, bundle: Bundle, driver: _RankDriver) -> dict[int, CudaMemory]:
        """Copies of the constants, by slot, for a GPU that cannot read those of the first one."""
        copies: dict[int, CudaMemory] = {}
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
    ) -> CudaMemory:
        """See :meth:`Driver.allocate`: memory of the GPU of `rank`."""
        return self._ranks[rank].allocate(nbytes, alignment, zeroed=zeroed, lasting=lasting)

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: arrays of the host are copied."""
        del array, alignment
        return None

    def download(self, address: int, dtype: np.dtype[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """See :meth:`Driver.download`."""
        return self._ranks[0].download(address, dtype, shape)

    def run_stream(self, stream: object, values: Iterable[object]) -> RunStream:
        """See :meth:`Driver.run_stream`: arrays lie in host memory."""
        del values
        if stream is not None:
            raise InvalidUsageError("a program on several GPUs has a stream of its own on each")
        return RunStream()

    def settle(self, run_stream: RunStream) -> None:
        """See :meth:`Driver.settle`: no array of a run lies on a GPU."""
        del run_stream

    def exchange(self, stays: bool) -> _WorldExchange:
        """See :meth:`Driver.exchange`."""
        return _WorldExchange([(driver, driver.exchange(stays)) for driver in self._ranks])

    def captures(self, run_stream: RunStream) -> bool:
        """See :meth:`Driver.captures`: a run on several GPUs cannot be captured."""
        del run_stream
        return False

    def recorded(self, stream: object) -> list[Outcome]:
        """See :meth:`Driver.recorded`: there are no captured launches."""
        del stream
        return []

    # -- runs --------------------------------------------------------------------------------

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`: all kernels are started before any is waited for."""
        if any(driver.dirty for driver in self._ranks):
            # A kernel that was given up may still signal, also to other GPUs.
            for driver in self._ranks:
                driver.await_given_up()
            # Before the first launch: a kernel may signal to a GPU whose own has not begun.
            for driver in self._ranks:
                driver.clear_semaphores()
        started: list[_RankDriver] = []
        try:
            for rank, driver in enumerate(self._ranks):
                driver.api.enter()
                driver.launch(self._part(launch, rank))
                started.append(driver)
        except BaseException:
            self._end(started)
            raise

    def _part(self, launch: Launch, rank: int) -> Launch:
        """A launch as one rank makes it."""
        addresses = launch.addresses
        if constants := self._constants.get(rank):
            addresses = np.array(addresses)
            for slot, memory in constants.items():
                addresses[slot - 1] = memory.address
        driver = self._ranks[rank]
        return launch._replace(addresses=addresses, run_stream=driver.run_stream(None, ()))

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        outcomes: list[Outcome] = []
        try:
            for rank, driver in enumerate(self._ranks):
                driver.api.enter()
                outcomes.append(driver.wait())
                if outcomes[-1].stop.abort:
                    # Nothing that the others wait for will come.
                    for other in self._ranks[rank + 1 :]:
                        other.api.enter()
                        other.record.abort()
        except BaseException:
            self._end(self._ranks[len(outcomes) :])
            raise
        outcome = _join(self._bundle, self._linked, outcomes)
        if outcome.good:
            for driver in self._ranks:
                driver.epoch = (outcome.epoch + outcome.iterations) % (1 << 64)
        return outcome

    def _end(self, drivers: Iterable[_RankDriver]) -> None:
        """Ends runs after an error, which is the one that is reported."""
        for driver in drivers:
            driver.api.enter()
            with suppress(ArkError):
                driver.give_up()

    def hold(self) -> None:
        """See :meth:`Driver.hold`: the kernels are launched for every run."""

    def release(self) -> None:
        """See :meth:`Driver.release`: no kernel stays."""

    def close(self) -> None:
        """See :meth:`Driver.close`."""
        self._resources.close()


class _RankDriver(CudaDriver):
    """The driver of one rank's GPU.

    Args:
        api: the driver API of the GPU.
        rank: the rank.
        keeper: the driver API that frees the memory that all GPUs share.
    """

    def __init__(self, api: CudaApi, rank: int, keeper: CudaApi) -> None:
        super().__init__(api)
        self.api = api
        self.rank = rank
        self._keeper = keeper

    @property
    def dirty(self) -> bool:
        """Returns True if the semaphores do not have the values that the next run expects."""
        return self._dirty

    def clear_semaphores(self) -> None:
        """Zeroes semaphores and packets, and waits until that has happened."""
        self.api.enter()
        kernel = self._loaded()
        kernel.semaphores.clear(self._side)
        if kernel.own_packets is not None:
            kernel.own_packets.clear(self._side)
        self.api.await_stream(self._side)
        self.epoch = 0
        self._dirty = False

    def await_given_up(self) -> None:
        """Waits for the end of a launch that was given up, if there is one."""
        if self._given_up is not None:
            self.api.enter()
            self._await_given_up(self._given_up)

    def _await_end(self, event: object, owners: object, error: Callable[[], DeviceError]) -> None:
        try:
            super()._await_end(event, owners, error)
        except DeviceError:
            # The kernel may still access the memory that all GPUs share.
            if self._keeper is not self.api:
                self._keeper.wait_for(event, owners)
            raise

    def give_up(self) -> None:
        """Ends the launch that is under way, if there is one."""
        if self._launch is not None:
            self._interrupt()


class _WorldExchange:
    """Transfers of the arrays of each rank to its GPU and back."""

    def __init__(self, parts: Sequence[tuple[_RankDriver, CudaExchange]]) -> None:
        self._parts = parts

    def bring(self, arrays: Mapping[str, Array], results: Results, where: RunStream) -> Slots:
        """See :meth:`Exchange.bring`."""
        del where
        slots: Slots = {}
        for driver, exchange in self._parts:
            slots |= exchange.bring(arrays, results, driver.run_stream(None, ()))
        return slots

    def fetch(self) -> dict[str, Any]:
        """See :meth:`Exchange.fetch`."""
        values: dict[str, Any] = {}
        for driver, exchange in self._parts:
            driver.api.enter()
            values |= exchange.fetch()
        return values


def _join(bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]) -> Outcome:
    """One outcome, in terms of the program of all ranks."""
    codes = [0] * len(bundle.tables.lanes)
    for part, outcome in zip(linked, outcomes, strict=True):
        for lane, code in zip(part.lanes.tolist(), outcome.codes, strict=True):
            codes[lane] = code
    counters = _join_counters(bundle, linked, outcomes)
    stops = (
        _translate(bundle, part, outcome.stop, counters)
        for part, outcome in zip(linked, outcomes, strict=True)
        if outcome.stop.abort
    )
    # A lane that saw the abort of another one has less to tell than that one. A barrier waits for
    # all lanes, so that a lane that waits for something else is the reason.
    stop = min(stops, key=lambda stop: (stop.abort, _is_barrier(bundle, stop)), default=Stop())
    fault = next((outcome.fault for outcome in outcomes if outcome.fault.code), outcomes[0].fault)
    # Only the GPU whose task ended the launch early has told after how many iterations.
    iterations = min(outcome.iterations for outcome in outcomes)
    trace = _join_traces(bundle, linked, outcomes)
    return Outcome(tuple(codes), stop, fault, counters, outcomes[0].epoch, iterations, trace)


def _is_barrier(bundle: Bundle, stop: Stop) -> bool:
    entries = bundle.tables.instructions
    return stop.instruction < len(entries) and bool(entries[stop.instruction, 0] == Opcode.BARRIER)


def _join_counters(
    bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]
) -> NDArray[np.uint64]:
    """The counters of the program: where a semaphore is waited for, the least of the GPUs'; of a
    barrier, the arrivals at all of them."""
    count = len(bundle.manifest.semaphores)
    result = np.zeros(count, np.uint64)
    # A GPU whose launch was good does not report its counters.
    reported = [
        (part, outcome.counters)
        for part, outcome in zip(linked, outcomes, strict=True)
        if len(outcome.counters)
    ]
    entries = bundle.tables.instructions
    barriers = set(entries[entries[:, 0] == Opcode.BARRIER, 1].tolist())
    for number in range(count):
        seen = [int(values[number]) for part, values in reported if _waits_for(part, number)]
        result[number] = (sum(seen) if number in barriers else min(seen)) if seen else 0
    return result


def _waits_for(part: LinkedRank, semaphore: int) -> bool:
    tables = part.bundle.tables
    return bool((tables.instructions[tables.waits, 1] == semaphore).any())


def _translate(bundle: Bundle, part: LinkedRank, stop: Stop, counters: NDArray[np.uint64]) -> Stop:
    """A report of one GPU in terms of the program of all ranks."""
    if stop.abort == Abort.HOST and stop.expected:
        # The host ended a kernel that had just reported a hang.
        stop = replace(stop, abort=Abort.HANG)
    if stop.lane >= len(part.lanes) or stop.instruction >= len(part.origins):
        return stop  # the report makes no sense, which the caller finds
    origin = int(part.origins[stop.instruction])
    code, semaphore, arrivals, _ = bundle.tables.instructions[origin].tolist()
    translated = replace(
        stop, lane=int(part.lanes[stop.lane]), instruction=origin, semaphore=semaphore
    )
    linked_arrivals = int(part.bundle.tables.instructions[stop.instruction, 2])
    if code != Opcode.BARRIER or not linked_arrivals or not len(counters):
        return translated
    rounds = stop.expected // linked_arrivals
    return replace(translated, seen=int(counters[semaphore]), expected=rounds * arrivals)


def _join_traces(
    bundle: Bundle, linked: Sequence[LinkedRank], outcomes: Sequence[Outcome]
) -> NDArray[np.int64] | None:
    """Begin and end of each instruction of the program: from the begin of the first to the end of
    the last one that it was linked to."""
    if any(outcome.trace is None for outcome in outcomes):
        return None
    times = np.zeros((len(bundle.tables.instructions), 2), np.int64)
    for part, outcome in zip(linked, outcomes, strict=True):
        trace = outcome.trace
        assert trace is not None
        _, firsts = np.unique(part.origins, return_index=True)
        lasts = np.append(firsts[1:], len(part.origins)) - 1
        origins = part.origins[firsts]
        times[origins, 0] = trace[firsts, 0]
        times[origins, 1] = trace[lasts, 1]
    return times

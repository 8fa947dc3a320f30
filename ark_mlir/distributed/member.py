"""Member: the membership of this process in a world."""

from __future__ import annotations

import atexit
import hashlib
import os
import threading
import weakref
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from types import TracebackType
from typing import TYPE_CHECKING

from ..backends import backend_info, backend_names
from ..bundle import Bundle
from ..errors import InvalidUsageError, RankFailedError, UnsupportedError
from ..runtime.drivers.table import reason_against_devices
from ..runtime.ranks import membership
from .communicator import CollectiveCall, Communicator
from .engines.engine import EngineMemory
from .executable import RankExecutable
from .gpu_memory import GpuMemory, free_kept, share_gpu_memory
from .rendezvous import connect_ranks
from .shared import Segment, create_segment
from .tcp.rendezvous import Endpoint, connect_ranks_over_tcp

if TYPE_CHECKING:
    from typing_extensions import Self

    from .engines import Engine
    from .launcher import Identity

__all__ = ["Member", "current"]


class Member:
    """A process that is one rank; :func:`ark_mlir.distributed.init` returns it.

    The end of a ``with`` block leaves the world, as :func:`ark_mlir.distributed.finalize` does.

    Attributes:
        rank: the index of this rank, from zero on.
        world_size: the number of ranks.
        local_rank: the index of this rank among the ranks of its host.
        timeout: the limit for a wait for other ranks, in seconds.
        process: the id of the process.

    Example:
        >>> with ark.distributed.init() as world:
        ...     print(f"rank {world.rank} of {world.world_size}: {world.local_rank} on its host")
        rank 0 of 1: 0 on its host
    """

    def __init__(
        self,
        identity: Identity,
        timeout: float,
        engine: Engine | None = None,
        endpoint: Endpoint | None = None,
    ) -> None:
        self.rank = identity.rank
        self.world_size = identity.size
        self.local_rank = identity.local_rank
        self.timeout = timeout
        self.process = os.getpid()
        self._engine = None if engine is None else EngineMemory(engine, identity.size)
        self._links = (
            connect_ranks(identity, timeout)
            if endpoint is None or identity.size == 1
            else connect_ranks_over_tcp(identity, endpoint, timeout)
        )
        # The communicator of the world, in whose collective calls programs are compiled and loaded.
        self._communicator = Communicator(self._links, 0, timeout)
        self._call_lock = threading.Lock()
        self._executables: weakref.WeakSet[RankExecutable] = weakref.WeakSet()
        self._closed = False
        # Tells the others at exit, so that they do not take the end of this process for a failure.
        atexit.register(self.close, "has ended")

    @contextmanager
    def collective_call(self, name: str) -> Generator[CollectiveCall]:
        """Begins the next collective call of the world.

        Raises InvalidUsageError if this rank has left the world, or this process is a fork.
        """
        with self._call_lock:
            if self._closed:
                raise InvalidUsageError(f"rank {self.rank} has left: ark.distributed.finalize()")
            with self._communicator.collective_call(name) as call:
                yield call

    def attach(
        self, call: CollectiveCall, joined: Bundle, devices: Sequence[int] | None = None
    ) -> RankExecutable:
        """Returns the executable of this rank for a program of all ranks; a collective call.

        Args:
            call: the collective call of the world.
            joined: the program of all ranks.
            devices: the ordinal of the GPU of this rank, or a list with an ordinal for each rank;
                None takes the GPU whose ordinal is the local rank.

        Raises InvalidUsageError if the program has another number of ranks or `devices` do not fit,
        UnsupportedError if the ranks cannot run the program together, and RankFailedError if
        another rank fails.
        """
        manifest = joined.manifest
        if manifest.ranks != self.world_size:
            raise InvalidUsageError(
                f"program {manifest.program!r} was compiled for {manifest.ranks} ranks; this world "
                f"has {self.world_size}",
                location=joined.where,
            )
        memory = self._share_memory(call, joined, devices)
        communicator = Communicator(self._links, call.number, self.timeout)
        if isinstance(memory, GpuMemory):
            # The world has the id 0, and programs have positive ids. In a control message, -1 means
            # that a rank leaves the world.
            memory.keep_until_left(Communicator(self._links, -1 - call.number, self.timeout))
        executable = RankExecutable(joined, self.rank, communicator, memory)
        self._executables.add(executable)
        if backend_info(manifest.target.backend).process_memory == "gpu":
            _load_together(call, executable)
        return executable

    def _share_memory(
        self, call: CollectiveCall, joined: Bundle, devices: Sequence[int] | None
    ) -> Segment | GpuMemory:
        backend = joined.manifest.target.backend
        self._check_hosts(joined, backend)
        info = backend_info(backend)
        if info.process_memory == "gpu":
            return share_gpu_memory(call, joined, self.rank, self.local_rank, devices, self._engine)
        if not info.process_memory:
            able = [name for name in backend_names() if backend_info(name).process_memory]
            raise UnsupportedError(
                f"one process per rank works on {' and '.join(able)}, not on {backend}",
                location=joined.where,
                notes=["run all ranks in one process, without ark.distributed.init()"],
            )
        if devices is not None:
            raise InvalidUsageError(reason_against_devices(devices, backend))
        file = create_segment(joined.manifest) if self.rank == 0 else None
        try:
            messages = call.all_gather("memory", file=file)
            if self.rank:
                file = messages[0].file
            if file is None:
                raise RankFailedError("rank 0 sent no shared memory")
            return Segment(file)
        finally:
            if file is not None:
                os.close(file)

    def _check_hosts(self, joined: Bundle, backend: str) -> None:
        """Raises UnsupportedError if ranks connected by TCP would share memory of a host."""
        on_gpus = backend_info(backend).process_memory == "gpu"
        uses_engine = on_gpus and self._engine is not None
        if self._links.shares_host or uses_engine:
            return
        has_engine = on_gpus and backend_info(backend).links_domains
        remedy = "pass engine= to ark.distributed.init" if has_engine else "use cuda"
        raise UnsupportedError(
            f"ranks connected by TCP cannot share memory of a host for {backend}: {remedy}",
            location=joined.where,
        )

    def load(self, bundle: Bundle, devices: Sequence[int] | None = None) -> RankExecutable:
        """Returns the executable of this rank for a bundle that every rank has read.

        `devices` is the argument of `attach`. Raises InvalidUsageError if ranks have
        read different bundles; the error names two of them.
        """
        with self.collective_call(f"load {bundle.manifest.program!r}") as call:
            messages = call.all_gather(
                "bundle", [bundle.manifest.program, bundle.where, _digest(bundle)]
            )
            first = messages[0].body
            for message in messages:
                if message.body[2] != first[2]:
                    raise InvalidUsageError(
                        f"rank 0 loads {first[0]!r} ({first[1]}), and rank {message.sender} loads "
                        f"{message.body[0]!r} ({message.body[1]}), which is another program"
                    )
            return self.attach(call, bundle, devices)

    def close(self, reason: str = "has left the world") -> None:
        """Leaves the world and closes its programs; may be called again.

        Args:
            reason: the reason that is sent to the other ranks.
        """
        if self._closed or os.getpid() != self.process:
            return
        self._closed = True
        atexit.unregister(self.close)
        if membership.current() is self:
            membership.set_current(None)
        for executable in list(self._executables):
            executable.close()
        self._links.close(reason)
        free_kept(leaving=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None
    ) -> None:
        self.close("has left the world" if error is None else f"has failed: {error!r}")

    def __repr__(self) -> str:
        return f"<ark.distributed.Member rank {self.rank} of {self.world_size}>"


def _load_together(call: CollectiveCall, executable: RankExecutable) -> None:
    """Loads the kernel at every rank; if one rank fails, all ranks raise an error."""
    try:
        executable.prepare()
        call.all_gather("loaded")
    except BaseException:
        executable.close()
        raise


def current() -> Member | None:
    """Returns the membership of this process: that of the last `init`, or None after `finalize`.

    A fork of a rank has no membership.

    Example:
        >>> ark.distributed.current() is None
        True
    """
    member = membership.current()
    return member if isinstance(member, Member) else None


def _digest(bundle: Bundle) -> str:
    digest = hashlib.sha256()
    for block in bundle.encode():
        digest.update(block)
    return digest.hexdigest()

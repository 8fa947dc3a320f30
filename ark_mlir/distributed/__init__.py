"""One process per rank, started by torchrun or mpirun: see docs/distributed.md.

>>> import ark_mlir as ark
>>> world = ark.distributed.init()
>>> with ark.Program("tp", rank=world.rank, world_size=world.world_size) as program:
...     y = ark.output("y", ark.all_reduce(ark.input("x", (4, 64))))
>>> exe = ark.compile(program)
>>> exe.run(x=x)["y"].shape
(4, 64)
>>> ark.distributed.finalize()
"""

from __future__ import annotations

import sys

from .. import knobs
from ..errors import InvalidUsageError, UnsupportedError
from ..runtime.ranks.membership import set_current
from .engines import MscclppMemory, NcclMemory, TorchSymmetricMemory
from .executable import RankExecutable
from .launcher import read_identity
from .member import Member, current
from .tcp.rendezvous import Endpoint

__all__ = [
    "Member", "MscclppMemory", "NcclMemory", "RankExecutable", "TorchSymmetricMemory", "current",
    "finalize", "init",
]  # fmt: skip

# Longer than the timeout of a kernel's wait, since processes start at different times and load
# their parameters first.
_SECONDS = 60.0


def init(
    rank: int | None = None,
    world_size: int | None = None,
    *,
    job: str | None = None,
    timeout: float | None = None,
    engine: MscclppMemory | NcclMemory | TorchSymmetricMemory | None = None,
    address: str | None = None,
    secret: str | None = None,
) -> Member:
    """Waits until all ranks of the job have called `init`, and makes this process one of them.

    Afterwards, `ark.compile` of a program with a rank and `ark.load` of a program of several ranks
    are collective calls: all ranks make them, and each rank gets the executable of its rank.
    Without `address`, all ranks are processes of one user on one host.

    Args:
        rank, world_size: the rank of this process and the number of ranks; by default the values
            in the environment: RANK and WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and _SIZE of
            Open MPI, PMI_RANK and PMI_SIZE of MPICH and Intel MPI.
        job: a name that all ranks of this job share, and no other job has; by default the
            launcher's variables (MASTER_ADDR and MASTER_PORT, TORCHELASTIC_RUN_ID,
            PMIX_NAMESPACE), or else the id of the parent process.
        timeout: the limit in seconds for the wait for other ranks, in this and every later
            collective call; by default ARK_TIMEOUT if it is set, else 60.
        engine: the library that makes memory of the ranks' GPUs accessible to each other, such as
            `TorchSymmetricMemory`; by default the ranks exchange file descriptors of the memory.
            Programs for cpu do not use it.
        address: ``HOST:PORT`` where rank 0 waits for the others over TCP, for ranks in several
            network namespaces or on several hosts; by default the ranks are on one host and need no
            network. Programs then need an engine.
        secret: with `address`, a text of at least 32 characters that only processes of this job
            have; by default the text in the file that ARK_SECRET_FILE names.

    Raises:
        InvalidUsageError: neither arguments nor environment give the rank, variables or ranks
            contradict each other, ranks have different secrets, or this process is a rank already.
        RankFailedError: a rank, which the error names, did not call `init` in time or ended.
        UnsupportedError: the ranks are on several hosts and there is no `address`, or the system
            is not Linux.

    Example:
        >>> with ark.distributed.init() as world:
        ...     print(f"rank {world.rank} of {world.world_size}")
        rank 0 of 1
    """
    if sys.platform != "linux":
        raise UnsupportedError(f"one process per rank needs Linux, not {sys.platform}")
    if (member := current()) is not None:
        raise InvalidUsageError(
            f"this process is already rank {member.rank} of {member.world_size}; call "
            "ark.distributed.finalize() first"
        )
    if timeout is None:
        timeout = knobs.TIMEOUT.get() if knobs.TIMEOUT.is_set else _SECONDS
    if not timeout > 0:
        raise InvalidUsageError(f"timeout is {timeout!r}; it must be a positive number")
    endpoint = None
    if address is not None:
        endpoint = Endpoint.parse(address, secret)
    identity = read_identity(rank, world_size, job, several_hosts=endpoint is not None)
    member = Member(identity, timeout, engine, endpoint)
    set_current(member)
    return member


def finalize() -> None:
    """Leaves the world, and closes the programs that were compiled or loaded in it.

    Does not wait for other ranks. Does nothing in a process that is not a rank.

    Example:
        >>> world = ark.distributed.init()
        >>> ark.distributed.finalize()
    """
    member = current()
    if member is not None:
        member.close()

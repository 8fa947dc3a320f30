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
from .executable import RankExecutable
from .launcher import read_identity
from .member import Member, current

__all__ = ["Member", "RankExecutable", "current", "finalize", "init"]

# Processes start at different times, and read what they compute with; a wait of a kernel is
# another matter, and much shorter.
_SECONDS = 60.0


def init(
    rank: int | None = None,
    world_size: int | None = None,
    *,
    job: str | None = None,
    timeout: float | None = None,
) -> Member:
    """Takes this process's place among the ranks, when all of them have come.

    From then on `ark.compile` of a program with a rank, and `ark.load` of a program of several,
    are done by all ranks together, and give each its part. All ranks are processes of one user on
    one host.

    Args:
        rank, world_size: this process's place; by default what the environment says: RANK and
            WORLD_SIZE of torchrun, OMPI_COMM_WORLD_RANK and _SIZE of Open MPI, PMI_RANK and
            PMI_SIZE of MPICH and Intel MPI.
        job: what all ranks of this job, and no others, have in common; by default what the
            launcher set (MASTER_ADDR and MASTER_PORT, TORCHELASTIC_RUN_ID, PMIX_NAMESPACE), else
            the process that started them.
        timeout: how many seconds to wait for other ranks, now and whenever they meet; by default
            ARK_TIMEOUT where that is set, else 60.

    Raises:
        InvalidUsageError: nothing says which rank this is, or variables or ranks contradict each
            other, or this process is a rank already.
        RankFailedError: a rank did not come in time, or ended; it is named.
        UnsupportedError: the ranks are on several hosts, or the system is not Linux.

    Example:
        >>> with ark.distributed.init() as world:
        ...     print(f"rank {world.rank} of {world.world_size}")
        rank 0 of 1
    """
    if sys.platform != "linux":
        raise UnsupportedError(f"ranks in processes of their own need Linux, not {sys.platform}")
    if (member := current()) is not None:
        raise InvalidUsageError(
            f"this process is rank {member.rank} of {member.world_size} already; call "
            "ark.distributed.finalize() first"
        )
    if timeout is None:
        timeout = knobs.TIMEOUT.get() if knobs.TIMEOUT.is_set else _SECONDS
    if not timeout > 0:
        raise InvalidUsageError(f"timeout is {timeout!r}; it must be a positive number")
    member = Member(read_identity(rank, world_size, job), timeout)
    set_current(member)
    return member


def finalize() -> None:
    """Leaves the world, and closes the programs that were compiled or loaded in it.

    Does not wait for other ranks. Does nothing in a process that is no rank.

    Example:
        >>> world = ark.distributed.init()
        >>> ark.distributed.finalize()
    """
    member = current()
    if member is not None:
        member.close()

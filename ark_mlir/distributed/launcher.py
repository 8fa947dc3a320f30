"""The rank of a process, from the environment variables of torchrun or mpirun."""

from __future__ import annotations

import os
from dataclasses import dataclass

from .. import knobs
from ..errors import InvalidUsageError, UnsupportedError

__all__ = ["Identity", "is_launched", "read_identity"]

# The variables of the launchers: torchrun, Open MPI, MPICH and Intel MPI, PMIx.
_RANKS = (knobs.RANK, knobs.OMPI_RANK, knobs.PMI_RANK, knobs.PMIX_RANK)
_SIZES = (knobs.WORLD_SIZE, knobs.OMPI_SIZE, knobs.PMI_SIZE)
_LOCAL_RANKS = (knobs.LOCAL_RANK, knobs.OMPI_LOCAL_RANK, knobs.MPI_LOCAL_RANK)
_LOCAL_SIZES = (knobs.LOCAL_WORLD_SIZE, knobs.OMPI_LOCAL_SIZE, knobs.MPI_LOCAL_SIZE)
# The variables that identify a job on a host; a restart counts as another job.
_JOB = (
    knobs.MASTER_ADDR,
    knobs.MASTER_PORT,
    knobs.TORCH_RUN_ID,
    knobs.TORCH_RESTARTS,
    knobs.PMIX_NAMESPACE,
)


@dataclass(frozen=True)
class Identity:
    """The rank of a process in its job.

    Attributes:
        rank: the index of the rank, from zero on.
        size: the number of ranks.
        local_rank: the index of the rank among the ranks of this host.
        job: a name that all ranks of one job share, and no other job has.
    """

    rank: int
    size: int
    local_rank: int
    job: str


def read_identity(
    rank: int | None = None,
    size: int | None = None,
    job: str | None = None,
    *,
    several_hosts: bool = False,
) -> Identity:
    """Returns the identity of this process; arguments take precedence over the environment.

    Args:
        rank, size, job: attributes of :class:`Identity`; None takes them from the environment.
        several_hosts: True if the ranks may be on several hosts.

    Raises:
        InvalidUsageError: neither arguments nor environment give the rank, or variables contradict
            each other.
        UnsupportedError: the ranks are on several hosts.

    Example:
        >>> read_identity(rank=0, size=2, job="doc")
        Identity(rank=0, size=2, local_rank=0, job='doc')
    """
    if (rank is None) != (size is None):
        raise InvalidUsageError("rank and world_size must be given together")
    if rank is None or size is None:
        rank, size = _agreed(_RANKS), _agreed(_SIZES)
        _require(rank, size)
        assert rank is not None
        assert size is not None
        if not several_hosts:
            _refuse_several_hosts(size)
        local_rank = _agreed(_LOCAL_RANKS)
        source = f" ({_assignments(_RANKS)}, {_assignments(_SIZES)})"
    else:
        local_rank, source = None, ""
    if size < 1 or not 0 <= rank < size:
        raise InvalidUsageError(f"there is no rank {rank} in a world of {size}{source}")
    local_rank = rank if local_rank is None else local_rank
    return Identity(rank, size, local_rank, _job() if job is None else job)


def is_launched() -> bool:
    """Returns True if a launcher has started this process as one of several ranks.

    Example:
        >>> is_launched()
        False
    """
    return any(knob.is_set for knob in _RANKS) and (_agreed(_SIZES) or 1) > 1


def _agreed(variables: tuple[knobs.Knob[int | None], ...]) -> int | None:
    """Returns the common value of the variables that are set."""
    values = {knob.variable: knob.get() for knob in variables if knob.is_set}
    if len(set(values.values())) > 1:
        words = " and ".join(f"{name}={value}" for name, value in values.items())
        raise InvalidUsageError(
            f"the environment contradicts itself: {words}; a launcher that runs inside another one "
            "must clear the variables of the outer one"
        )
    return next(iter(values.values()), None)


def _assignments(variables: tuple[knobs.Knob[int | None], ...]) -> str:
    return ", ".join(f"{knob.variable}={knob.get()}" for knob in variables if knob.is_set)


def _require(rank: int | None, size: int | None) -> None:
    if rank is not None and size is not None:
        return
    if rank is None and size is None:
        raise InvalidUsageError(
            "this process was started neither by torchrun nor by mpirun: none of "
            f"{', '.join(knob.variable for knob in _RANKS)} is set; use one of them, set RANK "
            "and WORLD_SIZE, or pass rank= and world_size="
        )
    present, lacking = (_RANKS, _SIZES) if size is None else (_SIZES, _RANKS)
    raise InvalidUsageError(
        f"{_assignments(present)} is set, but none of "
        f"{', '.join(knob.variable for knob in lacking)}: both are needed"
    )


def _refuse_several_hosts(size: int) -> None:
    local = _agreed(_LOCAL_SIZES)
    if local is not None and local != size:
        raise UnsupportedError(
            f"{local} of {size} ranks are on this host ({_assignments(_LOCAL_SIZES)}): "
            "ranks on several hosts need address= and engine="
        )


def _job() -> str:
    words = [f"{knob.variable}={knob.get()}" for knob in _JOB if knob.is_set]
    # All processes that one launcher started have the same parent.
    return " ".join(words) or f"parent {os.getppid()}"

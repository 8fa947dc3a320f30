"""The rank of a process, from the variables of launchers."""

from __future__ import annotations

import os
from collections.abc import Iterator

import pytest

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.compiler.ranks import compile_rank
from ark_mlir.compiler.source import load_rank_program
from ark_mlir.distributed.launcher import Identity, is_launched, read_identity

VARIABLES = [name for name in knobs.registry() if not name.startswith(("ARK_", "XDG_"))]


@pytest.fixture(autouse=True)
def _no_launcher() -> Iterator[None]:
    with knobs.scope(**dict.fromkeys(VARIABLES)):
        yield


def read(**variables: str) -> Identity:
    with knobs.scope(**variables):
        return read_identity()


def test_torchrun() -> None:
    ranks = {"RANK": "3", "WORLD_SIZE": "4", "LOCAL_RANK": "3", "LOCAL_WORLD_SIZE": "4"}
    endpoint = {"MASTER_ADDR": "host", "MASTER_PORT": "29500", "TORCHELASTIC_RUN_ID": "none"}
    identity = read(**ranks, **endpoint, TORCHELASTIC_RESTART_COUNT="0")
    assert (identity.rank, identity.size, identity.local_rank) == (3, 4, 3)
    # Another port, run or restart is another job.
    for change in ({"MASTER_PORT": "1"}, {"TORCHELASTIC_RESTART_COUNT": "1"}):
        assert read(**{**ranks, **endpoint, **change}).job != identity.job


def test_open_mpi() -> None:
    identity = read(
        OMPI_COMM_WORLD_RANK="1",
        OMPI_COMM_WORLD_SIZE="2",
        OMPI_COMM_WORLD_LOCAL_RANK="1",
        OMPI_COMM_WORLD_LOCAL_SIZE="2",
        PMIX_RANK="1",
        PMIX_NAMESPACE="prterun-77",
    )
    assert identity == Identity(1, 2, 1, "PMIX_NAMESPACE=prterun-77")


def test_mpich() -> None:
    identity = read(PMI_RANK="0", PMI_SIZE="2", MPI_LOCALRANKID="0", MPI_LOCALNRANKS="2")
    assert identity == Identity(0, 2, 0, f"parent {os.getppid()}")


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, False),
        ({"RANK": "0", "WORLD_SIZE": "1"}, False),
        ({"WORLD_SIZE": "2"}, False),
        ({"RANK": "0", "WORLD_SIZE": "2"}, True),
        ({"OMPI_COMM_WORLD_RANK": "1", "OMPI_COMM_WORLD_SIZE": "2"}, True),
        ({"PMI_RANK": "0", "PMI_SIZE": "4"}, True),
    ],
)
def test_one_of_several_processes(variables: dict[str, str], expected: bool) -> None:
    with knobs.scope(**variables):
        assert is_launched() is expected


def test_arguments_override_variables() -> None:
    with knobs.scope(RANK="0", WORLD_SIZE="2"):
        assert read_identity(1, 3, "mine") == Identity(1, 3, 1, "mine")


@pytest.mark.parametrize(
    ("variables", "text"),
    [
        ({}, "neither by torchrun nor by mpirun: none of RANK, OMPI_COMM_WORLD_RANK"),
        ({"RANK": "1"}, "RANK=1 is set, but none of WORLD_SIZE"),
        ({"WORLD_SIZE": "2"}, "WORLD_SIZE=2 is set, but none of RANK"),
        ({"PMIX_RANK": "0"}, "PMIX_RANK=0 is set, but none of WORLD_SIZE"),
        ({"RANK": "2", "WORLD_SIZE": "2"}, "no rank 2 in a world of 2 .RANK=2, WORLD_SIZE=2"),
        ({"RANK": "-1", "WORLD_SIZE": "2"}, "'-1' is not a value of RANK"),
        ({"RANK": "one", "WORLD_SIZE": "2"}, "'one' is not a value of RANK"),
        (
            {"RANK": "0", "OMPI_COMM_WORLD_RANK": "1", "WORLD_SIZE": "2"},
            "contradicts itself: RANK=0 and OMPI_COMM_WORLD_RANK=1",
        ),
        (
            {"RANK": "0", "WORLD_SIZE": "2", "PMI_SIZE": "4"},
            "contradicts itself: WORLD_SIZE=2 and PMI_SIZE=4",
        ),
    ],
)
def test_invalid_environments_raise(variables: dict[str, str], text: str) -> None:
    with knobs.scope(**variables), pytest.raises(ark.InvalidUsageError, match=text):
        ark.distributed.init()
    assert ark.distributed.current() is None


def test_invalid_arguments_raise() -> None:
    with pytest.raises(ark.InvalidUsageError, match="rank and world_size must be given together"):
        ark.distributed.init(rank=0)
    with pytest.raises(ark.InvalidUsageError, match="no rank 2 in a world of 2"):
        ark.distributed.init(2, 2)
    with pytest.raises(ark.InvalidUsageError, match="timeout is 0"):
        ark.distributed.init(0, 1, timeout=0)


def test_several_hosts() -> None:
    with pytest.raises(ark.UnsupportedError, match="2 of 4 ranks are on this host"):
        read(RANK="0", WORLD_SIZE="4", LOCAL_WORLD_SIZE="2")


def test_a_world_of_one() -> None:
    """A program of one rank runs without a world."""
    with ark.distributed.init(0, 1, timeout=5) as world:
        assert ark.distributed.current() is world
        assert (world.rank, world.world_size, world.local_rank, world.timeout) == (0, 1, 0, 5)
        assert repr(world) == "<ark.distributed.Member rank 0 of 1>"
        with pytest.raises(ark.InvalidUsageError, match="is already rank 0 of 1"):
            ark.distributed.init(0, 1)
        with ark.Program("double", rank=world.rank, world_size=world.world_size) as program:
            x = ark.input("x", (2,), ark.int32)
            ark.output("y", ark.all_reduce(x) + x)
        y = ark.compile(program, target="cpu:1").run(x=ark.dtypes.int32.numpy.type([1, 2]))["y"]
        assert y.tolist() == [2, 4]
    assert ark.distributed.current() is None
    ark.distributed.finalize()


def test_parts_belong_to_ranks() -> None:
    with ark.Program("part", rank=1, world_size=2) as program:
        ark.output("y", ark.all_reduce(ark.input("x", (2,), ark.int32)))
    of_rank = load_rank_program(program)
    assert of_rank is not None
    assert (of_rank.name, of_rank.rank, of_rank.size) == ("part", 1, 2)
    with pytest.raises(ark.InvalidUsageError, match=r"not a rank: call ark.distributed.init\(\)"):
        compile_rank(of_rank, "cpu:1", ark.CompileOptions())

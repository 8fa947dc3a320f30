"""Files of the states of ranks, which threads stand for."""

from __future__ import annotations

import threading
from collections import defaultdict
from collections.abc import Callable, Generator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.runtime.arrays.safetensors import read_safetensors
from ark_mlir.training.saving import HISTORY, StateFiles

RANKS = 2


@dataclass
class Message:
    body: object


@dataclass
class World:
    """Control messages of threads, by phase; a rank that failed sends no more of them."""

    changed: threading.Condition = field(default_factory=threading.Condition)
    phases: dict[str, dict[int, object]] = field(default_factory=lambda: defaultdict(dict))
    failed: bool = False


@dataclass
class Member:
    """A rank of a World, with the part of a membership that StateFiles uses."""

    world: World
    rank: int
    world_size: int = RANKS
    process: int = 0

    def load(self, bundle: Any, devices: Any = None) -> Any:
        raise AssertionError("states need no executable")

    @contextmanager
    def collective_call(self, name: str) -> Generator[Member]:
        try:
            yield self
        except BaseException:
            with self.world.changed:
                self.world.failed = True
                self.world.changed.notify_all()
            raise

    def all_gather(self, phase: str, body: object = None) -> Sequence[Message]:
        world = self.world
        sent = world.phases[phase]
        with world.changed:
            sent[self.rank] = body
            world.changed.notify_all()
            ended = world.changed.wait_for(lambda: len(sent) == RANKS or world.failed, timeout=20)
            if not ended or len(sent) < RANKS:
                raise ark.RankFailedError("the other rank failed")
        return [Message(sent[rank]) for rank in range(RANKS)]


def in_ranks(call: Callable[[StateFiles, int], Any]) -> list[Any]:
    """Returns the result or the error of `call` in each rank."""
    with ark.Program("count") as program:
        loop = ark.training.Loop(steps=4)
        loop.end(ark.cast(loop.step, ark.fp32))
    world = World()

    def run(rank: int) -> Any:
        try:
            return call(StateFiles("count", "loop.step", program.states, Member(world, rank)), rank)
        except (ark.ArkError, OSError) as error:
            return error

    with ThreadPoolExecutor(RANKS) as threads:
        return list(threads.map(run, range(RANKS)))


def states(step: int) -> dict[str, Any]:
    return {
        "loop.step": np.array(step, np.int32),
        "loop.losses": np.zeros(4, np.float32),
        "loop.broken": np.zeros((), np.int32),
        HISTORY: np.arange(step, dtype=np.float32),
    }


def steps_of(got: list[Any]) -> list[int]:
    return [int(arrays["loop.step"]) for arrays in got]


def test_a_file_of_one_rank_is_that_of_all(tmp_path: Path) -> None:
    file = tmp_path / "all.safetensors"
    for step in (2, 3):
        assert in_ranks(
            lambda files, rank, step=step: files.save(None if rank else file, states(step))
        ) == [None, None]
    assert steps_of(in_ranks(lambda files, rank: files.load(file))) == [3, 3]
    file.rename(tmp_path / "all.safetensors.next")  # both ranks make it the file
    assert steps_of(in_ranks(lambda files, rank: files.load(file))) == [3, 3]
    assert list(tmp_path.iterdir()) == [file]


def test_ranks_save_the_same_step(tmp_path: Path) -> None:
    paths = [tmp_path / f"{rank}.safetensors" for rank in range(RANKS)]
    assert in_ranks(lambda files, rank: files.save(paths[rank], states(5))) == [None, None]
    first, second = in_ranks(lambda files, rank: files.save(paths[rank], states(6 + rank)))
    assert "rank 0 saves step 6, and rank 1 saves step 7" in str(first)
    assert "rank 1 saves step 7, and rank 0 saves step 6" in str(second)
    assert [int(read_safetensors(path)["loop.step"]) for path in paths] == [5, 5]
    assert steps_of(in_ranks(lambda files, rank: files.load(paths[rank]))) == [5, 5]


def test_ranks_of_which_one_has_no_file(tmp_path: Path) -> None:
    paths = [tmp_path / f"{rank}.safetensors" for rank in range(RANKS)]
    assert in_ranks(lambda files, rank: files.load(paths[rank], missing=True)) == [None, None]
    in_ranks(lambda files, rank: files.save(paths[rank], states(5)))
    paths[1].unlink()
    for missing in (True, False):
        for error in in_ranks(
            lambda files, rank, missing=missing: files.load(paths[rank], missing=missing)
        ):
            assert isinstance(error, ark.InvalidUsageError)
            assert "no saved step in common: rank 0 has 5, rank 1 has none" in str(error)


def test_a_file_of_another_training_in_one_rank(tmp_path: Path) -> None:
    paths = [tmp_path / f"{rank}.safetensors" for rank in range(RANKS)]
    given = [states(5), {**states(5), "w": np.zeros(2, np.float32)}]
    in_ranks(lambda files, rank: files.save(paths[rank], given[rank]))
    first, second = in_ranks(lambda files, rank: files.load(paths[rank]))
    assert isinstance(first, ark.RankFailedError)
    assert "the file has the state 'w', and the program does not" in str(second)

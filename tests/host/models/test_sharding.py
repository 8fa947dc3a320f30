"""Parts of a vocabulary that ranks compute are equal to the whole."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.models.sharding import Shard

# Sizes that ranks divide, that they do not divide, and that leave some ranks no token of their own.
SIZES = [(2, 64), (2, 37), (3, 37), (4, 37), (4, 5), (8, 9), (3, 2)]


def draw_logits(vocabulary: int) -> np.ndarray[Any, Any]:
    """Returns rows with the largest logit twice, with equal ones, zeros, NaN and infinities."""
    rng = np.random.default_rng(vocabulary)
    rows = [rng.standard_normal(vocabulary) - 10 for _ in range(8)]
    rows[1][[vocabulary // 2, -1]] = 3.0
    rows[2][:] = -1.5
    rows[3][:] = 0.0
    rows[3][0] = -0.0
    rows[4][-2] = np.nan
    rows[4][0] = np.inf
    rows[5][[-1, -2]] = np.nan, -np.nan
    rows[6][:] = -np.inf
    rows[7][-1] = -1e-40
    return np.array(rows, np.float32)


def build(rank: int, size: int, logits: np.ndarray[Any, Any]) -> ark.Program:
    batch, vocabulary = logits.shape
    shard = Shard(rank, size)
    with ark.Program("head", rank=rank, world_size=size) as program:
        part = ark.input("part", (batch, len(shard.interval(vocabulary))))
        ark.output("logits", shard.gather(part, vocabulary))
        ark.output("token", shard.argmax(part, vocabulary))
    return program


@pytest.mark.parametrize(("size", "vocabulary"), SIZES)
def test_parts_are_those_of_all_logits(size: int, vocabulary: int) -> None:
    logits = draw_logits(vocabulary)
    programs = [build(rank, size, logits) for rank in range(size)]
    inputs = [
        {"part": Shard(rank, size).part(logits, program.inputs["part"].shape)}
        for rank, program in enumerate(programs)
    ]
    with ark.compile(programs, target=f"cpu:{size}", cache=False) as world:
        for outputs in [*world.run(inputs), *ark.reference.run(programs, inputs)]:
            np.testing.assert_array_equal(outputs["logits"], logits)
            np.testing.assert_array_equal(outputs["token"], np.argmax(logits, 1))


@pytest.mark.parametrize(("size", "vocabulary"), SIZES)
def test_parts_have_one_length_and_cover_all(size: int, vocabulary: int) -> None:
    parts = [Shard(rank, size).interval(vocabulary) for rank in range(size)]
    assert len({len(part) for part in parts}) == 1
    assert sorted(set().union(*parts)) == list(range(vocabulary))
    assert [part.start for part in parts] == sorted(part.start for part in parts)


@pytest.mark.parametrize("shape", [(6, 8), (3, 8), (6, 4), (4, 8)])
def test_parts_are_views(shape: tuple[int, int]) -> None:
    whole = np.arange(48).reshape(6, 8)
    for rank in range(2):
        part = Shard(rank, 2).part(whole, shape)
        assert part.shape == shape
        assert np.shares_memory(part, whole)

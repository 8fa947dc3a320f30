"""The interpreter with several ranks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

WORLD = 4


def run(function: Callable[[ark.Tensor, int], ark.Tensor], arrays: list[Any]) -> list[Any]:
    programs = []
    for rank, array in enumerate(arrays):
        with ark.Program(f"rank{rank}", rank=rank, world_size=len(arrays)) as program:
            x = ark.input("x", array.shape, ark.dtypes.as_dtype(array.dtype))
            ark.output("y", function(x, rank))
        programs.append(program)
    outputs = ark.reference.run(programs, [{"x": array} for array in arrays])
    return [output["y"] for output in outputs]


RNG = np.random.default_rng(0)
ARRAYS = [RNG.normal(size=(8, 4)).astype(np.float32) for _ in range(WORLD)]
WIDE = [a.astype(np.float64) for a in ARRAYS]


def test_collectives() -> None:
    total = np.sum(WIDE, axis=0)
    for y in run(lambda x, _: ark.all_reduce(x), ARRAYS):
        np.testing.assert_allclose(y, total, rtol=1e-12)
    for y in run(lambda x, _: ark.all_reduce(x, "max"), ARRAYS):
        np.testing.assert_array_equal(y, np.max(WIDE, axis=0))
    for y in run(lambda x, _: ark.all_gather(x, 1), ARRAYS):
        np.testing.assert_array_equal(y, np.concatenate(WIDE, 1))
    for rank, y in enumerate(run(lambda x, _: ark.reduce_scatter(x, 0), ARRAYS)):
        np.testing.assert_allclose(y, total[2 * rank : 2 * rank + 2], rtol=1e-12)
    for rank, y in enumerate(run(lambda x, _: ark.all_to_all(x, 0), ARRAYS)):
        np.testing.assert_array_equal(y, np.concatenate([a[2 * rank : 2 * rank + 2] for a in WIDE]))
    for y in run(lambda x, _: ark.broadcast(x, 2), ARRAYS):
        np.testing.assert_array_equal(y, WIDE[2])


def test_integers_wrap_across_ranks() -> None:
    arrays = [np.full((2,), 100, np.int8) for _ in range(3)]
    for y in run(lambda x, _: ark.all_reduce(x), arrays):
        assert (y.dtype, y.tolist()) == (np.int8, [44, 44])


def test_a_ring_of_sends() -> None:
    def ring(x: ark.Tensor, rank: int) -> ark.Tensor:
        sent = ark.send(x, (rank + 1) % WORLD, tag=3)
        received = ark.recv(x.shape, x.dtype, (rank - 1) % WORLD, tag=3)
        return ark.identity(received, deps=[sent])

    for rank, y in enumerate(run(ring, ARRAYS)):
        np.testing.assert_array_equal(y, WIDE[rank - 1])


def test_ranks_that_disagree_raise() -> None:
    with pytest.raises(
        ark.InvalidUsageError,
        match=r"ranks call different collectives: ark\.all_gather, ark\.all_reduce",
    ):
        run(lambda x, r: ark.all_reduce(x) if r else ark.all_gather(x, 0)[:8], ARRAYS)


def test_the_rank_that_failed_is_the_one_named() -> None:
    def network(x: ark.Tensor, rank: int) -> ark.Tensor:
        index = ark.constant([99 if rank == 1 else 0], ark.int32)
        return ark.all_reduce(ark.gather(x, index, 0))

    with pytest.raises(ark.InvalidUsageError, match="index 99 is out of range"):
        run(network, ARRAYS)


def test_one_rank_of_several_cannot_run_alone() -> None:
    with ark.Program("p", rank=0, world_size=2) as program:
        ark.output("y", ark.all_reduce(ark.input("x", (2,))))
    with pytest.raises(ark.InvalidUsageError, match="needs the programs of all ranks"):
        ark.reference.run(program, {"x": np.ones(2)})
    with pytest.raises(ark.InvalidUsageError, match="inputs must be a list of 1 dicts"):
        ark.reference.run([program], [])

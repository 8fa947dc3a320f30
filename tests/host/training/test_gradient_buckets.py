"""Sums of gradients over ranks in buckets, beside a sum for each gradient."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

SHAPES = {"a": (6, 5), "b": (5,), "c": (), "d": (5, 3), "e": (7,)}


def build(rank: int, bucket_bytes: int | None, dtype: ark.DType = ark.fp32) -> ark.Program:
    """Builds the sums of some gradients, or one `all_reduce` for each if `bucket_bytes` is None."""
    with ark.Program("sums", rank=rank, world_size=2) as program:
        slopes = [ark.input(name, shape, dtype) for name, shape in SHAPES.items()]
        if bucket_bytes is None:
            sums = [ark.all_reduce(slope) for slope in slopes]
        else:
            sums = ark.optim.sum_over_ranks(slopes, bucket_bytes=bucket_bytes)
        for name, total in zip(SHAPES, sums, strict=True):
            ark.output(f"sum.{name}", total)
    return program


def results(bucket_bytes: int | None, dtype: ark.DType = ark.fp32) -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    given = [
        {n: np.asarray(rng.standard_normal(s)).astype(dtype.numpy) for n, s in SHAPES.items()}
        for _ in range(2)
    ]
    with ark.compile([build(rank, bucket_bytes, dtype) for rank in range(2)], "cpu:1") as world:
        return world.run(given)


def sums_of(program: ark.Program) -> int:
    return program.mlir.count("ark.all_reduce")


@pytest.mark.parametrize(("bucket_bytes", "buckets"), [(1, 5), (64, 4), (1 << 20, 1)])
def test_buckets_change_no_sum(bucket_bytes: int, buckets: int) -> None:
    """The buckets of 64 bytes are e, d and c, b, and a."""
    assert sums_of(build(0, bucket_bytes)) == buckets
    for found, expected in zip(results(bucket_bytes), results(None), strict=True):
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_a_bucket_counts_bytes_of_the_dtype() -> None:
    """All 58 elements have 116 bytes in bf16."""
    assert sums_of(build(0, 116, ark.bf16)) == 1
    assert sums_of(build(0, 114, ark.bf16)) == 2
    for found, expected in zip(results(116, ark.bf16), results(None, ark.bf16), strict=True):
        for name in expected:
            np.testing.assert_array_equal(found[name], expected[name], err_msg=name)


def test_a_bucket_has_one_dtype() -> None:
    with ark.Program("sums", rank=0, world_size=2) as program:
        slopes = [ark.input("a", (3,), ark.bf16), ark.input("b", (3,)), ark.input("c", (3,))]
        sums = ark.optim.sum_over_ranks(slopes)
        for name, total in zip("abc", sums, strict=True):
            ark.output(f"sum.{name}", total)
    assert [(each.shape, each.dtype) for each in sums] == [(s.shape, s.dtype) for s in slopes]
    assert sums_of(program) == 2


def test_the_last_gradients_are_added_first() -> None:
    with ark.Program("sums", rank=0, world_size=2) as program:
        a, b = ark.input("a", (30,)), ark.input("b", (20,))
        for name, total in zip("ab", ark.optim.sum_over_ranks([a, b], bucket_bytes=4), strict=True):
            ark.output(f"sum.{name}", total)
    first, second = (line for line in program.mlir.splitlines() if "ark.all_reduce" in line)
    assert "tensor<20xf32>" in first
    assert "tensor<30xf32>" in second


def test_bad_arguments_are_refused() -> None:
    with ark.Program("alone"):
        alone = ark.output("alone", ark.input("a", (3,)))
        with pytest.raises(ark.InvalidUsageError, match="has no ranks"):
            ark.optim.sum_over_ranks([alone])
    with ark.Program("step", rank=0, world_size=2):
        a, n = ark.input("a", (3,)), ark.input("n", (3,), ark.int32)
        for wrong in (0, -1, 1.5, True):
            with pytest.raises(ark.InvalidUsageError, match="bucket_bytes must be a positive"):
                ark.optim.sum_over_ranks([a], bucket_bytes=wrong)  # type: ignore[arg-type]
        with pytest.raises(ark.InvalidUsageError, match="gradients"):
            ark.optim.sum_over_ranks([n])
        ark.output("a", a)

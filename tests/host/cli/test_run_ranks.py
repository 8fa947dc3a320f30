"""``ark run`` runs the bundle of a program of several ranks: names begin with the rank."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir


def build(rank: int) -> ark_mlir.Program:
    with ark_mlir.Program("sum", rank=rank, world_size=2) as program:
        x, w = ark_mlir.input("x", (4,)), ark_mlir.parameter("w", (4,))
        ark_mlir.output("y", ark_mlir.all_reduce(x * w))
    return program


@pytest.fixture
def arrays(tmp_path: Path) -> dict[str, Any]:
    """Writes the bundle of two ranks, and its arrays; returns the arrays."""
    ark_mlir.compile([build(0), build(1)], target="cpu:2").save(tmp_path / "sum.arkbin")
    made = {name: np.arange(4, dtype=np.float32) + i for i, name in enumerate(("x0", "x1", "w"))}
    for name, array in made.items():
        np.save(tmp_path / f"{name}.npy", array)
    return made


def test_arrays_by_rank(ark: Callable[..., Any], arrays: dict[str, Any], tmp_path: Path) -> None:
    result = ark(
        "run", "sum.arkbin", "--input", "rank0/x=x0.npy", "--input", "rank1/x=x1.npy",
        "--param", "rank0/w=w.npy", "--param", "rank1/w=w.npy", "--output", "rank0/y=y0.npy",
    )  # fmt: skip
    assert (result.status, result.err) == (0, "")
    assert result.out.startswith("rank1/y: float32 [4] min ")
    expected = (arrays["x0"] + arrays["x1"]) * arrays["w"]
    np.testing.assert_array_equal(np.load(tmp_path / "y0.npy"), expected)


def test_a_name_without_a_rank_is_that_of_all_ranks(
    ark: Callable[..., Any], arrays: dict[str, Any], tmp_path: Path
) -> None:
    result = ark(
        "run", "sum.arkbin", "--input", "x=x1.npy", "--param", "w=w.npy",
        "--output", "rank1/y=y.npy",
    )  # fmt: skip
    assert (result.status, result.err) == (0, "")
    np.testing.assert_array_equal(np.load(tmp_path / "y.npy"), 2 * arrays["x1"] * arrays["w"])


def test_an_unknown_name(ark: Callable[..., Any], arrays: dict[str, Any]) -> None:
    result = ark("run", "sum.arkbin", "--input", "z=x0.npy", "--param", "w=w.npy")
    assert result.status == 1
    assert "'z'" in result.err

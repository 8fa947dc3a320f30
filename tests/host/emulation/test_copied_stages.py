"""Stages that loads to LDS fill on gfx950: products with rows along K, and keys of attention."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from emulation.mutants import Mutation

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Check = Callable[..., Emulation]
Made = tuple[ark.Program, dict[str, Any]]
COPY, WAIT, MATRIX = "amdgcn_global_load_lds", "amdgcn_s_waitcnt", "amdgcn_mfma"

LOAD = "llvm.amdgcn.global.load.lds"


def draw(*shape: int, dtype: ark.DType = ark.bf16) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(dtype.numpy)


def product(
    shape: tuple[int, int, int],
    tile: tuple[int, int],
    dtype: ark.DType = ark.bf16,
    *,
    across: bool = False,
) -> Made:
    m, n, k = shape
    rows = (k, n) if across else (n, k)
    with ark.Program("product") as program, ark.planner(tile=tile):
        x, w = ark.input("x", (m, k), dtype), ark.parameter("w", rows, dtype)
        ark.output("y", ark.matmul(x, w, transpose_other=not across))
    return program, {"x": draw(m, k, dtype=dtype), "w": draw(*rows, dtype=dtype)}


def attention(length: int, head: int, *, causal: bool = False) -> Made:
    shape = (1, 2, length, head)
    with ark.Program("attention") as program, ark.planner(tile=(128, head)):
        q, k, v = (ark.input(name, shape, ark.bf16) for name in "qkv")
        ark.output("y", ark.attention(q, k, v, causal=causal))
    return program, {name: draw(*shape) for name in "qkv"}


@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp16, ark.fp8_e4m3], ids=str)
@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((256, 128, 128), (256, 128)),
        ((256, 128, 704), (256, 128)),
        ((128, 256, 384), (128, 128)),
        ((250, 130, 256), (128, 128)),
        ((64, 96, 640), (64, 96)),
    ],
)
def test_products(
    shape: tuple[int, int, int], tile: tuple[int, int], dtype: ark.DType, check: Check
) -> None:
    """Two stages, a loop of rounds and stages after it, and clipped tiles."""
    assert LOAD in check(*product(shape, tile, dtype), arch="gfx950").text


@pytest.mark.parametrize(
    ("made", "arch"),
    [
        pytest.param(product((128, 128, 256), (128, 128)), "gfx942", id="gfx942"),
        pytest.param(product((128, 128, 200), (128, 128)), "gfx950", id="ragged K"),
        pytest.param(product((128, 128, 256), (128, 128), across=True), "gfx950", id="KN"),
        pytest.param(product((48, 64, 256), (48, 64)), "gfx950", id="48 rows"),
        pytest.param(attention(256, 96), "gfx950", id="head of 96"),
        pytest.param(attention(256, 64), "gfx942", id="attention of gfx942"),
    ],
)
def test_stages_that_threads_store(made: Made, arch: str, check: Check) -> None:
    assert LOAD not in check(*made, arch=arch).text


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(("length", "head"), [(256, 64), (256, 128), (384, 128)])
def test_attention(length: int, head: int, causal: bool, check: Check) -> None:
    assert LOAD in check(*attention(length, head, causal=causal), arch="gfx950").text


# -- waits that are missing --------------------------------------------------------------------

# Eleven stages of 64 elements: a loop of three rounds, and stages after it.
MAKERS = [
    pytest.param(product((64, 64, 704), (64, 64)), id="product"),
    pytest.param(attention(256, 64), id="attention"),
]


class Run:
    """An emulated program of gfx950 whose stages are loaded to LDS."""

    def __init__(self, library: Path, folder: Path, made: Made) -> None:
        program, self.arrays = made
        self.emulation = Emulation(program, library, folder, arch="gfx950")
        self.expected = ark.reference.evaluate(program, self.arrays, bound=True)

    def find_waits(self) -> list[int]:
        """Returns the waits between the first load to LDS and the last matrix instruction."""
        sites = self.emulation.sites
        begin = next(site.number for site in sites if site.name == COPY)
        end = max(site.number for site in sites if site.name.startswith(MATRIX))
        return [site.number for site in sites if site.name == WAIT and begin < site.number < end]

    def run(self, mutations: dict[int, int]) -> None:
        """Raises AssertionError if a result is wrong for any of four seeds."""
        for seed in range(4):
            self.emulation.load(seed, mutations)
            with self.emulation.executable as executable:
                if "w" in self.arrays:
                    executable.bind({"w": self.arrays["w"]})
                inputs = {name: self.arrays[name] for name in self.arrays if name != "w"}
                got = self.emulation.run(inputs)["y"]
            assert_within(got, self.expected.outputs["y"], self.expected.bounds["y"], "y")


@pytest.mark.parametrize("made", MAKERS)
@pytest.mark.parametrize("mutation", [Mutation.DROP, Mutation.WAIT_FOR_LESS])
def test_a_missing_wait_is_caught(
    mutation: Mutation, made: Made, library: Path, tmp_path: Path
) -> None:
    """A wait without effect, and a wait for all loads of the stage but one."""
    run = Run(library, tmp_path, made)
    run.run({})
    waits = run.find_waits()
    assert waits
    for wait in waits:
        with pytest.raises((AssertionError, RuntimeError)):
            run.run({wait: int(mutation)})

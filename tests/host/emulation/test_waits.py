"""Waits of AMD GPUs for stores: a release passes on only stores that waves have waited for."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from emulation.mutants import Mutation

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")
WEIGHTS = ("v", "w")
WAIT = "amdgcn_s_waitcnt"


def make_chain() -> ark.Program:
    """Two products; tasks of the second one read what waves of other CTAs have stored."""
    with ark.Program("chain") as program, ark.planner(tile=(32, 32)):
        x = ark.input("x", (64, 128), ark.bf16)
        for name in WEIGHTS:
            weight = ark.parameter(name, (128, 128), ark.bf16)
            x = ark.relu(ark.matmul(x, weight, transpose_other=True))
        ark.output("y", x)
    return program


def make_arrays() -> dict[str, Any]:
    random = np.random.default_rng(0)
    shapes = {"x": (64, 128), "v": (128, 128), "w": (128, 128)}
    return {name: random.standard_normal(s).astype(ark.bf16.numpy) for name, s in shapes.items()}


class Chain:
    """The emulated program, whose counters instead of packets hand results on."""

    def __init__(self, library: Path, folder: Path, arch: str) -> None:
        program, self.arrays = make_chain(), make_arrays()
        self.emulation = Emulation(program, library, folder, arch=arch, packets=False)
        self.expected = ark.reference.evaluate(program, self.arrays, bound=True)

    def waits_before(self, name: str) -> list[int]:
        """Returns the waits for stores that directly precede instructions of this name."""
        sites = self.emulation.sites
        found = [a.number for a, b in pairwise(sites) if (a.name, b.name) == (WAIT, name)]
        assert found, f"no wait before {name}"
        return found

    def run(self, without: Sequence[int] = ()) -> None:
        """Raises AssertionError if results are wrong without these waits, for any of four seeds."""
        for seed in range(4):
            self.emulation.load(seed, dict.fromkeys(without, int(Mutation.DROP)))
            with self.emulation.executable as executable:
                executable.bind({name: self.arrays[name] for name in WEIGHTS})
                got = self.emulation.run({"x": self.arrays["x"]})["y"]
            assert_within(got, self.expected.outputs["y"], self.expected.bounds["y"], "y")


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_results_with_all_waits(arch: str, library: Path, tmp_path: Path) -> None:
    Chain(library, tmp_path, arch).run()


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize(
    "follower",
    [
        pytest.param("amdgcn_s_barrier", id="ark_cta_barrier"),
        pytest.param("ptx_atom_add", id="ark_write_back"),
    ],
)
def test_a_missing_wait_is_caught(follower: str, arch: str, library: Path, tmp_path: Path) -> None:
    """Without the wait before the barrier, other waves' stores are outstanding at the release;
    without the wait after the write-back, the release passes on nothing."""
    chain = Chain(library, tmp_path, arch)
    waits = chain.waits_before(follower)
    with pytest.raises(AssertionError, match=r"y\[\d+, \d+\]: .* expected"):
        chain.run(without=waits)

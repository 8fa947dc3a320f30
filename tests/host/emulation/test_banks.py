"""Layouts of LDS on AMD GPUs: the cycles of accesses whose threads reach the same bank.

gfx90a and gfx942 have 32 banks, and gfx950 has 64. No GPU has measured the numbers.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation.banks import count_accesses

import ark_mlir as ark

Check = Callable[..., Any]
ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")

# The most cycles of loads and of stores of 16 bytes, by the number of features of a head.
ATTENTION = {
    (64, "gfx90a"): (1, 1),
    (64, "gfx942"): (1, 1),
    (64, "gfx950"): (1, 1),
    (128, "gfx90a"): (2, 2),
    (128, "gfx942"): (2, 2),
    (128, "gfx950"): (1, 1),
}


def draw(*shape: int) -> Any:
    return np.random.default_rng(0).standard_normal(shape).astype(ark.bf16.numpy)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("across", [False, True], ids=["NK", "KN"])
@pytest.mark.parametrize("tile", [(256, 128), (64, 64)])
def test_stages_of_products(
    tile: tuple[int, int], across: bool, arch: str, check: Check, library: Path
) -> None:
    """Threads load stages 16 bytes at once. With weights [K, N], they store 8 transposed bytes.

    The permutation of chunks is made for the 64 banks of gfx950 if copies fill the stages, and for
    32 banks if threads do: rows at a distance of eight then share banks of 64.
    """
    (m, n), k = tile, 128
    with ark.Program("product") as program, ark.planner(tile=tile):
        x = ark.input("x", (m, k), ark.bf16)
        w = ark.parameter("w", (k, n) if across else (n, k), ark.bf16)
        ark.output("y", ark.matmul(x, w, transpose_other=not across))
    arrays = {"x": draw(m, k), "w": draw(k, n) if across else draw(n, k)}
    with count_accesses(library, arch) as found:
        check(program, arrays, arch=arch)
    most = 2 if arch == "gfx950" and across else 1
    assert found.loads[16] > 0
    assert found.load_cycles[16] == most
    assert found.stores[16] > 0
    assert found.store_cycles[16] == 1
    assert (found.stores[8] > 0) == across
    assert found.store_cycles[8] <= most


@pytest.mark.parametrize(("head", "arch"), ATTENTION)
def test_stages_of_attention(head: int, arch: str, check: Check, library: Path) -> None:
    shape = (1, 1, 128, head)
    with ark.Program("attention") as program:
        q, k, v = (ark.input(name, shape, ark.bf16) for name in "qkv")
        ark.output("y", ark.attention(q, k, v))
    with count_accesses(library, arch) as found:
        check(program, {name: draw(*shape) for name in "qkv"}, arch=arch)
    assert found.loads[16] > 0
    assert found.stores[16] > 0
    assert (found.load_cycles[16], found.store_cycles[16]) == ATTENTION[head, arch]

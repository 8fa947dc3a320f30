"""The accesses of waves of AMD GPUs to LDS, by the banks that they reach."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .host_code import load_library

if TYPE_CHECKING:
    from pathlib import Path

SIZES = (8, 16)


@dataclass
class Accesses:
    """Accesses of whole waves, filled at the end of the block.

    Attributes:
        loads: the number of loads of each size in bytes that all threads of a wave execute.
        stores: the number of such stores.
        load_cycles: for each size, the most different words of one bank in a phase of a load; 1 is
            without conflicts, and 0 without loads.
        store_cycles: the same for stores.
    """

    loads: dict[int, int]
    stores: dict[int, int]
    load_cycles: dict[int, int]
    store_cycles: dict[int, int]


@contextmanager
def count_accesses(library: Path, arch: str) -> Generator[Accesses]:
    """Counts the accesses of the block's runs, whose kernels look for races, on an architecture."""
    functions = load_library(library)
    functions.simt_count_banks(64 if arch == "gfx950" else 32)
    found = Accesses({}, {}, {}, {})
    try:
        yield found
        for size in SIZES:
            found.loads[size] = functions.simt_get_banks(0, size, 0)
            found.stores[size] = functions.simt_get_banks(1, size, 0)
            found.load_cycles[size] = functions.simt_get_banks(0, size, 1)
            found.store_cycles[size] = functions.simt_get_banks(1, size, 1)
    finally:
        functions.simt_count_banks(0)

"""Worlds of ranks in several NVLink domains, for each library that copies between them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from . import Emulation
from .network_worlds import NetworkEmulation
from .port_worlds import PortEmulation
from .worlds import Programs, World, looking_up

__all__ = ["KINDS", "Kind", "Make", "make_lookup", "make_worlds", "run_lookup"]

Kind = type[NetworkEmulation]
# By the option network= of ark.compile.
KINDS: dict[str, Kind] = {"nccl": NetworkEmulation, "mscclpp": PortEmulation}
Make = Callable[..., World]


def make_worlds(kind: Kind, library: Path, folder: Path) -> Make:
    """Returns a function ``make(programs, domains, iterations=1, **options)``."""

    def make(programs: Programs, domains: list[int], **options: Any) -> World:
        settings: dict[str, Any] = {"sms": len(domains) + 2, **options}
        ranks = len(domains)
        return World(programs, library, folder, ranks, kind=kind, domains=domains, **settings)

    return make


def make_lookup(kind: Kind, library: Path, folder: Path) -> Any:
    """Returns two ranks in two domains, each of which looks up a number; all have the sum."""
    return kind(looking_up(2), library, folder, sms=4, warps=4, devices=2, domains=[0, 1])


def run_lookup(emulation: Emulation, indices: list[int]) -> list[int]:
    """Returns the output of each rank, which looks up its own of the numbers from 0 to 3."""
    x = np.arange(4, dtype=np.int32)
    outputs = emulation.run([{"x": x, "index": index} for index in indices])
    return [int(output["y"]) for output in outputs]

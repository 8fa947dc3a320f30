"""Exports programs of two ranks, for a GPU of each and for one GPU.

Usage: export_worlds.py <folder> [<target>]. The folder gets the runtime part of the package, which
needs no compiler, and the programs, which the tests of worlds run.
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

import numpy as np
from export_runtime import copy_runtime

import ark_mlir as ark

WAIT = 2


def spoil(executable: ark.Executable) -> ark.Executable:
    """Makes the first wait require one arrival too many; raises ValueError without a wait."""
    bundle = executable.bundle
    instructions = np.frombuffer(bundle.sections["instructions"], np.int32).reshape(-1, 4).copy()
    waits = np.flatnonzero(instructions[:, 0] == WAIT)
    if not waits.size:
        raise ValueError(f"{executable.name} has no wait")
    instructions[waits[0], 2] += 1
    sections = {**bundle.sections, "instructions": instructions.tobytes()}
    return ark.Executable.from_parts(bundle.manifest, sections)


def make_programs() -> list[ark.Program]:
    """Returns a program of two ranks: a shared sum, an element of it, and a state that counts
    iterations."""
    programs: list[ark.Program] = []
    for rank in range(2):
        with ark.Program("world", rank=rank, world_size=2) as program:
            x = ark.input("x", (4096,))
            w = ark.parameter("w", (4096,))
            index = ark.scalar("index", ark.int32)
            n = ark.state("n", (1,), ark.int32)
            ark.update(n, n + 1, (0,))
            ark.output("y", ark.all_reduce(x * w, name="total"))
            picked = ark.gather(x * w, index, 0, name="pick")
            ark.output("picked", ark.all_reduce(picked, name="total_picked"))
        programs.append(program)
    return programs


def export_worlds(path: Path, target: str) -> None:
    """Exports the program for a GPU of each rank, and for half of one GPU each.

    Of both, also exports a copy with a wait that never ends. Only programs without packets wait.
    """
    for name, devices in (("world", None), ("world-shared", [0])):
        ark.compile(make_programs(), target=target, devices=devices).save(path / f"{name}.arkbin")
        waiting = ark.compile(make_programs(), target=target, devices=devices, packets=False)
        spoil(waiting).save(path / f"{name}-hang.arkbin")


def main(folder: str, target: str = "cuda:sm_90a") -> None:
    root = Path(folder)
    shutil.rmtree(root, ignore_errors=True)
    copy_runtime(root)
    export_worlds(root, target)
    print(f"worlds for {target} in {root}")


if __name__ == "__main__":
    main(*sys.argv[1:])

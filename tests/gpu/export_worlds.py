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
    """Makes the first wait require one arrival too many."""
    bundle = executable.bundle
    instructions = np.frombuffer(bundle.sections["instructions"], np.int32).reshape(-1, 4).copy()
    instructions[np.argmax(instructions[:, 0] == WAIT), 2] += 1
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

    Of both, also exports a copy with a wait that never ends.
    """
    executable = ark.compile(make_programs(), target=target)
    executable.save(path / "world.arkbin")
    spoil(executable).save(path / "world-hang.arkbin")
    shared = ark.compile(make_programs(), target=target, devices=[0])
    shared.save(path / "world-shared.arkbin")
    spoil(shared).save(path / "world-shared-hang.arkbin")


def main(folder: str, target: str = "cuda:sm_90a") -> None:
    root = Path(folder)
    shutil.rmtree(root, ignore_errors=True)
    copy_runtime(root)
    export_worlds(root, target)
    print(f"worlds for {target} in {root}")


if __name__ == "__main__":
    main(*sys.argv[1:])

"""Scenarios of test_training.py: ``python training_scenarios.py NAME FOLDER`` trains in one rank
and prints the result as JSON."""

from __future__ import annotations

import errno
import itertools
import json
import os
import signal
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.runtime.arrays.safetensors import read_safetensors
from ark_mlir.training import saving

STEPS = 30
# The rank and the step in which something happens.
EVENT = (1, 13)
AHEAD = 2


def trainer_of(queue: ark.training.Queue, save: Path, optimizer: str) -> ark.training.Trainer:
    """Returns a data-parallel training, whose gradients are those of all ranks' batches.

    The optimizer is SGD, or ``adamw``, or ``sharded``: AdamW whose moments the ranks divide.
    """
    world = ark.distributed.current()
    with ark.Program("fit", rank=world.rank, world_size=world.world_size) as program:
        loop = ark.training.Loop(steps=8)
        x, w = loop.input("x", (4, 3)), ark.state("w", (3,), init=0.5)
        loss = ark.reduce_mean((x @ w - 1.0) ** 2.0, keepdims=False) / float(world.world_size)
        slopes, skip = ark.gradients(loss, [w]), loop.end(ark.all_reduce(loss))
        if optimizer == "sharded":
            ark.optim.AdamW([w], lr=0.1, shard=True).step(slopes, skip=skip)
        else:
            slopes = [ark.all_reduce(slope) for slope in slopes]
            make = ark.optim.AdamW if optimizer else ark.optim.SGD
            make([w], lr=0.1).step(slopes, skip=skip)
    return ark.training.Trainer(program, loop, queue, target="cpu:1", save=save, save_every=4)


def saved_step(save: Path) -> int:
    return int(read_safetensors(save)["loop.step"])


def arrange(kind: str, rank: int) -> None:
    """Lets something happen in a save of one rank: ``MOMENT in save NUMBER``."""
    moment, _, number = kind.partition(" in save ")
    if not number or rank != EVENT[0]:
        return
    saves = itertools.count(1)
    write, replace = saving.write_safetensors, os.replace
    ends = False

    def write_file(*given: Any, **options: Any) -> None:
        nonlocal ends
        ends = next(saves) == int(number)
        if ends and moment == "killed before the file":
            os.kill(os.getpid(), signal.SIGKILL)
        if ends and moment == "a full disk":
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(given[0]))
        write(*given, **options)
        if ends and moment == "killed after the file":
            os.kill(os.getpid(), signal.SIGKILL)

    def replace_file(source: Any, target: Any) -> None:
        if ends and str(source).endswith(".next"):
            assert moment == "killed before the former file goes"
            time.sleep(0.2)  # the other rank has replaced its file by then
            os.kill(os.getpid(), signal.SIGKILL)
        replace(source, target)

    saving.write_safetensors, os.replace = write_file, replace_file


def run(kind: str, save: Path) -> dict[str, Any]:
    """Trains, and returns the error and what is left.

    `kind` is an event, or an event, a comma and an optimizer.
    """
    kind, _, optimizer = kind.partition(", ")
    rank = ark.distributed.current().rank

    def batch(step: int) -> dict[str, Any]:
        time.sleep(0.005 * rank)  # so that ranks have other numbers of batches ready
        rows = np.random.default_rng([step, rank]).random((4, 3), np.float32)
        if (rank, step) == EVENT and kind == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if (rank, step) == EVENT and kind == "interrupted":
            os.kill(os.getpid(), signal.SIGINT)
        if (rank, step) == EVENT and kind == "misshapen":
            rows = rows[:3]
        return {"x": rows}

    queue = ark.training.Queue(lambda first: map(batch, itertools.count(first)), AHEAD)
    with trainer_of(queue, save, optimizer) as trainer:
        trainer.resume(save)
        arrange(kind, rank)
        error = ["", ""]
        try:
            if kind == "apart":
                trainer.load(save.with_name("earlier.safetensors") if rank else save)
            trainer.run(max(1, STEPS - trainer.step))
        except (ark.ArkError, KeyboardInterrupt, OSError) as raised:
            error = [type(raised).__name__, str(raised)]
        return {
            "error": error,
            "step": trainer.step,
            "saved": saved_step(save) if save.exists() else 0,
            "weights": trainer.state_arrays()["w"].tolist(),
        }


def main() -> None:
    kind, folder = sys.argv[1:]
    # Background jobs of a shell ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ark.distributed.init() as world:
        result = run(kind, Path(folder) / f"{world.rank}.safetensors")
    print(json.dumps(result))


if __name__ == "__main__":
    main()

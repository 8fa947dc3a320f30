"""Measures the compilation of whole training steps up to the proof of their schedule.

    python benchmarks/schedule_proof.py [--rows gpt2-small-8x1024,gpt2-xl-4x1024]

A row is a training step of GPT-2 with AdamW, as `ark train` builds it, for cuda:sm_90a. The table
has the processor time of each stage, which other load of the machine changes little, and the
largest memory of the process so far. *proof* is `ark-verify-synchronization` alone.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from table import print_table

import ark_mlir as ark
from ark_mlir.compiler.lowering import choose_target
from ark_mlir.compiler.source import load_module
from ark_mlir.compiler.stages import prove, run_stage

TARGET = "cuda:sm_90a"
STAGES = ("graph", "tiling", "memory", "scheduling", "synchronization")


@dataclass(frozen=True)
class Step:
    """The sizes of a GPT-2 and of a batch of sequences of `length` tokens."""

    width: int
    layers: int
    heads: int
    batch: int
    length: int = 1024
    vocabulary: int = 50_304

    def config(self) -> ark.training.TrainingConfig:
        """Returns the configuration of the step."""
        model = {
            "model_type": "gpt2", "vocab_size": self.vocabulary, "n_embd": self.width,
            "n_layer": self.layers, "n_head": self.heads, "n_positions": self.length,
        }  # fmt: skip
        train = {"batch": self.batch, "length": self.length, "dtype": "bf16"}
        return ark.training.TrainingConfig.parse(
            {"model": model, "data": {"text": ["corpus.txt"]}, "train": train}
        )


ROWS = {
    "gpt2-small-8x1024": Step(768, 12, 12, 8),
    "gpt2-xl-4x1024": Step(1600, 48, 25, 4),
    "tiny": Step(32, 1, 2, 1, 16, 256),
}


def measure(step: Step) -> list[tuple[str, float, float]]:
    """Returns each stage with its processor seconds and the memory of the process in GB."""
    program = ark.training.build_step(step.config(), corpus=100_000).program
    module = load_module(program)
    choose_target(module, TARGET)
    result: list[tuple[str, float, float]] = []

    def note(name: str, work: Callable[[], object]) -> None:
        begin = time.process_time()
        work()
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e9
        result.append((name, time.process_time() - begin, memory))

    with module.context:
        for stage in STAGES:
            options = {"verify": "false"} if stage == "synchronization" else {}
            note(stage, lambda stage=stage, options=options: run_stage(module, stage, options))
        note("proof", lambda: prove(module, "synchronization"))
    return result


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    figures = ",".join(row for row in ROWS if row != "tiny")
    parser.add_argument("--rows", default=figures, help=f"default: {figures}")
    rows: list[Sequence[str]] = []
    for name in parser.parse_args().rows.split(","):
        if name not in ROWS:
            parser.error(f"unknown row {name}; choose from {', '.join(ROWS)}")
        for stage, seconds, memory in measure(ROWS[name]):
            rows.append((name, stage, f"{seconds:.1f}", f"{memory:.2f}"))
            print("  ".join(rows[-1]), file=sys.stderr, flush=True)
    print_table(("step", "stage", "processor time, s", "memory, GB"), rows)
    return 0


if __name__ == "__main__":
    sys.exit(main())

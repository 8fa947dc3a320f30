"""Tensor-parallel decode with all ranks on one GPU, against one rank on all SMs.

    python benchmarks/tensor_parallel.py --compile FOLDER --one-gpu              # with the compiler
    python benchmarks/tensor_parallel.py --bundles FOLDER --one-gpu [--output F] # with one GPU

One launch runs all ranks; each rank has an equal part of the SMs and of the weights. The programs
of one rank and of several ranks have the same weights and caches, and are measured in turn, as
tensor_parallel.py measures ark's arm. Before the measurement:

- The logits of a few positions are compared with PyTorch in fp32. A program whose relative error is
  above twice that of PyTorch's bf16 has no times.
- Both programs generate tokens from a few first tokens, and the table has the number of tokens that
  are equal up to the first difference. At a difference, the logits of that step are compared: if
  their relative difference is above the same bound, the program has no times.

If a program has no times, the exit status is 1. The columns of several GPUs are "not measured".
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from bundle_options import NOT_MEASURED
from protocol.comparison import error_of
from table import table
from tensor_parallel_ark import ArkArm, ArkRanks, Problem, bundle_path

from ark_mlir.bundle import read_bundle

# Upper bound of the time of two halves of the SMs, relative to that of one rank on all SMs.
AIM, AIM_RANKS = 1.15, 2
SEVERAL = ("nccl", "one-shot", "two-shot", "ark")


@dataclass
class Result:
    """The figures of one number of ranks; None is "not measured".

    Attributes:
        seconds: the median of the seconds of a token.
        error: the relative error of the logits.
        equal: the number of tokens that equal those of one rank, up to the first differences.
        made: the number of tokens that one rank generated.
    """

    seconds: float | None = None
    error: float | None = None
    equal: int | None = None
    made: int | None = None


@dataclass
class Runner:
    """A program of one setting, with its results."""

    ranks: int
    program: ArkRanks
    result: Result = field(default_factory=Result)


class OneGpuSession:
    """The settings of a run on one GPU, and their results.

    Attributes:
        failed: True if a program has no times.
    """

    def __init__(
        self, options: argparse.Namespace, settings: Sequence[str], ranks: Sequence[int]
    ) -> None:
        self.failed = False
        self._folder, self._samples = options.bundles, options.samples
        self._worlds = tuple(dict.fromkeys((1, *ranks)))
        self._device = self._device_of_bundles(settings)
        self._rows: list[tuple[str, ...]] = []

    def _device_of_bundles(self, settings: Sequence[str]) -> str:
        for name in settings:
            for ranks in self._worlds:
                path = bundle_path(self._folder, name, ranks, one_gpu=True)
                if path.exists():
                    return read_bundle(path).manifest.target.backend
        raise SystemExit(f"tensor_parallel: {self._folder} has no bundle of these settings")

    def measure(self, name: str) -> None:
        """Adds the rows of one setting."""
        results = {ranks: Result() for ranks in self._worlds}
        try:
            problem = Problem(name, self._folder, self._device)
            with ExitStack() as stack:
                runners = self._load(problem, stack)
                results |= {runner.ranks: runner.result for runner in runners}
                self._take_samples(problem, self._check(problem, runners))
        except Exception as error:
            self._fail(f"{name}: {error}")
        for ranks in self._worlds:
            self._add_row(name, ranks, results[ranks], results[1])

    def _load(self, problem: Problem, stack: ExitStack) -> list[Runner]:
        runners: list[Runner] = []
        for ranks in self._worlds:
            path = bundle_path(self._folder, problem.name, ranks, one_gpu=True)
            try:
                program = ArkRanks(path, problem.tensors)
            except Exception as error:
                self._fail(f"{problem.name}, ranks {ranks}: {error}")
                continue
            stack.callback(program.close)
            runners.append(Runner(ranks, program))
        return runners

    def _fail(self, message: str) -> None:
        self.failed = True
        print(f"tensor_parallel: {message}", file=sys.stderr, flush=True)

    def _check(self, problem: Problem, runners: list[Runner]) -> list[Runner]:
        """Returns the programs whose logits and tokens are right."""
        right: list[Runner] = []
        for runner in runners:
            result = runner.result
            try:
                result.error = problem.error_of(ArkArm(runner.program, problem).logits())
                if not result.error <= 2 * problem.bound:
                    raise RuntimeError(f"WRONG: relative error {result.error:.5f}")
                if right and right[0].ranks == 1:
                    result.equal, result.made = compare_tokens(
                        problem, right[0].program, runner.program
                    )
            except Exception as error:
                self._fail(f"{problem.name}, ranks {runner.ranks}: {error}")
                continue
            right.append(runner)
        return right

    def _take_samples(self, problem: Problem, runners: list[Runner]) -> None:
        """Measures the programs, a sample of each in turn; the first sample is a warm-up."""
        samples: dict[int, list[float]] = {runner.ranks: [] for runner in runners}
        for sample in range(self._samples + 1):
            for runner in runners:
                seconds = ArkArm(runner.program, problem).seconds_of_token()
                if sample:
                    samples[runner.ranks].append(seconds)
        for runner in runners:
            runner.result.seconds = statistics.median(samples[runner.ranks])

    def _add_row(self, name: str, ranks: int, result: Result, one: Result) -> None:
        mine = result.seconds
        ratio = NOT_MEASURED if mine is None or not one.seconds else f"{mine / one.seconds:.3f}"
        tokens = NOT_MEASURED if result.made is None else f"{result.equal} of {result.made}"
        row = (
            name,
            str(ranks),
            NOT_MEASURED if mine is None else f"{1e3 * mine:.3f}",
            "" if ranks == 1 else ratio,
            f"{AIM:.2f}" if ranks == AIM_RANKS else "",
            "" if ranks == 1 else tokens,
            NOT_MEASURED if result.error is None else f"{result.error:.5f}",
            *("" if ranks == 1 else NOT_MEASURED for _ in SEVERAL),
        )
        self._rows.append(row)
        print(f"{time.strftime('%H:%M:%S')}  {'  '.join(row)}", flush=True)

    def text(self) -> str:
        """Returns the machine and the table, in Markdown."""
        import torch

        device = torch.cuda.get_device_name() if self._device == "cuda" else "cpu"
        head = (
            "setting", "ranks", "one GPU, ms", "/ one rank", "aim", "equal tokens",
            "relative error", *(f"{arm} on several GPUs, ms" for arm in SEVERAL),
        )  # fmt: skip
        machine = f"1 x {device}, PyTorch {torch.__version__}, all ranks in one launch"
        return f"{machine}\n\n{table(head, self._rows)}"


def compare_tokens(problem: Problem, one: ArkRanks, world: ArkRanks) -> tuple[int, int]:
    """Returns the number of equal tokens up to the first differences, and the number of all.

    Raises RuntimeError if the logits of a step with another token differ by more than rounding.
    """
    equal = made = 0
    for token, _ in problem.pairs:
        right, _ = one.generate(token, problem.first, problem.steps)
        found, _ = world.generate(token, problem.first, problem.steps)
        same = (right == found).all(axis=0)
        step = int(np.argmin(same)) if not same.all() else problem.steps
        if step < problem.steps:
            require_rounding(problem, token, one, world, step)
        made += right.size
        equal += step * right.shape[0]
    return equal, made


def require_rounding(
    problem: Problem, token: Any, one: ArkRanks, world: ArkRanks, step: int
) -> None:
    """Raises RuntimeError if the logits of a step, of which all earlier tokens are equal, differ
    by more than the bound of the logits.
    """
    _, right = one.generate(token, problem.first, step + 1)
    _, found = world.generate(token, problem.first, step + 1)
    difference = error_of(found, right)
    if not difference <= 2 * problem.bound:
        raise RuntimeError(
            f"WRONG: step {step} has another token than one rank, and logits with a relative "
            f"difference of {difference:.5f}"
        )

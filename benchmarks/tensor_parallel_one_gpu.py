"""Tensor-parallel decode with all ranks on one GPU, against one rank on all SMs.

    python benchmarks/tensor_parallel.py --compile FOLDER --one-gpu              # with the compiler
    python benchmarks/tensor_parallel.py --bundles FOLDER --one-gpu [--output F] # with one GPU

One launch runs all ranks; each rank has an equal part of the SMs and of the weights. The programs
of one rank and of several ranks have the same weights and caches, and are measured in turn, as
tensor_parallel.py measures ark's arm. Before the measurement:

- The logits of a few positions are compared with PyTorch in fp32. A program whose relative error is
  above twice that of PyTorch's bf16 has no times.
- Each program generates tokens from a few first tokens. The weights decide these tokens by a margin
  that rounding does not reach (decided_weights.py). A program with another token has no times. The
  vocabulary head is a weight of its own, also where that of the model is tied to the embeddings.

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

import numpy as np
from bundle_options import NOT_MEASURED, torch_device
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
        tokens: the number of tokens, all of which are those that the weights decide.
    """

    seconds: float | None = None
    error: float | None = None
    tokens: int | None = None


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
                    return torch_device(read_bundle(path))
        raise SystemExit(f"tensor_parallel: {self._folder} has no bundle of these settings")

    def measure(self, name: str) -> None:
        """Adds the rows of one setting."""
        results = {ranks: Result() for ranks in self._worlds}
        try:
            problem = Problem(name, self._folder, self._device, decides=True)
            assert problem.decided is not None
            print(
                f"{name}: the right token wins by {problem.decided.margin:.2f} standard deviations "
                f"of the logits, with {problem.decided.rivals} rivals; the error of bf16 is "
                f"{problem.bound:.4f}",
                flush=True,
            )
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
                result.tokens = count_tokens(problem, runner.program)
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
        tokens = NOT_MEASURED if result.tokens is None else str(result.tokens)
        row = (
            name,
            str(ranks),
            NOT_MEASURED if mine is None else f"{1e3 * mine:.3f}",
            "" if ranks == 1 else ratio,
            f"{AIM:.2f}" if ranks == AIM_RANKS else "",
            tokens,
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
            "setting", "ranks", "one GPU, ms", "/ one rank", "aim", "right tokens",
            "relative error", *(f"{arm} on several GPUs, ms" for arm in SEVERAL),
        )  # fmt: skip
        machine = f"1 x {device}, PyTorch {torch.__version__}, all ranks in one launch"
        return f"{machine}\n\n{table(head, self._rows)}"


def count_tokens(problem: Problem, program: ArkRanks) -> int:
    """Returns the number of tokens of all sequences.

    Raises RuntimeError if a token is not the one that the weights decide.
    """
    assert problem.decided is not None
    made = 0
    for (token, _), right in zip(problem.pairs, problem.decided.tokens, strict=True):
        found, _ = program.generate(token, problem.first, problem.steps)
        same = found == right
        if not same.all():
            step = int(np.argmin(same.all(axis=0)))
            raise RuntimeError(
                f"WRONG: step {step} has token {found[:, step].tolist()}, and the weights decide "
                f"{right[:, step].tolist()}"
            )
        made += right.size
    return made

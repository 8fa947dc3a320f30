"""One decode step on one GPU: ark against PyTorch, from the embedding to the next token.

    python benchmarks/decode.py --compile FOLDER                # where the compiler is
    python benchmarks/decode.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. All arms
have the same random bf16 weights and caches and take turns. A sample is 128 steps up to the last
position of the cache; a row names a model, the positions of its cache, and the batch.

graph            PyTorch's kernels in a CUDA graph
reduce-overhead  torch.compile in this mode; max-autotune and max-autotune-no-cudagraphs (captured
                 as a CUDA graph by the benchmark) are other arms
ark-1            one launch for each token
ark-128          128 tokens in one launch
eager            PyTorch without either

Arms of PyTorch have fused projections (one product for q, k and v, another for gate and up) and
SDPA with a mask. ``flex`` has FlexAttention without a mask instead, and ``split`` a product for
each projection.

Rows whose names end with ``-fp8`` and ``-int4`` have quantized weights, which ark's arms read;
those of PyTorch read the same weights in bf16.

*device* is the time on the device for one token: PyTorch's steps run back to back, and events time
the kernels of ark. *caller* is the time of a token for a caller who waits for the logits of each
launch. Before the measurement, logits of a few positions are compared with PyTorch in fp32. If
ark's relative error is above that of PyTorch's own bf16, ark has no times and the exit status is 1.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from decode_arms import ArkArm, DeviceClock, TorchArm, load_ark
from decode_arms import Arm as Steps
from decode_settings import FIGURES, SERVING, SETTINGS, Setting
from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import capture, compiled

MODES = ("reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")
TORCH_ARMS = (
    "graph",
    *MODES,
    *(f"{mode} flex" for mode in MODES),
    *(f"{mode} split" for mode in MODES),
)
ARK_ARMS = ("ark-1", "ark-128")
ARMS = ("eager", *TORCH_ARMS, *ARK_ARMS)
# Positions whose logits are compared.
CHECKED = 8
TOKENS = 128
KNOWN = {**SETTINGS, **SERVING}


def tokens_of(setting: Setting) -> int:
    """Returns the number of steps of one sample."""
    return min(TOKENS, setting.context // 2)


def workload(setting: Setting) -> Workload:
    """Returns the work of one step, on average over a sample."""
    tokens = tokens_of(setting)
    return Workload(setting.description, setting.bytes_read(tokens), setting.flops(tokens))


def compile_row(row: str, folder: Path, target: str) -> None:
    from decode_programs import decoder_config, save_rope_tables

    from ark_mlir.models.decoder import build_decode

    setting = KNOWN[row]
    save_rope_tables(row, setting, folder)
    program = build_decode(decoder_config(setting), batch=setting.batch, max_length=setting.context)
    save(program, folder, row, target)


class Problem:
    """The weights, caches, models and checked positions of one row."""

    def __init__(self, task: Task) -> None:
        import torch
        from quantized_weights import quantize
        from torch_decoder import make_caches, make_weights

        self.task, self.device = task, task.device()
        self.setting = setting = KNOWN[task.row]
        self.tokens = tokens_of(setting)
        self.start = setting.context - self.tokens
        self.weights = make_weights(setting.sizes, self.device)
        # PyTorch's arms have the dequantized weights.
        self.ark_weights = self.weights
        if setting.sizes.bits < 16:
            self.ark_weights = quantize(setting.sizes, self.weights)
        self.caches = make_caches(setting, self.device)
        tables = np.load(task.folder / f"{task.row}.npz")
        self._rope = torch.from_numpy(tables["cos"]), torch.from_numpy(tables["sin"])
        random = np.random.default_rng(0)
        first = random.integers(0, setting.sizes.vocabulary, (CHECKED, setting.batch))
        positions = np.linspace(self.start, setting.context - 1, CHECKED).astype(int)
        self.pairs = list(zip(first, positions.tolist(), strict=True))
        self.token = first[0]
        # One instance of a model serves all arms with the same products and attention.
        self.model = cache(self._make_model)
        self._ark_arms = cache(self._make_ark_arms)

    def _make_model(self, fused: bool = True, flex: bool = False) -> Any:
        import torch

        return self._in_dtype(torch.bfloat16, fused, flex)

    def _in_dtype(self, dtype: Any, fused: bool, flex: bool = False) -> Any:
        from torch_decoder import TorchDecoder

        return TorchDecoder(
            self.setting, self.weights, self.caches, self._rope, dtype, fused, flex=flex
        )

    def expected(self) -> Any:
        """Returns the logits of the checked positions in fp32."""
        import torch

        model = self._in_dtype(torch.float32, False)
        logits = Sample(self, TorchArm(model, model)).output()
        del model
        torch.cuda.empty_cache()
        return logits

    def bound(self, expected: Any) -> float:
        """Returns the relative error of PyTorch in bf16."""
        return error_of(self.torch_arm("eager").output(), expected)

    def torch_arm(self, arm: str) -> Sample:
        """Returns the arm ``<mode> [flex|split]``."""
        mode, *variant = arm.split()
        model = self.model("split" not in variant, "flex" in variant)
        model.restore(self.caches)
        model.put(model.token, self.start)
        if mode == "eager" or (mode == "graph" and self.device == "cpu"):
            step = model
        else:
            step = capture(model) if mode == "graph" else compiled(model, mode, self.device)
        model.restore(self.caches)
        return Sample(self, TorchArm(model, step))

    def ark_arm(self, arm: str) -> Sample:
        """Returns the arm ``ark-<tokens of a launch>``; raises RuntimeError if tokens depend on
        the number of them in a launch."""
        arms = self._ark_arms()
        single, several = (each.made(self.token, self.start, self.tokens) for each in arms.values())
        if not np.array_equal(single, several):
            raise RuntimeError("one launch and several make other tokens")
        arms[arm].restore()
        return Sample(self, arms[arm])

    def _make_ark_arms(self) -> dict[str, ArkArm]:
        executable = load_ark(self.task.bundle, self.ark_weights, self.caches)
        clock = DeviceClock(executable)
        return {arm: ArkArm(executable, clock, single=arm == "ark-1") for arm in ARK_ARMS}


class Sample:
    """The steps of one sample of an arm."""

    def __init__(self, problem: Problem, steps: Steps) -> None:
        self._problem, self._steps = problem, steps
        self._caller = 0.0

    def output(self) -> Any:
        """Returns the logits of the checked positions."""
        return np.stack([self._steps.logits(*pair) for pair in self._problem.pairs])

    def device_seconds(self) -> float:
        problem = self._problem
        device, self._caller = self._steps.run(problem.token, problem.start, problem.tokens)
        return device

    def caller_seconds(self) -> float:
        """Returns the seconds of a token in the sample of the last :meth:`device_seconds`."""
        return self._caller


def measure_row(task: Task) -> Iterator[Result]:
    problem = Problem(task)
    expected = problem.expected()
    makers: dict[str, Callable[[], Arm]] = {
        arm: lambda arm=arm: (problem.ark_arm if arm in ARK_ARMS else problem.torch_arm)(arm)
        for arm in task.arms
    }
    bound = problem.bound(expected)
    yield from compare(task.row, makers, expected, bound, task.samples, slack=1.0)


SUITE = Suite(
    name="decode",
    workloads={row: workload(setting) for row, setting in SETTINGS.items()},
    figures=FIGURES,
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=(*TORCH_ARMS, *ARK_ARMS),
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

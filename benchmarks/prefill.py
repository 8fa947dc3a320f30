"""A prompt on one GPU, from its tokens to the next one: ark against PyTorch.

    python benchmarks/prefill.py --compile FOLDER                # where the compiler is
    python benchmarks/prefill.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. A row is
a model and a number of tokens, all in one chunk; weights are random bf16. Every arm writes the
caches and computes the logits of the last token. The logits are compared with PyTorch in fp32; an
arm of ark with a larger error than PyTorch's own bf16 has no times.

graph            PyTorch's kernels in a CUDA graph
reduce-overhead  torch.compile in this mode; max-autotune is another arm
ark              one launch, in a CUDA graph

``flash`` and ``cudnn`` name the kernel of scaled_dot_product_attention. Products of one input are
fused in PyTorch, except in arms with ``split``.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from decode_arms import load_ark
from decode_settings import LLAMA_1B, LLAMA_8B, QWEN3_8B, TINY, Setting, Sizes
from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import Calls, capture, compiled

ARMS = (
    "graph flash",
    "reduce-overhead flash",
    "reduce-overhead cudnn",
    "max-autotune flash",
    "max-autotune cudnn",
    "reduce-overhead flash split",
    "max-autotune flash split",
    "ark",
)


@dataclass(frozen=True)
class Prompt:
    """A model and the number of tokens of its prompt."""

    model: str
    sizes: Sizes
    tokens: int

    @property
    def setting(self) -> Setting:
        """The setting of torch_decoder, whose cache has the size of the prompt."""
        return Setting(f"{self.model}, a prompt of {self.tokens} tokens", self.sizes, self.tokens)

    def workload(self) -> Workload:
        sizes, tokens = self.sizes, self.tokens
        shapes = sizes.parameters()
        weights = [shape for name, shape in shapes.items() if ".layers." in name]
        elements = sum(int(np.prod(shape)) for shape in weights)
        head = sizes.vocabulary * sizes.hidden
        cache_row = int(np.prod(sizes.cache(1, 1)))
        pairs = tokens * (tokens + 1) / 2
        return Workload(
            self.setting.description,
            bytes=2.0 * (elements + head + 2 * sizes.layers * cache_row * tokens),
            flops=2.0 * (elements * tokens + head)
            + 4.0 * sizes.layers * sizes.heads * sizes.head * pairs,
        )


MODELS = {"1B": ("Llama-3.2-1B", LLAMA_1B), "8B": ("Llama-3.1-8B", LLAMA_8B),
          "qwen3-8B": ("Qwen3-8B", QWEN3_8B)}  # fmt: skip
LENGTHS = (100, 128, 130, 512, 1000, 2048, 8192)
PROMPTS = {
    f"{name}-{tokens}": Prompt(*model, tokens)
    for name, model in MODELS.items()
    for tokens in LENGTHS
}
PROMPTS["tiny-24"] = Prompt("a small Llama", TINY, 24)


def compile_row(row: str, folder: Path, target: str) -> None:
    from decode_programs import decoder_config, save_rope_tables

    from ark_mlir.models.decoder import build_prefill

    setting = PROMPTS[row].setting
    save_rope_tables(row, setting, folder)
    program = build_prefill(
        decoder_config(setting), chunk=setting.context, max_length=setting.context
    )
    save(program, folder, row, target)


class Problem:
    """The prompt, weights and models of one row."""

    def __init__(self, task: Task) -> None:
        import torch
        from torch_decoder import make_caches, make_weights

        self.task, self.device = task, task.device()
        self.setting = setting = PROMPTS[task.row].setting
        self.weights = make_weights(setting.sizes, self.device)
        self.caches = make_caches(setting, self.device)
        tables = np.load(task.folder / f"{task.row}.npz")
        self._rope = torch.from_numpy(tables["cos"]), torch.from_numpy(tables["sin"])
        self.ids = np.random.default_rng(0).integers(0, setting.sizes.vocabulary, setting.context)
        # One instance of a model serves all arms with the same products.
        self.model = cache(self._make_model)

    def _make_model(self, fused: bool) -> Any:
        import torch

        return self._in_dtype(torch.bfloat16, fused)

    def _in_dtype(self, dtype: Any, fused: bool) -> Any:
        from torch_prefill import TorchPrefill

        return TorchPrefill(
            self.ids, self.setting, self.weights, self.caches, self._rope, dtype, fused
        )

    def expected(self) -> Any:
        """Returns the logits in fp32."""
        import torch

        logits = self._in_dtype(torch.float32, False)().cpu().numpy()
        torch.cuda.empty_cache()
        return logits

    def bound(self, expected: Any) -> float:
        """Returns the relative error of PyTorch's own bf16."""
        return error_of(self.model(True)().cpu().numpy(), expected)

    def torch_arm(self, arm: str) -> Calls:
        """Returns the arm ``<mode> <kernel> [split]``."""
        mode, kernel, *split = arm.split()
        model = self.model(not split)
        with self._kernel(kernel):
            if mode == "graph":
                step = capture(model) if self.device == "cuda" else model
            else:
                step = compiled(model, mode, self.device)
        return Calls([step], self.device, captured=False)

    def _kernel(self, name: str) -> Any:
        from torch.nn.attention import SDPBackend, sdpa_kernel

        if self.device == "cpu":
            return nullcontext()
        known = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}
        return sdpa_kernel(known[name])

    def ark_arm(self) -> Calls:
        """Returns the arm of the bundle, on arrays of the device."""
        import torch

        executable = load_ark(self.task.bundle, self.weights, {})
        inputs: dict[str, Any] = {
            "ids": torch.from_numpy(self.ids).to(self.device, torch.int32)[None],
            "ends": torch.full((8,), -1, dtype=torch.int32, device=self.device),
            "begin": 0,
            "last": self.setting.context - 1,
        }
        vocabulary = self.setting.sizes.vocabulary
        out = {
            "logits": torch.zeros(1, vocabulary, device=self.device),
            "token": torch.zeros(1, dtype=torch.int32, device=self.device),
        }
        return Calls(
            [lambda: executable.run(inputs, out=out)["logits"]],
            self.device,
            check=executable.check,
        )


def measure_row(task: Task) -> Iterator[Result]:
    problem = Problem(task)
    expected = problem.expected()
    makers: dict[str, Callable[[], Arm]] = {
        arm: problem.ark_arm if arm == "ark" else lambda arm=arm: problem.torch_arm(arm)
        for arm in task.arms
    }
    yield from compare(task.row, makers, expected, problem.bound(expected), task.samples)


SUITE = Suite(
    name="prefill",
    workloads={row: prompt.workload() for row, prompt in PROMPTS.items()},
    figures=("1B-128", "1B-512", "1B-2048", "1B-100", "1B-130", "1B-1000", "1B-8192", "8B-512"),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=ARMS,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

"""A training step of a GPT on one GPU: ark against PyTorch, with AdamW.

    python benchmarks/training.py --compile FOLDER                # where the compiler is
    python benchmarks/training.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. A row is
a model and a batch. A step is the forward pass, the cross-entropy, the backward pass and AdamW. The
weights and moments are fp32. In rows of bf16, ark's module reads weights rounded to bf16, and
PyTorch runs under autocast. The batches are random tokens, the same for all arms, on the GPU.

eager         PyTorch with fused AdamW
graph         the same, the whole step as a CUDA graph
compile       torch.compile of the forward and backward pass, fused AdamW, the whole step as a graph
max-autotune  the same with mode="max-autotune-no-cudagraphs"; it tunes for minutes
ark           a launch of many steps

*device* and *caller* are the times of a step: those of a launch of many steps, divided by their
number. The *error* of an arm is that of the losses of its first steps, relative to PyTorch in
float64. The curves begin at equal weights and must agree while training is not yet chaotic.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import caller_seconds, capture, device_seconds
from training_models import Sizes, first_weights, torch_logits

import ark_mlir as ark

ARMS = ("eager", "graph", "compile", "max-autotune", "ark")
STEPS = 50  # of a launch
RATE = 3e-4
# An optimizer reads and writes the weight and two moments, and reads the gradient: fp32.
OPTIMIZER_BYTES = 28

MODELS = {
    "char-64": Sizes(128, 64, 2, 4, 32, 8),
    "char-128": Sizes(128, 128, 4, 4, 64, 16),
    "char-384": Sizes(128, 384, 6, 6, 128, 16, "bf16"),
    "gpt2-small-1x1024": Sizes(50304, 768, 12, 12, 1024, 1, "bf16"),
    "tiny": Sizes(32, 16, 1, 2, 8, 2),
}


def workload(name: str, sizes: Sizes) -> Workload:
    return Workload(
        f"GPT, {sizes.layers} layers of width {sizes.width}, {sizes.batch} x {sizes.length} tokens,"
        f" {sizes.vocabulary} rows, {sizes.parameters / 1e6:.1f} M parameters, {sizes.dtype}",
        bytes=float(OPTIMIZER_BYTES * sizes.parameters),
        flops=sizes.flops,
    )


# -- with the compiler -----------------------------------------------------------------------------


def build(sizes: Sizes) -> ark.Program:
    """Returns the program of a step; its input `rows` holds the tokens of all steps of a launch."""
    from training_gpt import GPT

    with ark.Program("training") as program:
        loop = ark.training.Loop(steps=STEPS)
        rows = loop.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
        model = GPT(sizes)
        weights = ark.trainable(model, masters=True)
        logits = model(rows[:, :-1])
        if sizes.dtype != "fp32":
            logits = ark.cast(logits, ark.fp32)
        loss = ark.cross_entropy(logits, rows[:, 1:])
        optimizer = ark.optim.AdamW(weights, RATE)
        optimizer.step(ark.gradients(loss, weights), skip=loop.end(loss))
    return program


def compile_row(row: str, folder: Path, target: str) -> None:
    save(build(MODELS[row]), folder, row, target)


# -- with the GPU ----------------------------------------------------------------------------------


class Steps:
    """An arm that repeats a launch of `STEPS` steps.

    Args:
        launch: runs the steps.
        losses: returns the losses of the last launch.
        device: `cuda` or `cpu`.
        owners: objects that own memory which the launch uses.
    """

    def __init__(
        self,
        launch: Callable[[], object],
        losses: Callable[[], Any],
        device: str,
        owners: tuple[object, ...] = (),
    ) -> None:
        self._launch, self._losses, self._device = launch, losses, device
        self._owners = owners

    def output(self) -> Any:
        self._launch()
        return np.array(self._losses(), np.float32)

    def device_seconds(self) -> float:
        return device_seconds(self._launch, self._device) / STEPS

    def caller_seconds(self) -> float:
        return caller_seconds(self._launch, self._device) / STEPS


class Problem:
    """The batches and the first weights of a row."""

    def __init__(self, task: Task) -> None:
        import torch

        self.task, self.device = task, task.device()
        self.sizes = sizes = MODELS[task.row]
        shape = STEPS, sizes.batch, sizes.length + 1
        rows = np.random.default_rng(0).integers(0, sizes.vocabulary, shape, dtype=np.int32)
        self.rows = torch.from_numpy(rows).to(self.device)
        self.weights = first_weights(sizes)

    def torch_arm(self, arm: str, exact: bool = False) -> Steps:
        """Returns an arm of PyTorch.

        Args:
            arm: the name of the arm.
            exact: True computes in float64.
        """
        import torch

        wide = torch.float64 if exact else torch.float32
        narrow = self.sizes.dtype == "bf16" and not exact
        weights = {
            name: torch.nn.Parameter(torch.tensor(value, device=self.device, dtype=wide))
            for name, value in self.weights.items()
        }
        captured = arm != "eager" and self.device == "cuda"
        optimizer = torch.optim.AdamW(weights.values(), RATE, fused=True, capturable=captured)
        rows, step_rows = self.rows.long(), self.rows[0].long()
        losses = torch.zeros(STEPS, device=self.device, dtype=wide)

        def loss_of(ids: Any) -> Any:
            with torch.autocast(self.device, torch.bfloat16, enabled=narrow):
                logits = torch_logits(self.sizes, weights, ids[:, :-1])
            return torch.nn.functional.cross_entropy(
                logits.flatten(0, 1).to(wide), ids[:, 1:].flatten()
            )

        forward = loss_of
        if arm in ("compile", "max-autotune"):
            mode = "default" if arm == "compile" else f"{arm}-no-cudagraphs"
            forward = torch.compile(loss_of, mode=mode, fullgraph=True, dynamic=False)

        def step() -> Any:
            with torch.enable_grad():
                optimizer.zero_grad(set_to_none=True)
                loss = forward(step_rows)
                loss.backward()
                optimizer.step()
            return loss

        def restore() -> None:
            """Undoes the steps of warm-up and capture."""
            for name, value in self.weights.items():
                weights[name].data.copy_(torch.from_numpy(value))
            for state in optimizer.state.values():
                for part in state.values():
                    part.zero_()

        replay = capture(step) if captured else step
        if captured:
            restore()

        def launch() -> None:
            for number in range(STEPS):
                step_rows.copy_(rows[number])
                losses[number] = replay().detach()

        # A graph does not keep the memory of weights and moments alive.
        return Steps(launch, lambda: losses.cpu().numpy(), self.device, owners=(optimizer, step))

    def ark_arm(self) -> Steps:
        executable = ark.load(self.task.bundle).bind(self.weights)

        def launch() -> None:
            executable.run(rows=self.rows, iterations=STEPS)

        return Steps(launch, lambda: executable.states["loop.losses"], self.device)


def measure_row(task: Task) -> Iterator[Result]:
    problem = Problem(task)
    expected = problem.torch_arm("eager", exact=True).output()
    found = problem.torch_arm("eager").output()
    makers: dict[str, Callable[[], Arm]] = {
        arm: problem.ark_arm if arm == "ark" else lambda arm=arm: problem.torch_arm(arm)
        for arm in task.arms
    }
    # Rounding moves the losses of later steps, so the errors of equally exact arms differ.
    bound = error_of(found, expected)
    yield from compare(task.row, makers, expected, bound, task.samples, slack=3.0)


SUITE = Suite(
    name="training",
    workloads={row: workload(row, sizes) for row, sizes in MODELS.items()},
    figures=tuple(row for row in MODELS if row != "tiny"),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=("eager", "graph", "compile", "ark"),
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

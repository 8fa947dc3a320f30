"""A training step of a transformer on one GPU: ark against PyTorch, with AdamW.

    python benchmarks/training.py --predict                       # neither GPU nor assembler
    python benchmarks/training.py --compile FOLDER                # where the compiler is
    python benchmarks/training.py --bundles FOLDER [--output F]   # where the GPU is
    python benchmarks/training.py --bundles FOLDER --curve 500    # losses of 500 steps

The commands with --bundles need ark's runtime, numpy, ml_dtypes, cuda-python and torch. A row is
a model and a batch. A step is the forward pass, the cross-entropy, the backward pass and AdamW. The
weights and moments are fp32. In rows of bf16, ark's module reads weights rounded to bf16, and
PyTorch runs under autocast. The batches are random tokens, the same for all arms, on the GPU. Rows
of BERT-Large have its sizes, with the layers of a GPT without a causal mask, and compute the
cross-entropy of all tokens.

eager         PyTorch with fused AdamW
graph         the same, the whole step as a CUDA graph
compile       torch.compile of the forward and backward pass, fused AdamW, the whole step as a graph
max-autotune  the same with mode="max-autotune-no-cudagraphs"; it tunes for minutes
ark           a launch of many steps

*device* and *caller* are the times of a step: those of a launch of many steps, divided by their
number. The *error* of an arm is that of the losses of its first steps, relative to PyTorch in
float64. The curves begin at equal weights and must agree while training is not yet chaotic. Large
rows have launches of 10 steps instead of 50, errors relative to fp32, and one arm at a time in
memory.

With --curve, each token follows from the previous one by a rule with noise, so that the loss falls.
The losses of PyTorch in eager mode and of ark are written to FOLDER/<row>.curve.csv.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from protocol.comparison import Arm, compare, error_of, release
from protocol.prediction import memory_note
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, make_parser, run_with, save
from protocol.timing import caller_seconds, capture, device_seconds
from training_models import LlamaSizes, Sizes, first_weights, torch_logits

import ark_mlir as ark
from ark_mlir.bundle import Bundle, read_bundle

ARMS = ("eager", "graph", "compile", "max-autotune", "ark")
STEPS = 50  # of a launch
LARGE_STEPS = 10  # of a launch of a large row
LARGE_FLOPS = 5e12  # of a step of a large row
RATE = 3e-4
# An optimizer reads and writes the weight and two moments, and reads the gradient: fp32.
OPTIMIZER_BYTES = 28

MODELS = {
    "char-64": Sizes(128, 64, 2, 4, 32, 8),
    "char-128": Sizes(128, 128, 4, 4, 64, 16),
    "char-384": Sizes(128, 384, 6, 6, 128, 16, "bf16"),
    "gpt2-small-1x1024": Sizes(50304, 768, 12, 12, 1024, 1, "bf16"),
    "gpt2-small-16x1024": Sizes(50304, 768, 12, 12, 1024, 16, "bf16"),
    "bert-large-10x384": Sizes(30592, 1024, 24, 16, 384, 10, "bf16", causal=False),
    "bert-large-64x512": Sizes(30592, 1024, 24, 16, 512, 64, "bf16", causal=False),
    "bert-large-256x128": Sizes(30592, 1024, 24, 16, 128, 256, "bf16", causal=False),
    "gpt2-xl-4x384": Sizes(50304, 1600, 48, 25, 384, 4, "bf16"),
    "gpt2-xl-4x1024": Sizes(50304, 1600, 48, 25, 1024, 4, "bf16"),
    "llama-1b-8x2048": LlamaSizes(128_256, 2048, 16, 32, 2048, 8, "bf16", kv_heads=8, inner=8192),
    "tiny": Sizes(32, 16, 1, 2, 8, 2),
    "tiny-bert": Sizes(32, 16, 1, 2, 8, 2, causal=False),
    "tiny-llama": LlamaSizes(32, 32, 2, 4, 8, 2, kv_heads=2, inner=48),
}


# An eighth of the rounding of bf16. ark rounds the residual stream to bf16, which PyTorch under
# autocast keeps in fp32, and the loss of a large batch averages most of the roundings.
LOSS_ROUNDING = 2.0**-12


def is_large(sizes: Sizes) -> bool:
    """Returns True if the arms of a row are measured apart, with short launches."""
    return sizes.flops > LARGE_FLOPS


def steps_of(sizes: Sizes) -> int:
    """Returns the steps of a launch."""
    return LARGE_STEPS if is_large(sizes) else STEPS


def workload(name: str, sizes: Sizes) -> Workload:
    model = "Llama" if isinstance(sizes, LlamaSizes) else "GPT" if sizes.causal else "BERT"
    return Workload(
        f"{model}, {sizes.layers} layers of width {sizes.width}, {sizes.batch} x {sizes.length} "
        f"tokens, {sizes.vocabulary} rows, {sizes.parameters / 1e6:.1f} M parameters, "
        f"{sizes.dtype}",
        bytes=float(OPTIMIZER_BYTES * sizes.parameters),
        flops=sizes.flops,
    )


# -- with the compiler -----------------------------------------------------------------------------


def build(sizes: Sizes) -> ark.Program:
    """Returns the program of a step; its input `rows` holds the tokens of all steps of a launch."""
    from training_gpt import GPT
    from training_llama import Llama

    with ark.Program("training") as program:
        loop = ark.training.Loop(steps=steps_of(sizes))
        rows = loop.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
        model = Llama(sizes) if isinstance(sizes, LlamaSizes) else GPT(sizes)
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
    path = folder / f"{row}.arkbin"
    if note := memory_note(read_bundle(path)):
        path.unlink()
        raise ark.MemoryLimitError(note)


def schedule_row(row: str, target: str) -> Bundle:
    """Returns the compiled schedule of a row, without machine code."""
    from ark_mlir.compiler import compile_schedule

    return compile_schedule(build(MODELS[row]), target)


# -- with the GPU ----------------------------------------------------------------------------------


class Steps:
    """An arm that repeats a launch of many steps.

    Args:
        steps: the steps of a launch.
        launch: runs the steps.
        losses: returns the losses of the last launch.
        device: `cuda` or `cpu`.
        owners: objects that own memory which the launch uses.
    """

    def __init__(
        self,
        steps: int,
        launch: Callable[[], object],
        losses: Callable[[], Any],
        device: str,
        owners: tuple[object, ...] = (),
    ) -> None:
        self._steps = steps
        self._launch, self._losses, self._device = launch, losses, device
        self._owners = owners

    def output(self) -> Any:
        self._launch()
        return np.array(self._losses(), np.float32)

    def device_seconds(self) -> float:
        return device_seconds(self._launch, self._device) / self._steps

    def caller_seconds(self) -> float:
        return caller_seconds(self._launch, self._device) / self._steps


class Problem:
    """The batches and the first weights of a row.

    Attributes:
        rows: the tokens of the steps of a launch, ``[steps, batch, length + 1]``. An arm reads them
            at each launch.
    """

    def __init__(self, task: Task) -> None:
        import torch

        self.task, self.device = task, task.device()
        self.sizes = sizes = MODELS[task.row]
        self.steps = steps_of(sizes)
        shape = self.steps, sizes.batch, sizes.length + 1
        rows = np.random.default_rng(0).integers(0, sizes.vocabulary, shape, dtype=np.int32)
        self.rows = torch.from_numpy(rows).to(self.device)
        self.weights = first_weights(sizes)

    def torch_arm(self, arm: str, exact: bool = False) -> Steps:
        """Returns an arm of PyTorch.

        Args:
            arm: the name of the arm.
            exact: True computes in float64, or fp32 if the row is large.
        """
        import torch

        wide = torch.float64 if exact and not is_large(self.sizes) else torch.float32
        narrow = self.sizes.dtype == "bf16" and not exact
        weights = {
            name: torch.nn.Parameter(torch.tensor(value, device=self.device, dtype=wide))
            for name, value in self.weights.items()
        }
        captured = arm != "eager" and self.device == "cuda"
        optimizer = torch.optim.AdamW(weights.values(), RATE, fused=True, capturable=captured)
        step_rows = self.rows[0].long()
        losses = torch.zeros(self.steps, device=self.device, dtype=wide)

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
            for number in range(self.steps):
                step_rows.copy_(self.rows[number])
                losses[number] = replay().detach()

        # A graph does not keep the memory of weights and moments alive.
        owners = optimizer, step
        return Steps(self.steps, launch, lambda: losses.cpu().numpy(), self.device, owners)

    def ark_arm(self) -> Steps:
        executable = ark.load(self.task.bundle).bind(self.weights)

        def launch() -> None:
            executable.run(rows=self.rows, iterations=self.steps)

        losses = lambda: executable.states["loop.losses"]  # noqa: E731
        return Steps(self.steps, launch, losses, self.device, owners=(executable,))


def measure_row(task: Task) -> Iterator[Result]:
    problem = Problem(task)
    large = is_large(problem.sizes)
    expected = problem.torch_arm("eager", exact=True).output()
    release()
    found = problem.torch_arm("eager").output()
    release()
    makers: dict[str, Callable[[], Arm]] = {
        arm: problem.ark_arm if arm == "ark" else lambda arm=arm: problem.torch_arm(arm)
        for arm in task.arms
    }
    # Rounding moves the losses of later steps, so the errors of equally exact arms differ.
    bound = error_of(found, expected)
    if problem.sizes.dtype != "fp32":
        bound = max(bound, LOSS_ROUNDING)
    yield from compare(task.row, makers, expected, bound, task.samples, slack=3.0, apart=large)


SUITE = Suite(
    name="training",
    workloads={row: workload(row, sizes) for row, sizes in MODELS.items()},
    figures=tuple(row for row in MODELS if not row.startswith("tiny")),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=("eager", "graph", "compile", "ark"),
    schedule=schedule_row,
)


def main() -> int:
    parser = make_parser(SUITE, __doc__)
    parser.add_argument("--curve", type=int, metavar="STEPS", help="write losses of many steps")
    options = parser.parse_args()
    if options.curve is None:
        return run_with(SUITE, options)
    if options.bundles is None or options.curve < 1:
        parser.error("--curve needs --bundles and a positive number of steps")
    from training_curve import write_curves

    return write_curves(options)


if __name__ == "__main__":
    sys.exit(main())

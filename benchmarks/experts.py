"""A mixture of experts on one GPU: a layer of many tokens, and decode steps.

    python benchmarks/experts.py --predict                      # neither GPU nor assembler
    python benchmarks/experts.py --compile FOLDER               # where the compiler is
    python benchmarks/experts.py --bundles FOLDER [--output F]  # where the GPU is

The command with --bundles needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. The sizes
are those of Qwen3-30B-A3B, with random weights in bf16.

layer-16k   a layer of 16,384 tokens against PyTorch, whose arms sort the tokens by expert and
            compute grouped products: as a CUDA graph, and with torch.compile. The error is
            relative to fp32.
decode-N    a decode step of N layers of one sequence; 48 layers are the whole model, 61 GB. There
            is no peer. The time is the slope between launches of 8 and 72 tokens from position 0,
            the median of nine pairs. The floor is the time to read the weights of attention,
            router and chosen experts, and of the vocabulary head. For decode-8, the script also
            prints the tasks of one traced step, by op.
"""

from __future__ import annotations

import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from experts_layer import LayerSizes, arrays, layer, layer_of_pairs
from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import Calls, capture, compiled

import ark_mlir as ark
from ark_mlir.bundle import Bundle

ARMS = ("graph", "compile", "ark")
HIDDEN, HEADS, KV_HEADS, HEAD = 2048, 32, 4, 128
EXPERTS, CHOSEN, WIDTH, VOCABULARY = 128, 8, 768, 151_936
CONTEXT = 1024
SHORT, LONG, PAIRS = 8, 72, 9
# The row whose traced step the script prints.
TRACED = "decode-8"
# Kernels of PyTorch and ark round other inner results of an expert.
SLACK = 1.1


@dataclass(frozen=True)
class DecodeSizes:
    """The sizes of a decode step; all others are those of Qwen3-30B-A3B."""

    layers: int
    vocabulary: int = VOCABULARY
    experts: int = EXPERTS

    @property
    def workload(self) -> Workload:
        """Returns the bytes of the weights that a step reads."""
        attention = HIDDEN * HEAD * 2 * (HEADS + KV_HEADS)
        experts = HIDDEN * (self.experts + CHOSEN * 3 * WIDTH)
        return Workload(
            f"a decode step of Qwen3-30B-A3B with {self.layers} layers, one sequence",
            bytes=2.0 * (self.layers * (attention + experts) + HIDDEN * self.vocabulary),
        )


ROWS: dict[str, LayerSizes | DecodeSizes] = {
    "layer-16k": LayerSizes(16_384, HIDDEN, EXPERTS, CHOSEN, WIDTH),
    "decode-8": DecodeSizes(8),
    "decode-48": DecodeSizes(48),
    "tiny-layer": LayerSizes(64, 64, 8, 2, 32),
}


# -- with the compiler -----------------------------------------------------------------------------


def build(sizes: LayerSizes | DecodeSizes) -> ark.Program:
    """Returns the program of a row."""
    from ark_mlir.models.decoder import build_decode
    from ark_mlir.models.decoder_config import DecoderConfig
    from ark_mlir.models.decoder_graph import DecoderGraph
    from ark_mlir.models.experts import Experts
    from ark_mlir.models.moe import build_mlp

    def config(experts: Experts, hidden: int, layers: int, vocabulary: int) -> DecoderConfig:
        return DecoderConfig(
            vocabulary=vocabulary, hidden=hidden, layers=layers, heads=HEADS, kv_heads=KV_HEADS,
            head=HEAD, intermediate=6144, eps=1e-6, theta=1e6, qk_norm=True, mlp="experts",
            experts=experts,
        )  # fmt: skip

    if isinstance(sizes, DecodeSizes):
        experts = Experts(sizes.experts, CHOSEN, WIDTH, normalize=True)
        model = config(experts, HIDDEN, sizes.layers, sizes.vocabulary)
        return build_decode(model, batch=1, max_length=CONTEXT)
    experts = Experts(sizes.experts, sizes.chosen, sizes.width, normalize=True)
    tokens = sizes.tokens
    with ark.Program("experts") as program:
        x = ark.input("x", (tokens, sizes.hidden), ark.bf16)
        graph = DecoderGraph(
            config(experts, sizes.hidden, 1, VOCABULARY), 1, tokens, tokens, ark.bf16,
            ark.constant(0),
        )  # fmt: skip
        ark.output("y", build_mlp(graph, experts, x, "mlp"))
    return program


def traced_path(folder: Path) -> Path:
    return folder / f"{TRACED}.traced.arkbin"


def compile_row(row: str, folder: Path, target: str) -> None:
    program = build(ROWS[row])
    save(program, folder, row, target)
    if row == TRACED:
        ark.compile(program, target, cache=False, trace=True).save(traced_path(folder))


def schedule_row(row: str, target: str) -> Bundle:
    """Returns the compiled schedule of a row, without machine code."""
    from ark_mlir.compiler import compile_schedule

    return compile_schedule(build(ROWS[row]), target)


# -- with the GPU ----------------------------------------------------------------------------------


class Problem:
    """The hidden states and the weights of a layer."""

    def __init__(self, task: Task, sizes: LayerSizes) -> None:
        self.task, self.sizes, self.device = task, sizes, task.device()
        self.x, self.weights = arrays(sizes, self.device)

    def step(self) -> Any:
        return layer(self.sizes, self.weights, self.x)

    def torch_arm(self, arm: str) -> Calls:
        if arm == "compile":
            step = compiled(self.step, "max-autotune-no-cudagraphs", self.device)
        else:
            step = capture(self.step) if self.device == "cuda" else self.step
        return Calls([step], self.device, captured=False)

    def ark_arm(self) -> Calls:
        import torch

        executable = ark.load(self.task.bundle).bind(self.weights)
        out = {"y": torch.zeros_like(self.x)}
        inputs = {"x": self.x}
        return Calls(
            [lambda: executable.run(inputs, out=out)["y"]], self.device, check=executable.check
        )


def measure_layer(task: Task, sizes: LayerSizes) -> Iterator[Result]:
    problem = Problem(task, sizes)
    expected = layer_of_pairs(sizes, problem.weights, problem.x).cpu().numpy()
    found = problem.step().float().cpu().numpy()
    makers: dict[str, Callable[[], Arm]] = {
        arm: problem.ark_arm if arm == "ark" else lambda arm=arm: problem.torch_arm(arm)
        for arm in task.arms
    }
    yield from compare(
        task.row, makers, expected, error_of(found, expected), task.samples, slack=SLACK
    )


def make_weights(executable: ark.Executable) -> dict[str, Any]:
    """Returns random weights on the GPU: ones for norms, else of variance 1 / columns."""
    import torch

    generator = torch.Generator(device="cuda").manual_seed(0)
    weights: dict[str, Any] = {}
    for buffer in executable.parameters:
        numbers = torch.randn(buffer.shape, device="cuda", generator=generator)
        if len(buffer.shape) == 1:
            numbers = torch.ones_like(numbers)
        else:
            numbers *= buffer.shape[-1] ** -0.5
        weights[buffer.name] = numbers.to(torch.bfloat16)
    return weights


def measure_decode(task: Task) -> Iterator[Result]:
    from decode_arms import DeviceClock

    ends = np.full(8, -1, np.int32)
    with ark.load(task.bundle) as executable:
        weights = make_weights(executable)
        executable.bind(weights)
        clock = DeviceClock(executable)

        def launch(tokens: int) -> float:
            executable.bind({"position": np.array(0, np.int32)})
            executable.run(ends=ends, iterations=tokens)
            return clock.seconds()

        launch(LONG)
        slopes = [(launch(LONG) - launch(SHORT)) / (LONG - SHORT) for _ in range(PAIRS)]
    yield Result(task.row, "ark", device=statistics.median(slopes))
    if task.row == TRACED:
        with ark.load(traced_path(task.folder)) as executable:
            print_tasks(executable.bind(weights).profile(ends=ends))


def print_tasks(profile: Any) -> None:
    """Prints the tasks of a traced step, by op."""
    print("| tasks | vCTAs | first begin to last end, us | busy, us | ops |\n|---|---|---|---|---|")
    for row in profile.by_op():
        each = row.tasks * 1e3
        span, busy = row.span_ns / each, row.ns / profile.lanes / each
        print(f"| {row.tasks} | {row.vctas // row.tasks} | {span:.2f} | {busy:.2f} | {row.name} |")


def measure_row(task: Task) -> Iterator[Result]:
    sizes = ROWS[task.row]
    if isinstance(sizes, LayerSizes):
        yield from measure_layer(task, sizes)
    else:
        yield from measure_decode(task)


SUITE = Suite(
    name="experts",
    workloads={row: sizes.workload for row, sizes in ROWS.items()},
    figures=tuple(row for row in ROWS if not row.startswith("tiny")),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=ARMS,
    schedule=schedule_row,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

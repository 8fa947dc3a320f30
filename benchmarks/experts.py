"""A decode step of a mixture of experts on one GPU, without a peer.

    python benchmarks/experts.py --compile FOLDER    # where the compiler is
    python benchmarks/experts.py --bundles FOLDER    # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. The model
has the sizes of Qwen3-30B-A3B with eight of its layers and random weights in bf16. The time of a
step is the slope between launches of 8 and 72 tokens from position 0, the median of nine pairs. The
floor is the time to read the weights of attention, router and chosen experts, and of the vocabulary
head, at 4.68 TB/s. The table has the tasks of one traced step, by op.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

import ark_mlir as ark

LAYERS, HIDDEN, HEADS, KV_HEADS, HEAD = 8, 2048, 32, 4, 128
EXPERTS, CHOSEN, WIDTH, VOCABULARY = 128, 8, 768, 151_936
CONTEXT = 1024
READ_BYTES_PER_S = 4.68e12
SHORT, LONG, PAIRS = 8, 72, 9


def weight_bytes() -> int:
    """Returns the bytes of the weights that a step reads."""
    attention = HIDDEN * HEAD * 2 * (HEADS + KV_HEADS)
    experts = HIDDEN * (EXPERTS + CHOSEN * 3 * WIDTH)
    return 2 * (LAYERS * (attention + experts) + HIDDEN * VOCABULARY)


def compile_bundles(folder: Path, target: str) -> None:
    from ark_mlir.models.decoder import build_decode
    from ark_mlir.models.decoder_config import DecoderConfig
    from ark_mlir.models.experts import Experts

    config = DecoderConfig(
        vocabulary=VOCABULARY, hidden=HIDDEN, layers=LAYERS, heads=HEADS, kv_heads=KV_HEADS,
        head=HEAD, intermediate=6144, eps=1e-6, theta=1e6, qk_norm=True, mlp="experts",
        experts=Experts(num_experts=EXPERTS, experts_per_token=CHOSEN, width=WIDTH, normalize=True),
    )  # fmt: skip
    folder.mkdir(parents=True, exist_ok=True)
    program = build_decode(config, batch=1, max_length=CONTEXT)
    for name, trace in (("step", False), ("traced", True)):
        ark.compile(program, target, cache=False, trace=trace).save(folder / f"{name}.arkbin")


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


def measure(folder: Path) -> None:
    from decode_arms import DeviceClock

    ends = np.full(8, -1, np.int32)
    with ark.load(folder / "step.arkbin") as executable:
        weights = make_weights(executable)
        executable.bind(weights)
        clock = DeviceClock(executable)

        def launch(tokens: int) -> float:
            executable.bind({"position": np.array(0, np.int32)})
            executable.run(ends=ends, iterations=tokens)
            return clock.seconds()

        launch(LONG)
        slopes = [(launch(LONG) - launch(SHORT)) / (LONG - SHORT) for _ in range(PAIRS)]
    step, floor = statistics.median(slopes), weight_bytes() / READ_BYTES_PER_S
    print(f"step {step * 1e3:.4f} ms, floor {floor * 1e3:.4f} ms, {step / floor:.2f} x floor")
    with ark.load(folder / "traced.arkbin") as executable:
        profile = executable.bind(weights).profile(ends=ends)
    print("| tasks | vCTAs | first begin to last end, us | busy, us | ops |\n|---|---|---|---|---|")
    for row in profile.by_op():
        each = row.tasks * 1e3
        span, busy = row.span_ns / each, row.ns / profile.lanes / each
        print(f"| {row.tasks} | {row.vctas // row.tasks} | {span:.2f} | {busy:.2f} | {row.name} |")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--compile", type=Path, metavar="FOLDER", help="write the bundles")
    parser.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure the bundles")
    parser.add_argument("--target", default="cuda:sm_90a", help="default: cuda:sm_90a")
    options = parser.parse_args()
    if (options.compile is None) == (options.bundles is None):
        parser.error("give either --compile or --bundles")
    if options.compile is not None:
        compile_bundles(options.compile, options.target)
    else:
        measure(options.bundles)
    return 0


if __name__ == "__main__":
    sys.exit(main())

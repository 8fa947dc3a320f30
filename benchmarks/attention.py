"""Attention of many queries alone on one GPU: ark against flash SDPA, cuDNN and FlexAttention.

    python benchmarks/attention.py --compile FOLDER                # where the compiler is
    python benchmarks/attention.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. The operands are
random bf16: one sequence with 32 heads of queries and 8 heads of keys. Floating-point operations
are those of the visible pairs of queries and keys. All arms are replays of a CUDA graph over
several copies of the operands. An arm of ark with a larger error than SDPA has no times.

flash   scaled_dot_product_attention, FlashAttention
cudnn   scaled_dot_product_attention, cuDNN
flex    FlexAttention by torch.compile, with a block mask if causal
ark     one program of one task
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import Calls, copies_for_cold_l2

import ark_mlir as ark

ARMS = ("flash", "cudnn", "flex", "ark")


@dataclass(frozen=True)
class Shape:
    """The sizes of one attention."""

    length: int
    head: int
    causal: bool
    heads: int = 32
    kv_heads: int = 8

    def workload(self) -> Workload:
        pairs = self.length * (self.length + 1) / 2 if self.causal else self.length**2
        rows = 2 * self.heads + 2 * self.kv_heads
        return Workload(
            f"{self.length} tokens, heads of {self.head}, {'causal' if self.causal else 'full'}",
            bytes=2.0 * rows * self.length * self.head,
            flops=4.0 * self.heads * pairs * self.head,
        )


SHAPES = {
    f"{length}-{head}{'-causal' if causal else ''}": Shape(length, head, causal)
    for head in (64, 128)
    for length in (1024, 2048, 4096, 8192)
    for causal in (True, False)
}
SHAPES["tiny"] = Shape(32, 16, True, 4, 2)


def compile_row(row: str, folder: Path, target: str) -> None:
    shape = SHAPES[row]
    queries = (1, shape.heads, shape.length, shape.head)
    keys = (1, shape.kv_heads, shape.length, shape.head)
    with ark.Program("attention") as program:
        q = ark.input("q", queries, ark.bf16)
        k, v = (ark.input(name, keys, ark.bf16) for name in "kv")
        ark.output("y", ark.attention(q, k, v, causal=shape.causal))
    save(program, folder, row, target)


class Operands:
    """Random queries, keys and values, with so many copies that they exceed the L2."""

    def __init__(self, shape: Shape, device: str) -> None:
        import torch

        generator = torch.Generator(device).manual_seed(0)

        def draw(heads: int) -> Any:
            size = (1, heads, shape.length, shape.head)
            return torch.randn(size, generator=generator, device=device, dtype=torch.bfloat16)

        self.shape, self.device = shape, device
        self.copies = [
            (draw(shape.heads), draw(shape.kv_heads), draw(shape.kv_heads))
            for _ in range(copies_for_cold_l2(shape.workload().bytes, device))
        ]

    def expected(self) -> Any:
        """Returns the result of the first copy in fp32, computed for one head of keys at a time."""
        import torch

        q, k, v = (each.float() for each in self.copies[0])
        group = self.shape.heads // self.shape.kv_heads
        parts = [
            exact_attention(queries, k[:, head], v[:, head], self.shape)
            for head, queries in enumerate(q.split(group, 1))
        ]
        return torch.cat(parts, 1).cpu().numpy()

    def calls(self, attend: Callable[[Any, Any, Any], Any]) -> Calls:
        """Returns an arm of one call for each copy."""
        return Calls([lambda each=each: attend(*each) for each in self.copies], self.device)


def exact_attention(q: Any, k: Any, v: Any, shape: Shape) -> Any:
    """Returns the attention of the queries that share one head of keys, by plain products."""
    import torch

    scores = q @ k.unsqueeze(1).transpose(-1, -2) * shape.head**-0.5
    if shape.causal:
        hidden = torch.ones(scores.shape[-2:], dtype=torch.bool, device=q.device).triu(1)
        scores = scores.masked_fill(hidden, float("-inf"))
    return scores.softmax(-1) @ v.unsqueeze(1)


def sdpa(operands: Operands, backend: str | None = None) -> Calls:
    """Returns the arm of scaled_dot_product_attention; without a backend, PyTorch chooses one."""
    import torch.nn.functional as F
    from torch.nn.attention import SDPBackend, sdpa_kernel

    known = {"flash": SDPBackend.FLASH_ATTENTION, "cudnn": SDPBackend.CUDNN_ATTENTION}

    def attend(q: Any, k: Any, v: Any) -> Any:
        with nullcontext() if backend is None else sdpa_kernel(known[backend]):
            return F.scaled_dot_product_attention(
                q, k, v, is_causal=operands.shape.causal, enable_gqa=True
            )

    return operands.calls(attend)


def flex(operands: Operands) -> Calls:
    """Returns the arm of FlexAttention."""
    import torch
    from torch.nn.attention.flex_attention import create_block_mask, flex_attention

    length = operands.shape.length
    mask = None
    if operands.shape.causal:
        mask = create_block_mask(
            lambda b, h, q, k: q >= k, None, None, length, length, device=operands.device
        )
    attend = torch.compile(flex_attention, fullgraph=True, dynamic=False)
    return operands.calls(lambda q, k, v: attend(q, k, v, block_mask=mask, enable_gqa=True))


def ark_arm(operands: Operands, task: Task) -> Calls:
    """Returns the arm of the bundle; each copy has an executable of its own."""
    runs, executables = [], []
    for q, k, v in operands.copies:
        executable = ark.load(task.bundle)
        inputs, out = {"q": q, "k": k, "v": v}, {"y": q.new_empty(q.shape)}
        runs.append(lambda e=executable, i=inputs, o=out: e.run(i, out=o)["y"])
        executables.append(executable)

    def check() -> None:
        for executable in executables:
            executable.check()

    return Calls(runs, operands.device, check=check)


def measure_row(task: Task) -> Iterator[Result]:
    operands = Operands(SHAPES[task.row], task.device())
    expected = operands.expected()
    makers: dict[str, Callable[[], Arm]] = {
        "flash": lambda: sdpa(operands, "flash"),
        "cudnn": lambda: sdpa(operands, "cudnn"),
        "flex": lambda: flex(operands),
        "ark": lambda: ark_arm(operands, task),
    }
    bound = error_of(sdpa(operands).output(), expected)
    wanted = {arm: makers[arm] for arm in task.arms}
    yield from compare(task.row, wanted, expected, bound, task.samples)


SUITE = Suite(
    name="attention",
    workloads={row: shape.workload() for row, shape in SHAPES.items()},
    figures=[row for row in SHAPES if row != "tiny"],
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=ARMS,
    together=True,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

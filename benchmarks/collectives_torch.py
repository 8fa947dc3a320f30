"""PyTorch's arms of benchmarks/collectives.py: one process for each rank.

Each arm is a chain of collectives in a CUDA graph. Between two collectives of a chain, a local step
makes the operand of the next one from the result; its own time is measured and subtracted.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

PORT = 29511
# Collectives of the shorter chain.
FEW = 8

Step = Callable[[], None]


@dataclass(frozen=True)
class Job:
    """Settings that all ranks of one measurement have."""

    ranks: int
    device: str  # "cuda", or "cpu" to try the benchmark without GPUs


@dataclass(frozen=True)
class Case:
    """One chain: `elements` of the whole tensor, and the additional collectives of the longer
    chain."""

    op: str
    arm: str
    elements: int
    count: int


class Commands:
    """The commands of a rank; the chains of a case are captured by :meth:`prepare`."""

    def __init__(self, rank: int, job: Job) -> None:
        self._rank, self._job = rank, job
        self._chains: dict[Case, tuple[Step, Step]] = {}
        # Graphs keep no memory alive.
        self._made: dict[Case, Chained] = {}
        self._local: dict[Case, float] = {}

    def prepare(self, case: Case) -> None:
        """Checks the results of an arm, and captures its chains."""
        ranks = self._job.ranks
        chained = self._made[case] = MAKERS[case.op](case, self._rank, self._job)
        chained.operand.fill_(1 + self._rank)
        chained.collective()
        chained.scale()
        self._synchronize()
        if not bool((chained.operand == (ranks + 1) / 2).all()):
            raise RuntimeError(f"{case.arm} gives a wrong {case.op} of {case.elements} elements")

        def both() -> None:
            chained.collective()
            chained.scale()

        counts = FEW, FEW + case.count
        few, many = (self._capture(both, count) for count in counts)
        self._chains[case] = few, many
        few, many = (self._capture(chained.scale, count) for count in counts)
        samples = [self._replay(many) - self._replay(few) for _ in range(5)]
        self._local[case] = statistics.median(samples)

    def sample(self, case: Case) -> float:
        """Returns the seconds of one collective."""
        few, many = self._chains[case]
        return (self._replay(many) - self._replay(few) - self._local[case]) / case.count

    def release(self, case: Case) -> None:
        """Frees the chains of a case."""
        del self._chains[case], self._local[case], self._made[case]

    def _synchronize(self) -> None:
        if self._job.device == "cuda":
            torch.cuda.synchronize()

    def _capture(self, run: Step, count: int) -> Step:
        """Returns the function that runs `count` steps, on GPUs by replay of a CUDA graph."""

        def repeat() -> None:
            for _ in range(count):
                run()

        if self._job.device != "cuda":
            return repeat
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            for _ in range(3):
                run()
        torch.cuda.current_stream().wait_stream(stream)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            repeat()
        return graph.replay

    def _replay(self, chain: Step) -> float:
        """Returns the seconds of a chain, on GPUs by events on the device."""
        dist.barrier()
        if self._job.device != "cuda":
            start = time.perf_counter()
            chain()
            return time.perf_counter() - start
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        begin.record()
        chain()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3


def make_commands(rank: int, job: Job) -> Commands:
    """Returns the commands of a rank."""
    return Commands(rank, job)


# -- the collectives -------------------------------------------------------------------------------


@dataclass(frozen=True)
class Chained:
    """A collective of one rank.

    Attributes:
        operand: the tensor that `collective` reads.
        collective: the step that is measured.
        scale: makes the next operand from the result, by its mean over the ranks.
    """

    operand: Tensor
    collective: Step
    scale: Step


def tensor(elements: int, job: Job) -> Tensor:
    return torch.empty(elements, dtype=torch.bfloat16, device=job.device)


def symmetric_tensor(elements: int, job: Job) -> tuple[Tensor, Any]:
    """Returns a tensor in symmetric memory, and its handle."""
    import torch.distributed._symmetric_memory as symmetric

    x = symmetric.empty(elements, dtype=torch.bfloat16, device=job.device)
    return x, symmetric.rendezvous(x, dist.group.WORLD)


def group_name() -> str:
    group: Any = dist.group.WORLD
    return group.group_name


def make_all_reduce(case: Case, rank: int, job: Job) -> Chained:
    if case.arm == "one-shot":
        return make_one_shot(case, job)
    x = (
        tensor(case.elements, job)
        if case.arm == "nccl"
        else symmetric_tensor(case.elements, job)[0]
    )

    def reduce() -> None:
        if case.arm == "nccl":
            dist.all_reduce(x)
        else:
            torch.ops.symm_mem.two_shot_all_reduce_(x, "sum", group_name())

    def scale() -> None:
        x.mul_(1 / job.ranks)

    return Chained(x, reduce, scale)


def make_one_shot(case: Case, job: Job) -> Chained:
    x, _ = symmetric_tensor(case.elements, job)
    total = tensor(case.elements, job)

    def reduce() -> None:
        torch.ops.symm_mem.one_shot_all_reduce_out(x, "sum", group_name(), total)

    def scale() -> None:
        torch.mul(total, 1 / job.ranks, out=x)

    return Chained(x, reduce, scale)


def make_all_gather(case: Case, rank: int, job: Job) -> Chained:
    part = case.elements // job.ranks
    whole = tensor(case.elements, job)
    rows = whole.view(job.ranks, part)
    if case.arm == "nccl":
        x = tensor(part, job)

        def gather() -> None:
            dist.all_gather_into_tensor(whole, x)
    else:
        x, handle = symmetric_tensor(part, job)
        peers = [handle.get_buffer(peer, (part,), torch.bfloat16) for peer in range(job.ranks)]

        def gather() -> None:
            handle.barrier()
            for distance in range(job.ranks):
                peer = (rank + distance) % job.ranks
                rows[peer].copy_(peers[peer])
            handle.barrier()

    def scale() -> None:
        torch.mean(rows, 0, out=x)

    return Chained(x, gather, scale)


def make_reduce_scatter(case: Case, rank: int, job: Job) -> Chained:
    own = tensor(case.elements // job.ranks, job)
    x = (
        tensor(case.elements, job)
        if case.arm == "nccl"
        else symmetric_tensor(case.elements, job)[0]
    )
    rows = x.view(job.ranks, -1)

    def scatter() -> None:
        if case.arm == "nccl":
            dist.reduce_scatter_tensor(own, x)
        else:
            torch.ops.symm_mem.reduce_scatter_out(x, group_name(), False, own)

    def scale() -> None:
        torch.mul(own.expand_as(rows), 1 / job.ranks, out=rows)

    return Chained(x, scatter, scale)


MAKERS = {
    "all_reduce": make_all_reduce,
    "all_gather": make_all_gather,
    "reduce_scatter": make_reduce_scatter,
}

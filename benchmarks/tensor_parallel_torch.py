"""PyTorch's arms of benchmarks/tensor_parallel.py: one process for each rank.

Each rank holds its part of the weights, and for each arm a decoder that exchanges partial sums by
that arm's all-reduce. All arms divide the vocabulary head and gather the logits with NCCL.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F
from decode_settings import SETTINGS, Setting
from protocol.timing import capture
from torch import Tensor
from torch_decoder import OneRank, TorchDecoder, make_caches, make_weights
from torch_ranks import RankProcesses

PORT = 29531

Pairs = Sequence[tuple[Any, int]]


@dataclass(frozen=True)
class Job:
    """Settings that all ranks of one measurement have."""

    name: str
    ranks: int
    rope: Path
    device: str  # "cuda", or "cpu" to try the benchmark without GPUs


# -- the parent ------------------------------------------------------------------------------------


class TorchRanks(RankProcesses):
    """The processes of all ranks."""

    def __init__(self, job: Job) -> None:
        super().__init__(job.ranks, job.device, PORT, RankArms, job)

    def logits(self, arm: str, pairs: Pairs) -> Any:
        """Returns the logits of all pairs of token and position, as rank 0 computes them."""
        return self.ask("logits", arm, pairs)[0]

    def time(self, arm: str, token: Any, start: int, steps: int) -> float:
        """Returns the seconds of a step, on the slowest rank."""
        return max(self.ask("time", arm, token, start, steps))


# -- the process of a rank -------------------------------------------------------------------------


class RankArms:
    """The decoders of one rank, by arm, which are made at their first command."""

    def __init__(self, rank: int, job: Job) -> None:
        self._rank, self._job = rank, job
        whole = SETTINGS[job.name]
        self._setting = divided(whole, job.ranks)
        shapes = self._setting.sizes.parameters()
        weights = make_weights(whole.sizes, job.device)
        # A divided head is a parameter of its own, also if the embedding has its values.
        weights.setdefault("lm_head.weight", weights["model.embed_tokens.weight"])
        shapes["lm_head.weight"] = (whole.sizes.vocabulary // job.ranks, whole.sizes.hidden)
        self._weights = parts(weights, shapes, rank)
        self._caches = parts(
            make_caches(whole, job.device),
            {
                f"layers.{layer}.{part}": self._setting.sizes.cache(whole.batch, whole.context)
                for layer in range(whole.sizes.layers)
                for part in ("key", "value")
            },
            rank,
        )
        tables = np.load(job.rope)
        self._rope = torch.from_numpy(tables["cos"]), torch.from_numpy(tables["sin"])
        self._arms: dict[str, tuple[TorchDecoder, Callable[[], Tensor]]] = {}

    def logits(self, arm: str, pairs: Pairs) -> Any:
        """Returns fp32 logits for pairs of token and position."""
        model, step = self._made(arm)
        model.restore(self._caches)
        rows: list[Any] = []
        for token, position in pairs:
            model.put(torch.from_numpy(token), position)
            rows.append(step().float().cpu().numpy())
        return np.stack(rows) if self._rank == 0 else None

    def time(self, arm: str, token: Any, start: int, steps: int) -> float:
        """Returns the seconds of a step from events around all of them."""
        import time

        model, step = self._made(arm)
        model.put(torch.from_numpy(token), start)
        if self._job.device == "cpu":
            dist.barrier()
            begun = time.perf_counter()
            for _ in range(steps):
                step()
            return (time.perf_counter() - begun) / steps
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        torch.cuda.synchronize()
        dist.barrier()
        begin.record()
        for _ in range(steps):
            step()
        end.record()
        torch.cuda.synchronize()
        return begin.elapsed_time(end) / 1e3 / steps

    def _made(self, arm: str) -> tuple[TorchDecoder, Callable[[], Tensor]]:
        if arm not in self._arms:
            model = TorchDecoder(
                self._setting, self._weights, self._caches, self._rope, ranks=self._exchange(arm)
            )
            step = capture(model) if self._job.device == "cuda" else model
            self._arms[arm] = model, step
        return self._arms[arm]

    def _exchange(self, arm: str) -> OneRank:
        if self._job.ranks == 1:
            return OneRank()
        if arm == "nccl":
            return NcclRanks(self._job.ranks)
        return SymmetricRanks(self._job.ranks, self._setting, arm)


def divided(setting: Setting, ranks: int) -> Setting:
    """Returns a setting with the sizes of one rank's part, in which the vocabulary head is a
    parameter.
    """
    sizes = setting.sizes
    return replace(
        setting,
        sizes=replace(
            sizes,
            heads=sizes.heads // ranks,
            kv_heads=sizes.kv_heads // ranks,
            intermediate=sizes.intermediate // ranks,
            tied=False,
        ),
    )


def parts(
    arrays: Mapping[str, Any], shapes: Mapping[str, tuple[int, ...]], rank: int
) -> dict[str, Any]:
    """Returns a rank's part of each tensor; `shapes` has the shapes of the parts.

    Parts are copies, so that the whole tensors can be freed.
    """
    return {
        name: arrays[name]
        if tuple(arrays[name].shape) == shape
        else part(arrays[name], shape, rank).clone(memory_format=torch.contiguous_format)
        for name, shape in shapes.items()
    }


def part(array: Any, shape: tuple[int, ...], rank: int) -> Any:
    """Returns the part `rank` of an array along each dimension that is larger than in `shape`."""
    slices = tuple(
        slice(None) if extent == whole else slice(rank * extent, (rank + 1) * extent)
        for extent, whole in zip(shape, array.shape, strict=True)
    )
    return array[slices]


class NcclRanks(OneRank):
    """Adds partial products with the all-reduce of the process group."""

    def __init__(self, ranks: int) -> None:
        self._ranks = ranks

    def partial_product(self, x: Tensor, weight: Tensor) -> Tensor:
        product = F.linear(x, weight)
        dist.all_reduce(product)
        return product

    def gather_logits(self, logits: Tensor) -> Tensor:
        batch, width = logits.shape
        gathered = logits.new_empty(self._ranks * batch, width)
        dist.all_gather_into_tensor(gathered, logits.contiguous())
        return gathered.view(self._ranks, batch, width).transpose(0, 1).reshape(batch, -1)


class SymmetricRanks(NcclRanks):
    """Adds partial products with an all-reduce of PyTorch's symmetric memory.

    ``algorithm`` is one-shot or two-shot.
    """

    def __init__(self, ranks: int, setting: Setting, algorithm: str) -> None:
        import torch.distributed._symmetric_memory as symmetric

        super().__init__(ranks)
        group: Any = dist.group.WORLD
        shape = (setting.batch, setting.sizes.hidden)
        self._partial = symmetric.empty(*shape, dtype=torch.bfloat16, device="cuda")
        symmetric.rendezvous(self._partial, group)
        self._group = group.group_name
        self._algorithm = algorithm

    def partial_product(self, x: Tensor, weight: Tensor) -> Tensor:
        torch.mm(x, weight.t(), out=self._partial)
        if self._algorithm == "one-shot":
            return torch.ops.symm_mem.one_shot_all_reduce(self._partial, "sum", self._group)
        # The next product overwrites the sum, after the sum has been added to the residual.
        return torch.ops.symm_mem.two_shot_all_reduce_(self._partial, "sum", self._group)

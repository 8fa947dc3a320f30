"""A sentence encoder on one GPU: ark against PyTorch, from token ids to embeddings.

    python benchmarks/encoder_gpu.py --compile FOLDER                # where the compiler is
    python benchmarks/encoder_gpu.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. A row is
a model, the number of prompts, and their length; all prompts are full. Random fp16 weights, the
same for all arms. Embeddings are compared with PyTorch in fp32; an arm of ark with a larger error
than PyTorch's own fp16 has no times.

graph            PyTorch's kernels in a CUDA graph
reduce-overhead  torch.compile in this mode; max-autotune is another arm
ark              one launch, in a CUDA graph

The projections of queries, keys and values are one product in PyTorch, except in arms with
``split``.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import Any

import numpy as np
from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import Calls, capture, compiled

import ark_mlir as ark

ARMS = (
    "graph",
    "reduce-overhead",
    "max-autotune",
    "reduce-overhead split",
    "max-autotune split",
    "ark",
)
PROJECTIONS = ("query", "key", "value")


@dataclass(frozen=True)
class Sizes:
    """The sizes of an encoder, in the order of ``ark_mlir.models.encoder.EncoderConfig``."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    wide: int
    positions: int = 512
    types: int = 2
    eps: float = 1e-12

    def parameters(self) -> dict[str, tuple[int, ...]]:
        """Returns the shapes of the weights, by their Hugging Face names."""
        hidden, wide = self.hidden, self.wide
        tables = {"word": self.vocabulary, "position": self.positions, "token_type": self.types}
        shapes: dict[str, tuple[int, ...]] = {
            f"embeddings.{name}_embeddings.weight": (rows, hidden) for name, rows in tables.items()
        }
        norms = ["embeddings.LayerNorm"]
        for layer in (f"encoder.layer.{index}" for index in range(self.layers)):
            dense = {f"{layer}.attention.self.{part}": (hidden, hidden) for part in PROJECTIONS}
            dense[f"{layer}.attention.output.dense"] = (hidden, hidden)
            dense[f"{layer}.intermediate.dense"] = (wide, hidden)
            dense[f"{layer}.output.dense"] = (hidden, wide)
            for name, shape in dense.items():
                shapes |= {f"{name}.weight": shape, f"{name}.bias": shape[:1]}
            norms += [f"{layer}.attention.output.LayerNorm", f"{layer}.output.LayerNorm"]
        for name in norms:
            shapes |= {f"{name}.weight": (hidden,), f"{name}.bias": (hidden,)}
        return shapes


MINILM = Sizes(30522, 384, 6, 12, 1536)
BERT_LARGE = Sizes(30522, 1024, 24, 16, 4096)
TINY = Sizes(100, 64, 2, 4, 128, positions=64)


@dataclass(frozen=True)
class Batch:
    """A model, the number of prompts and their length."""

    model: str
    sizes: Sizes
    batch: int
    length: int

    @property
    def shape(self) -> tuple[int, int]:
        return self.batch, self.length

    def workload(self) -> Workload:
        sizes, tokens = self.sizes, self.batch * self.length
        shapes = sizes.parameters()
        layers = sum(math.prod(shape) for name, shape in shapes.items() if "layer." in name)
        attention = 4.0 * sizes.layers * tokens * self.length * sizes.hidden
        return Workload(
            f"{self.model}, {self.batch} prompts of {self.length} tokens, fp16",
            bytes=2.0 * layers,
            flops=2.0 * tokens * layers + attention,
        )


BATCHES = {
    "minilm-32x128": Batch("all-MiniLM-L6-v2", MINILM, 32, 128),
    "minilm-1x128": Batch("all-MiniLM-L6-v2", MINILM, 1, 128),
    **{
        f"bert-large-{batch}x{length}": Batch("BERT-Large", BERT_LARGE, batch, length)
        for length in (128, 384)
        for batch in (1, 8, 32)
    },
    "tiny-2x16": Batch("a small BERT", TINY, 2, 16),
}


def compile_row(row: str, folder: Path, target: str) -> None:
    from ark_mlir.models.encoder import EncoderConfig, build

    batch = BATCHES[row]
    program = build(EncoderConfig(*astuple(batch.sizes), "gelu"), *batch.shape, "fp16")
    save(program, folder, row, target)


def make_weights(sizes: Sizes, device: str) -> dict[str, Any]:
    """Returns random fp16 weights by name, with a scale that keeps hidden states near one."""
    import torch

    generator = torch.Generator(device).manual_seed(0)
    weights: dict[str, Any] = {}
    for name, shape in sizes.parameters().items():
        values = torch.randn(shape, generator=generator, device=device)
        if len(shape) == 2:
            values *= shape[-1] ** -0.5
        elif name.endswith("LayerNorm.weight"):
            values = 1 + 0.1 * values
        else:
            values *= 0.1
        weights[name] = values.half()
    return weights


class Encoder:
    """BERT in PyTorch's own operators, as a user of PyTorch would write it.

    Args:
        fused: True if queries, keys and values are one product.
    """

    def __init__(self, sizes: Sizes, weights: dict[str, Any], dtype: Any, fused: bool) -> None:
        import torch

        self._sizes, self._fused = sizes, fused
        self._own = {name: weight.to(dtype) for name, weight in weights.items()}
        if fused:
            for layer in range(sizes.layers):
                name = f"encoder.layer.{layer}.attention.self"
                for kind in ("weight", "bias"):
                    parts = [self._own.pop(f"{name}.{part}.{kind}") for part in PROJECTIONS]
                    self._own[f"{name}.{kind}"] = torch.cat(parts)

    def __call__(self, ids: Any) -> Any:
        """Returns the normalised means of the hidden states, fp32 ``[batch, hidden]``."""
        import torch.nn.functional as F

        own = self._own
        x = own["embeddings.word_embeddings.weight"][ids]
        x = x + own["embeddings.token_type_embeddings.weight"][0]
        x = x + own["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = self._norm(x, "embeddings.LayerNorm")
        for index in range(self._sizes.layers):
            x = self._layer(x, f"encoder.layer.{index}")
        return F.normalize(x.float().mean(1), dim=-1)

    def _dense(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        return F.linear(x, self._own[f"{name}.weight"], self._own[f"{name}.bias"])

    def _norm(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        weight, bias = self._own[f"{name}.weight"], self._own[f"{name}.bias"]
        return F.layer_norm(x, weight.shape, weight, bias, self._sizes.eps)

    def _projected(self, x: Any, name: str) -> tuple[Any, ...]:
        if self._fused:
            return self._dense(x, name).chunk(3, -1)
        return tuple(self._dense(x, f"{name}.{part}") for part in PROJECTIONS)

    def _layer(self, x: Any, name: str) -> Any:
        import torch.nn.functional as F

        batch, length, _ = x.shape
        q, k, v = (
            part.view(batch, length, self._sizes.heads, -1).transpose(1, 2)
            for part in self._projected(x, f"{name}.attention.self")
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        output = f"{name}.attention.output"
        x = self._norm(x + self._dense(mixed, f"{output}.dense"), f"{output}.LayerNorm")
        wide = F.gelu(self._dense(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._dense(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")


class Problem:
    """The weights and tokens of one row."""

    def __init__(self, task: Task) -> None:
        import torch

        self.task, self.device = task, task.device()
        self.batch = batch = BATCHES[task.row]
        self.weights = make_weights(batch.sizes, self.device)
        ids = np.random.default_rng(0).integers(0, batch.sizes.vocabulary, batch.shape)
        self.ids = torch.from_numpy(ids).to(self.device)

    def encoder(self, dtype: Any, fused: bool = True) -> Encoder:
        return Encoder(self.batch.sizes, self.weights, dtype, fused)

    def torch_arm(self, arm: str) -> Calls:
        """Returns the arm ``<mode> [split]``."""
        import torch

        mode, *split = arm.split()
        encoder = self.encoder(torch.float16, not split)

        def step() -> Any:
            return encoder(self.ids)

        if mode != "graph":
            return Calls([compiled(step, mode, self.device)], self.device, captured=False)
        step = capture(step) if self.device == "cuda" else step
        return Calls([step], self.device, captured=False)

    def ark_arm(self) -> Calls:
        """Returns the arm of the bundle, on arrays of the device."""
        import torch

        executable = ark.load(self.task.bundle).bind(self.weights)
        ids = self.ids.to(torch.int32)
        inputs = {
            "ids": ids,
            "mask": torch.ones_like(ids, dtype=torch.bool),
            "types": torch.zeros_like(ids),
        }
        size = self.batch.batch, self.batch.sizes.hidden
        out = {"embedding": torch.zeros(size, device=self.device)}
        return Calls(
            [lambda: executable.run(inputs, out=out)["embedding"]],
            self.device,
            check=executable.check,
        )


def measure_row(task: Task) -> Iterator[Result]:
    import torch

    problem = Problem(task)
    expected = problem.encoder(torch.float32)(problem.ids).cpu().numpy()
    found = problem.encoder(torch.float16)(problem.ids).cpu().numpy()
    makers: dict[str, Callable[[], Arm]] = {
        arm: problem.ark_arm if arm == "ark" else lambda arm=arm: problem.torch_arm(arm)
        for arm in task.arms
    }
    bound = error_of(found, expected)
    yield from compare(task.row, makers, expected, bound, task.samples, slack=1.0)


SUITE = Suite(
    name="encoder_gpu",
    workloads={row: batch.workload() for row, batch in BATCHES.items()},
    figures=tuple(row for row in BATCHES if not row.startswith("tiny")),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=ARMS,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

"""A sentence encoder on one GPU: ark against PyTorch, from token ids to embeddings.

    python benchmarks/encoder_gpu.py --compile FOLDER           # where the compiler is
    python benchmarks/encoder_gpu.py --bundles FOLDER           # where the GPU is

The second needs the runtime half of the package, numpy, ml_dtypes, cuda-python and torch. Random
fp16 weights in the shape of all-MiniLM-L6-v2, the same for all arms, which take turns: PyTorch
eager, torch.compile in its two fast modes, and ark. Medians of the time on the device for a batch
of full prompts, one launch after the other. Before anything is timed, embeddings are compared with
PyTorch in fp32; where ark's error is above that of PyTorch's own fp16, the exit status is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from decode_arms import DeviceClock, error_of
from table import print_table

import ark_mlir as ark

HIDDEN, LAYERS, HEADS, WIDE = 384, 6, 12, 1536
VOCABULARY, POSITIONS, TYPES, EPS = 30522, 512, 2, 1e-12
MODES = ("reduce-overhead", "max-autotune")
RUNS = 20


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--compile", type=Path, metavar="FOLDER", help="compile the bundle to FOLDER")
    what.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure the bundle in FOLDER")
    parser.add_argument("--target", default="cuda:sm_90a", help="of --compile")
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--length", type=int, default=128)
    parser.add_argument("--samples", type=int, default=15)
    parser.add_argument("--modes", nargs="*", default=MODES, choices=MODES, help="torch.compile's")
    parser.add_argument("--trace", action="store_true", help="of --compile: record tasks")
    options = parser.parse_args()
    if options.compile is not None:
        compile_bundle(options)
        return 0
    return measure(options)


def compile_bundle(options: argparse.Namespace) -> None:
    """Writes ``minilm.arkbin``."""
    from ark_mlir.models.bert import BertConfig, build

    config = BertConfig(VOCABULARY, HIDDEN, LAYERS, HEADS, WIDE, POSITIONS, TYPES, EPS, "gelu")
    program = build(config, options.batch, options.length, "fp16")
    options.compile.mkdir(parents=True, exist_ok=True)
    executable = ark.compile(program, options.target, cache=False, trace=options.trace)
    executable.save(options.compile / "minilm.arkbin")
    print(executable.report())


# -- PyTorch ---------------------------------------------------------------------------------------


def make_weights(executable: ark.Executable, device: str) -> dict[str, Any]:
    """Returns random fp32 weights by name, with a scale that keeps hidden states near one."""
    import torch

    generator = torch.Generator(device).manual_seed(0)
    weights: dict[str, Any] = {}
    for buffer in executable.parameters:
        values = torch.randn(tuple(buffer.shape), generator=generator, device=device)
        if len(buffer.shape) == 2:
            values *= buffer.shape[-1] ** -0.5
        elif buffer.name.endswith("LayerNorm.weight"):
            values = 1 + 0.1 * values
        else:
            values *= 0.1
        weights[buffer.name] = values.half().float()
    return weights


def make_encoder(weights: dict[str, Any], dtype: Any) -> Callable[[Any], Any]:
    """Returns BERT in PyTorch's own operators, as a user of PyTorch would write it."""
    import torch.nn.functional as F

    own = {name: weight.to(dtype) for name, weight in weights.items()}

    def dense(x: Any, name: str) -> Any:
        return F.linear(x, own[f"{name}.weight"], own[f"{name}.bias"])

    def norm(x: Any, name: str) -> Any:
        return F.layer_norm(x, (HIDDEN,), own[f"{name}.weight"], own[f"{name}.bias"], EPS)

    def layer(x: Any, name: str) -> Any:
        batch, length, _ = x.shape
        q, k, v = (
            dense(x, f"{name}.attention.self.{part}").view(batch, length, HEADS, -1).transpose(1, 2)
            for part in ("query", "key", "value")
        )
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(x.shape)
        output = f"{name}.attention.output"
        x = norm(x + dense(mixed, f"{output}.dense"), f"{output}.LayerNorm")
        wide = F.gelu(dense(x, f"{name}.intermediate.dense"))
        return norm(x + dense(wide, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def encode(ids: Any) -> Any:
        x = own["embeddings.word_embeddings.weight"][ids]
        x = x + own["embeddings.token_type_embeddings.weight"][0]
        x = x + own["embeddings.position_embeddings.weight"][: ids.shape[1]]
        x = norm(x, "embeddings.LayerNorm")
        for index in range(LAYERS):
            x = layer(x, f"encoder.layer.{index}")
        return F.normalize(x.float().mean(1), dim=-1)

    return encode


# -- one run ---------------------------------------------------------------------------------------


class ArkArm:
    """The bundle with the arrays of the other arms."""

    def __init__(self, executable: ark.Executable, weights: dict[str, Any], ids: Any) -> None:
        arrays = {name: weight.half().cpu().numpy() for name, weight in weights.items()}
        self.executable = executable.bind(arrays)
        self.clock = DeviceClock(executable)
        self.inputs = {
            "ids": ids.astype(np.int32),
            "mask": np.ones(ids.shape, bool),
            "types": np.zeros(ids.shape, np.int32),
        }

    def embed(self) -> Any:
        """Returns the embeddings of a batch."""
        return np.asarray(self.executable.run(self.inputs)["embedding"])

    def seconds(self) -> float:
        """Returns the seconds of a batch."""
        times: list[float] = []
        for _ in range(RUNS):
            start = time.perf_counter()
            self.executable.run(self.inputs)
            times.append(self.clock.seconds() or time.perf_counter() - start)
        return statistics.median(times)


def measure(options: argparse.Namespace) -> int:
    import torch

    torch.set_grad_enabled(False)
    path = options.bundles / "minilm.arkbin"
    executable = ark.load(path)
    device = executable.bundle.manifest.target.backend
    weights = make_weights(executable, device)
    shape = (options.batch, options.length)
    ids = np.random.default_rng(0).integers(0, VOCABULARY, shape)
    tokens = torch.from_numpy(ids).to(device)

    def seconds(encode: Callable[[Any], Any]) -> float:
        synchronize(device)
        start = time.perf_counter()
        for _ in range(RUNS):
            encode(tokens)
        synchronize(device)
        return (time.perf_counter() - start) / RUNS

    oracle = make_encoder(weights, torch.float32)(tokens).cpu().numpy()
    eager = make_encoder(weights, torch.float16)
    encoders = {"eager": eager}
    for mode in options.modes if device == "cuda" else ():
        torch._dynamo.reset()
        encoders[mode] = torch.compile(make_encoder(weights, torch.float16), mode=mode)
    mine = ArkArm(executable, weights, ids)
    errors = {
        name: error_of(encode(tokens).cpu().numpy(), oracle) for name, encode in encoders.items()
    }
    errors["ark"] = error_of(mine.embed(), oracle)
    samples: dict[str, list[float]] = {name: [] for name in errors}
    for sample in range(options.samples + 1):
        for name, found in samples.items():
            elapsed = mine.seconds() if name == "ark" else seconds(encoders[name])
            if sample:
                found.append(elapsed)
    medians = {name: statistics.median(found) for name, found in samples.items()}
    best = min(time for name, time in medians.items() if name != "ark")
    gflop = products(options.batch * options.length) / 1e9
    print_table(
        ("arm", "ms", "TFLOP/s of the weights", "x the best of PyTorch", "error"),
        [
            (
                name,
                f"{1e3 * median:.3f}",
                f"{1e-3 * gflop / median:.1f}",
                f"{median / best:.2f}",
                f"{errors[name]:.5f}",
            )
            for name, median in medians.items()
        ],
    )
    executable.close()
    return int(not errors["ark"] <= errors["eager"])


def products(tokens: int) -> float:
    """Returns the floating-point operations of the weight products."""
    return 2.0 * tokens * LAYERS * (4 * HIDDEN * HIDDEN + 2 * HIDDEN * WIDE)


def synchronize(device: str) -> None:
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


if __name__ == "__main__":
    sys.exit(main())

"""Trains GPT-2 on the source code of Python's standard library, in launches of many steps.

python examples/train_gpt2.py [--steps N] [--save FILE] [--plot loss.html]
python examples/train_gpt2.py --small --target cuda --dtype bf16 --steps 500

By default, the model is small enough for a CPU. With ``--small``, it is GPT-2-small (124 million
parameters, 1024 tokens); ``--memory 40GiB`` and ``--checkpoint`` limit its arena. The tokens are
the bytes of the files, so that only 256 rows of the vocabulary are used.
"""

from __future__ import annotations

import argparse
import math
import sysconfig
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

import ark_mlir as ark
from ark_mlir.models.decoder_config import DecoderConfig
from ark_mlir.training import TrainingConfig


@dataclass(frozen=True)
class Sizes:
    """The sizes of the model and of a batch."""

    vocabulary: int = 256
    width: int = 48
    layers: int = 2
    heads: int = 4
    length: int = 32
    batch: int = 4

    def config(self) -> DecoderConfig:
        """Returns the configuration of the decoder."""
        entries = {
            "model_type": "gpt2", "vocab_size": self.vocabulary, "n_embd": self.width,
            "n_layer": self.layers, "n_head": self.heads, "n_positions": self.length,
        }  # fmt: skip
        config = TrainingConfig.parse(
            {"model": entries, "data": {"text": ["-"]}, "train": {"length": self.length}}
        )
        assert isinstance(config.model, DecoderConfig)
        return config.model


GPT2_SMALL = Sizes(vocabulary=50304, width=768, layers=12, heads=12, length=1024, batch=8)


@dataclass(frozen=True)
class Schedule:
    """The learning rate, its warmup, and the number of steps."""

    rate: float = 3e-3
    warmup: int = 5
    steps: int = 40


def read_text(most: int = 1 << 24) -> np.ndarray:
    """Returns the bytes of the modules of the standard library, at most `most`, as tokens."""
    folder = Path(sysconfig.get_paths()["stdlib"])
    data = b"".join(file.read_bytes() for file in sorted(folder.glob("*.py")))
    return np.frombuffer(data[:most], np.uint8).astype(np.int32)


def build(
    sizes: Sizes,
    corpus: int,
    schedule: Schedule,
    dtype: ark.DType = ark.fp32,
    checkpoint: bool = False,
    launch: int = 20,
) -> tuple[ark.Program, ark.training.Loop, ark.Module]:
    """Returns the program of one step, its loop, and the decoder."""
    with ark.Program("gpt2") as program:
        text = ark.parameter("text", (corpus,), ark.int32)
        loop = ark.training.Loop(steps=launch)
        starts = loop.input("starts", (sizes.batch,), ark.int32)
        rows = ark.gather(text, ark.unsqueeze(starts, 1) + ark.arange(sizes.length + 1), 0)
        model = ark.training.TrainableDecoder(sizes.config(), dtype, checkpoint=checkpoint)
        weights = ark.trainable(model, masters=True)
        loss = ark.cross_entropy(model(rows[:, :-1]), rows[:, 1:])
        slopes, norm = ark.optim.clip_by_global_norm(ark.gradients(loss, weights), 1.0)
        skip = loop.end(loss, norm)

        def rate(step: ark.Tensor) -> ark.Tensor:
            return ark.optim.warmup_cosine(step, schedule.rate, schedule.warmup, schedule.steps)

        # Matrices decay; biases and the weights of norms do not.
        for name, decay in (("adamw", 0.1), ("adamw_plain", 0.0)):
            chosen = [i for i, weight in enumerate(weights) if (weight.ndim > 1) == (decay > 0)]
            optimizer = ark.optim.AdamW(
                [weights[i] for i in chosen], rate, betas=(0.9, 0.95), weight_decay=decay, name=name
            )
            optimizer.step([slopes[i] for i in chosen], skip=skip)
    return program, loop, model


def main() -> None:
    parser = argparse.ArgumentParser(description="Train GPT-2 on Python's standard library.")
    parser.add_argument("--small", action="store_true", help="the sizes of GPT-2-small")
    parser.add_argument("--steps", type=int, default=40, help="number of steps (default: 40)")
    parser.add_argument("--batch", type=int, help="sequences of a step (default: 4; --small: 8)")
    parser.add_argument(
        "--dtype", default="fp32", choices=("fp32", "bf16"), help="type of products"
    )
    parser.add_argument("--checkpoint", action="store_true", help="recompute layers")
    parser.add_argument("--memory", help="limit of the arena, such as 40GiB (default: none)")
    parser.add_argument("--target", default="cpu", help="target (default: cpu)")
    parser.add_argument("--save", metavar="FILE", help="save the states to this .safetensors file")
    parser.add_argument("--plot", metavar="FILE", help="write the curve of the loss as a page")
    options = parser.parse_args()

    sizes = GPT2_SMALL if options.small else Sizes()
    sizes = replace(sizes, batch=options.batch or sizes.batch)
    schedule = Schedule(6e-4 if options.small else 3e-3, min(5, options.steps - 1), options.steps)
    text = read_text()
    dtype = ark.bf16 if options.dtype == "bf16" else ark.fp32
    program, loop, model = build(sizes, len(text), schedule, dtype, options.checkpoint)
    weights = ark.training.initial_weights(dict(model.named_parameters()), sizes.layers)
    with ark.training.Trainer(
        program,
        loop,
        ark.training.TokenBatches(len(text), sizes.batch, sizes.length),
        target=options.target,
        bind={"text": text, **weights},
        save=options.save,
        tokens=sizes.batch * sizes.length,
        memory=options.memory,
    ) as trainer:
        losses = trainer.run(options.steps)
        if options.plot:
            trainer.plot(options.plot)
    print(f"a guess among {sizes.vocabulary} tokens: {math.log(sizes.vocabulary):.3f}")
    print(f"loss of step 0: {losses[0]:.3f}, mean of the last ten: {losses[-10:].mean():.3f}")


if __name__ == "__main__":
    main()

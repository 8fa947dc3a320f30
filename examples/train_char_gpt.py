"""Trains a GPT on the characters of Python's documentation, in launches of many steps.

python examples/train_char_gpt.py [--steps N] [--save FILE] [--plot loss.html]
"""

from __future__ import annotations

import argparse
import math
import pydoc_data.topics
from dataclasses import dataclass

import numpy as np

import ark_mlir as ark


@dataclass(frozen=True)
class Sizes:
    """The sizes of the model and of a batch."""

    vocabulary: int
    width: int = 64
    layers: int = 2
    heads: int = 4
    length: int = 32
    batch: int = 8


class Linear(ark.Module):
    """``x @ weight.T + bias``."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs))
        self.bias = ark.parameter("bias", (outputs,))

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True) + self.bias


class Norm(ark.Module):
    """Layer normalisation."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (width,))
        self.bias = ark.parameter("bias", (width,))

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.layernorm(x, self.weight, self.bias)


class Block(ark.Module):
    """Causal attention and a network of two layers, each behind a norm and beside a shortcut."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.sizes = sizes
        self.first, self.second = Norm(sizes.width), Norm(sizes.width)
        self.qkv = Linear(sizes.width, 3 * sizes.width)
        self.out = Linear(sizes.width, sizes.width)
        self.up = Linear(sizes.width, 4 * sizes.width)
        self.down = Linear(4 * sizes.width, sizes.width)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        batch, length, width = x.shape
        parts = ark.split(self.qkv(self.first(x)), 3, axis=-1)
        q, k, v = (
            ark.transpose(ark.reshape(p, (batch, length, self.sizes.heads, -1)), (0, 2, 1, 3))
            for p in parts
        )
        mixed = ark.transpose(ark.attention(q, k, v, causal=True), (0, 2, 1, 3))
        x = x + self.out(ark.reshape(mixed, (batch, length, width)))
        return x + self.down(ark.gelu(self.up(self.second(x))))


class GPT(ark.Module):
    """Returns the logits of the next character for every character."""

    def __init__(self, sizes: Sizes) -> None:
        super().__init__()
        self.tokens = ark.parameter("tokens", (sizes.vocabulary, sizes.width))
        self.positions = ark.parameter("positions", (sizes.length, sizes.width))
        self.blocks = [Block(sizes) for _ in range(sizes.layers)]
        self.norm = Norm(sizes.width)
        self.head = Linear(sizes.width, sizes.vocabulary)

    def forward(self, ids: ark.Tensor) -> ark.Tensor:
        x = ark.embedding(ids, self.tokens) + self.positions
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


def read_text() -> tuple[np.ndarray, str]:
    """Returns the numbers of the characters of the text, and all characters in order."""
    text = "".join(topic for _, topic in sorted(pydoc_data.topics.topics.items()))
    characters = "".join(sorted(set(text)))
    numbers = {character: number for number, character in enumerate(characters)}
    return np.array([numbers[character] for character in text], np.int32), characters


def build(
    sizes: Sizes, corpus: int, rate: float, launch: int = 50
) -> tuple[ark.Program, ark.training.Loop, list[str]]:
    """Returns the program of one step, its loop, and the names of the weights."""
    with ark.Program("char_gpt") as program:
        text = ark.parameter("text", (corpus,), ark.int32)
        loop = ark.training.Loop(steps=launch)
        starts = loop.input("starts", (sizes.batch,), ark.int32)
        rows = ark.gather(text, ark.unsqueeze(starts, 1) + ark.arange(sizes.length + 1), 0)
        model = GPT(sizes)
        weights = ark.trainable(model)
        loss = ark.cross_entropy(model(rows[:, :-1]), rows[:, 1:])
        slopes = ark.gradients(loss, weights)
        optimizer = ark.optim.AdamW(weights, rate)
        optimizer.step(slopes, skip=loop.end(loss))
        names = [name for name, _ in model.named_parameters()]
    return program, loop, names


def first_weights(program: ark.Program, names: list[str], seed: int = 0) -> dict[str, np.ndarray]:
    """Returns the weights before the first step: norms are one, biases zero, all else is normal."""
    rng = np.random.default_rng(seed)
    weights: dict[str, np.ndarray] = {}
    for name in names:
        shape = program.states[name].shape
        if len(shape) == 1:
            weights[name] = np.full(shape, float(name.endswith("weight")), np.float32)
        else:
            weights[name] = (0.02 * rng.standard_normal(shape)).astype(np.float32)
    return weights


def main() -> None:
    parser = argparse.ArgumentParser(description="Train a GPT on Python's documentation.")
    parser.add_argument("--steps", type=int, default=30, help="number of steps (default: 30)")
    parser.add_argument("--target", default="cpu", help="target (default: cpu)")
    parser.add_argument("--save", metavar="FILE", help="save the states to this .safetensors file")
    parser.add_argument("--plot", metavar="FILE", help="write the curve of the loss as a page")
    options = parser.parse_args()

    text, characters = read_text()
    sizes = Sizes(len(characters))
    program, loop, names = build(sizes, len(text), rate=3e-3)
    batches = ark.training.TokenBatches(len(text), sizes.batch, sizes.length)
    with ark.training.Trainer(
        program,
        loop,
        batches,
        target=options.target,
        bind={"text": text, **first_weights(program, names)},
        save=options.save,
        tokens=sizes.batch * sizes.length,
    ) as trainer:
        losses = trainer.run(options.steps)
        if options.plot:
            trainer.plot(options.plot)
    print(f"a guess among {len(characters)} characters: {math.log(len(characters)):.3f}")
    print(f"loss of step 0: {losses[0]:.3f}, mean of the last ten: {losses[-10:].mean():.3f}")


if __name__ == "__main__":
    main()

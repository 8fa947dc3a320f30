"""Fine-tunes a sentence encoder on pairs of sentences, with a contrastive loss.

python examples/fine_tune_minilm.py [--folder FOLDER] [--steps N] [--save FILE] [--plot loss.html]

A pair is two successive sentences of Python's documentation. The encoder chooses the second
sentence of each pair among all second sentences of the batch, by the cosine of the vectors.
Without a model folder, such as that of all-MiniLM-L6-v2, the encoder is small, has MiniLM's
architecture and random weights.
"""

from __future__ import annotations

import argparse
import pydoc_data.topics
import re
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

import ark_mlir as ark
from ark_mlir.models.config import read_config
from ark_mlir.models.encoder import EncoderConfig
from ark_mlir.text import Tokenizer

SMALL = EncoderConfig(
    vocabulary=1000, hidden=48, layers=2, heads=4, intermediate=96, positions=64, types=2,
    eps=1e-12, activation="gelu",
)  # fmt: skip
Encode = Callable[[str], list[int]]


@dataclass(frozen=True)
class Data:
    """Tokens ``[2 * pairs, length]``, the first sentences first, and their numbers."""

    ids: np.ndarray
    lengths: np.ndarray

    @property
    def pairs(self) -> int:
        """Returns the number of pairs."""
        return len(self.ids) // 2


def read_pairs() -> list[tuple[str, str]]:
    """Returns pairs of successive sentences, each of at least four words."""
    pairs: list[tuple[str, str]] = []
    for _, topic in sorted(pydoc_data.topics.topics.items()):
        for paragraph in topic.split("\n\n"):
            sentences = re.split(r"(?<=[.:;]) ", " ".join(paragraph.split()))
            long = [sentence for sentence in sentences if len(sentence.split()) >= 4]
            pairs += zip(long[::2], long[1::2], strict=False)
    return pairs


def encode_words(text: str) -> list[int]:
    """Returns a number for each word, for an encoder without a tokenizer."""
    words = re.findall(r"\w+", text.lower())
    return [1 + zlib.crc32(word.encode()) % (SMALL.vocabulary - 1) for word in words] or [0]


def tokenize(pairs: list[tuple[str, str]], encode: Encode, length: int) -> Data:
    """Returns the tokens of pairs; a sentence has at most `length` tokens."""
    rows = [encode(pair[side])[:length] for side in (0, 1) for pair in pairs]
    ids = np.zeros((len(rows), length), np.int32)
    for row, tokens in zip(ids, rows, strict=True):
        row[: len(tokens)] = tokens
    return Data(ids, np.array([len(tokens) for tokens in rows], np.int32))


def batches(pairs: int, batch: int) -> Callable[[int], Mapping[str, np.ndarray]]:
    """Returns a function from a step to the numbers of its pairs, which are all different."""

    def choose(step: int) -> Mapping[str, np.ndarray]:
        chosen = np.random.default_rng(step).choice(pairs, batch, replace=False)
        return {"pairs": chosen.astype(np.int32)}

    return choose


def build(
    sizes: EncoderConfig, data: Data, batch: int, rate: float, launch: int = 20
) -> tuple[ark.Program, ark.training.Loop, ark.Module]:
    """Returns the program of one step, its loop, and the encoder."""
    with ark.Program("fine_tune") as program:
        tokens = ark.parameter("ids", data.ids.shape, ark.int32)
        lengths = ark.parameter("lengths", data.lengths.shape, ark.int32)
        loop = ark.training.Loop(steps=launch)
        chosen = loop.input("pairs", (batch,), ark.int32)
        rows = ark.concat([chosen, chosen + data.pairs], 0)
        ids, counts = ark.gather(tokens, rows, 0), ark.gather(lengths, rows, 0)
        mask = ark.less(ark.arange(ids.shape[1]), ark.unsqueeze(counts, 1))
        model = ark.training.TrainableEncoder(sizes)
        weights = ark.trainable(model)
        vectors = model(ids, mask)
        cosines = ark.matmul(vectors[:batch], vectors[batch:], transpose_other=True)
        loss = ark.cross_entropy(20.0 * cosines, ark.arange(batch))
        slopes = ark.gradients(loss, weights)
        ark.optim.AdamW(weights, rate, weight_decay=0.01).step(slopes, skip=loop.end(loss))
    return program, loop, model


def first_weights(model: ark.Module, sizes: EncoderConfig, folder: str | None) -> dict:
    """Returns the weights of a model folder, or random ones."""
    if folder is not None:
        return dict(ark.models.load(folder).parameters)
    return ark.training.initial_weights(dict(model.named_parameters()), sizes.layers)


def read_model(folder: str | None, length: int) -> tuple[EncoderConfig, Encode]:
    """Returns the sizes of the encoder, and a function that returns the tokens of a sentence."""
    if folder is None:
        return SMALL, encode_words
    tokenizer = Tokenizer(folder)
    sizes = EncoderConfig.read(read_config(folder))
    return sizes, lambda text: tokenizer.encode(text, length=length)


def main() -> None:
    parser = argparse.ArgumentParser(description="Fine-tune a sentence encoder on pairs.")
    parser.add_argument("--folder", help="model folder to start from (default: random weights)")
    parser.add_argument("--steps", type=int, default=60, help="number of steps (default: 60)")
    parser.add_argument("--batch", type=int, default=8, help="pairs of a step (default: 8)")
    parser.add_argument("--length", type=int, default=16, help="tokens of a sentence (default: 16)")
    parser.add_argument("--rate", type=float, help="learning rate (default: 2e-5; random: 3e-3)")
    parser.add_argument("--target", default="cpu", help="target (default: cpu)")
    parser.add_argument("--save", metavar="FILE", help="save the states to this .safetensors file")
    parser.add_argument("--plot", metavar="FILE", help="write the curve of the loss as a page")
    options = parser.parse_args()

    sizes, encode = read_model(options.folder, options.length)
    rate = options.rate or (3e-3 if options.folder is None else 2e-5)
    data = tokenize(read_pairs(), encode, options.length)
    program, loop, model = build(sizes, data, options.batch, rate)
    bound = {"ids": data.ids, "lengths": data.lengths}
    with ark.training.Trainer(
        program,
        loop,
        batches(data.pairs, options.batch),
        target=options.target,
        bind={**bound, **first_weights(model, sizes, options.folder)},
        save=options.save,
        tokens=2 * options.batch * options.length,
    ) as trainer:
        losses = trainer.run(options.steps)
        if options.plot:
            trainer.plot(options.plot)
    print(f"a guess among {options.batch} sentences: {np.log(options.batch):.3f}")
    print(f"loss of step 0: {losses[0]:.3f}, mean of the last ten: {losses[-10:].mean():.3f}")


if __name__ == "__main__":
    main()

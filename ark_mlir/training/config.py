"""The configuration file of ``ark train``, in TOML or JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..dtypes import DType, as_dtype
from ..errors import InvalidUsageError
from ..json_checks import Document, Node, parse_json
from ..models.config import Config
from ..models.decoder_config import DecoderConfig
from ..models.decoder_reader import read_decoder
from ..paths import as_path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TrainingConfig", "read_config"]

_DTYPES = ("fp32", "bf16", "fp16")


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a configuration file.

    Attributes:
        model: the sizes of the decoder.
        entries: the section ``[model]``, the ``config.json`` of the trained model.
        text: files whose bytes are the tokens.
        steps, batch, length: the number of steps, of sequences of a step, of tokens of a sequence.
        learning_rate, final_learning_rate, warmup: arguments of the schedule :func:`warmup_cosine`.
        weight_decay, beta1, beta2: arguments of AdamW.
        clip: the largest global norm of the gradients.
        dropout: the probability with which an element of a branch is dropped.
        accumulate: the number of iterations whose gradients make one update.
        dtype: the type of weights and activations in the computation; states are fp32.
        checkpoint: True computes each layer again in the backward pass.
        seed: the seed of the initial weights and of the positions of the batches.
        save_every: the number of steps between two saves.
        target: the target, None for the default.

    Example:
        >>> config = ark.training.TrainingConfig.parse({
        ...     "model": {"vocab_size": 256, "hidden_size": 32, "num_hidden_layers": 1,
        ...               "num_attention_heads": 2, "intermediate_size": 64,
        ...               "max_position_embeddings": 64},
        ...     "data": {"text": ["corpus.txt"]}, "train": {"steps": 10, "length": 16},
        ... })
        >>> config.steps, config.batch, config.dtype
        (10, 8, ark.fp32)
    """

    model: DecoderConfig
    entries: dict[str, Any]
    text: tuple[Path, ...]
    steps: int
    batch: int
    length: int
    learning_rate: float
    final_learning_rate: float
    warmup: int
    weight_decay: float
    beta1: float
    beta2: float
    clip: float
    dropout: float
    accumulate: int
    dtype: DType
    checkpoint: bool
    seed: int
    save_every: int
    target: str | None

    @classmethod
    def parse(cls, entries: dict[str, Any], where: str = "configuration") -> TrainingConfig:
        """Checks the entries of a configuration file.

        Args:
            entries: the sections ``model``, ``data`` and ``train``.
            where: the path of the file, for messages; files of text are relative to its folder.

        Raises InvalidUsageError if an entry is missing, unknown, or has a wrong type or value.

        >>> ark.training.TrainingConfig.parse({"model": {}})
        Traceback (most recent call last):
        ...
        ark_mlir.errors.InvalidUsageError: configuration: key 'data' is missing
        """
        root = Node(entries, "", Document(where, "", InvalidUsageError))
        root.keys(frozenset({"model", "data"}), frozenset({"train"}))
        model = Config(root["model"])
        kind = model.word("model_type", "llama")
        if kind not in ("llama", "qwen3"):
            raise model.error(f"cannot train model_type {kind!r}; known are llama and qwen3")
        sizes = read_decoder(model)
        if sizes.window is not None:
            raise model.error("cannot train a model with a sliding window")
        root["data"].keys(frozenset({"text"}))
        texts = root["data"]["text"].each(Node.text)
        if not texts:
            raise root["data"]["text"].error("names no file")
        if sizes.vocabulary < 256:
            raise model.error(f"vocab_size {sizes.vocabulary} is less than 256, the bytes of text")
        train = root["train"] if "train" in root else root.child("train", {})
        values = _read(train)
        if values["length"] > sizes.positions:
            raise train.error(
                f"length {values['length']} exceeds the model's {sizes.positions} positions"
            )
        if values["warmup"] >= values["steps"]:
            raise train.error(f"warmup {values['warmup']} is not below steps {values['steps']}")
        if values["final_learning_rate"] > values["learning_rate"]:
            raise train.error("final_learning_rate is above learning_rate")
        folder = Path(where).parent
        return cls(
            model=sizes,
            entries={"model_type": kind, **root["model"].mapping()},
            text=tuple(folder / text for text in texts),
            **values,
        )


def _below_one(node: Node) -> float:
    value = float(node.number(0))
    if value >= 1:
        raise node.error(f"{value} is not below 1")
    return value


def _size(node: Node) -> int:
    return node.integer(1)


def _natural(node: Node) -> int:
    return node.integer(0)


def _amount(node: Node) -> float:
    return float(node.number(0))


_READERS: dict[str, tuple[Callable[[Node], Any], Any]] = {
    "steps": (_size, 1000), "batch": (_size, 8), "length": (_size, 128),
    "learning_rate": (_amount, 1e-3), "final_learning_rate": (_amount, 0.0),
    "warmup": (_natural, 0), "weight_decay": (_amount, 0.1), "beta1": (_below_one, 0.9),
    "beta2": (_below_one, 0.99), "clip": (_amount, 1.0), "dropout": (_below_one, 0.0),
    "accumulate": (_size, 1), "checkpoint": (Node.boolean, False), "seed": (_natural, 0),
    "save_every": (_size, 500), "target": (Node.text, None),
    "dtype": (lambda node: as_dtype(node.word(_DTYPES)), as_dtype("fp32")),
}  # fmt: skip


def _read(train: Node) -> dict[str, Any]:
    train.keys(frozenset(), frozenset(_READERS))
    return {
        name: read(train[name]) if name in train else default
        for name, (read, default) in _READERS.items()
    }


def read_config(path: str | os.PathLike[str]) -> TrainingConfig:
    """Reads a configuration file.

    Args:
        path: a file that ends in ``.toml`` or ``.json``.

    Raises InvalidUsageError if the file cannot be read, is malformed or has a wrong entry.

    Example:
        >>> ark.training.read_config("missing.toml")
        Traceback (most recent call last):
        ...
        ark_mlir.errors.InvalidUsageError: missing.toml: cannot be read: No such file or directory
    """
    file = as_path(path, "the configuration")
    where = str(file)
    try:
        data = file.read_bytes()
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=where) from None
    if file.suffix == ".toml":
        # Converted to JSON, so that the checks of the JSON parser apply.
        data = json.dumps(_parse_toml(data, where)).encode()
    elif file.suffix != ".json":
        raise InvalidUsageError("must end in .toml or .json", location=where)
    root = parse_json(data, Document(where, "", InvalidUsageError))
    return TrainingConfig.parse(root.mapping(), where)


def _parse_toml(data: bytes, where: str) -> dict[str, Any]:
    try:
        return tomllib.loads(data.decode("utf-8"))
    except ValueError as error:  # TOMLDecodeError and UnicodeDecodeError
        raise InvalidUsageError(f"not valid TOML: {error}", location=where) from None

"""The configuration file of ``ark train``, in TOML or JSON."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..dtypes import DType, as_dtype
from ..errors import InvalidUsageError
from ..json_checks import Document, Node, parse_json
from ..models.config import Config
from ..models.config import read_config as read_model_config
from ..models.decoder_config import DecoderConfig
from ..models.decoder_parts import read_text
from ..models.decoder_reader import read_decoder
from ..models.encoder import EncoderConfig
from ..models.encoder_config import ENCODERS
from ..models.families import FAMILIES
from ..paths import as_path
from ..text import EmbeddingFiles
from ..typing import Pooling
from .folder import has_tokenizer, tensor_names

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TrainingConfig", "read_config"]

_DTYPES = ("fp32", "bf16", "fp16")
# The default factor of the auxiliary loss of routers (Fedus et al., 2022).
_ROUTER_LOSS = 0.01


@dataclass(frozen=True)
class TrainingConfig:
    """The settings of a configuration file.

    Attributes:
        model: the sizes of the decoder or encoder.
        entries: the ``config.json`` of the trained model.
        folder: the model folder from which the training starts; None for random weights.
        source: the configuration in that folder, of the text part; None without a folder.
        text: files of text, for a decoder.
        pairs: files of pairs of sentences, for an encoder.
        pooling: how an encoder computes the vector of a sentence.
        steps, batch, length: the number of steps, of sequences or pairs of a step, of tokens of a
            sequence or sentence.
        learning_rate, final_learning_rate, warmup: arguments of the schedule :func:`warmup_cosine`.
        weight_decay, beta1, beta2: arguments of AdamW.
        clip: the largest global norm of the gradients.
        router_loss: the factor of the auxiliary loss of the routers of experts.
        dropout: the probability with which an element of a branch is dropped.
        accumulate: the number of iterations whose gradients make one update.
        dtype: the type of weights and activations in the computation; states are fp32.
        checkpoint: True computes each layer again in the backward pass.
        seed: the seed of the initial weights and of the positions of the batches.
        save_every: the number of steps between two saves.
        target: the target, None for the default.
        memory: the option of ``ark.compile``, None for no limit.

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

    model: DecoderConfig | EncoderConfig
    entries: dict[str, Any]
    folder: Path | None
    source: Config | None
    text: tuple[Path, ...]
    pairs: tuple[Path, ...]
    pooling: Pooling
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
    router_loss: float
    dropout: float
    accumulate: int
    dtype: DType
    checkpoint: bool
    seed: int
    save_every: int
    target: str | None
    memory: str | None

    @property
    def has_tokenizer(self) -> bool:
        """Returns True if the model folder has a tokenizer; else the bytes of text are tokens."""
        return self.folder is not None and has_tokenizer(self.folder)

    @classmethod
    def parse(cls, entries: dict[str, Any], where: str = "configuration") -> TrainingConfig:
        """Checks the entries of a configuration file.

        Args:
            entries: the sections ``model``, ``data`` and ``train``.
            where: the path of the file, for messages; files of text and the model folder are
                relative to its folder.

        Raises InvalidUsageError if an entry is missing, unknown, or has a wrong type or value, or
        if ``model_type`` is not a type that ``ark.models`` loads.

        >>> ark.training.TrainingConfig.parse({"model": {}})
        Traceback (most recent call last):
        ...
        ark_mlir.errors.InvalidUsageError: configuration: key 'data' is missing
        """
        root = Node(entries, "", Document(where, "", InvalidUsageError))
        root.keys(frozenset({"model", "data"}), frozenset({"train"}))
        base = Path(where).parent
        model, folder = _read_source(root["model"], base)
        kind = model.word("model_type", None if folder else "llama")
        sizes = _read_sizes(model, kind, folder)
        encoder = isinstance(sizes, EncoderConfig)
        data = root["data"]
        data.keys(frozenset({"pairs" if encoder else "text"}))
        files = data["pairs" if encoder else "text"].each(Node.text)
        if not files:
            raise data["pairs" if encoder else "text"].error("names no file")
        if sizes.vocabulary < 256 and not (folder is not None and has_tokenizer(folder)):
            raise model.error(f"vocab_size {sizes.vocabulary} is less than 256, the bytes of text")
        train = root["train"] if "train" in root else root.child("train", {})
        values = _read(train)
        values["router_loss"] = _read_router_loss(train, model, sizes)
        most = sizes.most_tokens if isinstance(sizes, EncoderConfig) else sizes.positions
        if values["length"] > most:
            raise train.error(f"length {values['length']} exceeds the model's {most} positions")
        if values["warmup"] >= values["steps"]:
            raise train.error(f"warmup {values['warmup']} is not below steps {values['steps']}")
        if values["final_learning_rate"] > values["learning_rate"]:
            raise train.error("final_learning_rate is above learning_rate")
        paths = tuple(base / file for file in files)
        return cls(
            model=sizes,
            entries={"model_type": kind, **model.entries},
            folder=folder,
            source=None if folder is None else model,
            text=() if encoder else paths,
            pairs=paths if encoder else (),
            pooling="mean" if folder is None else EmbeddingFiles.read(str(folder)).pooling,
            **values,
        )


def _read_source(node: Node, base: Path) -> tuple[Config, Path | None]:
    """Returns the configuration of the model, and the folder if the section names one."""
    if "folder" not in node:
        return Config(node), None
    node.keys(frozenset({"folder"}), frozenset({"ignore"}))
    folder = base / node["folder"].text()
    ignored = node["ignore"].each(Node.text) if "ignore" in node else ()
    config = replace(read_model_config(folder), ignored=frozenset(ignored))
    return read_text(config), folder


def _read_sizes(model: Config, kind: str, folder: Path | None) -> DecoderConfig | EncoderConfig:
    """Reads the sizes of a model that can be trained."""
    if kind in ENCODERS:
        sizes = EncoderConfig.read(model)
        return sizes if folder is None else sizes.named_as(tensor_names(folder))
    if kind not in FAMILIES:
        raise model.error(
            f"cannot train model_type {kind!r}; the types that can be trained are "
            f"{', '.join((*FAMILIES, *ENCODERS))}"
        )
    return read_decoder(model)


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


def _read_router_loss(train: Node, model: Config, sizes: DecoderConfig | EncoderConfig) -> float:
    """Reads the factor of the auxiliary loss; by default that of the model's configuration."""
    if isinstance(sizes, DecoderConfig) and sizes.experts is not None:
        default = model.number("router_aux_loss_coef", _ROUTER_LOSS)
        return float(train["router_loss"].number(0)) if "router_loss" in train else default
    if "router_loss" in train:
        raise train["router_loss"].error("the model has no experts")
    return 0.0


_READERS: dict[str, tuple[Callable[[Node], Any], Any]] = {
    "steps": (_size, 1000), "batch": (_size, 8), "length": (_size, 128),
    "learning_rate": (_amount, 1e-3), "final_learning_rate": (_amount, 0.0),
    "warmup": (_natural, 0), "weight_decay": (_amount, 0.1), "beta1": (_below_one, 0.9),
    "beta2": (_below_one, 0.99), "clip": (_amount, 1.0), "dropout": (_below_one, 0.0),
    "accumulate": (_size, 1), "checkpoint": (Node.boolean, False), "seed": (_natural, 0),
    "save_every": (_size, 500), "target": (Node.text, None), "memory": (Node.text, None),
    "dtype": (lambda node: as_dtype(node.word(_DTYPES)), as_dtype("fp32")),
}  # fmt: skip


def _read(train: Node) -> dict[str, Any]:
    train.keys(frozenset(), frozenset({*_READERS, "router_loss"}))
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

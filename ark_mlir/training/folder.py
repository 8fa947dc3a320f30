"""The model folder from which a training starts: its weights, and the files of its tokenizer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, fp32
from ..frontend import Argument
from ..models.config import Config
from ..models.decoder_config import DecoderConfig
from ..models.encoder import EncoderConfig, find_spellings
from ..models.expert_weights import stack_experts
from ..models.quantization import read_quantization
from ..models.weights import assign, read_weights, spellings, text_tensors
from ..paths import replacing

__all__ = ["copy_text_files", "folder_weights", "has_tokenizer", "tensor_names"]

_TOKENIZER = "tokenizer.json"
# Files that a trained model has in common with the model from which the training starts.
_TEXT_FILES = (
    _TOKENIZER, "tokenizer_config.json", "special_tokens_map.json", "vocab.txt", "vocab.json",
    "merges.txt", "generation_config.json", "chat_template.jinja", "modules.json",
    "sentence_bert_config.json", "config_sentence_transformers.json", "1_Pooling/config.json",
)  # fmt: skip


@dataclass(frozen=True)
class _Weight:
    shape: tuple[int, ...]
    dtype: DType = fp32


def has_tokenizer(folder: str | os.PathLike[str]) -> bool:
    """Returns True if a model folder has the file of a tokenizer."""
    return (Path(folder) / _TOKENIZER).is_file()


def tensor_names(folder: str | os.PathLike[str]) -> set[str]:
    """Returns the names of the tensors of a folder; raises the errors of ``read_weights``."""
    return set(read_weights(folder))


def folder_weights(
    folder: str | os.PathLike[str],
    config: Config,
    model: DecoderConfig | EncoderConfig,
    arguments: Mapping[str, Argument],
) -> dict[str, NDArray[np.float32]]:
    """Returns the weights of a folder in fp32, by the names of `arguments`.

    Args:
        folder: the model folder.
        config: its configuration, of the text part.
        model: the sizes that were read from `config`.
        arguments: the parameters of the model.

    Raises InvalidUsageError if a tensor is missing, or its shape or dtype does not fit.
    """
    where = os.fspath(folder)
    tensors: dict[str, NDArray[Any]] = read_weights(folder)
    if isinstance(model, EncoderConfig):
        find = find_spellings(model)
    else:
        find = spellings
        tensors = read_quantization(config)(text_tensors(tensors), fp32, where)
        if model.experts is not None:
            tensors = stack_experts(model.experts, model.layers, tensors, where)
    wanted = {name: _Weight(argument.shape) for name, argument in arguments.items()}
    return assign(wanted, tensors, where, find)


def copy_text_files(source: str | os.PathLike[str], target: Path) -> None:
    """Copies the files of tokenizer, chat template and pooling that `source` has to `target`."""
    for name in _TEXT_FILES:
        file = Path(source) / name
        if file.is_file():
            (target / name).parent.mkdir(exist_ok=True)
            with replacing(target / name) as out:
                out.write(file.read_bytes())

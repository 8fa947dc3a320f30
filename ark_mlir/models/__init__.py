"""Models from Hugging Face folders.

>>> model = ark.models.load(folder, batch=8, length=12).compile("cpu")
>>> vectors = model.embed([[2, 3, 5], [7, 11]])
"""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError
from . import bert as bert
from . import llama as llama
from . import qwen3 as qwen3
from .bert import EmbeddingModel
from .config import read_config
from .generation import GenerativeModel
from .model import Model

__all__ = ["EmbeddingModel", "GenerativeModel", "Model", "load"]

_LOADERS: dict[str, Callable[..., Model]] = {
    "bert": bert.load,
    "llama": llama.load,
    "qwen3": qwen3.load,
}


def load(
    folder: str | os.PathLike[str], *, ignore: str | Collection[str] = (), **options: Any
) -> Any:
    """Reads a folder with ``config.json`` and ``*.safetensors``.

    Args:
        folder: as Hugging Face lays it out.
        ignore: entries of ``config.json`` that do not matter, where one that this version does
            not know is refused: names, or one text with commas.
        options: of the model type; see ``ark.models.bert.load`` (batch, length, dtype,
            pooling, normalize) and ``ark.models.llama.load`` (max_length, chunk, dtype,
            sampling, tensor_parallel).

    Returns an :class:`EmbeddingModel` for bert, a :class:`GenerativeModel` for llama and
    qwen3. Weights stay in their files, which must not change while the model lives. Raises
    InvalidUsageError where the folder, its configuration or its tensors are wrong, and
    UnsupportedError on an unknown model type.

    Example:
        >>> list(ark.models.load(folder, length=12).programs)
        ['embed']
    """
    names = ignore.split(",") if isinstance(ignore, str) else ignore
    config = replace(read_config(folder), ignored=frozenset(names))
    kind = config.word("model_type")
    if kind not in _LOADERS:
        raise UnsupportedError(
            f"unknown model type {kind!r}; known are {', '.join(_LOADERS)}", location=config.path
        )
    loader = _LOADERS[kind]
    known = [n for n, p in inspect.signature(loader).parameters.items() if p.kind == p.KEYWORD_ONLY]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidUsageError(
            f"{kind} has no option {', '.join(unknown)}; it has {', '.join(known)}"
        )
    return loader(folder, config, **options)

"""Models from Hugging Face folders.

>>> model = ark.models.load(folder, batch=8, length=12).compile("cpu")
>>> vectors = model.embed([[2, 3, 5], [7, 11]])
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, overload

from typing_extensions import Unpack

from ..errors import InvalidUsageError, UnsupportedError
from . import bert as bert
from . import llama as llama
from . import qwen3 as qwen3
from .bert import EmbeddingModel
from .config import read_config
from .generation import GenerativeModel
from .model import Model

if TYPE_CHECKING:
    from ..typing import DTypeLike, Path, Pooling

__all__ = [
    "DecoderOptions", "EmbeddingModel", "EncoderOptions", "GenerativeModel", "Model", "load"
]  # fmt: skip

_LOADERS: dict[str, Callable[..., EmbeddingModel | GenerativeModel]] = {
    "bert": bert.load,
    "llama": llama.load,
    "mixtral": llama.load,
    "qwen3": qwen3.load,
    "qwen3_moe": qwen3.load,
}


class EncoderOptions(TypedDict, total=False):
    """Options of :func:`load` for encoders (bert); ``ark.models.bert.load`` describes them.

    Example:
        >>> options: EncoderOptions = {"batch": 2, "length": 12}
        >>> ark.models.load(folder, **options).programs["embed"].inputs["ids"].shape
        (2, 12)
    """

    batch: int
    length: int
    dtype: DTypeLike
    pooling: Pooling
    normalize: bool


class DecoderOptions(TypedDict, total=False):
    """Options of :func:`load` for decoders (llama, qwen3); ``ark.models.llama.load`` describes
    them.

    Example:
        >>> options: DecoderOptions = {"max_length": 24}
        >>> ark.models.load(decoder_folder, **options).max_length
        24
    """

    max_length: int
    chunk: int
    dtype: DTypeLike | None
    sampling: bool
    tensor_parallel: int


# Without options, or with an option of both classes, the folder decides about the class. Types
# cannot express that the second and third overload need at least one option.
@overload
def load(  # pyright: ignore[reportOverlappingOverload]
    folder: Path, *, ignore: str | Collection[str] = (), dtype: DTypeLike = ...
) -> EmbeddingModel | GenerativeModel: ...
@overload
def load(
    folder: Path, *, ignore: str | Collection[str] = (), **options: Unpack[EncoderOptions]
) -> EmbeddingModel: ...
@overload
def load(
    folder: Path, *, ignore: str | Collection[str] = (), **options: Unpack[DecoderOptions]
) -> GenerativeModel: ...
def load(
    folder: Path, *, ignore: str | Collection[str] = (), **options: Any
) -> EmbeddingModel | GenerativeModel:
    """Loads a model from a folder with ``config.json`` and ``*.safetensors``.

    Args:
        folder: a model folder in the format of Hugging Face.
        ignore: names of entries of ``config.json`` to ignore, a list or a text with commas. An
            unknown entry that is not ignored is an error, since it may change the model.
        options: options of the model type; see ``ark.models.bert.load`` (batch, length, dtype,
            pooling, normalize) and ``ark.models.llama.load`` (max_length, chunk, dtype,
            sampling, tensor_parallel).

    Returns an :class:`EmbeddingModel` for bert, a :class:`GenerativeModel` for decoders: llama,
    mixtral, qwen3 and qwen3_moe. A type checker infers the class from an option that only one of
    them has; without such an option, narrow the result with ``isinstance``. Weights are mapped from
    their files, which must not change while the model exists; those of experts are copied to
    memory. Raises InvalidUsageError if the folder, its
    configuration or its tensors are invalid, and UnsupportedError if the model type is unknown.

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

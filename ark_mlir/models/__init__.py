"""Models from Hugging Face folders.

>>> model = ark.models.load(folder, batch=8, length=12).compile("cpu")
>>> vectors = model.embed([[2, 3, 5], [7, 11]])

Modules that build programs are imported on first use: a machine without the compiler can run models
from bundles.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
from collections.abc import Callable, Collection
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypedDict, overload

from ..errors import InvalidUsageError, UnsupportedError
from .compiled import load_compiled
from .config import read_config
from .embedding import EmbeddingModel
from .engine import Completion, Engine
from .generation import GenerativeModel
from .model import Model
from .origins import describe_folder
from .requests import Choice
from .similar_types import describe_unknown
from .weights import read_weights

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from ..typing import DTypeLike, Path, Pooling
    from . import decoder as decoder
    from . import encoder as encoder

__all__ = [
    "Choice", "Completion", "DecoderOptions", "EmbeddingModel", "EncoderOptions", "Engine",
    "GenerativeModel", "Model", "load", "load_compiled",
]  # fmt: skip

_BUILDERS = ("decoder", "encoder")


if not TYPE_CHECKING:  # with __getattr__, a type checker would accept every misspelt name

    def __getattr__(name: str) -> object:
        if name not in _BUILDERS:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return importlib.import_module(f".{name}", __name__)


def _loaders() -> dict[str, Callable[..., EmbeddingModel | GenerativeModel]]:
    """Returns the loader of each model type."""
    from . import decoder, encoder
    from .encoder_config import ENCODERS
    from .families import FAMILIES, WITH_IMAGES

    return {
        **dict.fromkeys(ENCODERS, encoder.load),
        **dict.fromkeys((*FAMILIES, *WITH_IMAGES), decoder.load),
    }


class EncoderOptions(TypedDict, total=False):
    """Options of :func:`load` for encoders; ``ark.models.encoder.load`` describes them.

    Example:
        >>> options: EncoderOptions = {"batch": 2, "length": 12}
        >>> ark.models.load(folder, **options).programs["embed"].inputs["ids"].shape
        (2, 12)
    """

    batch: int
    length: int
    dtype: DTypeLike
    pooling: Pooling | None
    normalize: bool | None


class DecoderOptions(TypedDict, total=False):
    """Options of :func:`load` for decoders; ``ark.models.decoder.load`` describes them.

    Example:
        >>> options: DecoderOptions = {"max_length": 24}
        >>> ark.models.load(decoder_folder, **options).max_length
        24
    """

    max_length: int
    chunk: int
    batch: int
    dtype: DTypeLike | None
    sampling: bool
    tensor_parallel: int
    expert_parallel: bool
    expert_capacity: float | None
    sequence_parallel: bool
    split_embedding: bool
    keep_quantized: bool


# Without options, or with an option of both classes, the folder decides about the class. Types
# cannot express that the second and third overload need at least one option.
@overload
def load(  # pyright: ignore[reportOverlappingOverload]
    folder: Path,
    *,
    ignore: str | Collection[str] = (),
    batch: int = ...,
    dtype: DTypeLike = ...,
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
        ignore: names of entries of ``config.json`` to ignore: a list, or a text with commas. An
            unknown entry that is not ignored is an error, since it may change the model.
        options: options of the model type; see ``ark.models.encoder.load`` (batch, length, dtype,
            pooling, normalize) and ``ark.models.decoder.load`` (max_length, chunk, batch, dtype,
            sampling, tensor_parallel, sequence_parallel, split_embedding, expert_parallel,
            expert_capacity, keep_quantized).

    Returns an :class:`EmbeddingModel` for encoders, a :class:`GenerativeModel` for decoders. A type
    checker infers the class from an option that only one of them has; without such an option,
    narrow the result with ``isinstance``. Weights are mapped from their files, which must not
    change while the model exists; the weights of experts, quantized weights and the matrices of
    GPT-2, which are transposed, are copied to memory. Raises InvalidUsageError if the folder, its
    configuration, its tensors or an option is invalid, and UnsupportedError if the model type is
    unknown. Warns if the weights have more layers than the configuration.

    Example:
        >>> list(ark.models.load(folder, length=12).programs)
        ['embed']
    """
    names = ignore.split(",") if isinstance(ignore, str) else ignore
    config = replace(read_config(folder), ignored=frozenset(names))
    kind = config.word("model_type")
    loaders = _loaders()
    if kind not in loaders:
        raise UnsupportedError(describe_unknown(kind, loaders), location=config.path)
    loader = loaders[kind]
    known = [n for n, p in inspect.signature(loader).parameters.items() if p.kind == p.KEYWORD_ONLY]
    unknown = [name for name in options if name not in known]
    if unknown:
        raise InvalidUsageError(
            f"models of type {kind} have no option {', '.join(unknown)}; options are "
            f"{', '.join(known)}"
        )
    model = loader(folder, config, **options)
    origin = describe_folder(folder, config, read_weights(folder))
    for program in (*model.programs.values(), *itertools.chain(*model.ranks.values())):
        program.origin = origin
    return model

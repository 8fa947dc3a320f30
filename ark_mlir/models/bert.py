"""BERT as an encoder, which computes a vector for each sentence or pair of sentences."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, get_args

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import DType, bool_, fp32, int32
from ..errors import InvalidUsageError
from ..frontend import Program, Tensor
from ..typing import Pooling
from .config import Config, as_count, as_float_dtype
from .model import Model, as_rows, as_tokens
from .weights import Arrays, assign, check_layers, read_weights

if TYPE_CHECKING:
    from ..typing import DTypeLike, Path, TokenRows

__all__ = ["BertConfig", "EmbeddingModel", "build", "load"]

Activation = Callable[[Tensor, str], Tensor]


def _gelu(x: Tensor, name: str) -> Tensor:
    return ark.gelu(x, approximate="none", name=name)


def _gelu_tanh(x: Tensor, name: str) -> Tensor:
    return ark.gelu(x, approximate="tanh", name=name)


def _silu(x: Tensor, name: str) -> Tensor:
    return ark.silu(x, name=name)


# Activations by their names in transformers; some have several names.
_ACTIVATIONS: dict[str, Activation] = {
    **dict.fromkeys(("gelu", "gelu_python"), _gelu),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), _gelu_tanh),
    **dict.fromkeys(("silu", "swish"), _silu),
    "relu": lambda x, name: ark.relu(x, name=name),
    "sigmoid": lambda x, name: ark.sigmoid(x, name=name),
    "tanh": lambda x, name: ark.tanh(x, name=name),
}


@dataclass(frozen=True)
class BertConfig:
    """The sizes of a BERT encoder."""

    vocabulary: int
    hidden: int
    layers: int
    heads: int
    intermediate: int
    positions: int
    types: int
    eps: float
    activation: str

    @classmethod
    def read(cls, config: Config) -> BertConfig:
        """Reads the sizes from a ``config.json``; raises InvalidUsageError if it is invalid."""
        result = cls(
            vocabulary=config.count("vocab_size"),
            hidden=config.count("hidden_size"),
            layers=config.count("num_hidden_layers"),
            heads=config.count("num_attention_heads"),
            intermediate=config.count("intermediate_size"),
            positions=config.count("max_position_embeddings"),
            types=config.count("type_vocab_size", 2),
            eps=config.number("layer_norm_eps", 1e-12),
            activation=config.word("hidden_act", "gelu"),
        )
        # An entry of the language-model head, which an encoder does not have.
        config.flag("tie_word_embeddings", True)
        if result.hidden % result.heads:
            raise config.error(
                f"hidden size {result.hidden} is no multiple of {result.heads} heads"
            )
        if result.activation not in _ACTIVATIONS:
            known = ", ".join(_ACTIVATIONS)
            raise config.error(f"unknown hidden_act {result.activation!r}; known are {known}")
        if config.word("position_embedding_type", "absolute") != "absolute":
            raise config.error("only absolute position embeddings are supported")
        config.check_known()
        return result


def build(
    config: BertConfig,
    batch: int = 8,
    length: int = 64,
    dtype: DTypeLike = fp32,
    pooling: Pooling = "mean",
    normalize: bool = True,
) -> Program:
    """Builds the encoder for `batch` prompts of up to `length` tokens.

    The inputs have the shape ``[batch, length]``: ``ids`` int32, ``mask`` bool (true for tokens),
    and ``types`` int32, the number of the token's sentence in a pair. The output ``embedding`` is
    fp32 ``[batch, hidden]``, or ``[batch, length, hidden]`` with pooling ``none``. Parameters have
    the names of Hugging Face.
    """
    element = as_float_dtype(dtype)
    with Program("bert") as program:
        ids = ark.input("ids", (batch, length), int32)
        mask = ark.input("mask", (batch, length), bool_)
        types = ark.input("types", (batch, length), int32)
        graph = _Graph(config, batch, length, element)
        hidden = graph.embeddings(ids, types)
        keys = ark.reshape(mask, (batch, 1, 1, length), name="mask")
        for layer in range(config.layers):
            hidden = graph.layer(hidden, keys, f"encoder.layer.{layer}")
        hidden = ark.reshape(hidden, (batch, length, config.hidden), name="hidden")
        pooled = graph.pooler(hidden) if pooling == "pooler" else _pooled(hidden, mask, pooling)
        ark.output("embedding", _normalized(pooled) if normalize else pooled)
    return program


@dataclass(frozen=True)
class _Graph:
    """Builds the parts of the encoder; hidden states are ``[batch * length, hidden]``."""

    config: BertConfig
    batch: int
    length: int
    dtype: DType

    def parameter(self, name: str, *shape: int) -> Tensor:
        return ark.parameter(name, shape, self.dtype)

    def embeddings(self, ids: Tensor, types: Tensor) -> Tensor:
        config, name = self.config, "embeddings"
        words = self.parameter(f"{name}.word_embeddings.weight", config.vocabulary, config.hidden)
        positions = self.parameter(
            f"{name}.position_embeddings.weight", config.positions, config.hidden
        )
        kinds = self.parameter(f"{name}.token_type_embeddings.weight", config.types, config.hidden)
        hidden = ark.embedding(ids, words, name=f"{name}.words")
        hidden = hidden + ark.embedding(types, kinds, name=f"{name}.types")
        hidden = hidden + positions[: self.length]
        hidden = ark.reshape(hidden, (self.batch * self.length, config.hidden))
        return self.norm(hidden, f"{name}.LayerNorm")

    def norm(self, x: Tensor, name: str) -> Tensor:
        weight = self.parameter(f"{name}.weight", self.config.hidden)
        bias = self.parameter(f"{name}.bias", self.config.hidden)
        return ark.layernorm(x, weight, bias, self.config.eps, name=name)

    def dense(self, x: Tensor, name: str, outputs: int) -> Tensor:
        weight = self.parameter(f"{name}.weight", outputs, x.shape[-1])
        bias = self.parameter(f"{name}.bias", outputs)
        product = ark.matmul(x, weight, transpose_other=True, name=name)
        return ark.add(product, bias, name=f"{name}.bias")

    def heads(self, x: Tensor, name: str) -> Tensor:
        """Returns ``[batch * length, hidden]`` as ``[batch, heads, length, D]``."""
        shape = (self.batch, self.length, self.config.heads, -1)
        return ark.transpose(ark.reshape(x, shape, name=name), (0, 2, 1, 3), name=name)

    def attention(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        q, k, v = (
            self.heads(self.dense(x, f"{name}.self.{part}", self.config.hidden), f"{name}.{part}")
            for part in ("query", "key", "value")
        )
        mixed = ark.attention(q, k, v, mask=mask, name=name)
        mixed = ark.transpose(mixed, (0, 2, 1, 3), name=f"{name}.merge")
        mixed = ark.reshape(mixed, x.shape, name=f"{name}.merge")
        return self.dense(mixed, f"{name}.output.dense", self.config.hidden)

    def pooler(self, hidden: Tensor) -> Tensor:
        """Applies BERT's pooler, a dense layer with tanh, to the vector of the first token."""
        pooled = self.dense(hidden[:, 0], "pooler.dense", self.config.hidden)
        return ark.cast(ark.tanh(pooled, name="pooler.activation"), fp32, name="pooling")

    def layer(self, x: Tensor, mask: Tensor, name: str) -> Tensor:
        attended = x + self.attention(x, mask, f"{name}.attention")
        x = self.norm(attended, f"{name}.attention.output.LayerNorm")
        activation = _ACTIVATIONS[self.config.activation]
        inner = self.dense(x, f"{name}.intermediate.dense", self.config.intermediate)
        inner = activation(inner, f"{name}.intermediate.activation")
        outer = self.dense(inner, f"{name}.output.dense", self.config.hidden)
        return self.norm(x + outer, f"{name}.output.LayerNorm")


def _pooled(hidden: Tensor, mask: Tensor, pooling: str) -> Tensor:
    # The rest is fp32: the norm of 16-bit values could overflow or lose precision.
    if pooling == "none":
        return ark.cast(hidden, fp32, name="pooling")
    if pooling == "cls":
        return ark.cast(hidden[:, 0], fp32, name="pooling")
    weights = ark.reshape(ark.cast(mask, fp32), (*mask.shape, 1), name="pooling.mask")
    total = ark.reduce_sum(ark.cast(hidden, fp32) * weights, 1, keepdims=False, name="pooling.sum")
    count = ark.reduce_sum(weights, 1, keepdims=False, name="pooling.count")
    # Rows that pad the batch have no token, and must not divide by zero.
    return ark.div(total, ark.maximum(count, 1.0), name="pooling.mean")


def _normalized(x: Tensor) -> Tensor:
    norm = ark.sqrt(ark.reduce_sum(x * x, -1, name="norm.sum"), name="norm")
    return ark.div(x, ark.maximum(norm, 1e-12), name="normalize")


class EmbeddingModel(Model):
    """An encoder of sentences. See :meth:`embed`.

    Example:
        >>> model = ark.models.load(folder, batch=2, length=12)
        >>> type(model).__name__, model.programs["embed"].outputs["embedding"].shape
        ('EmbeddingModel', (2, 16))
    """

    def __init__(
        self, name: str, program: Program, parameters: Arrays, vocabulary: int, types: int = 2
    ) -> None:
        super().__init__(name, {"embed": program}, parameters)
        self.vocabulary = vocabulary
        self.types = types

    def embed(
        self,
        ids: TokenRows,
        mask: TokenRows | None = None,
        types: TokenRows | None = None,
        *,
        reference: bool = False,
    ) -> NDArray[np.float32]:
        """Returns one vector for each prompt.

        Args:
            ids: token ids, a matrix or rows of any lengths. Prompts run in batches of the
                program's size.
            mask: 1 for each id that is a token and 0 for padding; by default all are tokens.
            types: the number of the sentence in a pair for each id; by default 0, the first.
            reference: True computes with the float64 interpreter instead of the compiled program.

        The result is fp32 ``[prompts, hidden]`` (float64 with `reference`). With pooling ``none``,
        it is ``[prompts, length, hidden]``, and its values at padding are undefined. Raises
        InvalidUsageError if a prompt is empty, is longer than the program's `length`, or has an
        unknown token or type, or if the model is not compiled.

        Example:
            >>> model = ark.models.load(folder, length=12).compile("cpu")
            >>> model.embed([[2, 3, 5], [7, 11]]).shape  # (prompts, hidden)
            (2, 16)
        """
        rows = as_tokens(ids, self.vocabulary)
        masks = _as_masks(mask, rows)
        kinds = self._as_types(types, rows)
        program = self.programs["embed"]
        batch, length = program.inputs["ids"].shape
        prompts = [
            _trimmed(n, *parts, length)
            for n, parts in enumerate(zip(rows, masks, kinds, strict=True))
        ]
        parts: list[NDArray[Any]] = []
        for begin in range(0, len(prompts), batch):
            chunk = prompts[begin : begin + batch]
            result = self.run("embed", _padded(chunk, batch, length), reference=reference)
            parts.append(result["embedding"][: len(chunk)])
        if not parts:
            return np.zeros((0, *program.outputs["embedding"].shape[1:]), np.float32)
        return np.concatenate(parts)

    def _as_types(self, types: object, rows: list[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        if types is None:
            return [np.zeros(row.shape, np.int32) for row in rows]
        kinds = as_rows(types, "types")
        if [kind.shape for kind in kinds] != [row.shape for row in rows]:
            raise InvalidUsageError("types must have the shape of ids")
        for number, row in enumerate(kinds):
            if not np.isin(row, range(self.types)).all():
                raise InvalidUsageError(f"types[{number}] must be from 0 to {self.types - 1}")
        return [kind.astype(np.int32) for kind in kinds]


def _as_masks(mask: object, rows: list[NDArray[np.int32]]) -> list[NDArray[np.bool_]]:
    if mask is None:
        return [np.ones(row.shape, np.bool_) for row in rows]
    try:
        masks = [np.asarray(m) for m in mask]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidUsageError("mask must be rows of zeros and ones") from None
    if [m.shape for m in masks] != [row.shape for row in rows]:
        raise InvalidUsageError("mask must have the shape of ids")
    for number, row in enumerate(masks):
        if row.dtype.kind not in "biu" or not np.isin(row, (0, 1)).all():
            raise InvalidUsageError(f"mask[{number}] must hold zeros and ones")
    return [m.astype(np.bool_) for m in masks]


# Ids, mask and types of one prompt.
_Prompt = tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int32]]


def _trimmed(
    number: int,
    ids: NDArray[np.int32],
    mask: NDArray[np.bool_],
    types: NDArray[np.int32],
    length: int,
) -> _Prompt:
    """Returns a prompt without the padding at its end."""
    if not mask.any():
        raise InvalidUsageError(f"prompt {number} has no token")
    used = int(np.flatnonzero(mask)[-1]) + 1
    if used > length:
        raise InvalidUsageError(
            f"prompt {number} has {used} tokens, the program's limit is {length}; "
            f"load the model with length={used} or more, or cut the prompt"
        )
    return ids[:used], mask[:used], types[:used]


def _padded(prompts: list[_Prompt], batch: int, length: int) -> dict[str, NDArray[Any]]:
    ids = np.zeros((batch, length), np.int32)
    mask = np.zeros((batch, length), np.bool_)
    types = np.zeros((batch, length), np.int32)
    for number, parts in enumerate(prompts):
        for array, row in zip((ids, mask, types), parts, strict=True):
            array[number, : row.size] = row
    return {"ids": ids, "mask": mask, "types": types}


def load(
    folder: Path,
    config: Config,
    *,
    batch: int = 8,
    length: int = 64,
    dtype: DTypeLike = fp32,
    pooling: Pooling = "mean",
    normalize: bool = True,
) -> EmbeddingModel:
    """Loads a BERT encoder from a Hugging Face folder; use it through ``ark.models.load``.

    Args:
        batch: number of prompts per run.
        length: maximum number of tokens of a prompt.
        dtype: dtype of parameters and hidden states: fp32, fp16 or bf16.
        pooling: ``mean`` of the tokens' vectors, ``cls`` for the first token's vector, ``pooler``
            for the output of BERT's pooler, ``none`` for the vectors of all tokens.
        normalize: True scales vectors to length one.
    """
    sizes = BertConfig.read(config)
    weights = read_weights(folder)
    check_layers(config, weights, ["encoder.layer.", "bert.encoder.layer."])
    if pooling not in get_args(Pooling):
        known = ", ".join(get_args(Pooling))
        raise InvalidUsageError(f"pooling must be one of {known}, not {pooling!r}")
    if as_count(length, "length") > sizes.positions:
        raise config.error(f"length {length} exceeds the model's {sizes.positions} positions")
    program = build(sizes, as_count(batch, "batch"), length, dtype, pooling, bool(normalize))
    parameters = assign(program.parameters, weights, os.fspath(folder), _spellings)
    return EmbeddingModel(os.fspath(folder), program, parameters, sizes.vocabulary, sizes.types)


def _spellings(name: str) -> list[str]:
    """Returns the names of a tensor in a plain encoder, under a head, and in old checkpoints."""
    old = name.replace("LayerNorm.weight", "LayerNorm.gamma").replace(
        "LayerNorm.bias", "LayerNorm.beta"
    )
    return [prefix + spelling for spelling in (name, old) for prefix in ("", "bert.")]

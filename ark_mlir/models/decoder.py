"""Decoders as programs; :mod:`.families` has the types of models that have such programs.

Two programs share parameters and states: ``prefill`` reads a chunk of a prompt, ``decode`` one
token. Keys, values and the progress of the sequence are states: N iterations of ``decode``
generate N tokens.
"""

from __future__ import annotations

import math
import os
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from .. import frontend as ark
from ..dtypes import bf16, fp16, fp32, from_numpy, int32
from ..errors import InvalidUsageError, UnsupportedError
from ..frontend import Program, Tensor
from ..runtime.ranks.membership import current
from .config import Config, as_count, as_float_dtype
from .decoder_config import DecoderConfig, divide
from .decoder_graph import DecoderGraph
from .decoder_parts import read_text
from .decoder_reader import read_decoder
from .decoder_states import DecoderStates
from .expert_weights import stack_experts
from .families import FAMILIES
from .generation import GenerativeModel
from .generation_config import Sizes, read_ends
from .quantization import find_layouts, keep_layers, read_quantization
from .rope import Rope, RopeScaling
from .slots import SlotPrograms
from .weights import (
    Arrays,
    assign,
    check_layers,
    check_shapes,
    read_weights,
    spellings,
    text_tensors,
)

if TYPE_CHECKING:
    from ..typing import DTypeLike
    from ..typing import Path as PathLike

__all__ = [
    "DecoderConfig",
    "RopeScaling",
    "build_decode",
    "build_prefill",
    "divide",
    "load",
    "rope_tables",
]


def rope_tables(config: DecoderConfig, length: int) -> tuple[NDArray[np.float32], ...]:
    """Returns the cosines and sines of all positions: two arrays ``[length, head / 2]``.

    Layers with a window may have others; see :meth:`DecoderConfig.rope`.
    """
    return Rope(config.rotary or config.head, config.theta, config.scaling).tables(length)


def build_decode(
    config: DecoderConfig,
    *,
    batch: int = 1,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
    padded: bool = False,
) -> Program:
    """Builds the program that reads one token of each sequence and computes the next.

    States: the token, its position and the tokens so far (:class:`DecoderStates`), and
    ``layers.<n>.key`` and ``.value`` ``[batch, kv_heads, max_length, head]``. Input: ``ends``
    int32 ``[8]``, the tokens that end a sequence; negative entries are unused. The launch ends
    when all sequences have ended. Outputs: ``logits`` fp32 ``[batch, vocabulary]`` and ``token``
    int32 ``[batch]``, the most probable token, or with `sampling` the one that :func:`draw`
    samples. Parameters have the names of Hugging Face; their arrays are not needed to build.

    All sequences end at one position. With `padded`, they may have unequal lengths: the input
    ``padding`` int32 ``[batch]`` is the number of positions before the first token of each
    sequence, which no token attends to. Raises InvalidUsageError if `max_length` exceeds the
    model's positions.

    Example:
        >>> sizes = DecoderConfig(vocabulary=100, hidden=64, layers=2, heads=4, kv_heads=2, head=16,
        ...                       intermediate=128)
        >>> sorted(ark.models.decoder.build_decode(sizes, max_length=32).outputs)
        ['logits', 'token']
    """
    _check_length(config, max_length)
    with config.shard.program("decode") as program:
        shared = DecoderStates.declare(batch, max_length)
        graph = DecoderGraph(
            config, batch, 1, max_length, as_float_dtype(dtype), shared.position,
            padding=_padding(batch, padded),
        )  # fmt: skip
        token = graph.next_token(graph.hidden(shared.token), None, shared.position, sampling)
        shared.advance(token, shared.position, first=False)
    return program


def build_prefill(
    config: DecoderConfig,
    *,
    batch: int = 1,
    chunk: int = 64,
    max_length: int = 2048,
    dtype: DTypeLike = bf16,
    sampling: bool = False,
    padded: bool = False,
    sequence_parallel: bool = False,
) -> Program:
    """Builds the program that reads `chunk` tokens of a prompt at once.

    The program has the states, inputs, outputs and parameters of :func:`build_decode`. Further
    inputs are ``ids`` int32 ``[batch, chunk]``, the scalar ``begin``, the number of tokens before
    the chunk, and, if `chunk` is above one, the scalar ``last``, the index of the token in the
    chunk to which the outputs belong. Tokens after ``last`` are ignored: their keys and values are
    overwritten before an op reads them.

    With `sequence_parallel`, the ranks of `config` also divide the tokens of the chunk between the
    products (:mod:`ark_mlir.models.sharding`). Raises InvalidUsageError if `max_length` exceeds the
    model's positions, `chunk` is not in ``[1, max_length]``, or, with `sequence_parallel`, the
    number of ranks does not divide ``batch * chunk``.
    """
    if sequence_parallel and batch * chunk % config.shard.size:
        raise InvalidUsageError(
            f"sequence_parallel needs a chunk whose number of tokens is a multiple of "
            f"{config.shard.size}, the number of ranks, not {batch} x {chunk}"
        )
    if not 1 <= chunk <= max_length:
        raise InvalidUsageError(f"chunk {chunk} is not between 1 and max_length {max_length}")
    _check_length(config, max_length)
    with config.shard.program("prefill") as program:
        ids = ark.input("ids", (batch, chunk), int32)
        begin = ark.scalar("begin", int32, max=max_length - chunk)
        shared = DecoderStates.declare(batch, max_length)
        graph = DecoderGraph(
            config, batch, chunk, max_length, as_float_dtype(dtype), begin, sequence_parallel,
            _padding(batch, padded),
        )  # fmt: skip
        last = ark.scalar("last", int32, max=chunk - 1) if chunk > 1 else None
        position = begin if last is None else ark.add(begin, last, name="at")
        token = graph.next_token(graph.hidden(ids), last, position, sampling)
        shared.advance(token, position, first=True)
    return program


def _padding(batch: int, padded: bool) -> Tensor | None:
    return ark.input("padding", (batch,), int32) if padded else None


def _check_length(config: DecoderConfig, max_length: int) -> None:
    if max_length > config.positions:
        raise InvalidUsageError(
            f"max_length {max_length} exceeds the model's {config.positions} positions"
        )


def load(
    folder: PathLike,
    config: Config,
    *,
    max_length: int = 512,
    chunk: int = 32,
    batch: int = 1,
    dtype: DTypeLike | None = None,
    sampling: bool = False,
    tensor_parallel: int = 1,
    sequence_parallel: bool = False,
    split_embedding: bool = False,
    expert_parallel: bool = False,
    expert_capacity: float | None = None,
    keep_quantized: bool = False,
) -> GenerativeModel:
    """Loads a decoder from a Hugging Face folder; use it through ``ark.models.load``.

    Args:
        max_length: maximum number of tokens of a sequence, limited by the model's positions.
        chunk: number of tokens of a prompt per run of ``prefill``.
        batch: number of prompts that run at once, as rows of both programs.
        dtype: dtype of parameters and hidden states; by default that of the configuration, or else
            of the table of embeddings.
        sampling: True if ``generate`` can sample tokens.
        tensor_parallel: number of ranks that share the attention heads, the MLP and the vocabulary
            head; see ``ark_mlir.models.sharding``. The number of ranks must divide the number of
            heads and the MLP's width, and must divide the number of key heads or be a multiple of
            it: several ranks then have the same key head. All ranks run in this process: with
            ``cuda``, each rank on a different GPU, or all ranks on one GPU with
            ``compile(devices=[0])``. After ``ark.distributed.init``, each process is one rank: the
            world must have this number of ranks, and each rank must compile and generate.
        sequence_parallel: True if these ranks also divide the tokens of a chunk in ``prefill``,
            whose number must be a multiple of `tensor_parallel`.
        split_embedding: True if each of these ranks has only its rows of the table of embeddings,
            ``1 / tensor_parallel`` of its bytes. Each run has one more exchange, of the hidden
            states before the first layer. Logits and tokens have the same bits.
        expert_parallel: True if each of these ranks has whole experts, instead of columns of every
            expert. The number of ranks must divide the number of experts.
        expert_capacity: with `expert_parallel` and `sequence_parallel`, ranks exchange the rows of
            tokens in ``prefill``. A rank sends each rank at most this multiple of the mean number
            of rows; experts ignore further rows, which changes the logits. From `tensor_parallel`
            on, no row is dropped. None lets all ranks compute the tokens of all ranks.
        keep_quantized: True keeps the weights of a checkpoint in FP8, GPTQ (4 bits) or AWQ
            quantized in memory: a step reads a half or about 0.27 of the bytes.
            Threads widen the weights in registers for up to 16 rows (``ark.quantized_matmul``);
            with more rows, as in ``prefill``, each run widens them in memory. Layers that cannot
            stay quantized, such as experts, are dequantized at load as without the option.

    Raises InvalidUsageError if an entry of the configuration, a tensor or an option is invalid, and
    UnsupportedError if `tensor_parallel` is above 1 for a model that cannot be divided.
    """
    config = read_text(config)
    kind = config.word("model_type")
    ranks = as_count(tensor_parallel, "tensor_parallel")
    if sequence_parallel and ranks == 1:
        raise InvalidUsageError(f"sequence_parallel needs tensor_parallel above 1, not {ranks}")
    if split_embedding and ranks == 1:
        raise InvalidUsageError(f"split_embedding needs tensor_parallel above 1, not {ranks}")
    whole = bool(expert_parallel)
    capacity = _read_capacity(expert_capacity, whole and bool(sequence_parallel))
    if whole and ranks == 1:
        raise InvalidUsageError(f"expert_parallel needs tensor_parallel above 1, not {ranks}")
    if ranks > 1 and not FAMILIES[kind].ranks:
        known = ", ".join(name for name, family in FAMILIES.items() if family.ranks)
        raise UnsupportedError(
            f"tensor_parallel {ranks}: models of type {kind} run on one rank; models of types "
            f"{known} can be divided",
            location=config.path,
        )
    dequantize = read_quantization(config)
    sizes = read_decoder(config)
    if whole and sizes.experts is None:
        raise config.error(f"expert_parallel: models of type {kind} have no experts")
    tensors = text_tensors(read_weights(folder))
    key = FAMILIES[kind].key("num_hidden_layers")
    further = config.natural("num_nextn_predict_layers", 0)
    check_layers(config, tensors, spellings(f"{sizes.names.layers}."), key, further)
    check_shapes(sizes.shapes(), tensors, os.fspath(folder), spellings)
    element = as_float_dtype(dtype or _read_dtype(config, sizes, tensors))
    limit = min(as_count(max_length, "max_length"), sizes.positions)
    rows = as_count(batch, "batch")
    common: dict[str, Any] = {
        "batch": rows, "max_length": limit, "dtype": element, "sampling": bool(sampling),
        "padded": rows > 1,
    }  # fmt: skip
    part = min(as_count(chunk, "chunk"), limit)

    def build(sizes: DecoderConfig) -> dict[str, Program]:
        divided = bool(sequence_parallel) and sizes.shard.size > 1
        of_prefill = sizes
        if divided and sizes.experts is not None:
            experts = replace(sizes.experts, capacity=capacity)
            of_prefill = replace(sizes, experts=experts)
        return {
            "prefill": build_prefill(of_prefill, chunk=part, sequence_parallel=divided, **common),
            "decode": build_decode(sizes, **common),
        }

    sizes = replace(sizes, names=sizes.names.by_outputs())
    if keep_quantized:
        if ranks > 1:
            raise UnsupportedError(
                f"keep_quantized with tensor_parallel {ranks}: groups of inputs may not be divided "
                "among ranks; load the model with one of the two options",
                location=config.path,
            )
        sizes = replace(sizes, layouts=find_layouts(dequantize, config, tensors))
    programs = build(sizes)
    tensors = keep_layers(dequantize, tensors, programs["decode"].parameters, os.fspath(folder))
    tensors = dequantize(tensors, element, os.fspath(folder))
    if sizes.experts is not None:
        tensors = stack_experts(sizes.experts, sizes.layers, tensors, os.fspath(folder))
    weights = assign(programs["decode"].parameters, tensors, os.fspath(folder), spellings)
    model = GenerativeModel(
        os.fspath(folder),
        programs,
        weights,
        Sizes(sizes.vocabulary, sizes.positions, limit, part, bool(sampling), rows),
        read_ends(folder, config, sizes.vocabulary),
    )
    if ranks == 1:
        model.slots = SlotPrograms(sizes, element, limit)
    if ranks > 1:
        parts = _of_this_process(divide(sizes, ranks, whole, bool(split_embedding)))
        of_rank = [build(sizes_of_rank) for sizes_of_rank in parts]
        model.ranks = {name: [built[name] for built in of_rank] for name in programs}
    return model


def _read_capacity(value: object, exchanges: bool) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        raise InvalidUsageError(f"expert_capacity must be a positive number, not {value!r}")
    if not exchanges:
        raise InvalidUsageError("expert_capacity needs expert_parallel and sequence_parallel")
    return float(value)


def _read_dtype(config: Config, sizes: DecoderConfig, tensors: Arrays) -> str:
    """Reads the dtype of the weights before a quantization."""
    names = spellings(f"{sizes.names.embedding}.weight")
    found = [from_numpy(tensors[name].dtype) for name in names if name in tensors]
    default = str(found[0]) if found and found[0] in (fp32, fp16, bf16) else "fp32"
    return config.entries.get("dtype") or config.word("torch_dtype", default)


def _of_this_process(parts: list[DecoderConfig]) -> list[DecoderConfig]:
    """Returns the parts that this process runs: one if the process is a rank, else all."""
    member = current()
    if member is None:
        return parts
    if len(parts) != member.world_size:
        raise InvalidUsageError(
            f"tensor_parallel {len(parts)} must be the number of ranks of the world, "
            f"{member.world_size}"
        )
    return [parts[member.rank]]

"""Models from bundles that ``ark compile`` wrote; this module needs no compiler."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from ..dtypes import fp32
from ..errors import InvalidUsageError
from ..paths import as_path
from ..runtime import Executable, World, load
from ..runtime.ranks.membership import current
from .config import Config, read_config
from .decoder_parts import read_experts, read_text
from .embedding import EmbeddingModel, EmbeddingSizes
from .expert_weights import stack_experts
from .generation import GenerativeModel
from .generation_config import Sizes, read_ends
from .origins import check_origin, describe_folder
from .quantization import keep_layers, read_quantization
from .replicas import Replicas, shard_array
from .weights import Arrays, assign, read_weights, spellings, text_tensors

if TYPE_CHECKING:
    from ..bundle import Buffer
    from ..typing import Path as PathLike

__all__ = ["load_compiled"]

_PARTS = ("prefill", "decode")


def load_compiled(
    folder: PathLike,
    bundle: PathLike,
    *,
    devices: Sequence[int] | None = None,
    concurrent: bool = False,
) -> EmbeddingModel | GenerativeModel:
    """Loads a model whose programs were compiled by ``ark compile FOLDER -o OUT.arkbin``.

    Args:
        folder: the model folder, with ``config.json`` and ``*.safetensors``.
        bundle: the output path of ``ark compile``, such as ``m.arkbin``. For a decoder, that
            command writes ``m.prefill.arkbin`` and ``m.decode.arkbin`` instead of this file.
        devices, concurrent: the GPUs to run on, as for ``ark.load``.

    Bundles of several ranks (``--set tensor_parallel=2``) run with all ranks in this process, or
    after :func:`ark_mlir.distributed.init` with one rank in each process.

    Returns a compiled model, which cannot be interpreted or compiled again. Raises BundleError if a
    bundle is missing or invalid, or was compiled from another model (see ``docs/bundle.md``), and
    InvalidUsageError if the folder is invalid.

    Example:
        >>> model = ark.models.load(folder, batch=2, length=12).compile("cpu")
        >>> path = model.executable("embed").save("e.arkbin")
        >>> ark.models.load_compiled(folder, "e.arkbin").embed([[2, 3, 5]]).shape
        (1, 16)
    """
    config, tensors = read_config(folder), read_weights(folder)
    path = as_path(bundle, "the bundle")
    parts = {name: path.with_suffix(f".{name}{path.suffix}") for name in _PARTS}
    if not path.exists() and any(part.exists() for part in parts.values()):
        paths = parts
    else:
        paths = {"embed": path}
    loaded = {
        name: _replicated(load(each, devices=devices, concurrent=concurrent))
        for name, each in paths.items()
    }
    origin = describe_folder(folder, config, tensors)
    build = _decoder if "decode" in loaded else _encoder
    for executable in loaded.values():
        check_origin(executable.bundle, origin, os.fspath(folder))
    return build(folder, config, tensors, loaded)


def _replicated(executable: Executable) -> Executable:
    """Returns an executable whose ranks, if it has several in this process, act as one."""
    return Replicas.of(executable) if isinstance(executable, World) else executable


def _decoder(
    folder: PathLike, config: Config, tensors: Arrays, parts: dict[str, Executable]
) -> GenerativeModel:
    prefill, decode = (parts[name] for name in _PARTS)
    states, inputs = _shapes(decode, "states"), _shapes(prefill, "inputs")
    outputs = _shapes(decode, "outputs")
    rows = inputs["ids"][0] if "ids" in inputs else 0
    if "tokens" not in states or not rows or "logits" not in outputs:
        raise InvalidUsageError(
            "is not the program of a decoder, which `ark compile FOLDER` writes",
            location=decode.bundle.where,
        )
    vocabulary, length = outputs["logits"][-1], states["tokens"][-1]
    if rows > 1 and "padding" not in inputs:
        raise InvalidUsageError(
            f"is a program of {rows} rows without the input `padding`, which `ark compile` adds; "
            f"compile the folder with --set batch={rows}",
            location=decode.bundle.where,
        )
    sizes = Sizes(vocabulary, length, length, inputs["ids"][-1], "temperature" in inputs, rows)
    ends = read_ends(folder, config, vocabulary)
    arrays = _bind(prefill, _plain_tensors(prefill, config, tensors), folder)
    decode.share_states(prefill, parameters=True)
    model = GenerativeModel(os.fspath(folder), {}, arrays, sizes, ends)
    model.executables.update(parts)
    if prefill.bundle.manifest.ranks > 1:
        # No programs, but the model knows that several ranks share it.
        model.ranks = {name: [] for name in parts}
    return model


def _encoder(
    folder: PathLike, config: Config, tensors: Arrays, parts: dict[str, Executable]
) -> EmbeddingModel:
    executable = parts["embed"]
    inputs, outputs = _shapes(executable, "inputs"), _shapes(executable, "outputs")
    if "ids" not in inputs or "embedding" not in outputs:
        raise InvalidUsageError(
            "is not the program of an encoder, which `ark compile FOLDER` writes",
            location=executable.bundle.where,
        )
    types = config.count("type_vocab_size", 2) if "types" in inputs else 1
    batch, length = inputs["ids"]
    sizes = EmbeddingSizes(
        config.count("vocab_size"), types, batch, length, outputs["embedding"][1:], tuple(inputs)
    )
    arrays = _bind(executable, tensors, folder)
    model = EmbeddingModel(os.fspath(folder), {}, arrays, sizes)
    model.executables["embed"] = executable
    return model


def _shapes(executable: Executable, kind: str) -> dict[str, tuple[int, ...]]:
    """Returns shapes by name, those of the first rank if the program has several."""
    return {name: tuple(buffer.shape) for name, buffer in _of_rank(executable, 0, kind).items()}


def _of_rank(executable: Executable, rank: int, kind: str) -> dict[str, Buffer]:
    """Returns the buffers of one rank, by names without the rank."""
    buffers: tuple[Buffer, ...] = getattr(executable.bundle.manifest, kind)
    if not isinstance(executable, World):
        return {buffer.name: buffer for buffer in buffers}
    prefix = f"rank{rank}/"
    return {
        buffer.name.removeprefix(prefix): buffer
        for buffer in buffers
        if buffer.name.startswith(prefix)
    }


def _plain_tensors(executable: Executable, config: Config, tensors: Arrays) -> Arrays:
    """Returns the tensors of a decoder's files, dequantized, with those of experts stacked."""
    # All parameters of a decoder have the dtype of the table of embeddings, which is the first,
    # but for those of weights that stay quantized.
    element = next((buffer.dtype for buffer in executable.parameters), fp32)
    where = os.path.dirname(config.path)
    dequantize, names = read_quantization(config), [each.name for each in executable.parameters]
    plain = dequantize(keep_layers(dequantize, text_tensors(tensors), names, where), element, where)
    if all(".experts." not in buffer.name for buffer in executable.parameters):
        return plain
    return _stacked(config, plain, where)


def _stacked(config: Config, tensors: Arrays, where: str) -> Arrays:
    """Returns the tensors with one array for each projection of all experts."""
    experts, layers = read_experts(read_text(config))
    return tensors if experts is None else stack_experts(experts, layers, tensors, where)


def _bind(executable: Executable, tensors: Arrays, folder: PathLike) -> Arrays:
    """Binds the parameters, of each rank a part of the folder's tensors; returns whole arrays."""
    size = executable.bundle.manifest.ranks
    parameters = _of_rank(executable, 0, "parameters")
    find = _names(tensors)
    if size == 1:
        arrays = assign(parameters, tensors, os.fspath(folder), find)
        executable.bind(arrays)
        return arrays
    # The record of the model has the shapes of whole tensors.
    whole: dict[str, Buffer] = {}
    for name, buffer in parameters.items():
        shapes = [tensors[found].shape for found in find(name) if found in tensors]
        whole[name] = replace(buffer, shape=shapes[0]) if shapes else buffer
    arrays = assign(whole, tensors, os.fspath(folder), find)
    member = current()
    ranks = range(size) if isinstance(executable, World) or member is None else [member.rank]
    parts = [
        {
            name: shard_array(arrays[name], rank, size, tuple(buffer.shape))
            for name, buffer in _of_rank(executable, rank, "parameters").items()
        }
        for rank in ranks
    ]
    if isinstance(executable, World):
        executable.bind(parts)
    else:
        executable.bind(parts[0])
    return arrays


def _names(tensors: Arrays) -> Callable[[str], list[str]]:
    """Returns a function that returns the names that a parameter may have in the files."""
    prefixes = sorted({name.partition(".")[0] for name in tensors})

    def find(name: str) -> list[str]:
        old = name.replace("LayerNorm.weight", "LayerNorm.gamma")
        old = old.replace("LayerNorm.bias", "LayerNorm.beta")
        plain = [*spellings(name), old]
        return [*plain, *(f"{prefix}.{each}" for prefix in prefixes for each in plain)]

    return find

"""The tensors of a Hugging Face folder, mapped from its safetensors files."""

from __future__ import annotations

import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, from_numpy
from ..errors import InvalidUsageError, shorten
from ..json_checks import Document, Node, parse_json
from ..runtime.arrays.safetensors import read_safetensors
from .config import Config
from .tensor_names import TRANSPOSED

__all__ = [
    "Arrays", "Parameter", "assign", "check_layers", "check_shapes", "find_file", "read_weights",
    "spellings", "text_tensors",
]  # fmt: skip

Arrays = dict[str, NDArray[Any]]
# Prefixes that the files of a model without a vocabulary head lack.
_PREFIXES = ("model.", "transformer.")


class Parameter(Protocol):
    """A parameter of a program, or of a bundle."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extents."""
        ...

    @property
    def dtype(self) -> DType:
        """Returns the dtype of the elements."""
        ...


def spellings(name: str) -> list[str]:
    """Returns the names of a tensor in a model with a vocabulary head, and in one without.

    >>> spellings("model.norm.weight")
    ['model.norm.weight', 'norm.weight']
    """
    return [name, *(name.removeprefix(each) for each in _PREFIXES if name.startswith(each))]


def _other_weights(root: Path) -> str:
    """Returns the remedy if a folder has weights in files that ark does not read, else nothing."""
    suffixes = (".bin", ".pt", ".pth", ".h5")
    others = sorted(each.name for each in root.glob("*") if each.suffix in suffixes)
    if not others:
        return ""
    return (
        f", and ark does not read {others[0]}, since such files may run code; write safetensors "
        "with save_pretrained of transformers"
    )


def read_weights(folder: str | os.PathLike[str]) -> Arrays:
    """Maps all tensors of the ``*.safetensors`` files of a folder and returns them by name.

    If the folder has an index (``model.safetensors.index.json``), only the files in the index are
    read. Raises InvalidUsageError if there is no file, a file cannot be read, or two files have a
    tensor of the same name.
    """
    root = Path(folder)
    index = root / "model.safetensors.index.json"
    files = _indexed(root, index) if index.is_file() else sorted(root.glob("*.safetensors"))
    if not files:
        raise InvalidUsageError(
            f"the model folder has no *.safetensors file{_other_weights(root)}", location=str(root)
        )
    tensors: Arrays = {}
    for file in files:
        part = read_safetensors(file)
        for name in sorted(set(part) & set(tensors)):
            raise InvalidUsageError(f"tensor {name!r} is in another file too", location=str(file))
        tensors.update(part)
    return tensors


def find_file(folder: str | os.PathLike[str], name: str) -> str:
    """Returns the path of the file that has a tensor, for messages: the folder if none has it.

    `name` may be the name after :func:`text_tensors`, which is shorter than that in the file.
    """
    root = Path(folder)
    for file in sorted(root.glob("*.safetensors")):
        if any(each == name or each.endswith(f".{name}") for each in read_safetensors(file)):
            return str(file)
    return str(folder)


def text_tensors(tensors: Arrays) -> Arrays:
    """Returns the tensors of the text part of a model of text and images, with the names of a
    decoder, and the tensors of any other model unchanged.

    >>> list(text_tensors({"language_model.model.norm.weight": np.ones(3), "vision.w": np.ones(2)}))
    ['model.norm.weight']
    """
    parts = {"language_model.": "", "model.language_model.": "model."}
    found = {
        name.replace(old, new, 1): array
        for name, array in tensors.items()
        for old, new in parts.items()
        if name.startswith(old)
    }
    # The vocabulary head of newer files is not part of the text model.
    heads = {name: array for name, array in tensors.items() if name.startswith("lm_head.")}
    return {**found, **heads} if found else tensors


def _indexed(root: Path, index: Path) -> list[Path]:
    try:
        text = index.read_bytes()
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=str(index)) from None
    document = Document(str(index), "index of tensors", InvalidUsageError)
    files = parse_json(text, document)["weight_map"]
    names = {_name_of_file(files[tensor]) for tensor in files.mapping()}
    return [root / name for name in sorted(names)]


def _name_of_file(node: Node) -> str:
    """Returns the name of a file in an index; a path to another folder is an error."""
    name = node.text()
    if Path(name).name != name:
        raise node.error(f"{shorten(name)} is not the name of a file")
    return name


def check_layers(
    config: Config,
    tensors: Arrays,
    prefixes: Sequence[str],
    key: str = "num_hidden_layers",
    further: int = 0,
) -> None:
    """Raises InvalidUsageError if a configuration has more layers than the weights.

    Fewer layers are a warning, since the model then computes other numbers than with all weights.

    Args:
        prefixes: prefixes of the names of a layer's tensors, before the layer's number.
        key: the name of the entry of the configuration.
        further: number of layers that the weights may have, but that the model does not use.

    Example:
        >>> from ark_mlir.models.config import read_config
        >>> config = read_config(decoder_folder)  # of two layers
        >>> tensors = {"model.layers.0.mlp.weight": w, "model.layers.1.mlp.weight": w}
        >>> check_layers(config, tensors, ["model.layers."])
    """
    starts = "|".join(re.escape(prefix) for prefix in prefixes)
    matches = [re.match(rf"(?:{starts})(\d+)\.", name) for name in tensors]
    found = {match[1] for match in matches if match}
    if not found:
        raise InvalidUsageError(
            f"the weights lack {prefixes[0]}0, which the model type in config.json requires",
            location=os.path.dirname(config.path),
        )
    count = config.count(key)
    if count > len(found):
        raise config.error(f"{key!r} is {count}, but the weights have {len(found)} layers")
    if count + further < len(found):
        warnings.warn(
            f"{config.path}: {key!r} is {count}, but the weights have {len(found)} layers: the "
            f"weights of {len(found) - count} layers are not used",
            UserWarning,
            stacklevel=4,  # the caller of ark.models.load
        )


def _same(name: str) -> list[str]:
    return [name]


def check_shapes(
    shapes: Mapping[str, tuple[int, ...]],
    tensors: Arrays,
    where: str,
    find: Callable[[str], list[str]] = _same,
) -> None:
    """Raises InvalidUsageError if a tensor of the weights has another shape than `shapes` says.

    Args:
        where: the folder, for messages.
        find: returns the possible names of a parameter's tensor, in order of preference.
    """
    for name, shape in shapes.items():
        for each in find(name):
            if each in tensors:
                _check_shape(each, shape, tensors[each], where)


def assign(
    parameters: Mapping[str, Parameter],
    tensors: Arrays,
    where: str,
    find: Callable[[str], list[str]] = _same,
) -> Arrays:
    """Returns the array of each parameter, from the tensors of the weights.

    Args:
        where: the folder, for messages.
        find: returns the possible names of a parameter's tensor, in order of preference.

    A tensor of the parameter's dtype stays mapped; a tensor of another float type is converted. A
    parameter ``<name>.transposed`` gets a transposed copy of the tensor ``<name>``. Raises
    InvalidUsageError if a tensor is missing, or its shape or dtype does not fit.
    """
    found = {
        name: [n for n in find(name.removesuffix(TRANSPOSED)) if n in tensors]
        for name in parameters
    }
    missing = [name for name, names in found.items() if not names]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise InvalidUsageError(
            f"the weights lack {', '.join(missing[:3])}{more}, which the model type in config.json "
            "requires",
            location=where,
        )
    return {
        name: _fitting(name, found[name][0], argument, tensors, where)
        for name, argument in parameters.items()
    }


def _check_shape(name: str, shape: tuple[int, ...], array: NDArray[Any], where: str) -> None:
    if tuple(array.shape) != shape:
        raise InvalidUsageError(
            f"tensor {name!r} has shape {list(array.shape)}, "
            f"the configuration requires {list(shape)}",
            location=where,
        )


def _fitting(
    name: str, source: str, argument: Parameter, tensors: Arrays, where: str
) -> NDArray[Any]:
    """Returns the array of the parameter `name`, from the tensor `source`."""
    if not name.endswith(TRANSPOSED):
        _check_shape(name, argument.shape, tensors[source], where)
        return convert(name, tensors[source], argument.dtype, where)
    _check_shape(source, argument.shape[::-1], tensors[source], where)
    converted = convert(source, tensors[source], argument.dtype, where)
    return np.ascontiguousarray(np.transpose(converted))


def convert(name: str, array: NDArray[Any], dtype: DType, where: str) -> NDArray[Any]:
    """Returns `array` in the float type `dtype`, without a copy if it has that type already."""
    if array.dtype == dtype.numpy:
        return array
    found = from_numpy(array.dtype)
    if not dtype.is_float or not (array.dtype == np.float64 or (found and found.is_float)):
        raise InvalidUsageError(f"tensor {name!r} is {array.dtype}, not {dtype}", location=where)
    return array.astype(dtype.numpy)

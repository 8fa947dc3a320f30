"""The tensors of a Hugging Face folder, mapped from its safetensors files."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, from_numpy
from ..errors import InvalidUsageError
from ..frontend import Argument
from ..runtime.safetensors import read_safetensors

__all__ = ["Arrays", "assign", "read_weights"]

Arrays = dict[str, NDArray[Any]]


def read_weights(folder: str | os.PathLike[str]) -> Arrays:
    """All tensors of ``*.safetensors`` in a folder, by name; they map the files.

    Where there is an index (``model.safetensors.index.json``), its files are read and no
    others. Raises InvalidUsageError where there are none, one cannot be read, or two hold a
    tensor of the same name.
    """
    root = Path(folder)
    index = root / "model.safetensors.index.json"
    files = _indexed(root, index) if index.is_file() else sorted(root.glob("*.safetensors"))
    if not files:
        raise InvalidUsageError("the model folder has no *.safetensors file", location=str(root))
    tensors: Arrays = {}
    for file in files:
        part = read_safetensors(file)
        for name in sorted(set(part) & set(tensors)):
            raise InvalidUsageError(f"tensor {name!r} is in another file too", location=str(file))
        tensors.update(part)
    return tensors


def _indexed(root: Path, index: Path) -> list[Path]:
    try:
        content: Any = json.loads(index.read_text(encoding="utf-8"))
        names = sorted(set(cast("dict[str, str]", content["weight_map"]).values()))
        # An index may not lead outside of its folder.
        if not all(isinstance(n, str) and Path(n).name == n for n in names):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise ValueError("a file name in it is none")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise InvalidUsageError(f"is no index of tensors: {error}", location=str(index)) from None
    return [root / name for name in names]


def assign(
    parameters: Mapping[str, Argument],
    tensors: Arrays,
    where: str,
    find: Callable[[str], list[str]] = lambda name: [name],
) -> Arrays:
    """The array of every parameter, from the tensors of a file.

    Args:
        where: the folder, for messages.
        find: the names under which a parameter's tensor may be found, best first.

    A tensor of the parameter's dtype stays mapped; one of another float type is converted.
    Raises InvalidUsageError listing what is missing, or naming a tensor that does not fit.
    """
    found = {name: [n for n in find(name) if n in tensors] for name in parameters}
    missing = [name for name, names in found.items() if not names]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise InvalidUsageError(
            f"the weights lack {', '.join(missing[:3])}{more}; is the model type right?",
            location=where,
        )
    return {
        name: _fitting(name, argument, tensors[found[name][0]], where)
        for name, argument in parameters.items()
    }


def _fitting(name: str, argument: Argument, array: NDArray[Any], where: str) -> NDArray[Any]:
    if tuple(array.shape) != argument.shape:
        raise InvalidUsageError(
            f"tensor {name!r} has shape {list(array.shape)}, "
            f"the configuration asks for {list(argument.shape)}",
            location=where,
        )
    return convert(name, array, argument.dtype, where)


def convert(name: str, array: NDArray[Any], dtype: DType, where: str) -> NDArray[Any]:
    """`array` in another float type; itself where it has it already."""
    if array.dtype == dtype.numpy:
        return array
    own = from_numpy(array.dtype)
    if not dtype.is_float or not (array.dtype == np.float64 or (own and own.is_float)):
        raise InvalidUsageError(f"tensor {name!r} is {array.dtype}, not {dtype}", location=where)
    return array.astype(dtype.numpy)

"""The record of a model folder in a bundle.

Loading compares the record with the folder and refuses a bundle of another model.

A program has constants from ``config.json``, such as the tables of rotary angles, and a structure
that the configuration and the names of the tensors determine. The weights are no part of it: they
are bound from the folder at every load. The record thus has no digest of the weights, which would
take seconds per gigabyte: a fine-tuned checkpoint runs with the bundle of its base model.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable
from pathlib import Path

from ..bundle import Bundle, Origin
from ..errors import BundleError
from .config import Config
from .weights import Arrays

__all__ = ["check_origin", "describe_folder"]

# Files of sentence-transformers, which select the pooling of an encoder.
_POOLING_FILES = ("modules.json", "[0-9]*_*/config.json")
# Maximum number of entries in a message.
_SHOWN = 3


def describe_folder(folder: str | os.PathLike[str], config: Config, tensors: Arrays) -> Origin:
    """Returns the record of a model folder.

    Args:
        folder: the model folder.
        config: its ``config.json``.
        tensors: the tensors of its files by name; the elements are not read.

    The record has a digest of each entry of the configuration that may change the results, of each
    file that selects the pooling, and of the names and shapes of all tensors.

    Example:
        >>> from ark_mlir.models.config import read_config
        >>> from ark_mlir.models.weights import read_weights
        >>> describe_folder(folder, read_config(folder), read_weights(folder)).kind
        'bert'
    """
    root = Path(folder)
    entries = {name: _digest(value) for name, value in config.relevant().items()}
    for pattern in _POOLING_FILES:
        for file in sorted(root.glob(pattern)):
            entries[file.relative_to(root).as_posix()] = _digest(file.read_bytes().hex())
    shapes = {name: list(array.shape) for name, array in tensors.items()}
    return Origin(config.word("model_type"), entries, _digest(shapes))


def check_origin(bundle: Bundle, found: Origin, folder: str) -> None:
    """Raises BundleError unless the bundle was compiled from the model that `found` describes."""
    recorded = bundle.manifest.origin
    remedy = f"compile it again: ark compile {folder} -o OUT.arkbin"
    if recorded is None:
        raise BundleError(
            f"has no record of the model that it was compiled from; {remedy}", location=bundle.where
        )
    if recorded == found:
        return
    changed = [
        name
        for name in sorted({*recorded.entries, *found.entries})
        if recorded.entries.get(name) != found.entries.get(name)
    ]
    if recorded.kind != found.kind:
        reason = f"the bundle has the model type {recorded.kind}, the folder {found.kind}"
    elif changed:
        reason = f"{_listed(changed)} in {folder} differ from the model of the bundle"
    else:
        reason = f"the names or shapes of the tensors in {folder} differ"
    raise BundleError(f"was compiled from another model: {reason}; {remedy}", location=bundle.where)


def _listed(names: list[str]) -> str:
    shown = ", ".join(map(repr, names[:_SHOWN]))
    more = len(names) - _SHOWN
    return f"{shown} and {more} more" if more > 0 else shown


def _digest(value: object) -> str:
    parts: Iterable[str] = json.JSONEncoder(sort_keys=True).iterencode(value)
    return hashlib.sha256("".join(parts).encode()).hexdigest()

"""The tokenizer of a model folder, by the package `tokenizers` of Hugging Face."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError

_FILE = "tokenizer.json"


class Tokenizer:
    """Converts between text and token ids.

    Args:
        folder: a model folder with the file ``tokenizer.json``.

    Raises UnsupportedError if the package `tokenizers` is not installed, and InvalidUsageError if
    the file is missing or malformed.
    """

    def __init__(self, folder: str) -> None:
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise UnsupportedError(
                "--prompt needs the package tokenizers, which is not installed; pass --prompt-ids"
            ) from None
        path = Path(folder) / _FILE
        if not path.is_file():
            raise InvalidUsageError(f"--prompt needs the file {_FILE}", location=folder)
        try:
            self._tokenizer: Any = library.Tokenizer.from_file(str(path))
        except Exception as error:  # the package raises Exception itself
            raise InvalidUsageError(f"is no tokenizer: {error}", location=str(path)) from None

    def encode(self, text: str) -> list[int]:
        """Returns the token ids of a text, with those that the model expects at its begin."""
        return list(self._tokenizer.encode(text).ids)

    def decode(self, ids: list[int]) -> str:
        """Returns the text of token ids, without special tokens."""
        return str(self._tokenizer.decode(ids))

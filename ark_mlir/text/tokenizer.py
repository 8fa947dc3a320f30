"""The tokenizer of a model folder, by the package `tokenizers` of Hugging Face."""

from __future__ import annotations

import importlib
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from ..errors import InvalidUsageError, UnsupportedError

__all__ = ["Tokenizer"]

_FILE = "tokenizer.json"


class Tokenizer:
    """Converts between text and token ids.

    Args:
        folder: a model folder with the file ``tokenizer.json``.

    Raises UnsupportedError if the package `tokenizers` is not installed, and InvalidUsageError if
    the file is missing or malformed.

    Example:
        >>> from ark_mlir.text import Tokenizer
        >>> Tokenizer(text_folder).encode("hello world")
        [1, 2]
    """

    def __init__(self, folder: str) -> None:
        try:
            library: Any = importlib.import_module("tokenizers")
        except ImportError:
            raise UnsupportedError(
                "text needs the package tokenizers, which is not installed; run `pip install "
                "'ark-mlir[text]'`, or pass token ids"
            ) from None
        path = Path(folder) / _FILE
        if not path.is_file():
            raise InvalidUsageError(
                f"the model folder has no {_FILE}, which text needs; pass token ids",
                location=folder,
            )
        self._truncating = threading.Lock()
        try:
            self._tokenizer: Any = library.Tokenizer.from_file(str(path))
            # The caller pads and truncates.
            self._tokenizer.no_padding()
            self._tokenizer.no_truncation()
        except Exception as error:  # the package raises Exception itself
            raise InvalidUsageError(f"is not a tokenizer: {error}", location=str(path)) from None

    def encode(self, text: str, *, special: bool = True, length: int | None = None) -> list[int]:
        """Returns the token ids of a text.

        Args:
            text: the text.
            special: True adds the special tokens that the model expects, such as the first token.
                The text of a chat template contains them already.
            length: maximum number of tokens, including special tokens; a longer text is cut at its
                end.

        Example:
            >>> Tokenizer(text_folder).encode("hello world", length=1)
            [1]
        """
        ids: list[int] = list(self._tokenizer.encode(text, add_special_tokens=special).ids)
        if length is None or len(ids) <= length:
            return ids
        with self._truncating:
            self._tokenizer.enable_truncation(length)
            try:
                return list(self._tokenizer.encode(text, add_special_tokens=special).ids)
            finally:
                self._tokenizer.no_truncation()

    def decode(self, ids: Sequence[int]) -> str:
        """Returns the text of the token `ids`, without special tokens.

        Example:
            >>> Tokenizer(text_folder).decode([1, 2])
            'hello world'
        """
        return str(self._tokenizer.decode(list(ids)))

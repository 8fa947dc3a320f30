"""``config.json`` of a Hugging Face folder, read with checks."""

from __future__ import annotations

import json
import math
import operator
import os
from dataclasses import dataclass
from typing import Any, SupportsIndex, cast

from ..dtypes import DType, as_dtype, bf16, fp16, fp32
from ..errors import InvalidUsageError
from ..paths import as_path

__all__ = ["Config", "as_count", "as_float_dtype", "read_config"]


@dataclass(frozen=True)
class Config:
    """The entries of a ``config.json``; every getter names the file where one is wrong."""

    path: str
    entries: dict[str, Any]

    def error(self, message: str) -> InvalidUsageError:
        """An error about this file, to be raised by the caller."""
        return InvalidUsageError(message, location=self.path)

    def count(self, key: str, default: int | None = None) -> int:
        """A positive integer."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise self.error(f"{key!r} must be a positive integer, not {value!r}")
        return value

    def number(self, key: str, default: float | None = None) -> float:
        """A finite number from zero on."""
        value = self._get(key, default)
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"{key!r} must be a number, not {value!r}")
        if not (math.isfinite(value) and value >= 0):
            raise self.error(f"{key!r} must be a number from zero on, not {value!r}")
        return float(value)

    def flag(self, key: str, default: bool) -> bool:
        """True or false."""
        value = self._get(key, default)
        if not isinstance(value, bool):
            raise self.error(f"{key!r} must be true or false, not {value!r}")
        return value

    def word(self, key: str, default: str | None = None) -> str:
        """A string."""
        value = self._get(key, default)
        if not isinstance(value, str):
            raise self.error(f"{key!r} must be a string, not {value!r}")
        return value

    def section(self, key: str) -> Config | None:
        """A nested object, or None where there is none."""
        value = self.entries.get(key)
        if value is None:
            return None
        if not isinstance(value, dict):
            raise self.error(f"{key!r} must be an object, not {value!r}")
        return Config(self.path, cast("dict[str, Any]", value))

    def _get(self, key: str, default: object) -> object:
        value = self.entries.get(key)
        if value is not None:
            return value
        if default is None:
            raise self.error(f"{key!r} is missing")
        return default


def as_count(value: object, what: str, least: int = 1) -> int:
    """An option that is an integer from `least` on."""
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        raise InvalidUsageError(f"{what} must be an integer, not {value!r}")
    number = operator.index(value)
    if number < least:
        raise InvalidUsageError(f"{what} must be at least {least}, not {number}")
    return number


def as_float_dtype(dtype: object) -> DType:
    """A dtype that models compute in."""
    result = as_dtype(dtype)
    if result not in (fp32, fp16, bf16):
        raise InvalidUsageError(f"dtype must be fp32, fp16 or bf16, not {result}")
    return result


def read_config(folder: str | os.PathLike[str]) -> Config:
    """The configuration of a model folder.

    Raises InvalidUsageError where the folder or the file cannot be read, or is no JSON object.
    """
    root = as_path(folder, "the model folder")
    path = root / "config.json"
    if not root.is_dir():
        problem = "is not a folder" if root.exists() else "does not exist"
        raise InvalidUsageError(f"the model folder {problem}", location=str(root))
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise InvalidUsageError("the model folder has no config.json", location=str(root)) from None
    except (OSError, ValueError, RecursionError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidUsageError(f"cannot be read: {reason}", location=str(path)) from None
    if not isinstance(entries, dict):
        raise InvalidUsageError("must hold a JSON object", location=str(path))
    return Config(str(path), cast("dict[str, Any]", entries))

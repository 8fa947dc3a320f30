"""A strict JSON parser, and typed access to its values, with errors that name the value.

All JSON from outside is read by this module: manifests of bundles, headers of safetensors files,
configurations and tensor indices of models, traces, costs, requests to the server.

>>> root = parse_json(b'{"sizes": [3, -1]}', Document("net.json", "net", ArkError))
>>> root["sizes"].each(Node.integer)
Traceback (most recent call last):
...
ark_mlir.errors.ArkError: net.json: net: sizes[1]: -1 is less than 0
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, TypeVar, cast

from .errors import ArkError, shorten

__all__ = ["Document", "Node", "parse_json"]

T = TypeVar("T")

INT64_MAX = (1 << 63) - 1
_MAX_TEXT = 1 << 16  # characters of a string
_MAX_PATH = 200  # characters, in messages


@dataclass(frozen=True)
class Document:
    """The name of a JSON text in error messages.

    Attributes:
        where: the file's path.
        subject: the prefix of messages, such as ``manifest``; empty if the path is clear enough.
        error: the exception class.
    """

    where: str
    subject: str
    error: type[ArkError]

    def problem(self, path: str, problem: str) -> ArkError:
        """Returns the exception for a problem with a value, such as ``buffers[2].dtype``."""
        # Keys from the file are part of the path and may be hostile.
        if len(path) > _MAX_PATH or not path.isprintable():
            path = shorten(path, _MAX_PATH)
        parts = [part for part in (self.subject, path, problem) if part]
        return self.error(": ".join(parts), location=self.where)


def parse_json(data: bytes, document: Document) -> Node:
    """Parses UTF-8 `data` and returns its value.

    Raises the document's error if the data is not valid JSON, has a duplicate key, NaN or an
    infinity (also written as 1e999), or is nested too deeply for Python's parser.
    """
    try:
        value = json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_number,
        )
    except (ValueError, RecursionError) as error:
        raise document.problem("", f"not valid JSON: {error}") from None
    return Node(value, "", document)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"key {shorten(key)} occurs twice")
            seen.add(key)
    return result


def _constant(text: str) -> Any:
    raise ValueError(f"{text} is not a number")


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(f"{shorten(text)} is out of the range of numbers")
    return value


class Node:
    """A JSON value and its path, such as ``buffers[2].dtype``.

    A method raises the error of the document if the value does not have the type that the method
    returns.
    """

    __slots__ = ("document", "path", "value")

    def __init__(self, value: Any, path: str, document: Document) -> None:
        self.value = value
        self.path = path
        self.document = document

    def error(self, problem: str) -> ArkError:
        """Returns the exception for a problem with this value."""
        return self.document.problem(self.path, problem)

    def keys(self, required: frozenset[str], optional: frozenset[str] = frozenset()) -> None:
        """Checks that this is an object with all `required` keys, and no keys but these and
        `optional`."""
        present = self.mapping().keys()
        if missing := required - present:
            raise self.error(f"key {min(missing)!r} is missing")
        if unknown := present - required - optional:
            raise self.error(f"unknown key {shorten(min(unknown))}")

    def mapping(self) -> dict[str, Any]:
        """Returns the object's members."""
        value = self.value
        if not isinstance(value, dict):
            raise self.error(f"expected an object, got {self._kind()}")
        return cast("dict[str, Any]", value)

    def names(self) -> list[str]:
        """Returns the object's keys, which must be printable and not empty."""
        return [Node(key, self.path, self.document).text() for key in self.mapping()]

    def __getitem__(self, key: str) -> Node:
        members = self.mapping()
        if key not in members:
            raise self.error(f"key {shorten(key)} is missing")
        return self.child(key, members[key])

    def child(self, key: str, value: Any) -> Node:
        """Returns a node for `value` with the path of the member `key`, which may be missing."""
        return Node(value, f"{self.path}.{key}" if self.path else key, self.document)

    def __contains__(self, key: str) -> bool:
        return key in self.mapping()

    def items(self) -> Iterator[Node]:
        """Yields the array's elements."""
        value = self.value
        if not isinstance(value, list):
            raise self.error(f"expected an array, got {self._kind()}")
        for index, item in enumerate(cast("list[Any]", value)):
            yield Node(item, f"{self.path}[{index}]", self.document)

    def each(self, parse: Callable[[Node], T]) -> tuple[T, ...]:
        """Returns the results of `parse` for the array's elements."""
        return tuple(parse(item) for item in self.items())

    def text(self, empty: bool = False, limit: int = _MAX_TEXT) -> str:
        """Returns a printable string of at most `limit` characters, which is safe in a terminal.

        An empty string is an error, unless `empty`.
        """
        value = self.value
        if not isinstance(value, str):
            raise self.error(f"expected a string, got {self._kind()}")
        if not value and not empty:
            raise self.error("must not be empty")
        if len(value) > limit:
            raise self.error(f"string of {len(value)} characters; the limit is {limit}")
        if not value.isprintable():
            raise self.error(f"{shorten(value)} has characters that cannot be printed")
        return value

    def word(self, allowed: tuple[str, ...]) -> str:
        """Returns a string, which must be one of `allowed`."""
        value = self.text()
        if value not in allowed:
            raise self.error(f"{shorten(value)} is not one of {', '.join(allowed)}")
        return value

    def integer(self, low: int = 0, high: int = INT64_MAX) -> int:
        """Returns an integer in [low, high]; true and 1.0 are not integers."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"expected an integer, got {self._kind()}")
        if value < low and high == INT64_MAX:
            raise self.error(f"{shorten(value)} is less than {low}")
        if not low <= value <= high:
            raise self.error(f"{shorten(value)} is not in [{low}, {high}]")
        return value

    def boolean(self) -> bool:
        """Returns True or False."""
        if not isinstance(self.value, bool):
            raise self.error("expected true or false")
        return self.value

    def number(self, low: float = -math.inf) -> int | float:
        """Returns a finite number that is not less than `low`."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"expected a number, got {self._kind()}")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"{value} is not finite")
        if isinstance(value, int) and abs(value) > INT64_MAX:
            raise self.error(f"{shorten(value)} does not fit into 64 bits")
        if value < low:
            raise self.error(f"{value} is less than {low}")
        return value

    def _kind(self) -> str:
        names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
        if self.value is None:
            return "null"
        return names.get(cast("type[Any]", type(self.value)), shorten(self.value))

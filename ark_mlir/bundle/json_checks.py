"""Strict JSON, and typed access to it with errors that name the place of a problem."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterator
from typing import Any, TypeVar, cast

from ..errors import BundleError
from .format import MAX_TEXT

T = TypeVar("T")

INT64_MAX = (1 << 63) - 1
_MAX_PATH = 200  # characters, in messages


def parse_json(data: bytes, where: str) -> Any:
    """The value that UTF-8 `data` spells.

    Raises BundleError on what Python's parser lets through: duplicate keys, NaN, infinities
    (also as 1e999), and on nesting so deep that the parser gives up.
    """
    try:
        return json.loads(
            data.decode("utf-8"),
            object_pairs_hook=_object,
            parse_constant=_constant,
            parse_float=_number,
        )
    except (ValueError, RecursionError) as error:
        raise BundleError(f"manifest: not valid JSON: {error}", location=where) from None


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
    """A JSON value and its path, such as ``buffers[2].dtype``; accessors raise BundleError."""

    __slots__ = ("path", "value", "where")

    def __init__(self, value: Any, path: str, where: str) -> None:
        self.value = value
        self.path = path
        self.where = where

    def error(self, problem: str) -> BundleError:
        """Returns the exception for a problem at this place."""
        # Keys of the file are part of the path.
        path = self.path
        if len(path) > _MAX_PATH or not path.isprintable():
            path = shorten(path, _MAX_PATH)
        place = f"manifest: {path}" if path else "manifest"
        return BundleError(f"{place}: {problem}", location=self.where)

    def keys(self, required: frozenset[str], optional: frozenset[str] = frozenset()) -> None:
        """Checks that this is an object with exactly these keys."""
        present = self.mapping().keys()
        if missing := required - present:
            raise self.error(f"key {min(missing)!r} is missing")
        if unknown := present - required - optional:
            raise self.error(f"unknown key {shorten(min(unknown))}")

    def mapping(self) -> dict[str, Any]:
        """The object's members."""
        value = self.value
        if not isinstance(value, dict):
            raise self.error(f"expected an object, got {self._kind()}")
        return cast("dict[str, Any]", value)

    def __getitem__(self, key: str) -> Node:
        path = f"{self.path}.{key}" if self.path else key
        return Node(self.mapping()[key], path, self.where)

    def __contains__(self, key: str) -> bool:
        return key in self.mapping()

    def items(self) -> Iterator[Node]:
        """The array's elements."""
        value = self.value
        if not isinstance(value, list):
            raise self.error(f"expected an array, got {self._kind()}")
        for index, item in enumerate(cast("list[Any]", value)):
            yield Node(item, f"{self.path}[{index}]", self.where)

    def each(self, parse: Callable[[Node], T]) -> tuple[T, ...]:
        """The array's elements, parsed."""
        return tuple(parse(item) for item in self.items())

    def text(self, empty: bool = False, limit: int = MAX_TEXT) -> str:
        """A printable string of at most `limit` characters: names end up in terminals, pages and
        traces."""
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
        """One of `allowed`."""
        value = self.text()
        if value not in allowed:
            raise self.error(f"{shorten(value)} is none of {', '.join(allowed)}")
        return value

    def integer(self, low: int = 0, high: int = INT64_MAX) -> int:
        """An integer in [low, high]; true and 1.0 are none."""
        value = self.value
        if not isinstance(value, int) or isinstance(value, bool):
            raise self.error(f"expected an integer, got {self._kind()}")
        if not low <= value <= high:
            raise self.error(f"{shorten(value)} is not in [{low}, {high}]")
        return value

    def boolean(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.error("expected true or false")
        return self.value

    def number(self) -> int | float:
        """A finite number."""
        value = self.value
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise self.error(f"expected a number, got {self._kind()}")
        if isinstance(value, float) and not math.isfinite(value):
            raise self.error(f"{value} is not finite")
        if isinstance(value, int) and abs(value) > INT64_MAX:
            raise self.error(f"{shorten(value)} does not fit into 64 bits")
        return value

    def _kind(self) -> str:
        names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean"}
        if self.value is None:
            return "null"
        return names.get(cast("type[Any]", type(self.value)), shorten(self.value))


def shorten(value: object, limit: int = 60) -> str:
    """repr, cut: a hostile string must not fill the terminal."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a huge integer"
    return text if len(text) <= limit else text[: limit - 1] + "…"

"""Random alterations of bytes and of JSON values, for scripts that fuzz readers of files."""

from __future__ import annotations

import copy
import json
from collections.abc import Sequence
from random import Random
from typing import Any

__all__ = ["TEXT_PIECES", "alter_bytes", "alter_json", "odd_integer", "odd_value"]

# Limits of types and formats, and numbers near them.
_EDGES = sorted(
    {
        sign * ((1 << bits) + off)
        for bits in (0, 1, 5, 6, 8, 12, 15, 16, 20, 26, 30, 31, 32, 40, 47, 53, 60, 62, 63, 64)
        for off in (-1, 0, 1)
        for sign in (-1, 1)
    }
)
_ODD_VALUES: list[Any] = [
    None, True, False, "", "a", "\u202e", "\ud800", "\0", "../x", "/etc/passwd", "x" * 70_000,
    [], {}, [[]], {"": {}}, 0.0, -0.0, 0.5, 1e308, -1e-300, 10**400, "rank0/x", "packet", "state",
    "F32", "U64", [0, 0], [0, 24],
]  # fmt: skip
TEXT_PIECES = [
    b"NaN", b"Infinity", b"-Infinity", b"1e999", b"\xff", b"\xed\xa0\x80", b"\\ud800", b"\\u0000",
    b"[" * 3000, b'{"a":' * 3000, b"9" * 5000, b"9" * 4000, b"{}", b"[]", b"null", b"true", b",",
    b'"', b"\\", b"\0", b"-", b"1.0", b"1e2", b"/**/", b"'", b'"format":1,', b" " * 100,
]  # fmt: skip


def odd_integer(random: Random) -> int:
    """Returns an integer, mostly one that readers may fail to handle."""
    kind = random.random()
    if kind < 0.5:
        return random.choice(_EDGES)
    return random.randint(-4, 20) if kind < 0.8 else random.getrandbits(random.randint(1, 70))


def odd_value(random: Random) -> Any:
    """Returns a JSON value, mostly one that readers may fail to handle."""
    if random.random() < 0.5:
        return odd_integer(random)
    return copy.deepcopy(random.choice(_ODD_VALUES))  # the next alteration may change it


def alter_bytes(random: Random, data: bytearray) -> None:
    """Flips, replaces, cuts, repeats or inserts bytes, one to four times."""
    for _ in range(random.randint(1, 4)):
        offset = random.randint(0, len(data))
        kind = random.randrange(6)
        if kind == 0 and offset < len(data):
            data[offset] ^= 1 << random.randrange(8)
        elif kind == 1:
            data[offset : offset + random.randint(0, 40)] = random.randbytes(random.randint(0, 40))
        elif kind == 2:
            del data[offset:]
        elif kind == 3:
            data[offset:offset] = data[offset : offset + random.randint(0, 200)]
        elif kind == 4:
            data[offset : offset + 8] = (odd_integer(random) % (1 << 64)).to_bytes(8, "little")
        else:
            data[offset:offset] = random.choice(TEXT_PIECES)


def alter_json(random: Random, value: Any, keys: Sequence[str]) -> None:
    """Replaces, copies, adds, repeats or removes members of a JSON value, one to three times.

    `keys` are names that added members get.
    """
    for repeats in (2000, 2, 2)[: random.randint(1, 3)]:
        entries = _entries(value)
        if not entries:
            return
        inner, key = random.choice(entries)
        kind = random.randrange(7)
        if kind < 3:
            inner[key] = odd_value(random)
        elif kind == 3:
            other, there = random.choice(entries)
            inner[key] = json.loads(json.dumps(other[there]))
        elif kind == 4 and isinstance(inner, dict):
            inner[random.choice(keys)] = copy.deepcopy(inner[key])
        elif kind == 4:
            inner.insert(random.randint(0, len(inner)), odd_value(random))
        elif kind == 5 and isinstance(inner[key], list):
            # Long lists reveal superlinear time; one per case, since several would take too long.
            inner[key] = inner[key][:2] * random.choice((2, repeats // 50 + 1, repeats))
        else:
            del inner[key]


def _entries(value: Any) -> list[tuple[Any, Any]]:
    """Returns every container of a JSON value with each of its keys."""
    found: list[tuple[Any, Any]] = []
    stack = [value]
    while stack:
        inner = stack.pop()
        keys = inner.keys() if isinstance(inner, dict) else range(len(inner))
        for key in keys:
            found.append((inner, key))
            if isinstance(inner[key], (dict, list)):
                stack.append(inner[key])
    return found

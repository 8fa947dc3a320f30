"""Parsing of parts of LLVM IR as text."""

from __future__ import annotations

import re

_OPEN, _CLOSE = "([{<", ")]}>"


def arguments(rest: str) -> str:
    """Returns the text before the parenthesis that closes a call."""
    depth = 1
    for index, letter in enumerate(rest):
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if depth == 0:
            return rest[:index]
    raise ValueError(f"no end of the arguments: {rest}")


def split(text: str) -> list[str]:
    """Splits a text at the commas that are outside of parentheses.

    Example:
        >>> split("ptr %a, <2 x i32> %b, align 8")
        ['ptr %a', '<2 x i32> %b', 'align 8']
    """
    parts, depth = [""], 0
    for letter in text:
        depth += (letter in _OPEN) - (letter in _CLOSE)
        if letter == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += letter
    return [part.strip() for part in parts if part.strip()]


def type_of(operand: str) -> str:
    """Returns the type at the start of an operand.

    Example:
        >>> type_of("[2 x [3 x i64]] zeroinitializer")
        '[2 x [3 x i64]]'
    """
    if operand[0] in _OPEN:
        depth = 0
        for index, letter in enumerate(operand):
            depth += (letter in _OPEN) - (letter in _CLOSE)
            if depth == 0:
                return operand[: index + 1]
    found = re.match(r"\w+", operand)
    assert found, operand
    return found[0]

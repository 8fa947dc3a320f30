"""Mutations of MLIR: of its tokens, its lines and nesting, and its bytes."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from random import Random

__all__ = ["Mutator", "mutate_bytes"]

_TOKEN = re.compile(
    r"""
      (?P<space>\s+|//[^\n]*)
    | (?P<string>"(?:[^"\\\n]|\\.)*")
    | (?P<shape>(?:\d+|\?)x(?=[\w?!*]))      # the start of a shaped type, dimension by dimension
    | (?P<number>-?0x[0-9a-fA-F]+|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)
    | (?P<name>[%@\#!^][\w$.-]*(?:\#\d+)?)
    | (?P<word>[A-Za-z_][\w$.]*)
    | (?P<open>[(\[{<])
    | (?P<close>[)\]}>])
    | (?P<other>->|::|.)
    """,
    re.VERBOSE | re.DOTALL,
)
_NUMBERS = (
    "0", "1", "-1", "2", "3", "7", "8", "16", "31", "32", "33", "63", "64", "65", "127", "128",
    "255", "256", "257", "1000", "4096", "65535", "65536", "1000003", "2147483647", "2147483648",
    "-2147483648", "4294967295", "4294967296", "140737488355328", "4611686018427387904",
    "9223372036854775807", "9223372036854775808", "-9223372036854775808", "18446744073709551616",
    "0.0", "1.0e400", "0x7FC00000",
)  # fmt: skip
_EXTENTS = (
    "0x", "1x", "2x", "3x", "?x", "4x", "16x", "65536x", "2147483648x", "4611686018427387904x",
)  # fmt: skip
_TYPES = (
    "i0", "i1", "i4", "i7", "i8", "i16", "i32", "i64", "i128", "ui8", "ui32", "si32", "f16",
    "bf16", "f32", "f64", "f80", "f128", "tf32", "f8E4M3FN", "f8E5M2", "f4E2M1FN", "index",
    "none", "complex<f32>", "vector<4xf32>", "!ark.channel", "!llvm.ptr", "tensor<*xf32>",
)  # fmt: skip
_TYPE = re.compile(r"(?:[su]?i\d+|b?f\d+\w*|index|none)$")
_BRACKETS = {"(": ")", "[": "]", "{": "}", "<": ">"}

Token = tuple[str, str]  # kind, text


def tokens_of(text: str) -> list[Token]:
    """Returns the tokens of a text; their concatenation is the text."""
    return [(str(match.lastgroup), match.group()) for match in _TOKEN.finditer(text)]


class Mutator:
    """Changes texts, with words and lines from all of them.

    Args:
        corpus: the texts from which mutants take words and lines.
    """

    def __init__(self, corpus: Sequence[str]) -> None:
        self._lines = [line for text in corpus for line in text.splitlines() if line.strip()]
        self._words: dict[str, list[str]] = {}
        for text in corpus:
            for kind, word in tokens_of(text):
                self._words.setdefault(kind, []).append(word)
        self._words = {kind: sorted(set(words)) for kind, words in self._words.items()}
        self._ways: tuple[tuple[int, Callable[[Random, str], str]], ...] = (
            (8, self._token),
            (2, self._drop_tokens),
            (2, self._swap_tokens),
            (3, self._lines_of),
            (2, self._group),
            (1, _nest),
            (1, _bytes_of_text),
        )

    def mutate(self, random: Random, text: str) -> str:
        """Returns the text with one to four changes."""
        weights = [weight for weight, _ in self._ways]
        ways = [way for _, way in self._ways]
        for _ in range(random.choice((1, 1, 1, 2, 2, 4))):
            (way,) = random.choices(ways, weights)
            text = way(random, text)
        return text

    def _token(self, random: Random, text: str) -> str:
        """Returns another token of the same kind: from the text, from the corpus, or from a list of
        odd ones."""
        tokens = tokens_of(text)
        indexs = [i for i, (kind, _) in enumerate(tokens) if kind not in ("space", "close")]
        if not indexs:
            return text
        # Numbers and types are rarer than punctuation, and more likely to reveal errors.
        telling = [i for i in indexs if tokens[i][0] in ("number", "shape", "word", "name")]
        index = random.choice(telling if telling and random.random() < 0.8 else indexs)
        kind, old = tokens[index]
        tokens[index] = (kind, self._other(random, kind, old, tokens))
        return "".join(word for _, word in tokens)

    def _other(self, random: Random, kind: str, old: str, tokens: list[Token]) -> str:
        if kind == "number" and random.random() < 0.7:
            return random.choice(_NUMBERS)
        if kind == "shape" and random.random() < 0.7:
            return random.choice(_EXTENTS)
        if kind == "word" and _TYPE.match(old) and random.random() < 0.7:
            return random.choice(_TYPES)
        if random.random() < 0.6:
            near = [word for other, word in tokens if other == kind]
            if kind in ("word", "name"):
                # Value names replace value names, symbols symbols, and ops of a dialect ops of it.
                alike = [word for word in near if ("." in word) == ("." in old)]
                near = [word for word in alike if word[0] == old[0]] or alike
            return random.choice(near)
        return random.choice(self._words[kind])

    def _drop_tokens(self, random: Random, text: str) -> str:
        tokens = tokens_of(text)
        if not tokens:
            return text
        begin = random.randrange(len(tokens))
        end = begin + random.choice((1, 1, 2, 3, 8))
        kept = tokens[:begin] + tokens[end:]
        if random.random() < 0.3:  # duplicated instead of deleted
            kept = tokens[:end] + tokens[begin:]
        return "".join(word for _, word in kept)

    def _swap_tokens(self, random: Random, text: str) -> str:
        tokens = tokens_of(text)
        if not tokens:
            return text
        first = random.randrange(len(tokens))
        alike = [i for i, (kind, _) in enumerate(tokens) if kind == tokens[first][0]]
        second = random.choice(alike)
        tokens[first], tokens[second] = tokens[second], tokens[first]
        return "".join(word for _, word in tokens)

    def _lines_of(self, random: Random, text: str) -> str:
        lines = text.splitlines()
        if not lines:
            return text
        index, other = random.randrange(len(lines)), random.randrange(len(lines))
        match random.randrange(5):
            case 0:
                del lines[index]
            case 1:
                lines.insert(other, lines[index])
            case 2:
                lines[index], lines[other] = lines[other], lines[index]
            case 3:
                lines.insert(index, random.choice(self._lines))
            case _:
                lines[index] = random.choice(self._lines)
        return "\n".join(lines) + "\n"

    def _group(self, random: Random, text: str) -> str:
        """Drops, empties, doubles or replaces the text between two brackets."""
        groups = _groups(text)
        if not groups:
            return text
        begin, end = random.choice(groups)
        match random.randrange(4):
            case 0:
                return text[:begin] + text[end:]
            case 1:
                return text[: begin + 1] + text[end - 1 :]
            case 2:
                return text[:end] + text[begin:]
            case _:
                alike = [(b, e) for b, e in groups if text[b] == text[begin]]
                first, last = random.choice(alike)
                return text[:begin] + text[first:last] + text[end:]


def _groups(text: str) -> list[tuple[int, int]]:
    """Returns the positions of matching brackets."""
    groups: list[tuple[int, int]] = []
    opened: list[tuple[str, int]] = []
    position = 0
    for kind, word in tokens_of(text):
        if kind == "open":
            opened.append((word, position))
        elif kind == "close":
            while opened and _BRACKETS[opened[-1][0]] != word:
                opened.pop()
            if opened:
                groups.append((opened.pop()[1], position + 1))
        position += len(word)
    return groups


def _nest(random: Random, text: str) -> str:
    """Nests a group inside of itself many times."""
    groups = _groups(text)
    if not groups:
        return text
    begin, end = random.choice(groups)
    depth = random.choice((2, 10, 100, 1000, 10000))
    if (end - begin) * depth > 1 << 20:
        return text
    opening, closing = text[begin], text[end - 1]
    inner = text[begin + 1 : end - 1]
    if random.random() < 0.5:
        return text[:begin] + opening * depth + inner + closing * depth + text[end:]
    return text[: begin + 1] + ", ".join([inner] * depth) + text[end - 1 :]


def _bytes_of_text(random: Random, text: str) -> str:
    return mutate_bytes(random, text.encode()).decode("utf-8", errors="replace")


def mutate_bytes(random: Random, data: bytes) -> bytes:
    """Returns the bytes with one to eight changes."""
    result = bytearray(data)
    for _ in range(random.choice((1, 1, 1, 2, 4, 8))):
        if not result:
            break
        index = random.randrange(len(result))
        match random.randrange(6):
            case 0:
                result[index] ^= 1 << random.randrange(8)
            case 1:
                result[index] = random.choice((0, 1, 2, 0x7F, 0x80, 0xFE, 0xFF))
            case 2:
                del result[index : index + random.choice((1, 1, 2, 8, 64))]
            case 3:
                result[index:index] = random.randbytes(random.choice((1, 1, 2, 8)))
            case 4:
                source = random.randrange(len(result))
                length = random.choice((1, 2, 4, 8, 32))
                result[index : index + length] = result[source : source + length]
            case _:
                if random.random() < 0.2:
                    del result[index:]
                else:
                    result[index] = (result[index] + random.choice((1, 2, 4, -1, -2, -4))) & 0xFF
    return bytes(result)

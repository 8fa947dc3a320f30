"""Line information of PTX: which op every instruction is of, and on which line of Python.

LLVM passes numbers of places on as lines of one file (`ark-build-line-table`), since what it writes
into PTX has no room for names. Here they become what profilers read: an op is a function, of the
line that made it, which was inlined into a function of the PTX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from .. import ir

_ATTRIBUTE = "ark.line_table"
# ptxas 13.0 dies of a file without a name.
_NO_FILE = "unknown"
_LOC = re.compile(r"\t\.loc\t\d+ (\d+) \d+$")
_FUNCTION = re.compile(r"^(?:\.visible )?\.(?:func|entry) +(?:\(.*\) )?([\w$]+)\(", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """The op and line of code.

    Attributes:
        name: an op's, or a function's.
        file: where it was written; empty if that is not known.
        line: from 1 on, or 0.
        column: likewise.
    """

    name: str
    file: str
    line: int
    column: int


def take_places(module: ir.Operation) -> list[Place]:
    """The table that `ark-build-line-table` left in a ``gpu.module``, which loses it."""
    rows = ir.ArrayAttr(module.attributes[_ATTRIBUTE])
    del module.attributes[_ATTRIBUTE]
    return [Place(*(cast("Any", field).value for field in ir.ArrayAttr(row))) for row in rows]


def name_lines(ptx: str, places: list[Place]) -> str:
    """PTX with lines of the user's files, and names of ops, for numbers of places."""
    # What others are inlined into is found again by its file and line, which must be its own. So a
    # function of the PTX is a file of its own, of one line.
    functions = _FUNCTION.findall(ptx)
    files = _numbered([*functions, *(place.file or _NO_FILE for place in places)])
    labels = {name: f"$L__ark_name{n}" for name, n in _numbered(p.name for p in places).items()}

    def locate(number: int, function: str) -> str:
        whole = f"{files[function]} 1 0"
        # Number 0 is what LLVM merged of several places.
        if number == 0 or places[number - 1].name == function:
            return f"\t.loc\t{whole}"
        place = places[number - 1]
        position = f"{files[place.file or _NO_FILE]} {place.line} {place.column}"
        inlined = f"function_name {labels[place.name]}, inlined_at {whole}"
        return f"\t.loc\t{whole}\n\t.loc\t{position}, {inlined}"

    lines: list[str] = []
    function = ""
    for line in ptx.rstrip("\0\n").splitlines():
        if match := _FUNCTION.match(line):
            function = match[1]
        if match := _LOC.match(line):
            line = locate(int(match[1]), function)
        if not line.startswith("\t.file\t"):
            lines.append(line)
    # Without times and sizes, which would make equal programs unequal bundles.
    lines += [f'\t.file\t{number} "{_quoted(name)}", 0, 0' for name, number in files.items()]
    strings = [f"{label}:\n{_bytes(name)}" for name, label in labels.items()]
    return "\n".join([*lines, "\t.section\t.debug_str", "\t{", *strings, "\t}", ""])


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Each name once, in order, with a number from one on."""
    return {name: 1 + number for number, name in enumerate(dict.fromkeys(names))}


def _quoted(name: str) -> str:
    # PTX is ASCII without control characters; what else a name has is spelled as Python does.
    plain = (c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in name)
    return "".join(plain).replace("\\", "\\\\").replace('"', '\\"')


def _bytes(text: str) -> str:
    return "\n".join(f".b8 {byte}" for byte in [*text.encode(), 0])

"""Line information of PTX: the op of each instruction, and the line of Python that made the op.

The debug locations that LLVM writes into PTX have no room for names of ops. So they are numbers of
rows of a table (`ark-build-line-table`). This module turns them into what profilers read: an op
becomes a function, at the line that made the op, which is inlined into a function of the PTX.
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
class SourceLine:
    """A row of the line table.

    Attributes:
        name: of the op, or of a function of the kernel.
        file: of the code that made the op; empty if it is not known.
        line: from 1 on; 0 if it is not known.
        column: from 1 on; 0 if it is not known.
    """

    name: str
    file: str
    line: int
    column: int


def take_line_table(module: ir.Operation) -> list[SourceLine]:
    """Removes the line table of a ``gpu.module``, and returns its rows."""
    rows = ir.ArrayAttr(module.attributes[_ATTRIBUTE])
    del module.attributes[_ATTRIBUTE]
    return [SourceLine(*(cast("Any", field).value for field in ir.ArrayAttr(row))) for row in rows]


def name_lines(ptx: str, table: list[SourceLine]) -> str:
    """Returns PTX with names of ops and lines of the user's files in place of row numbers."""
    # What others are inlined into is found again by its file and line, which must be its own. So a
    # function of the PTX is a file of its own, of one line.
    functions = _FUNCTION.findall(ptx)
    files = _numbered([*functions, *(line.file or _NO_FILE for line in table)])
    labels = {name: f"$L__ark_name{n}" for name, n in _numbered(p.name for p in table).items()}

    def locate(number: int, function: str) -> str:
        whole = f"{files[function]} 1 0"
        # LLVM gives number 0 to an instruction that it merged from several locations.
        if number == 0 or table[number - 1].name == function:
            return f"\t.loc\t{whole}"
        line = table[number - 1]
        position = f"{files[line.file or _NO_FILE]} {line.line} {line.column}"
        inlined = f"function_name {labels[line.name]}, inlined_at {whole}"
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

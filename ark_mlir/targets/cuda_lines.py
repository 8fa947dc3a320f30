"""Line information of PTX: the op of each instruction, and the Python line that created the op.

The debug locations that LLVM writes to PTX cannot hold names of ops. Their line numbers are
therefore entries of a table (`ark-build-line-table`). This module replaces them by a form that
profilers show: each op is a function, at the op's line, that is inlined into a function of the PTX.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

from .. import ir

_ATTRIBUTE = "ark.line_table"
# ptxas 13.0 crashes on a file with an empty name.
_NO_FILE = "unknown"
_LOC = re.compile(r"\t\.loc\t\d+ (\d+) \d+$")
_FUNCTION = re.compile(r"^(?:\.visible )?\.(?:func|entry) +(?:\(.*\) )?([\w$]+)\(", re.MULTILINE)


@dataclass(frozen=True)
class SourceLine:
    """An entry of the line table.

    Attributes:
        name: the name of an op, or of a function of the kernel.
        file: the file of the code that created the op; empty if it is unknown.
        line: the line in the file, from 1 on; 0 if it is unknown.
        column: the column, from 1 on; 0 if it is unknown.
    """

    name: str
    file: str
    line: int
    column: int


def take_line_table(module: ir.Operation) -> list[SourceLine]:
    """Removes the line table of a ``gpu.module``, and returns its entries."""
    entries = ir.ArrayAttr(module.attributes[_ATTRIBUTE])
    del module.attributes[_ATTRIBUTE]
    return [
        SourceLine(*(cast("Any", field).value for field in ir.ArrayAttr(entry)))
        for entry in entries
    ]


def name_lines(ptx: str, table: list[SourceLine]) -> str:
    """Returns PTX with names of ops and lines of the user's files in place of entry numbers."""
    # Profilers identify the function into which another is inlined by its file and line. Each
    # function of the PTX therefore gets a separate file with one line.
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
    # The times and sizes of files are 0, so that equal programs give equal bundles.
    lines += [f'\t.file\t{number} "{_quoted(name)}", 0, 0' for name, number in files.items()]
    strings = [f"{label}:\n{_bytes(name)}" for name, label in labels.items()]
    return "\n".join([*lines, "\t.section\t.debug_str", "\t{", *strings, "\t}", ""])


def _numbered(names: Iterable[str]) -> dict[str, int]:
    """Returns the distinct names, in order, with numbers from 1 on."""
    return {name: 1 + number for number, name in enumerate(dict.fromkeys(names))}


def _quoted(name: str) -> str:
    # PTX is printable ASCII; other characters are written as Python's escape sequences.
    plain = (c if " " <= c <= "~" else c.encode("unicode_escape").decode() for c in name)
    return "".join(plain).replace("\\", "\\\\").replace('"', '\\"')


def _bytes(text: str) -> str:
    return "\n".join(f".b8 {byte}" for byte in [*text.encode(), 0])

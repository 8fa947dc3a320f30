"""Wraps lists that mlir-tblgen writes as one long line: traits, interfaces and effects of an op.

Usage: wrap_doc.py <generated file> <output>
"""

import sys
import textwrap
from pathlib import Path

COLUMNS = 118
LISTS = ("Traits: ", "Interfaces: ", "Effects: ")


def wrap(line: str) -> str:
    """Returns the lines of a list; other lines are as before, since tables and code cannot wrap."""
    if len(line) <= COLUMNS or not line.startswith(LISTS):
        return line
    return textwrap.fill(line, COLUMNS, break_long_words=False, break_on_hyphens=False)


generated, output = map(Path, sys.argv[1:])
lines = generated.read_text(encoding="utf-8").split("\n")
output.write_text("\n".join(map(wrap, lines)), encoding="utf-8")

"""The numbers of passes/kernel/KernelAbi.def, which kernel texts name."""

from __future__ import annotations

import re
from pathlib import Path

_ENTRY = re.compile(r"^ARK_(CONTEXT_FIELD|OPCODE|CONSTANT)\((\w+), (.+)\)$", re.MULTILINE)
_NAME = re.compile(r"\bk[A-Z]\w*")


def read_entries(path: Path) -> dict[str, dict[str, int]]:
    """Returns the entries of KernelAbi.def: values by kind and name."""
    kinds: dict[str, dict[str, int]] = {"CONTEXT_FIELD": {}, "OPCODE": {}, "CONSTANT": {}}
    known: dict[str, int] = {}
    for kind, name, value in _ENTRY.findall(path.read_text(encoding="utf-8")):
        known[name] = kinds[kind][name] = int(eval(value, {}, known))
    return kinds


def expand_constants(text: str, entries: dict[str, dict[str, int]]) -> str:
    """Returns a kernel text with the values of constants in place of their names."""
    values = {**entries["CONTEXT_FIELD"], **entries["CONSTANT"]}
    values |= {f"kOpcode{name}": value for name, value in entries["OPCODE"].items()}
    return _NAME.sub(lambda match: str(values.get(match[0], match[0])), text)

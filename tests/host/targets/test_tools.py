"""Linker, assembler and parser are programs of their own: one that never ends is ended."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.mlir import parsing
from ark_mlir.targets import linker
from ark_mlir.targets.cuda_assembler import Ptxas
from ark_mlir.targets.cuda_toolkit import Toolkit

# Longer than any test, so that an orphan would be found.
SLEEP = 1000


class Sleeper:
    """A program that writes the number of its process to a file, then sleeps."""

    def __init__(self, folder: Path, name: str) -> None:
        self._record = folder / "number"
        self.path = folder / "bin" / name
        self.path.parent.mkdir()
        self.path.write_text(f"#!/bin/sh\necho $$ > {self._record}\nexec sleep {SLEEP}\n")
        self.path.chmod(0o700)

    @property
    def lives(self) -> bool:
        number = int(self._record.read_text())
        try:
            os.kill(number, 0)
        except ProcessLookupError:
            return False
        return True


def parse(path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(parsing, "_READER", path)
    # More than a pipe holds, since the parser does not read either.
    parsing.parse_text("module {}" + " " * (1 << 20))


def link(path: Path, patch: pytest.MonkeyPatch) -> None:
    patch.setattr(linker, "find_linker", lambda: str(path))
    linker.link(b"object")


def assembler(path: Path) -> Ptxas:
    return Ptxas(Toolkit(path.parents[1]))


def assemble(path: Path, patch: pytest.MonkeyPatch) -> None:
    assembler(path).assemble("", "sm_90a", 3)


def ask_version(path: Path, patch: pytest.MonkeyPatch) -> None:
    assembler(path).origin()


TOOLS: dict[str, tuple[str, Callable[[Path, pytest.MonkeyPatch], None]]] = {
    "link": ("ld.lld", link),
    "assemble": ("ptxas", assemble),
    "version": ("ptxas", ask_version),
    "parse": ("ark-opt", parse),
}


@pytest.mark.parametrize("case", TOOLS)
def test_a_tool_that_never_ends(case: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    name, use = TOOLS[case]
    sleeper = Sleeper(tmp_path, name)
    begin = time.monotonic()
    with knobs.scope(ARK_TOOL_TIMEOUT="1"), pytest.raises(ark.CompileError) as caught:
        use(sleeper.path, monkeypatch)
    assert time.monotonic() - begin < SLEEP / 10
    message = f"{name} did not end within 1 s; ARK_TOOL_TIMEOUT sets this limit"
    assert str(caught.value) == message
    assert not sleeper.lives


def test_the_limit_is_longer_than_any_tool_takes() -> None:
    with knobs.scope(ARK_TOOL_TIMEOUT=None):
        assert knobs.TOOL_TIMEOUT.get() == 600

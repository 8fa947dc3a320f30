"""The proof shares nothing with what makes schedules: ``lib/proof`` includes the dialect and
``BufferView``, and these include nothing else of the project. ``lib/validation``, which decodes the
tables of a bundle, includes the proof and the same files."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
# Folders of this project; all other includes are of MLIR and LLVM.
OWN = ("dialects/", "lib/", "passes/", "tests/")
SHARED = ("dialects/ark/", "lib/support/BufferView.")


def own_includes(text: str) -> set[str]:
    return {name for name in INCLUDE.findall(text) if name.startswith(OWN)}


def strangers(files: list[Path], allowed: tuple[str, ...]) -> list[str]:
    """Returns ``file -> include`` for each include of the project that is not allowed."""
    return [
        f"{path.relative_to(ROOT)} -> {name}"
        for path in files
        for name in sorted(own_includes(path.read_text()))
        if not name.startswith(allowed)
    ]


def sources(*patterns: str) -> list[Path]:
    return sorted(path for pattern in patterns for path in ROOT.glob(pattern))


def test_the_proof_includes_no_planner() -> None:
    files = sources("lib/proof/*.h", "lib/proof/*.cpp")
    assert len(files) > 10
    assert not strangers(files, ("lib/proof/", *SHARED))


def test_the_proof_of_tables_includes_no_builder_of_tables() -> None:
    files = sources("lib/validation/*.h", "lib/validation/*.cpp")
    assert len(files) > 5
    assert not strangers(files, ("lib/validation/", "lib/proof/", *SHARED))


def test_headers_of_the_proof_include_no_planner() -> None:
    files = sources("dialects/ark/*.h", "dialects/ark/*.cpp", "lib/support/BufferView.*")
    assert len(files) > 20
    assert not strangers(files, SHARED)


def test_a_planner_header_is_found() -> None:
    text = '#include "lib/analysis/Dependences.h"\n#include "mlir/IR/Value.h"\n'
    assert own_includes(text) == {"lib/analysis/Dependences.h"}

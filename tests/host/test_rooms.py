"""Rooms are folders with one job each: a README names all files, and tests have the same folder."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PASSES = ROOT / "passes"
RUNTIME = ROOT / "ark_mlir" / "runtime"
ROOMS = sorted(path.parent for path in PASSES.rglob("CMakeLists.txt") if path.parent != PASSES)
LINES = 40


# Files that every room has, and that no README needs to name.
COMMON = {"Passes"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("room", [*ROOMS, RUNTIME], ids=named)
def test_readme(room: Path) -> None:
    """A README states input, output and where to begin, and fits on one screen."""
    text = (room / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    # A folder of folders has a table of them, and helpers have none of their own.
    has_none = room.name in ("target", "support")
    words = ("ead ",) if has_none else ("**Input:**", "**Output:**", "ead ")
    assert [word for word in words if word not in text] == []


def find_unnamed(room: Path) -> list[str]:
    """Returns the sources that the README of a room does not name.

    ``Decompose<Family>`` names all files whose names begin with ``Decompose``.
    """
    text = (room / "README.md").read_text(encoding="utf-8")
    names = set(re.findall(r"\w+", text))
    families = tuple(re.findall(r"`(\w+)<\w+>`", text))
    stems = {path.stem for path in room.iterdir() if path.suffix in (".cpp", ".h")} - COMMON
    return sorted(stem for stem in stems - names if not families or not stem.startswith(families))


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_the_readme_names_every_source(room: Path) -> None:
    assert find_unnamed(room) == []


def test_the_search_finds_sources_without_names(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("| `Tile`, `Sum<Family>` | tiles and sums |")
    for name in ("Tile.cpp", "TileShape.h", "SumOfRows.cpp", "Passes.h", "Other.txt"):
        (tmp_path / name).touch()
    assert find_unnamed(tmp_path) == ["TileShape"]


def test_rooms_are_found() -> None:
    names = [named(room) for room in ROOMS]
    assert {"passes/graph", "passes/target", "passes/target/matmul"} <= set(names)


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_passes_have_tests_in_the_same_folder(room: Path) -> None:
    """Pipelines are tested as a whole, in tests/pipelines."""
    tests = ROOT / "tests" / (room.name if room.name == "pipelines" else room.relative_to(ROOT))
    assert list(tests.rglob("*.mlir"))


@pytest.mark.parametrize(
    "room",
    sorted(path for path in RUNTIME.iterdir() if (path / "__init__.py").is_file()),
    ids=named,
)
def test_rooms_of_the_runtime_have_tests_in_the_same_folder(room: Path) -> None:
    assert list((ROOT / "tests/host/runtime" / room.name).glob("test_*.py"))
    assert f"`{room.name}`" in (RUNTIME / "README.md").read_text(encoding="utf-8")

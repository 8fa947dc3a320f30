"""Rooms are folders with one job each: a README names all files, tests of passes have the same
folder, and a room of passes uses only rooms that precede it.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PASSES = ROOT / "passes"
LIB = ROOT / "lib"
RUNTIME = ROOT / "ark_mlir" / "runtime"
ROOMS = sorted(path.parent for path in PASSES.rglob("CMakeLists.txt") if path.parent != PASSES)
LINES = 40
# The most lines of a source of the package: a longer one has two jobs.
LINES_OF_A_SOURCE = 500
# Files that every room has, and that no README needs to name.
COMMON = {"Passes"}
# Suffixes of the files that READMEs name. `Dockerfile` has none.
SUFFIXES = {".cpp", ".h", ".cmake", ".map", ".py", ".sh", ""}
# A room of lib with no more sources than these needs no README: docs/architecture.md has its job.
FEW = 2


def find_sources(room: Path) -> list[Path]:
    return [path for path in room.iterdir() if path.is_file() and path.suffix in SUFFIXES]


LIB_FOLDERS = sorted(path for path in LIB.iterdir() if path.is_dir())
LIB_ROOMS = [path for path in LIB_FOLDERS if len(find_sources(path)) > FEW]


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


@pytest.mark.parametrize("room", [*ROOMS, *LIB_ROOMS, RUNTIME], ids=named)
def test_readme(room: Path) -> None:
    """A README states input, output and where to begin, and fits on one screen."""
    text = (room / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= LINES
    assert [word for word in ("**Input:**", "**Output:**", "ead ") if word not in text] == []


def test_sources_of_the_package_have_one_job() -> None:
    sources = {
        named(path): len(path.read_text(encoding="utf-8").splitlines())
        for path in (ROOT / "ark_mlir").rglob("*.py")
    }
    assert "ark_mlir/runtime/gpu/driver.py" in sources
    assert {name: lines for name, lines in sources.items() if lines > LINES_OF_A_SOURCE} == {}


def find_unnamed(room: Path) -> list[str]:
    """Returns the sources that the README of a room does not name.

    ``Decompose<Family>`` names all files whose names begin with ``Decompose``.
    """
    text = (room / "README.md").read_text(encoding="utf-8")
    names = {name for code in re.findall(r"`([^`\n]+)`", text) for name in re.findall(r"\w+", code)}
    families = tuple(re.findall(r"`(\w+)<\w+>`", text))
    stems = {path.stem for path in find_sources(room)} - COMMON
    return sorted(stem for stem in stems - names if not families or not stem.startswith(families))


@pytest.mark.parametrize("room", [*ROOMS, *LIB_ROOMS], ids=named)
def test_the_readme_names_every_source(room: Path) -> None:
    assert find_unnamed(room) == []


def test_the_search_finds_sources_without_names(tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("| `Tile`, `Sum<Family>` | tiles and sums |")
    for name in ("Tile.cpp", "TileShape.h", "SumOfRows.cpp", "Passes.h", "Other.txt", "tiles.sh"):
        (tmp_path / name).touch()
    assert find_unnamed(tmp_path) == ["TileShape", "tiles"]


def test_rooms_are_found() -> None:
    names = [named(room) for room in ROOMS]
    assert {"passes/graph", "passes/target", "passes/target/matmul"} <= set(names)
    assert {"lib/analysis", "lib/cmake", "lib/tools"} <= {named(room) for room in LIB_ROOMS}


def test_the_architecture_names_every_folder_of_lib() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    assert [path.name for path in LIB_FOLDERS if f"`{named(path)}`" not in text] == []
    linked = {named(room) for room in LIB_ROOMS if f"../{named(room)}/README.md" in text}
    assert linked == {named(room) for room in LIB_ROOMS}


def read_order(folder: Path) -> list[str]:
    """Returns the subfolders of a folder in the order in which its CMakeLists.txt adds them."""
    text = (folder / "CMakeLists.txt").read_text(encoding="utf-8")
    found = re.findall(r"foreach\(\w+ ([^)]*)\)|add_subdirectory\((\w+)\)", text)
    return [name for names in found for name in " ".join(names).split()]


def read_uses(room: Path) -> list[str]:
    """Returns the folders below ``passes`` that the library of a room may include."""
    text = (room / "CMakeLists.txt").read_text(encoding="utf-8")
    return [word for uses in re.findall(r"USES([^)]*)\)", text) for word in uses.split()]


def find_later_uses(room: Path, root: Path) -> list[str]:
    """Returns the used folders that do not precede a room.

    The order is that of the folders in which the paths of both first differ. A room may use its own
    subfolders, but not the folders that contain it.
    """
    found: list[str] = []
    own = room.relative_to(root).parts
    for use in read_uses(room):
        other = Path(use).parts
        if other[: len(own)] == own or other[0] != own[0]:
            continue
        same = next((i for i, (a, b) in enumerate(zip(own, other, strict=False)) if a != b), None)
        if same is None:
            found.append(use)
            continue
        order = read_order(root.joinpath(*own[:same]))
        if order.index(other[same]) >= order.index(own[same]):
            found.append(use)
    return found


@pytest.mark.parametrize("room", ROOMS, ids=named)
def test_used_rooms_precede_the_room(room: Path) -> None:
    assert find_later_uses(room, ROOT) == []


@pytest.mark.parametrize("room", [PASSES, *ROOMS], ids=named)
def test_every_subfolder_has_its_position_in_the_order(room: Path) -> None:
    subfolders = [path.parent.name for path in room.glob("*/CMakeLists.txt")]
    assert sorted(read_order(room)) == sorted(subfolders)


def test_the_table_of_the_target_stage_has_the_order_of_the_build() -> None:
    text = (PASSES / "target/README.md").read_text(encoding="utf-8")
    assert re.findall(r"^\| \[\w+\]\((\w+)/README", text, re.M) == read_order(PASSES / "target")


def test_the_search_finds_later_uses(tmp_path: Path) -> None:
    texts = {
        "passes": "foreach(stage tiling target)\n  add_subdirectory(${stage})\nendforeach()",
        "passes/target": "foreach(room loops\n  math)\nendforeach()\nadd_subdirectory(cpu)",
        "passes/tiling": "add_ark_passes(USES lib/support passes/target/math)",
        "passes/target/loops": "add_ark_passes(USES passes/tiling\n passes/target/math passes)",
        "passes/target/cpu": "add_ark_passes(LLVM_PCH USES passes/target/loops passes/tiling)",
    }
    for name, text in texts.items():
        (tmp_path / name).mkdir(parents=True)
        (tmp_path / name / "CMakeLists.txt").write_text(text)
    found = {name: find_later_uses(tmp_path / name, tmp_path) for name in texts if "/" in name}
    assert found == {
        "passes/target": [],
        "passes/tiling": ["passes/target/math"],
        "passes/target/loops": ["passes/target/math", "passes"],
        "passes/target/cpu": [],
    }


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

"""docs/extending.md names every file with code of its own for a GPU backend."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/extending.md").read_text()
CASE = re.compile(r"\bBackend::(CUDA|HIP)\b")
# Descriptions of machines are the first step of the guide. A new backend needs no change in the
# other two: fakes of NVIDIA's driver, and DLPack's names of devices.
OTHERS = ("dialects/ark/ArkKnownTargets.cpp", "ark_mlir/testing/", "ark_mlir/runtime/arrays/")


def find_cpp() -> Iterator[str]:
    for folder in ("dialects", "lib", "passes"):
        for pattern in ("*.cpp", "*.h", "*.td"):
            for path in sorted((ROOT / folder).rglob(pattern)):
                if CASE.search(path.read_text()):
                    yield str(path.relative_to(ROOT))


def names_backend(code: str) -> bool:
    """Returns True if a string of the code is the name of a GPU backend."""
    return any(
        isinstance(node, ast.Constant) and node.value in ("cuda", "hip")
        for node in ast.walk(ast.parse(code))
    )


def find_python() -> Iterator[str]:
    for path in sorted((ROOT / "ark_mlir").rglob("*.py")):
        if names_backend(path.read_text()):
            yield str(path.relative_to(ROOT))


FILES = [name for name in (*find_cpp(), *find_python()) if not name.startswith(OTHERS)]


@pytest.mark.parametrize("name", FILES)
def test_the_guide_names_the_file(name: str) -> None:
    assert f"`{name}`" in GUIDE, f"{name} has code for a backend, and docs/extending.md omits it"


def test_the_search_finds_backends() -> None:
    assert "passes/target/module/LowerToTarget.cpp" in FILES
    assert "ark_mlir/runtime/drivers.py" in FILES
    assert names_backend('assert target.backend != "cuda"')
    assert names_backend('DRIVERS = {"cpu": 1, "hip": 2}')
    assert not names_backend('raise ValueError("a program for cuda")  # "hip"')

"""docs/extending.md names every file with code of its own for a GPU backend."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs/extending.md").read_text()
CASE = re.compile(r'"(cuda|hip)"')
# The names of both backends, of their dialects in MLIR, and of their code generators in LLVM: a
# text with both names lists the backends.
LISTED = (
    (
        re.compile(r"(?<![A-Za-z])cuda(?![a-z])|Cuda(?![a-z])"),
        re.compile(r"(?<![A-Za-z])hip(?![a-z])|Hip(?![a-z])"),
    ),
    (re.compile(r"\bnvvm\b"), re.compile(r"\brocdl\b")),
    (re.compile(r"\bNVPTX\b"), re.compile(r"\bAMDGPU\b")),
)
# Descriptions of machines are the first step of the guide. A new backend needs no change in the
# other two: fakes of NVIDIA's driver, and DLPack's names of devices.
OTHERS = ("dialects/ark/ArkKnownTargets.cpp", "ark_mlir/testing/", "ark_mlir/runtime/arrays/")
# The folders and modules of the backends themselves, steps 3 and 4 of the guide.
BACKENDS = re.compile(
    r"passes/target/(cuda|hip)/|ark_mlir/(targets|runtime)/(cuda|hip)|ark_mlir/backends.py"
)


def lists_backends(text: str) -> bool:
    return any(all(name.search(text) for name in names) for names in LISTED)


def find_sources() -> Iterator[str]:
    """Finds files of C++, ODS and CMake with the name of a backend, or with a list of backends."""
    for folder in ("dialects", "lib", "passes"):
        for pattern in ("*.cpp", "*.h", "*.td", "*.def", "*.cmake", "CMakeLists.txt"):
            for path in sorted((ROOT / folder).rglob(pattern)):
                text = path.read_text()
                if CASE.search(text) or lists_backends(text):
                    yield str(path.relative_to(ROOT))
    if lists_backends((ROOT / "pyproject.toml").read_text()):
        yield "pyproject.toml"


def find_strings(code: str) -> list[str]:
    """Returns the strings of Python code, without docstrings."""
    nodes = list(ast.walk(ast.parse(code)))
    documented = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    docstrings = {
        node.body[0].value
        for node in nodes
        if isinstance(node, documented) and node.body and isinstance(node.body[0], ast.Expr)
    }
    return [
        node.value
        for node in nodes
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in docstrings
    ]


def names_backend(code: str) -> bool:
    """Returns True if a string is the name of a backend, or if the strings list the backends."""
    # Most files name no backend; parsing a file takes much longer than this search.
    if not (re.search(r"""["'](cuda|hip)["']""", code) or lists_backends(code)):
        return False
    strings = find_strings(code)
    return not {"cuda", "hip"}.isdisjoint(strings) or lists_backends("\n".join(strings))


def find_python() -> Iterator[str]:
    for path in sorted((ROOT / "ark_mlir").rglob("*.py")):
        if names_backend(path.read_text()):
            yield str(path.relative_to(ROOT))


FILES = [
    name
    for name in (*find_sources(), *find_python())
    if not name.startswith(OTHERS) and not BACKENDS.match(name)
]


@pytest.mark.parametrize("name", FILES)
def test_the_guide_names_the_file(name: str) -> None:
    assert f"`{name}`" in GUIDE, f"{name} has code for a backend, and docs/extending.md omits it"


def test_the_guide_names_no_other_file() -> None:
    table = GUIDE.split("\nThese files also name backends.")[1]
    assert {
        name
        for name in re.findall(r"`([\w/.-]+\.[a-z]+)`", table)
        if "/" in name or name == "pyproject.toml"
    } - set(FILES) == {"tests/host/test_backends.py"}


def test_the_search_finds_backends() -> None:
    assert "passes/target/Pipeline.cpp" in FILES
    assert "passes/kernel/KernelAbi.def" in FILES
    assert "lib/cmake/StaticLLVM.cmake" in FILES
    assert "lib/python/CMakeLists.txt" in FILES
    assert "ark_mlir/pytorch/devices.py" in FILES
    assert names_backend('assert target.backend != "cuda"')
    assert names_backend('DRIVERS = {"cpu": 1, "hip": 2}')
    assert names_backend('NAME = re.compile(r"(cuda|hip):[0-9]+")')
    assert not names_backend('raise ValueError("a program for cuda")  # "hip"')
    assert not names_backend('def run():\n    """Runs programs for cuda and hip."""\n')

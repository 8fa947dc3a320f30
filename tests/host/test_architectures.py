"""Only the descriptions of machines name architectures; passes ask the target for its abilities."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A name as a string literal, or its beginning.
NAME = re.compile(r"""["'](sm_|gfx)\w*["']""")
COMMENT = re.compile(r"//.*|#.*")
# The description of a pass or an op, whose examples may name an architecture.
DESCRIPTION = re.compile(r"let description = \[\{.*?\}\];", re.DOTALL)
FOLDERS = ("dialects", "passes", "lib")
PATTERNS = ("*.cpp", "*.h", "*.td")
# The files with the descriptions.
DESCRIBED = {"dialects/ark/ArkKnownTargets.cpp"}


def find_names(text: str) -> list[str]:
    """Returns the lines of code that name an architecture."""
    code = DESCRIPTION.sub("", text)
    return [line.strip() for line in code.splitlines() if NAME.search(COMMENT.sub("", line))]


def test_names() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for folder in FOLDERS
        for pattern in PATTERNS
        for path in sorted((ROOT / folder).rglob(pattern))
        if (lines := find_names(path.read_text()))
    }
    assert set(found) == DESCRIBED, found


def find_python_names(text: str) -> list[str]:
    """Returns the string literals of a Python file that are names of architectures."""
    return [
        node.value
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.Constant)
        and isinstance(node.value, str)
        and re.fullmatch(r"(sm_|gfx)\w+", node.value)
    ]


def test_names_in_python() -> None:
    """The stand-in for a vendor's driver describes a machine, so it may name one."""
    found = {
        str(path.relative_to(ROOT)): names
        for path in sorted((ROOT / "ark_mlir").rglob("*.py"))
        if "testing" not in path.parts and (names := find_python_names(path.read_text()))
    }
    assert not found


def test_the_search_finds_python_names() -> None:
    assert find_python_names('if arch == "sm_90a": ...') == ["sm_90a"]
    assert find_python_names('{(9, 4): "gfx942"}') == ["gfx942"]
    assert not find_python_names('arch.removeprefix("sm_")  # "sm_90a"')


def test_the_search_finds_names() -> None:
    assert find_names('if (arch == "sm_90a")') == ['if (arch == "sm_90a")']
    assert find_names('arch.consume_front("sm_")')
    assert find_names('if (!arch.starts_with("gfx9")) {')
    assert find_names(
        'let extraClassDeclaration = [{ bool isNew() { return arch == "sm_90a"; } }];'
    )
    assert not find_names('let description = [{\n  Code for "sm_90a":\n}];')
    assert not find_names('/// Bulk copies begin with "sm_90".')
    assert not find_names("target.hasCopy(CopyKind::Bulk)")

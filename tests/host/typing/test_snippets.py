"""A type checker reports errors in marked lines of user programs, and in no others."""

from __future__ import annotations

import importlib.util
import json
import re
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ark_mlir

SNIPPETS = Path(__file__).parent / "snippets"
MARK = re.compile(r"# error: (.+)$")


@dataclass(frozen=True)
class SourceLine:
    """A line of a snippet."""

    file: str
    line: int


def expected_errors() -> dict[SourceLine, str]:
    """Returns the rule, or a part of the message, that each marked line expects."""
    return {
        SourceLine(path.name, number): mark[1]
        for path in sorted(SNIPPETS.glob("*.py"))
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if (mark := MARK.search(line))
    }


def lay_out_package(folder: Path) -> None:
    """Copies the package as in a wheel, since an editable installation has two folders."""
    for root in ark_mlir.__path__:
        for path in Path(root).rglob("*"):
            if path.suffix in (".py", ".pyi") or path.name == "py.typed":
                copy = folder / "ark_mlir" / path.relative_to(root)
                copy.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(path, copy)


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[SourceLine, list[str]]:
    """Returns messages of pyright by line, each with its rule."""
    if importlib.util.find_spec("pyright") is None:
        pytest.skip("pyright is not installed")
    folder = tmp_path_factory.mktemp("typing")
    lay_out_package(folder / "package")
    shutil.copytree(SNIPPETS, folder / "snippets")
    config = {
        "include": ["snippets"],
        "extraPaths": ["package"],
        "typeCheckingMode": "standard",
        "pythonVersion": "3.10",
    }
    (folder / "pyrightconfig.json").write_text(json.dumps(config))
    command = [sys.executable, "-m", "pyright", "--outputjson", "--pythonpath", sys.executable]
    done = subprocess.run(
        [*command, "-p", str(folder)], capture_output=True, text=True, check=False
    )
    if not done.stdout.startswith("{"):
        pytest.skip(f"pyright does not run here: {done.stderr[-200:]}")
    result: dict[SourceLine, list[str]] = {}
    for each in json.loads(done.stdout)["generalDiagnostics"]:
        line = SourceLine(Path(each["file"]).name, each["range"]["start"]["line"] + 1)
        result.setdefault(line, []).append(describe(each))
    return result


def describe(diagnostic: dict[str, Any]) -> str:
    return f"{diagnostic['message']} ({diagnostic.get('rule', 'no rule')})"


def test_wrong_lines_are_errors(found: dict[SourceLine, list[str]]) -> None:
    expected = expected_errors()
    assert len(expected) > 60
    missed = {
        line: (part, found.get(line))
        for line, part in expected.items()
        if not any(part in message for message in found.get(line, []))
    }
    assert missed == {}


def test_right_lines_are_clean(found: dict[SourceLine, list[str]]) -> None:
    assert {line: found[line] for line in found.keys() - expected_errors().keys()} == {}

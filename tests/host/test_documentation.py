"""Pages that repeat what the code states elsewhere are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"

if sys.version_info >= (3, 11):
    import tomllib
else:
    from pip._vendor import tomli as tomllib


def read_page(name: str) -> str:
    return (DOCS / name).read_text(encoding="utf-8")


def test_installation_names_every_extra() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    rows = re.findall(r"^\| (`.+?) \|", read_page("installation.md"), re.M)
    named = {word for row in rows for word in re.findall(r"`([\w-]+)`", row)}
    assert set(project["optional-dependencies"]) <= named


def described_names() -> set[str]:
    """The names that the API reference describes, with the module in front of those of others."""
    names: set[str] = set()
    for page in (DOCS / "reference").glob("*.md"):
        module = ""
        for line in page.read_text(encoding="utf-8").splitlines():
            if match := re.match(r"\.\. currentmodule:: (\S+)", line):
                module = match[1]
            elif match := re.match(r"\.\. auto(?:function|class|exception):: (\S+)", line):
                name = match[1]
                names.add(name if name.startswith("ark_mlir.") else f"{module}.{name}")
    return names


def test_reference_describes_every_public_name() -> None:
    ark = pytest.importorskip("ark_mlir")
    dtypes = {name for name in ark.__all__ if f"`ark.{name}`" in read_page("reference/building.md")}
    public = {f"ark_mlir.{name}" for name in set(ark.__all__) - dtypes - {"__version__"}}
    assert public - described_names() == set()

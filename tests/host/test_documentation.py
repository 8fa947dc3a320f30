"""Pages that repeat what the code states elsewhere are complete."""

from __future__ import annotations

import re
import sys
from pathlib import Path

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

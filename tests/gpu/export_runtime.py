"""Copies the runtime part of the package, which needs no compiler."""

from __future__ import annotations

import shutil
from pathlib import Path

import ark_mlir as ark

PACKAGES = ("bundle", "distributed", "runtime", "testing")


def copy_runtime(folder: Path) -> None:
    """Copies the modules that do not import the compiler."""
    source, package = Path(ark.__file__).parent, folder / "ark_mlir"
    package.mkdir(parents=True)
    for module in source.glob("*.py"):
        shutil.copy(module, package)
    for name in PACKAGES:
        ignored = shutil.ignore_patterns("__pycache__")
        shutil.copytree(source / name, package / name, ignore=ignored)

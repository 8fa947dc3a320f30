"""Runs the scripts of benchmarks."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[3] / "benchmarks"


def run_benchmark(
    name: str, *arguments: object, prelude: str = "", timeout: int = 500
) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate process on one thread, after some statements."""
    script = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import {name}\n{prelude}\n"
    return subprocess.run(
        [sys.executable, "-c", f"{script}sys.exit({name}.main())", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def measure(
    name: str, bundles: Path, rows: str, arms: str, folder: Path, prelude: str = ""
) -> list[dict[str, Any]]:
    """Measures rows of a suite in one process, after some statements, and returns the results."""
    journal = folder / f"{len(list(folder.iterdir()))}.jsonl"
    done = run_benchmark(
        name, "--bundles", bundles, "--rows", rows, "--arms", arms,
        "--samples", 1, "--journal", journal, prelude=prelude,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    entries = [json.loads(line) for line in journal.read_text(encoding="utf-8").splitlines()]
    return [entry["result"] for entry in entries if "result" in entry]


def compile_rows(name: str, rows: str, folder: Path) -> Path:
    """Compiles rows of a suite for the cpu."""
    done = run_benchmark(name, "--compile", folder, "--rows", rows, "--target", "cpu:2")
    assert done.returncode == 0, done.stderr
    return folder


def table_cells(text: str) -> dict[tuple[str, str], list[str]]:
    """Returns the cells of a record's table by row and arm."""
    rows = [line.strip("| ").split("|") for line in text.splitlines() if line.startswith("| ")]
    cells = [[cell.strip() for cell in row] for row in rows[2:]]
    return {(row[0], row[1]): row[2:] for row in cells}

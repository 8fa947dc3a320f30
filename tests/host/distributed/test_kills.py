"""Ranks that are killed at random moments: a small part of ``tests/soak/kill_ranks.py``."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir import tools

SCRIPT = Path(__file__).parents[2] / "soak" / "kill_ranks.py"
# The seed gives an interrupt, a termination and a kill, after ranks have met, compiled and run.
SEED = 2332


def test_three_kills() -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, "--count", "3", "--seed", str(SEED)],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    summary = json.loads(result.stdout)
    assert (summary["count"], summary["failures"]) == (3, 0)
    assert summary["signals"] == {"SIGINT": 1, "SIGTERM": 1, "SIGKILL": 1}
    assert summary["phases"] == {"joined": 1, "compiled": 1, "running": 1}
    assert summary["errors"] == {"RankFailedError": summary["survivors"]}


def test_linking_makes_no_file_with_a_name(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A rank that is killed while it links leaves nothing in the folder for temporary files."""
    run: Callable[..., Any] = subprocess.run
    seen: list[list[Path]] = []

    def look(*arguments: Any, **options: Any) -> Any:
        result = run(*arguments, **options)
        seen.append(list(tmp_path.rglob("*")))
        return result

    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    monkeypatch.setattr(tools.subprocess, "run", look)
    with ark.Program("p") as program:
        ark.output("y", ark.relu(ark.input("x", (4,))))
    ark.compile(program, target="cpu:1")
    assert seen == [[]]

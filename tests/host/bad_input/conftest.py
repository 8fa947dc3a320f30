"""Fixtures that tests of bad input share."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def locate(request: pytest.FixtureRequest) -> Callable[[str], str]:
    """``locate(marker)`` returns ``file:line`` of the line of the test's file that ends in that
    comment."""
    lines = request.path.read_text(encoding="utf-8").splitlines()

    def find(marker: str) -> str:
        (line,) = (n for n, text in enumerate(lines, 1) if text.endswith(f"  # {marker}"))
        return f"{request.path.name}:{line}"

    return find


@pytest.fixture
def refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """Runs ``ark`` in a separate process and a new folder; returns its one message."""
    monkeypatch.chdir(tmp_path)

    def command(*arguments: object) -> str:
        result = subprocess.run(
            [sys.executable, "-m", "ark_mlir.cli", *map(str, arguments)],
            capture_output=True,
            text=True,
            timeout=500,
            check=False,
        )
        assert result.returncode == 1, (result.returncode, result.stderr[-2000:])
        assert result.stdout == ""
        first, *notes = result.stderr.splitlines()
        assert first.startswith("ark: error: ")
        assert "internal error" not in first
        # There is one message: its further lines belong to it.
        assert all(note.startswith("  note: ") for note in notes), result.stderr
        return result.stderr

    return command


@pytest.fixture
def compile_with_little_memory(tmp_path: Path) -> Callable[[str], str]:
    """Returns the message of ``ark compile`` in a process with 2 GiB; a crash fails the test."""

    def command(text: str) -> str:
        (tmp_path / "huge.mlir").write_text(text, encoding="utf-8")
        script = (
            "import resource, sys\n"
            "resource.setrlimit(resource.RLIMIT_AS, (2 << 30, 2 << 30))\n"
            "resource.setrlimit(resource.RLIMIT_CORE, (0, 0))\n"
            "from ark_mlir.cli import main\n"
            "sys.exit(main(['compile', 'huge.mlir', '-o', 'huge.arkbin']))\n"
        )
        result = subprocess.run(
            [sys.executable, "-c", script],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
        )
        assert result.returncode in (0, 1), (result.returncode, result.stderr[-1000:])
        return result.stderr

    return command

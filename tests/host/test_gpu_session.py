"""A run of the tests for GPUs fails if it executes no test."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[1] / "gpu"
TESTS = """
import pytest

def test_one():
    pytest.skip("no PyTorch")

@pytest.mark.skipif(True, reason="no GPU")
def test_two():
    pass

def test_three(torch):
    pass

@pytest.fixture
def torch():
    pytest.skip("not installed")

def test_four():
    pass
"""


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 0),
        (["-k", "four"], 0),
        (["-k", "not four"], 5),
        (["-k", "two"], 5),
        (["-k", "three"], 5),
        (["--collect-only"], 0),
        (["-n", "1", "-k", "four"], 0),
        (["-n", "1", "-k", "three"], 5),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else None,
)
def test_exit_status(options: list[str], status: int, tmp_path: Path) -> None:
    for name in ("conftest.py", "processes.py"):
        shutil.copy(FOLDER / name, tmp_path)
    (tmp_path / "test_these.py").write_text(TESTS, encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", *options, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == status, done.stdout

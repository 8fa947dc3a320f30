"""A run of the tests for GPUs fails if it executes no test."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import ark_mlir as ark

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


def test_tests_for_nvidia_alone_are_skipped_for_amd(tmp_path: Path) -> None:
    """The skipped tests have the reason of their file, and others run."""
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    with ark.Program("good") as program:
        ark.output("y", ark.input("x", (4, 64)) * 2.0)
    for name in ("conftest.py", "processes.py"):
        shutil.copy(FOLDER / name, tmp_path)
    for name in ("test_assemblers.py", "test_torch_compile.py", "test_packets.py"):
        (tmp_path / name).write_text("def test_it():\n    pass\n", encoding="utf-8")
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-rs", str(tmp_path)]
    environment = {**os.environ, "ARK_GPU_BUNDLES": str(tmp_path)}
    for target, counts in (("hip:gfx942", "2 passed, 1 skipped"), ("cuda:sm_90a", "3 passed")):
        ark.compile(program, target).save(tmp_path / "good.arkbin")
        done = subprocess.run(
            command, capture_output=True, text=True, cwd=tmp_path, env=environment, check=False
        )
        assert counts in done.stdout, done.stdout + done.stderr
        reason = "the assembler in the driver are NVIDIA's"
        assert (reason in done.stdout) == ("hip" in target)


def test_files_for_nvidia_alone_exist() -> None:
    text = (FOLDER / "conftest.py").read_text(encoding="utf-8")
    names = re.findall(r'^    "(test_\w+\.py)":', text, re.MULTILINE)
    assert "test_assemblers.py" in names
    assert all((FOLDER / name).exists() for name in names)

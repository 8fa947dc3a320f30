"""lib/cmake/CheckIncludes.cmake refuses includes of folders that a library does not use."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

_ROOT = Path(__file__).parents[2]

# A machine that has built the compiler has CMake; there, the tests must run.
pytestmark = pytest.mark.skipif(
    not (_ROOT / "build/CMakeCache.txt").exists(), reason="the compiler is not built here"
)


def check(folder: Path, text: str, uses: str) -> subprocess.CompletedProcess[str]:
    """Checks a file of passes/target/simt with the given include lines."""
    file = folder / "Pass.cpp"
    file.write_text(text)
    script = _ROOT / "lib/cmake/CheckIncludes.cmake"
    defined = {
        "folder": "passes/target/simt",
        "uses": uses,
        "files": file,
        "stamp": folder / "stamp",
    }
    command = ["cmake", *(f"-D{name}={value}" for name, value in defined.items()), "-P", script]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_folders_in_use(tmp_path: Path) -> None:
    text = """
#include "passes/target/simt/Passes.h"
#include "passes/target/support/Bodies.h"
#include "dialects/ark/ArkOps.h"
#include "mlir/IR/Builders.h"
#include "passes/target/packets/CudaPackets.mlir.inc"
"""
    done = check(tmp_path, text, "dialects/ark;passes/target/support")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stamp").exists()


@pytest.mark.parametrize("header", ["MmaLoops.h", "Passes.h.inc"])
def test_another_room(tmp_path: Path, header: str) -> None:
    done = check(tmp_path, f'#include "passes/target/matmul/{header}"\n', "passes/target/support")
    assert done.returncode != 0
    assert "passes/target/simt does not use passes/target/matmul" in " ".join(done.stderr.split())
    assert not (tmp_path / "stamp").exists()


def test_a_folder_does_not_stand_for_its_parent(tmp_path: Path) -> None:
    done = check(tmp_path, '#include "passes/target/Passes.h"\n', "passes/target/support")
    assert done.returncode != 0

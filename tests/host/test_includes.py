"""lib/cmake/CheckIncludes.cmake refuses includes of folders that a library does not use."""

from __future__ import annotations

import re
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
#include "passes/target/simt/KernelTexts.h.inc"
#include "passes/kernel/KernelAbi.def"
  #  include <passes/target/support/Loops.h> // see passes/target/matmul/MmaLoops.h
#include <array>
"""
    done = check(tmp_path, text, "dialects/ark;passes/kernel;passes/target/support")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "stamp").exists()


@pytest.mark.parametrize(
    "line",
    [
        '#include "passes/target/matmul/MmaLoops.h"',
        '#include "passes/target/matmul/Passes.h.inc"',
        '#include "passes/target/matmul/Tiles.def"',
        '#include "passes/target/matmul/Ops.cpp.inc"',
        '#include "passes/target/matmul/Loops.mlir.inc"',
        "#include <passes/target/matmul/MmaLoops.h>",
        ' # include "passes/target/matmul/MmaLoops.h"',
        '#\tinclude\t"passes/target/matmul/MmaLoops.h"',
        '#include"passes/target/matmul/MmaLoops.h" // as passes/target/support/Bodies.h does',
    ],
)
def test_another_room(tmp_path: Path, line: str) -> None:
    done = check(tmp_path, f"{line}\n", "passes/target/support")
    assert done.returncode != 0
    assert "passes/target/simt does not use passes/target/matmul" in " ".join(done.stderr.split())
    assert not (tmp_path / "stamp").exists()


@pytest.mark.parametrize("line", ['#include "Bodies.h"', '  # include "../support/Bodies.h"'])
def test_a_path_that_does_not_begin_at_the_root(tmp_path: Path, line: str) -> None:
    done = check(tmp_path, f"{line}\n", "passes/target/support")
    assert done.returncode != 0
    assert "is not a path from the root" in " ".join(done.stderr.split())


def test_a_folder_does_not_stand_for_its_parent(tmp_path: Path) -> None:
    done = check(tmp_path, '#include "passes/target/Passes.h"\n', "passes/target/support")
    assert done.returncode != 0


def test_every_library_is_checked() -> None:
    build = (_ROOT / "build/build.ninja").read_text(encoding="utf-8")
    libraries = set(
        re.findall(r"^# Object build statements for OBJECT_LIBRARY target (\S+)$", build, re.M)
    )
    orders = re.findall(
        r"^build cmake_object_order_depends_target_(\S+): phony \|\| (.*)$", build, re.M
    )
    checked = {
        name
        for name, needs in orders
        if f"{name}-includes" in {need.rpartition("/")[2] for need in needs.split()}
    }
    assert "ArkDialect" in checked
    # Libraries of precompiled headers have no code.
    assert libraries - checked <= {"ArkPCH", "ArkLLVMPCH"}

"""The soak tests: a small part of each, the watchdog of the fuzzers, and the runner."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

FOLDER = Path(__file__).parents[1] / "soak"
BUILD = Path(__file__).parents[2] / "build"

needs_build = pytest.mark.skipif(
    not BUILD.is_dir(), reason="needs a build of the compiler, and this is a wheel"
)


def run(script: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, script, *map(str, arguments)],
        capture_output=True,
        text=True,
        check=False,
    )


def result_of(done: subprocess.CompletedProcess[str]) -> dict[str, Any]:
    return json.loads(done.stdout.splitlines()[-1])


SLICES = [
    ("fuzz_bundles", 3000),
    ("fuzz_safetensors", 3000),
    ("fuzz_signatures", 2000),
    ("flip_cache", 100),
    ("race_cache", 160),
    ("delays", 50),
    ("emulate_programs", 4),
    ("mutate_ranks", 300),
    ("mutate_schedules", 300),
    pytest.param("random_bodies", 600, marks=needs_build),
    ("random_programs", 25),
    ("sanitize_kernels", 2),
]


@pytest.mark.parametrize(("script", "count"), SLICES)
def test_slice(script: str, count: int) -> None:
    if script in ("fuzz_bundles", "fuzz_signatures"):
        pytest.importorskip("cryptography", reason="signed bundles need the package cryptography")
    done = run(FOLDER / f"{script}.py", "--count", count, "--seed", 7)
    assert done.returncode == 0, done.stdout + done.stderr
    result = result_of(done)
    assert (result["name"], result["failures"]) == (script, 0)
    assert result["count"] >= count
    if script.startswith("fuzz"):
        # Every kind of file is read, and other files are refused.
        assert len(result["endings"]) > 4


@needs_build
def test_bodies_that_leave_their_tiles_are_detected() -> None:
    """With a proof that accepts every body, the script reports bodies."""
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "import random_bodies\n"
        "random_bodies.judge = lambda server, bodies: [True for _ in bodies]\n"
        "sys.exit(random_bodies.main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(FOLDER), "--count", "64"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert result_of(done)["failures"] > 10
    for text in ("a store at", "elements from", "divides"):
        assert text in done.stdout


def test_a_race_that_the_drawn_position_hides() -> None:
    """In program 398 an update writes rows 8 to 15, and the reader without a wait reads rows 0 to
    7."""
    done = run(FOLDER / "sanitize_kernels.py", "--count", 2, "--seed", 398)
    assert done.returncode == 0, done.stdout + done.stderr
    result = result_of(done)
    assert result["planted"]["races"] == result["reported"]["races"] == 1
    assert result["races at other positions only"] == 1


def test_a_race_that_is_not_reported_fails() -> None:
    """Without varying the positions of program 398 no race is found, and the script reports
    this."""
    script = (
        "import sys; sys.path.insert(0, sys.argv.pop(1))\n"
        "import programs\n"
        "draw = programs.draw\n"
        "def draw_fixed(*arguments, **options):\n"
        "    drawn = draw(*arguments, **options)\n"
        "    drawn.positions.clear()\n"
        "    return drawn\n"
        "programs.draw = draw_fixed\n"
        "import sanitize_kernels\n"
        "sanitize_kernels.main()\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(FOLDER), "--count", "2", "--seed", "398"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stdout + done.stderr
    assert "seed 398, thread: a missing wait was not reported" in done.stdout
    assert result_of(done)["failures"] == 1


def test_mutants_of_tables() -> None:
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    done = run(FOLDER / "mutate_tables.py", "--count", 80, "--bundles", 10, "--seed", 7)
    assert done.returncode == 0, done.stdout + done.stderr
    result = result_of(done)
    assert (result["name"], result["failures"]) == ("mutate_tables", 0)
    assert result["classes"] >= 12


# -- the watchdog ----------------------------------------------------------------------------------

CASES = """
import ctypes, sys
sys.path.insert(0, {folder!r})
import fuzzing
fuzzing._HANG_SECONDS = 0.3
WAYS = {{3: "crash", 5: "error", 6: "memory", 8: "hang"}}
numbers = {{fuzzing._source(0, k).random(): k for k in range(10)}}
def case(random):
    way = WAYS.get(numbers[random.random()])
    if way == "crash":
        ctypes.string_at(0)
    if way == "error":
        raise KeyError("x")
    if way == "memory":
        bytearray(2 << 30)
    while way == "hang":
        pass
    return "fine"
if __name__ == "__main__":
    sys.exit(fuzzing.main("stub", 10, case))
"""


def test_outcomes_that_the_watchdog_detects(tmp_path: Path) -> None:
    script = tmp_path / "stub.py"
    script.write_text(CASES.format(folder=str(FOLDER)))
    done = run(script)
    assert done.returncode == 1
    result = result_of(done)
    assert (result["failures"], result["crashes"], result["hangs"]) == (4, 1, 1)
    lines = done.stdout.splitlines()
    assert lines[0] == "case 3: the process ended with status -11; --seed 0 --only 3"
    assert lines[1].startswith("case 5: KeyError: 'x'; --seed 0 --only 5")
    assert lines[2].startswith("case 6: MemoryError")
    assert lines[3] == "case 8: the process stood still for 0.3 s; --seed 0 --only 8"
    assert run(script, "--only", 4).stdout == "fine\n"
    assert "KeyError" in run(script, "--only", 5).stderr


# -- the runner ------------------------------------------------------------------------------------

SCRIPT = """#!/usr/bin/env python3
FULL_COUNT{annotation} = {full}
import argparse, json, sys
parser = argparse.ArgumentParser()
parser.add_argument("--count", type=int)
parser.add_argument("--seed", type=int)
options = parser.parse_args()
print("working on seed", options.seed)
print({last})
sys.exit({status})
"""
GOOD = 'json.dumps({"name": "x", "count": options.count, "failures": %s, "seconds": 0.1})'


def write(folder: Path, name: str, mode: int = 0o755, **parts: object) -> None:
    whole = {"annotation": "", "full": 2000, "last": GOOD % 0, "status": 0, **parts}
    (folder / f"{name}.py").write_text(SCRIPT.format(**whole))
    (folder / f"{name}.py").chmod(mode)


def soak(folder: Path, *arguments: object) -> subprocess.CompletedProcess[str]:
    return run(FOLDER / "run.py", "--folder", folder, "--logs", folder / "logs", *arguments)


def test_the_runner(tmp_path: Path) -> None:
    write(tmp_path, "first", annotation=": int", full="1_000")
    write(tmp_path, "second")
    write(tmp_path, "helper", mode=0o644)
    (tmp_path / "other.py").write_text("x = 1\n")
    (tmp_path / "other.py").chmod(0o755)
    done = soak(tmp_path, "--scale", 0.01, "--seed", 9)
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    assert rows[0] == ["name", "count", "failures", "seconds"]
    assert [(row[0], row[1], row[2], row[4]) for row in rows[1:]] == [
        ("first", "10", "0", "ok"),
        ("second", "20", "0", "ok"),
    ]
    assert "seed 9" in (tmp_path / "logs" / "first.log").read_text()
    assert len(soak(tmp_path, "--only", "second", "--scale", 0.0001).stdout.splitlines()) == 2


def test_shares_of_several_processes(tmp_path: Path) -> None:
    """Two jobs divide the cases, with seeds of their own; a failure of one fails the script."""
    write(tmp_path, "alone", full=7)
    with (tmp_path / "alone.py").open("a") as file:
        file.write("EXCLUSIVE = True\n")
    write(tmp_path, "first", full=7)
    write(tmp_path, "last", full=7, last=GOOD % "options.seed > 0")
    done = soak(tmp_path, "--jobs", 2, "--only", "first", "alone")
    assert done.returncode == 0, done.stdout + done.stderr
    rows = [line.split() for line in done.stdout.splitlines()]
    logs = tmp_path / "logs"
    assert [(row[0], row[1]) for row in rows[1:]] == [("first", "7"), ("alone", "7")]
    assert "seed 0\n" in (logs / "first.0.log").read_text()
    assert "seed 1000000\n" in (logs / "first.1.log").read_text()
    assert (logs / "alone.log").is_file()
    assert not (logs / "alone.0.log").exists()
    done = soak(tmp_path, "--jobs", 2, "--only", "last")
    assert done.returncode == 1
    assert "last.1.log" in done.stdout


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"status": 3}, "FAILED: status 3"),
        ({"last": GOOD % 2, "status": 1}, "FAILED: status 1"),
        ({"last": GOOD % 2}, "FAILED: status 0"),
        ({"last": "'done'"}, "its last line is not a result"),
        ({"last": "[]"}, "its last line is not a result"),
        ({"last": "'{}'"}, "its last line is not a result"),
        ({"last": (GOOD % 0).replace("options.count", "1")}, "FAILED: ran 1 of 2,000"),
    ],
)
def test_failures(tmp_path: Path, parts: dict[str, object], message: str) -> None:
    write(tmp_path, "bad", **parts)
    write(tmp_path, "good")
    done = soak(tmp_path)
    assert done.returncode == 1
    assert message in done.stdout
    assert "working on seed 0" in done.stdout
    assert done.stdout.splitlines()[-1].endswith("ok")  # the other scripts still run


def test_wrong_usage_raises(tmp_path: Path) -> None:
    assert soak(tmp_path).returncode == 2
    write(tmp_path, "good")
    assert soak(tmp_path, "--only", "bad").returncode == 2
    assert soak(tmp_path, "--scale", 0).returncode == 2
    write(tmp_path, "good", full="2 * 1000")
    done = soak(tmp_path)
    assert done.returncode == 2
    assert "good.py: FULL_COUNT is not a number: 2 * 1000" in done.stderr


def test_every_script_takes_part() -> None:
    """Every executable script except the runner has a count for `make soak`."""
    done = run(FOLDER / "run.py", "--only", "none of them")
    assert "no such script: none of them" in done.stderr  # all files could be read
    for path in FOLDER.glob("*.py"):
        if path.name != "run.py" and os.access(path, os.X_OK):
            assert "\nFULL_COUNT = " in path.read_text(encoding="utf-8"), path

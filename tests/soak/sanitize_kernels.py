#!/usr/bin/env python3
"""Runs kernels for cpu under ThreadSanitizer and AddressSanitizer.

The LLVM IR of a kernel is compiled by clang with a sanitizer, and run by `native/run_lanes.cpp`,
which has a thread for each lane and runs without Python. ThreadSanitizer reports two accesses that
no semaphore orders, AddressSanitizer an access outside of a buffer. Outputs are compared with the
interpreter. (UndefinedBehaviorSanitizer works on C and C++ alone, and kernels are neither.)

Each program also runs with a fault: without one of its waits, which ThreadSanitizer has to report,
and with outputs that are one element too short, which AddressSanitizer has to report.

A schedule is proven for all positions that a program may read from its inputs, such as the row of
an update. Without a wait, accesses at some of these positions race, but not necessarily at the
positions that were drawn. So ThreadSanitizer has to report the race for at least one position.

    sanitize_kernels.py --count 400 [--seed S]      kernels, half of them for each sanitizer
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import delays
import numpy as np
import programs

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.bundle import Bundle
from ark_mlir.testing.bounds import assert_within

FULL_COUNT = 400
LAUNCHES = 3
SANITIZERS = ("thread", "address")
# The number of runs of a kernel without a wait, in different orders, until its race is reported.
_ORDERS = 5
_SCALARIZE = (
    "/usr/lib/llvm-22/bin/opt",
    "-passes=scalarize-masked-mem-intrin,scalarizer<load-store>",
)
RUNNER = Path(__file__).parent / "native" / "run_lanes.cpp"
_TABLES = ("instructions", "lanes", "tasks", "operands")
_DEFINITION = re.compile(r"^(define [^{]*?)( !dbg ![0-9]+)?( \{)$", re.MULTILINE)
_OPTIONS = {
    "TSAN_OPTIONS": "exitcode=66:halt_on_error=1",
    "ASAN_OPTIONS": "exitcode=66:detect_leaks=0",
}


def run(*command: str | Path, **options: Any) -> subprocess.CompletedProcess[str]:
    """Runs a tool; raises RuntimeError with its output if it fails."""
    done = subprocess.run(
        [str(word) for word in command], capture_output=True, text=True, check=False, **options
    )
    if done.returncode:
        raise RuntimeError(f"{command[0]} ended with {done.returncode}:\n{done.stderr[-4000:]}")
    return done


def build_runner(sanitizer: str, folder: Path) -> Path:
    """Compiles the runner once for each sanitizer."""
    program = folder / f"run_lanes-{sanitizer}"
    flags = ["-std=c++17", "-O1", "-g", f"-fsanitize={sanitizer}", f"-I{RUNNER.parents[3]}"]
    run("clang++-22", *flags, RUNNER, "-o", program, "-ldl", "-lpthread")
    return program


def build_kernel(module: Path, sanitizer: str, folder: Path) -> Path:
    """Compiles a module at the stage `target` with a sanitizer."""
    code, llvm, kernel = folder / "code.mlir", folder / "kernel.ll", folder / "kernel.so"
    code.write_text(without_ark(module))
    text = run("/usr/lib/llvm-22/bin/mlir-translate", "--mlir-to-llvmir", code).stdout
    # clang does not instrument a function of IR without the sanitizer's attribute.
    llvm.write_text(_DEFINITION.sub(rf"\1 sanitize_{sanitizer}\2\3", text))
    if sanitizer == "thread":
        # ThreadSanitizer skips masked accesses and accesses of more than 16 bytes.
        run(*_SCALARIZE, llvm, "-S", "-o", llvm)
    flags = ["-O1", "-shared", "-fPIC", f"-fsanitize={sanitizer}", "-Wno-override-module"]
    run("clang-22", *flags, llvm, "-o", kernel, "-lm")
    return kernel


def without_ark(path: Path) -> str:
    """Returns the text of a module without the ops and attributes of ark, which mlir-translate does
    not know.
    """
    with ir.Context():
        module = ir.Module.parseFile(str(path)).operation
        for name in [name for name in module.attributes if name.startswith("ark.")]:
            del module.attributes[name]
        for op in list(module.regions[0].blocks[0]):
            if op.operation.name.startswith("ark."):
                op.operation.erase()
        return str(module)


def write_launch(
    bundle: Bundle, arrays: dict[str, Any], launches: int, path: Path, cut: bool
) -> None:
    """Writes tables and initial buffers for the runner; with `cut`, outputs lack an element."""
    manifest = bundle.manifest
    tables = [bytes(bundle.sections[name]) for name in _TABLES]
    words = [len(bundle.tables.lanes), len(manifest.semaphores), launches]
    words += [1 + len(manifest.buffers), *map(len, tables)]
    with path.open("wb") as file:
        file.write(np.array(words, np.uint64).tobytes() + b"".join(tables))
        file.write(np.array([manifest.arena, 64], np.uint64).tobytes() + bytes(manifest.arena))
        for buffer in manifest.buffers:
            content = initial(bundle, buffer, arrays)
            assert len(content) == buffer.bytes, buffer.name
            if cut and buffer.kind == "output":
                content = content[: -buffer.dtype.itemsize]
            file.write(np.array([len(content), buffer.alignment], np.uint64).tobytes() + content)


def initial(bundle: Bundle, buffer: Any, arrays: dict[str, Any]) -> bytes:
    """Returns the bytes that a buffer has before the first launch."""
    if buffer.kind == "constant":
        return bytes(bundle.sections["constants"][buffer.offset : buffer.offset + buffer.bytes])
    if buffer.kind == "output":
        return bytes(buffer.bytes)
    if buffer.kind == "state":
        return np.full(buffer.shape, buffer.init, buffer.dtype.numpy).tobytes()
    return np.asarray(arrays[buffer.name], buffer.dtype.numpy).tobytes()


def read_buffers(bundle: Bundle, path: Path, kind: str) -> dict[str, Any]:
    """Returns the buffers of a kind that the runner wrote, such as outputs."""
    content, begin, found = path.read_bytes(), bundle.manifest.arena, dict[str, Any]()
    for buffer in bundle.manifest.buffers:
        end = begin + buffer.bytes
        if buffer.kind == kind:
            array = np.frombuffer(content[begin:end], buffer.dtype.numpy)
            found[buffer.name] = array.reshape(buffer.shape)
        begin = end
    return found


def check(
    source: Any,
    drawn: programs.Drawn,
    runner: Path,
    sanitizer: str,
    cut: bool = False,
    orders: int = 0,
    **options: Any,
) -> None:
    """Compiles and runs one kernel; with `cut`, on outputs that are too short.

    `orders` is the number of additional runs, in which lanes begin after random delays. Raises
    RuntimeError with the sanitizer's report, and AssertionError if a result is wrong.
    """
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with ark.compile(source, cache=False, dump_dir=folder, **options) as executable:
            bundle = executable.bundle
        (module,) = folder.glob("*-target.mlir")
        kernel = build_kernel(module, sanitizer, folder)
        environment = {**os.environ, **_OPTIONS}
        command = (runner, kernel, folder / "launch", folder / "output")
        is_proven = options.get("verify", True)
        states: dict[str, Any] = dict(drawn.states)
        # The bound is that of one launch, so that each launch begins with the states of the kernel.
        for launches in range(1 if states and is_proven else LAUNCHES, LAUNCHES + 1):
            write_launch(bundle, drawn.arrays, launches, folder / "launch", cut)
            for order in ((), *((str(seed),) for seed in range(orders))):
                run(*command, *order, env=environment, timeout=300)
            if is_proven:
                compare(drawn, states, read_buffers(bundle, folder / "output", "output"))
            states = read_buffers(bundle, folder / "output", "state")


def compare(drawn: programs.Drawn, states: dict[str, Any], got: dict[str, Any]) -> None:
    """Compares the outputs of a launch that began with some states.

    Raises AssertionError if a result is wrong.
    """
    expected = ark.reference.evaluate(drawn.program, drawn.arrays, states, bound=True)
    for name, bound in expected.bounds.items():
        assert_within(got[name], expected.outputs[name], bound, name)


def is_reported(problem: str, *arguments: Any, **options: Any) -> bool:
    """Returns true if a sanitizer reports `problem` in a kernel; other arguments as for `check`."""
    try:
        check(*arguments, **options)
    except RuntimeError as error:
        if problem not in str(error):
            raise
        return True
    return False


def placements(drawn: programs.Drawn) -> Iterator[programs.Drawn]:
    """Yields a program as it was drawn, and then with other positions, in increasing order. All
    positions of a program increase together, up to the largest valid value of each.
    """
    yield drawn
    for value in range(1 + max(drawn.positions.values(), default=-1)):
        moved = {
            name: np.full_like(drawn.arrays[name], min(value, greatest))
            for name, greatest in drawn.positions.items()
        }
        yield replace(drawn, arrays={**drawn.arrays, **moved})


def find_race(mutant: str, drawn: programs.Drawn, runner: Path) -> int | None:
    """Returns the number of placements before the first whose race is reported, or None."""
    for number, placed in enumerate(placements(drawn)):
        if is_reported("data race", mutant, placed, runner, "thread", orders=_ORDERS, verify=False):
            return number
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="kernels in all")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args()
    # Schedules without a wait are compiled without their proof, on purpose.
    warnings.simplefilter("ignore", ark.UnprovenWarning)
    begin = time.monotonic()
    count = failures = 0
    planted, reported = {"races": 0, "overruns": 0}, {"races": 0, "overruns": 0}
    elsewhere = 0
    with tempfile.TemporaryDirectory() as name:
        runners = {kind: build_runner(kind, Path(name)) for kind in SANITIZERS}
        for seed, drawn, text in delays.candidates(options.seed):
            for sanitizer, runner in runners.items():
                count += 1
                try:
                    check(text, drawn, runner, sanitizer)
                except (RuntimeError, AssertionError, ark.ArkError) as error:
                    failures += 1
                    print(f"seed {seed}, {sanitizer}: {error}", flush=True)
            arguments = (drawn, runners["address"], "address")
            planted["overruns"] += 1
            reported["overruns"] += is_reported("-buffer-overflow", text, *arguments, cut=True)
            for mutant in delays.planted(text, random.Random(seed), most=1):
                planted["races"] += 1
                placement = find_race(mutant, drawn, runners["thread"])
                reported["races"] += placement is not None
                elsewhere += bool(placement)
                if placement is None:
                    print(f"seed {seed}, thread: a missing wait was not reported", flush=True)
            if count >= options.count:
                break
    failures += sum(planted.values()) - sum(reported.values())
    result = {
        "name": Path(__file__).stem,
        "count": count,
        "failures": failures,
        "seconds": round(time.monotonic() - begin, 1),
        "planted": planted,
        "reported": reported,
        "races at other positions only": elsewhere,
    }
    print(json.dumps(result))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

"""Schedule tables with a wrong index: none reaches the kernel."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest

from ark_mlir import knobs
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.errors import BundleError, HangError
from ark_mlir.runtime.ranks.world import make_executable
from ark_mlir.testing.toy import ToyProgram, add_program, compile_kernel, run

COLUMNS = {"instructions": 4, "lanes": 3, "tasks": 2, "operands": 2, "timeline": 2}
DTYPES = {"operands": "<i8", "timeline": "<i8"}

# Instructions 0 to 5, of lane 0: prefetch, run [0, 4), signal, wait, run, barrier.
CASES: dict[str, tuple[str, tuple[int, int], int, str]] = {
    "opcode-6": ("instructions", (0, 0), 6, "no such opcode"),
    "opcode-negative": ("instructions", (0, 0), -1, "no such opcode"),
    "stop-slot": ("instructions", (0, 0), 5, "not a state that ends the launch"),
    "task-negative": ("instructions", (1, 1), -1, "there are 2 tasks"),
    "task-2": ("instructions", (1, 1), 2, "there are 2 tasks"),
    "task-huge": ("instructions", (1, 1), 2**31 - 1, "there are 2 tasks"),
    "prefetch-task": ("instructions", (0, 1), 2, "there are 2 tasks"),
    "begin-negative": ("instructions", (1, 2), -1, "not a range of vCTAs"),
    "empty-range": ("instructions", (1, 2), 4, "not a range of vCTAs"),
    "end-past": ("instructions", (1, 3), 9, "not a range of vCTAs"),
    "end-huge": ("instructions", (1, 3), 2**31 - 1, "not a range of vCTAs"),
    "prefetch-range": ("instructions", (0, 3), 9, "not a range of vCTAs"),
    "signal-semaphore": ("instructions", (2, 1), 2, "there are 2 semaphores"),
    "signal-negative": ("instructions", (2, 1), -1, "there are 2 semaphores"),
    "wait-semaphore": ("instructions", (3, 1), 2**31 - 1, "there are 2 semaphores"),
    "wait-for-none": ("instructions", (3, 2), 0, "less than one"),
    "wait-for-fewer": ("instructions", (3, 2), 1, "fewer arrivals"),
    "barrier-for-fewer": ("instructions", (5, 2), 1, "fewer arrivals"),
    "unused-field": ("instructions", (2, 3), 1, "unused field"),
    "signal-arrivals": ("instructions", (2, 2), 1, "unused field"),
    "run-twice": ("instructions", (1, 3), 5, "vCTA 4 of task 0 'first' runs twice"),
    "run-never": ("instructions", (1, 3), 3, "vCTA 3 of task 0 'first' never runs"),
    "run-late": ("instructions", (1, 2), 1, "vCTA 0 of task 0 'first' never runs"),
    "run-short": ("instructions", (7, 3), 7, "vCTA 7 of task 0 'first' never runs"),
    "run-dropped": ("instructions", (1, 0), 4, "vCTA 0 of task 0 'first' never runs"),
    "sm-negative": ("lanes", (0, 0), -1, "SM"),
    "sm-2": ("lanes", (0, 0), 2, "SM"),
    "lane-begin": ("lanes", (0, 1), 1, "does not begin"),
    "lane-negative": ("lanes", (0, 1), -1, "not a range"),
    "lane-backwards": ("lanes", (1, 2), 5, "not a range"),
    "lanes-overlap": ("lanes", (1, 1), 5, "does not begin"),
    "lanes-gap": ("lanes", (1, 1), 7, "does not begin"),
    "lane-past": ("lanes", (1, 2), 13, "ends past"),
    "lane-short": ("lanes", (1, 2), 11, "belong to no lane"),
    "other-body": ("tasks", (0, 0), 1, "the body differs"),
    "body-negative": ("tasks", (0, 0), -1, "the body differs"),
    "operands-negative": ("tasks", (0, 1), -1, "its operands"),
    "operands-past": ("tasks", (0, 1), 8, "its operands"),
    "operands-overflow": ("tasks", (0, 1), 2**31 - 1, "its operands"),
    "slot-negative": ("operands", (0, 0), -1, "there are 5 slots"),
    "slot-5": ("operands", (0, 0), 5, "there are 5 slots"),
    "slot-huge": ("operands", (0, 0), 2**40, "there are 5 slots"),
    "offset-negative": ("operands", (1, 1), -1, "outside the buffer"),
    "offset-past": ("operands", (1, 1), 512, "outside the buffer"),
    "offset-arena": ("operands", (0, 1), 512, "outside the buffer"),
    "offset-overflow": ("operands", (1, 1), 2**63 - 1, "outside the buffer"),
    "spare-operand": ("operands", (9, 1), 1 << 50, "outside the buffer"),
    "time-negative": ("timeline", (3, 0), -1, "not a time"),
    "time-overflow": ("timeline", (3, 1), 2**62, "not a time"),
}


def table(sections: dict[str, bytes], name: str) -> np.ndarray[Any, Any]:
    data = np.frombuffer(sections[name], DTYPES.get(name, "<i4"))
    return data.reshape(-1, COLUMNS[name]).copy()


@pytest.mark.parametrize("case", CASES)
def test_an_invalid_field_raises(case: str) -> None:
    name, index, value, message = CASES[case]
    manifest, sections = add_program().parts()
    rows = table(sections, name)
    rows[index] = value
    with pytest.raises(BundleError, match=message):
        Bundle.from_parts(manifest, sections | {name: rows.tobytes()})


@pytest.mark.parametrize("name", COLUMNS)
def test_half_an_entry_raises(name: str) -> None:
    manifest, sections = add_program().parts()
    with pytest.raises(BundleError, match=f"section {name}: .* not a multiple of .*an entry"):
        Bundle.from_parts(manifest, sections | {name: sections[name][:-4]})


# Spare operands are valid, since nothing refers to them.
@pytest.mark.parametrize("name", sorted(COLUMNS.keys() - {"operands"}))
def test_a_wrong_number_of_entries_raises(name: str) -> None:
    manifest, sections = add_program().parts()
    rows = table(sections, name)
    for wrong in (rows[:-1], np.concatenate((rows, rows[-1:]))):
        with pytest.raises(BundleError):
            Bundle.from_parts(manifest, sections | {name: wrong.tobytes()})


@pytest.mark.parametrize("name", ["instructions", "lanes", "tasks", "operands", "kernel"])
def test_empty(name: str) -> None:
    manifest, sections = add_program().parts()
    with pytest.raises(BundleError):
        Bundle.from_parts(manifest, sections | {name: b""})


def test_sections_are_known_and_needed() -> None:
    manifest, sections = add_program().parts()
    with pytest.raises(BundleError, match="unknown section 'pickle'"):
        Bundle.from_parts(manifest, sections | {"pickle": b""})
    sections.pop("lanes")
    with pytest.raises(BundleError, match="section lanes is missing"):
        Bundle.from_parts(manifest, sections)


def test_a_wait_for_more_than_arrives_is_left_to_the_watchdog() -> None:
    """A wait for too many arrivals hangs, which the watchdog reports; no result is wrong."""
    manifest, sections = add_program().parts(compile_kernel())
    rows = table(sections, "instructions")
    rows[3, 2] = 3
    bundle = Bundle.from_parts(manifest, sections | {"instructions": rows.tobytes()})
    assert bundle.tables.instructions[3].tolist() == [Opcode.WAIT, 0, 3, 0]
    ones = np.ones(128, np.float32)
    with (
        knobs.scope(ARK_TIMEOUT="0.2"),
        make_executable(bundle) as executable,
        pytest.raises(HangError, match=r"semaphore 'done'.*expected 3"),
    ):
        executable.bind({"w": ones}).run(x=ones.reshape(8, 16))


def test_waits_that_share_packets_are_checked_in_linear_time() -> None:
    """Ten thousand waits for ten thousand packets each, all at the same entries of operands."""
    count = 10_000
    program = ToyProgram(sms=2, arena=64)
    task = program.task("nothing")
    told = program.semaphore(count)
    program.lane(0, [run(task, 0, 1), *[(1, told, 0, 1)] * count])
    program.lane(1, [(2, told, count, 4)] * count)
    manifest, sections = program.parts()
    manifest["semaphores"][0]["handoff"] = "packet"
    operands = np.zeros((4 + 2 * count, 2), np.int64)
    sections["operands"] = operands.tobytes()
    begin = time.process_time()
    Bundle.from_parts(manifest, sections)
    operands[-1, 1] = 63
    with pytest.raises(BundleError, match="its entries of operands are not rank packets"):
        Bundle.from_parts(manifest, {**sections, "operands": operands.tobytes()})
    assert time.process_time() - begin < 10

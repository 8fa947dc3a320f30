"""Traces: begin and end of each instruction, in the format that Perfetto and Chrome read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bundle import Opcode
from ...errors import InvalidUsageError
from ...json_checks import Document, Node, parse_json
from ...paths import as_path, replacing

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ...bundle import Bundle

# Perfetto colours slices by their name; categories separate work from waits.
_CATEGORIES = {
    Opcode.RUN: "run",
    Opcode.SIGNAL: "signal",
    Opcode.WAIT: "wait",
    Opcode.BARRIER: "wait",
    Opcode.PREFETCH: "prefetch",
    Opcode.STOP: "signal",
}
# The sum of two times up to this limit, in ns, fits into int64.
_MAX_MICROSECONDS = 1 << 52


def write_trace(
    path: str | os.PathLike[str],
    bundle: Bundle,
    times: NDArray[np.int64],
    iterations: int = 1,
) -> None:
    """Writes a trace of the last iteration: one track per lane, grouped by SM.

    Args:
        path: the file, JSON in Chrome's format, which https://ui.perfetto.dev opens.
        bundle: the program.
        times: int64 ``[I, 2]``, begin and end of each instruction in ns.
        iterations: the number of iterations of the launch, for the labels of the file.

    Raises InvalidUsageError if `path` is not a path, and OSError if the file cannot be written.
    """
    which = {"iteration": iterations, "iterations": iterations}
    trace = {
        "traceEvents": _events(bundle, times, f"iteration {iterations} of {iterations}"),
        "displayTimeUnit": "ns",
        "otherData": {"program": bundle.manifest.program, **which},
    }
    text = json.dumps(trace, separators=(",", ":"))
    with replacing(as_path(path, "the trace to write")) as file:
        file.write(text.encode())


def read_trace(path: str | os.PathLike[str], bundle: Bundle) -> NDArray[np.int64]:
    """Reads a file that :func:`write_trace` has written.

    Returns begin and end of each instruction in ns, int64 ``[I, 2]``. Raises InvalidUsageError if
    the file cannot be read or is not a trace of this program.
    """
    where = str(as_path(path, "the trace to read"))
    try:
        text = Path(where).read_bytes()
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=where) from None
    events = parse_json(text, Document(where, "trace", InvalidUsageError))["traceEvents"]
    lanes = bundle.tables.lanes.tolist()
    times = np.zeros((len(bundle.tables.instructions), 2), np.int64)
    position = [first for _, first, _ in lanes]
    for event in events.items():
        if event["ph"].text() != "X":
            continue
        lane = event["tid"].integer(0, len(lanes) - 1)
        index, last = position[lane], lanes[lane][2]
        if index == last:
            raise event.error(
                f"lane {lane} has too many instructions; "
                f"this lane of {bundle.manifest.program!r} has {last - lanes[lane][1]}"
            )
        position[lane] += 1
        begin = _nanoseconds(event["ts"])
        times[index] = begin, begin + _nanoseconds(event["dur"])
    for lane, (_, first, last) in enumerate(lanes):
        if position[lane] != last:
            raise events.error(
                f"lane {lane} has {position[lane] - first} instructions; "
                f"this lane of {bundle.manifest.program!r} has {last - first}"
            )
    return times


def _nanoseconds(node: Node) -> int:
    """Converts a time of a trace from µs to ns."""
    value = node.number(0)
    if value > _MAX_MICROSECONDS:
        raise node.error(f"{value} is too large for a time in us")
    return round(1000 * value)


def _events(bundle: Bundle, times: NDArray[np.int64], label: str) -> list[dict[str, Any]]:
    manifest, tables = bundle.manifest, bundle.tables
    events: list[dict[str, Any]] = []
    for sm in sorted(set(tables.lanes[:, 0].tolist())):
        events.append(_name("process_name", sm, 0, f"{manifest.program}: SM {sm}"))
        events += [
            {"ph": "M", "name": "process_sort_index", "pid": sm, "args": {"sort_index": sm}},
            {"ph": "M", "name": "process_labels", "pid": sm, "args": {"labels": label}},
        ]
    recorded = times[:, 0][times[:, 0] > 0]
    start = int(recorded.min()) if len(recorded) else 0
    entries, all_times = tables.instructions.tolist(), times.tolist()
    for lane, (sm, first, last) in enumerate(tables.lanes.tolist()):
        events.append(_name("thread_name", sm, lane, f"lane {lane}"))
        before = start
        for index in range(first, last):
            begin, end = all_times[index]
            # Kernels may omit instructions that take no time; these follow their predecessor.
            begin, end = (begin, end) if begin > 0 else (before, before)
            before = end
            events.append(
                {
                    "ph": "X",
                    "pid": sm,
                    "tid": lane,
                    "ts": (begin - start) / 1000,
                    "dur": max(end - begin, 0) / 1000,
                    **_describe(bundle, entries[index]),
                }
            )
    return events


def _describe(bundle: Bundle, entry: list[int]) -> dict[str, Any]:
    opcode, subject, begin, end = Opcode(entry[0]), *entry[1:]
    if opcode in (Opcode.RUN, Opcode.PREFETCH):
        task = bundle.manifest.tasks[subject]
        return {
            "name": task.name,
            "cat": _CATEGORIES[opcode],
            "args": {
                "vctas": f"[{begin}, {end})",
                "kind": bundle.manifest.bodies[task.body].name,
                "ops": ", ".join(task.ops),
                "location": task.location,
            },
        }
    if opcode == Opcode.STOP:
        state = bundle.manifest.buffers[subject - 1]
        return {"name": f"stop {state.name}", "cat": _CATEGORIES[opcode], "args": {}}
    semaphore = bundle.manifest.semaphores[subject]
    return {
        "name": f"{opcode.name.lower()} {semaphore.name}",
        "cat": _CATEGORIES[opcode],
        "args": {"arrivals": begin, "handoff": semaphore.handoff},
    }


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}

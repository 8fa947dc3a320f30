"""Traces: when each instruction ran, in the format that Perfetto and Chrome read."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..bundle import Opcode
from ..bundle.writer import replacing

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..bundle import Bundle

# Perfetto colours slices by their name; the category tells work from waiting.
_CATEGORIES = {
    Opcode.RUN: "run",
    Opcode.SIGNAL: "signal",
    Opcode.WAIT: "wait",
    Opcode.BARRIER: "wait",
    Opcode.PREFETCH: "prefetch",
}


def write_trace(path: str | os.PathLike[str], bundle: Bundle, times: NDArray[np.int64]) -> None:
    """Writes a trace of the last iteration: one row per lane, grouped by SM.

    Args:
        path: the file, JSON in Chrome's format, which https://ui.perfetto.dev opens.
        bundle: the program.
        times: begin and end of each instruction in ns, ``[I, 2]``.
    """
    text = json.dumps(
        {"traceEvents": list(_events(bundle, times)), "displayTimeUnit": "ns"},
        separators=(",", ":"),
    )
    with replacing(Path(path)) as file:
        file.write(text.encode())


def _events(bundle: Bundle, times: NDArray[np.int64]) -> list[dict[str, Any]]:
    manifest, tables = bundle.manifest, bundle.tables
    events: list[dict[str, Any]] = []
    for sm in sorted(set(tables.lanes[:, 0].tolist())):
        events.append(_name("process_name", sm, 0, f"{manifest.program}: SM {sm}"))
        events.append(
            {"ph": "M", "name": "process_sort_index", "pid": sm, "args": {"sort_index": sm}}
        )
    start = int(times[:, 0].min(initial=0)) if len(times) else 0
    rows, all_times = tables.instructions.tolist(), times.tolist()
    for lane, (sm, first, last) in enumerate(tables.lanes.tolist()):
        events.append(_name("thread_name", sm, lane, f"lane {lane}"))
        for index in range(first, last):
            begin, end = all_times[index]
            events.append(
                {
                    "ph": "X",
                    "pid": sm,
                    "tid": lane,
                    "ts": (begin - start) / 1000,
                    "dur": max(end - begin, 0) / 1000,
                    **_describe(bundle, rows[index]),
                }
            )
    return events


def _describe(bundle: Bundle, row: list[int]) -> dict[str, Any]:
    opcode, subject, begin, end = Opcode(row[0]), *row[1:]
    if opcode in (Opcode.RUN, Opcode.PREFETCH):
        task = bundle.manifest.tasks[subject]
        return {
            "name": task.name,
            "cat": _CATEGORIES[opcode],
            "args": {
                "vctas": f"[{begin}, {end})",
                "ops": ", ".join(task.ops),
                "location": task.location,
            },
        }
    semaphore = bundle.manifest.semaphores[subject]
    return {
        "name": f"{opcode.name.lower()} {semaphore.name}",
        "cat": _CATEGORIES[opcode],
        "args": {"arrivals": begin, "handoff": semaphore.handoff},
    }


def _name(kind: str, process: int, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": process, "tid": thread, "args": {"name": name}}

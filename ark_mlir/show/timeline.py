"""The timeline page: the packed tables of a schedule inside a page that draws them."""

from __future__ import annotations

import base64
import html
import json
import os
import re
import zlib
from collections.abc import Sequence
from importlib import resources
from typing import TYPE_CHECKING, Any

import numpy as np

from ..bundle import Bundle, Opcode
from ..paths import as_path, replacing
from ..runtime.diagnosis.report import make_report
from ..runtime.diagnosis.trace import read_trace
from ..simulation import bubble
from ..units import duration, size
from .estimate import estimate_timeline
from .kinds import KINDS, kind_of
from .traffic import Traffic, describe_links

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Task
    from ..runtime import Executable
    from ..simulation import LinkUse


# The scripts share one function, in this order: each uses declarations of earlier ones.
_SCRIPTS = ("data.js", "canvas.js", "frame.js", "panels.js", "input.js")


def write_timeline(
    program: Bundle | Executable,
    path: str | os.PathLike[str],
    trace: str | os.PathLike[str] | None = None,
    *,
    simulated: NDArray[np.int64] | None = None,
    figures: Sequence[tuple[str, str]] = (),
    links: Sequence[LinkUse] = (),
) -> None:
    """Writes a page with the timeline of a schedule: a track of bars for each lane.

    Waits are hatched. The page is one file without references to other files. Viewers can zoom the
    page, which shows the ops, source line, times and waits of each task. The page of a program of
    several ranks has a line between the lanes of two ranks, and a list of the bytes that ranks send
    to each other.

    Args:
        program: a bundle or an executable.
        path: the ``.html`` file.
        trace: a trace of the same program (``run(trace=…)``), shown beside the prediction.
        simulated: start and duration of each instruction in ns, int64 ``[I, 2]``, in place of the
            compiler's prediction (:func:`ark_mlir.simulation.simulate`).
        figures: further pairs of a name and a text, at the head of the page.
        links: simulated links, listed in place of the pairs of ranks.

    Raises:
        InvalidUsageError: the trace cannot be read or is not a trace of this program.
        OSError: the file cannot be written.

    Example:
        >>> write_timeline(exe, "timeline.html")
    """
    bundle = program if isinstance(program, Bundle) else program.bundle
    times = None if trace is None else read_trace(trace, bundle)
    with replacing(as_path(path, "the page to write")) as file:
        file.write(_page(bundle, times, simulated, figures, links).encode())


class Timeline:
    """The timeline of a schedule, which a notebook shows; :func:`timeline` returns it.

    Example:
        >>> ark.show.timeline(exe).page.startswith("<!DOCTYPE html>")
        True
    """

    def __init__(self, page: str) -> None:
        self._page = page

    @property
    def page(self) -> str:
        """Returns the HTML page."""
        return self._page

    def _repr_html_(self) -> str:
        # A frame keeps the page's styles and scripts out of the notebook.
        text = html.escape(self._page, quote=True)
        return (
            f'<iframe srcdoc="{text}" sandbox="allow-scripts" width="100%" height="640" '
            'style="border: 1px solid #ccc"></iframe>'
        )


def timeline(program: Bundle | Executable, trace: str | os.PathLike[str] | None = None) -> Timeline:
    """Returns the page of :func:`write_timeline`, for the last line of a notebook's cell.

    Args:
        program: a bundle or an executable.
        trace: a trace of the same program (``run(trace=…)``).

    Raises InvalidUsageError if the trace cannot be read or is not a trace of this program.

    Example:
        >>> shown = timeline(exe)
        >>> shown.page.startswith("<!DOCTYPE html>")
        True
    """
    bundle = program if isinstance(program, Bundle) else program.bundle
    times = None if trace is None else read_trace(trace, bundle)
    return Timeline(_page(bundle, times, None, (), ()))


def _page(
    bundle: Bundle,
    traced: NDArray[np.int64] | None,
    simulated: NDArray[np.int64] | None,
    figures: Sequence[tuple[str, str]],
    links: Sequence[LinkUse],
) -> str:
    tables = bundle.tables
    if simulated is not None:
        timeline = simulated
    else:
        timeline = tables.timeline if tables.predicted_ns else estimate_timeline(bundle)
    spans = None if traced is None else _spans(traced)
    data = {
        "instructions": _pack(tables.instructions.astype("<i4")),
        "predicted": _pack(timeline.astype("<f8")),
        "traced": "" if spans is None else _pack(spans),
    }
    parts = {
        "title": html.escape(bundle.manifest.program),
        "css": _file("page.css"),
        "meta": _script_json(_meta(bundle, timeline, spans, figures, links)),
        "data": _script_json(data),
        "report": html.escape(str(make_report(bundle))),
        "js": "\n".join(map(_file, _SCRIPTS)),
    }
    # The page is split before insertion, so that no name of the program counts as a placeholder.
    texts = re.split(r"\{\{(\w+)\}\}", _file("page.html"))
    return "".join(parts[text] if index % 2 else text for index, text in enumerate(texts))


def _file(name: str) -> str:
    return (resources.files("ark_mlir.show") / "page" / name).read_text(encoding="utf-8")


def _script_json(value: Any) -> str:
    """Returns JSON that is safe inside a script element, for any names."""
    text = json.dumps(value, separators=(",", ":"), ensure_ascii=True)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _pack(array: NDArray[Any]) -> str:
    return base64.b64encode(zlib.compress(array.tobytes(), 6)).decode("ascii")


def _spans(times: NDArray[np.int64]) -> NDArray[np.float64]:
    """Returns start and duration from begin and end, relative to the first begin."""
    begins, ends = times[:, 0], times[:, 1]
    spans = np.zeros(times.shape, "<f8")
    if len(times):
        spans[:, 0] = begins - begins.min()
        spans[:, 1] = np.maximum(ends - begins, 0)
    return spans


def _meta(
    bundle: Bundle,
    timeline: NDArray[np.int64],
    spans: NDArray[np.float64] | None,
    figures: Sequence[tuple[str, str]],
    links: Sequence[LinkUse],
) -> dict[str, Any]:
    manifest, tables = bundle.manifest, bundle.tables
    traffic = Traffic(bundle)
    return {
        "program": manifest.program,
        "producer": manifest.producer,
        "target": f"{manifest.target.backend} {manifest.target.arch}",
        "figures": [*figures, *_figures(bundle, timeline, spans)],
        "kinds": [{"name": kind.name, "light": kind.light, "dark": kind.dark} for kind in KINDS],
        "lanes": tables.lanes.tolist(),
        "unit": "thread" if manifest.target.backend == "cpu" else "SM",
        "ranks": manifest.ranks,
        "smsOfRank": manifest.target.sms // manifest.ranks,
        "links": describe_links(links) if links else traffic.pairs(),
        "tasks": [
            {
                "name": task.name,
                "kind": kind_of(task),
                "ops": list(task.ops),
                "at": task.location,
                "vctas": task.vctas,
                "bytes": task.bytes,
                "flops": task.flops,
                "sends": traffic.of_task(number),
                **_unit(task),
            }
            for number, task in enumerate(manifest.tasks)
        ],
        "slots": [{"name": name} for name in ("arena", *(b.name for b in manifest.buffers))],
        "semaphores": [
            {"name": item.name, "arrivals": item.arrivals, "handoff": item.handoff}
            for item in manifest.semaphores
        ],
    }


def _unit(task: Task) -> dict[str, Any]:
    """Returns the label of the unit of a pipeline, such as ``F3`` or ``B3``, and its numbers."""
    if task.unit is None:
        return {}
    unit = {"stage": task.unit.stage, "microbatch": task.unit.microbatch}
    return {"unit": {"label": str(task.unit), **unit, "backward": task.unit.backward}}


def _figures(
    bundle: Bundle, timeline: NDArray[np.int64], spans: NDArray[np.float64] | None
) -> list[tuple[str, str]]:
    report = make_report(bundle)
    # Measured spans replace predicted spans.
    shown = timeline if spans is None else spans
    busy = float(shown[bundle.tables.instructions[:, 0] == Opcode.RUN, 1].sum())
    whole = report.lanes * max(float(shown.sum(axis=1).max(initial=0)), 1.0)
    unit = "threads" if bundle.manifest.target.backend == "cpu" else "SMs"
    predicted = duration(report.predicted_ns)
    if not bundle.tables.predicted_ns:
        predicted = "none: scale is of work"
    sync = f"{report.waits:,} / {report.barriers:,}"
    traced: list[tuple[str, str]] = []
    if spans is not None:
        traced = [("traced", duration(float(spans.sum(axis=1).max(initial=0))))]
    suffix = "" if spans is None else ", traced"
    waiting: list[tuple[str, str]] = []
    if any(task.unit is not None for task in bundle.manifest.tasks):
        waiting = [(f"bubble{suffix}", f"{100 * bubble(bundle, shown):.1f} %")]
    return [
        ("predicted", predicted),
        *traced,
        (f"busy{suffix}", f"{100 * busy / whole:.1f} %"),
        *waiting,
        (f"{unit} / lanes", f"{report.sms:,} / {report.lanes:,}"),
        ("tasks", f"{report.tasks:,}"),
        ("vCTAs", f"{report.vctas:,}"),
        ("waits / barriers", sync),
        ("arena", report.arena),
        ("parameters", size(report.parameter_bytes)),
        ("kernel", size(report.kernel_bytes)),
    ]

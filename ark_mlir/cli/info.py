"""``ark info``: prints the contents of a bundle."""

from __future__ import annotations

import argparse
import hashlib
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..units import counted, size
from .common import Commands, add_command, open_bundle

if TYPE_CHECKING:
    from ..bundle import Buffer, Bundle

# The kinds of buffers in the order of their sections, with the sections' titles.
_TITLES = {
    "input": "inputs",
    "scalar": "scalars",
    "parameter": "parameters",
    "state": "states",
    "output": "outputs",
}


def add(commands: Commands) -> None:
    """Adds the command."""
    parser = add_command(
        commands,
        "info",
        "print inputs, outputs, parameters, states, target and sizes of a bundle",
        "ark info mlp.arkbin",
        run,
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="bundle written by `ark compile`")
    parser.add_argument("--json", action="store_true", help="print the result as JSON")


def run(options: argparse.Namespace) -> int:
    """Runs the command."""
    bundle = open_bundle(options.bundle)
    found = describe(bundle, Path(options.bundle))
    if options.json:
        print(json.dumps(found, indent=2, ensure_ascii=False))
    else:
        print("\n".join(_lines(found)))
    return 0


def describe(bundle: Bundle, path: Path) -> dict[str, Any]:
    """Returns the output of the command, as values that JSON can hold."""
    from ..bundle.format import VERSION

    manifest = bundle.manifest
    target = manifest.target
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while part := file.read(1 << 20):
            digest.update(part)
    return {
        "file": {
            "path": str(path),
            "bytes": path.stat().st_size,
            "sha256": digest.hexdigest(),
            "format": VERSION,
            "signature": None if bundle.signature is None else str(bundle.signature),
        },
        "program": manifest.program,
        "producer": manifest.producer,
        "target": {
            "backend": target.backend,
            "arch": target.arch,
            "features": list(target.features),
            "sms": target.sms,
            "warps": target.warps,
            "shared_memory": target.shared_memory,
        },
        "ranks": manifest.ranks,
        "model_type": None if manifest.origin is None else manifest.origin.kind,
        "proven": manifest.proven,
        "traced": manifest.traced,
        "tasks": len(manifest.tasks),
        "arena": manifest.arena,
        "options": dict(manifest.options),
        **{
            title: [_buffer(buffer) for buffer in manifest.of_kind(kind)]
            for kind, title in _TITLES.items()
        },
        "sections": [
            {"name": section.name, "bytes": section.size, "sha256": section.sha256}
            for section in manifest.sections or ()
        ],
    }


def _buffer(buffer: Buffer) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": buffer.name,
        "dtype": buffer.dtype.name,
        "shape": list(buffer.shape),
        "bytes": buffer.bytes,
    }
    if buffer.kind == "scalar":
        result["max"] = buffer.maximum
    if buffer.kind == "state":
        result["init"] = buffer.init
    return result


# -- text ----------------------------------------------------------------------------------------


def _lines(found: dict[str, Any]) -> list[str]:
    file, target = found["file"], found["target"]
    ranks = "" if found["ranks"] == 1 else f", {found['ranks']} ranks"
    proven = "proven" if found["proven"] else "not proven"
    traced = "can be traced" if found["traced"] else "without a trace"
    rows = [
        ("file", f"{file['path']}, {size(file['bytes'])}, bundle format {file['format']}"),
        ("sha256", file["sha256"]),
        ("signature", file["signature"] or "none"),
        (
            "target",
            f"{target['backend']} ({target['arch']}), {counted(target['sms'], 'SM')}{ranks}",
        ),
        *_built_from(found["model_type"]),
        ("features", ", ".join(target["features"]) or "none"),
        ("schedule", f"{proven}, {traced}; {counted(found['tasks'], 'task')}"),
        ("arena", size(found["arena"])),
    ]
    lines = [f"{found['program']} ({found['producer']})"]
    lines += _table(rows)
    for title in _TITLES.values():
        if buffers := found[title]:
            lines += [title, *_table([_row(buffer) for buffer in buffers])]
    sections = [(each["name"], size(each["bytes"]), each["sha256"]) for each in found["sections"]]
    return [*lines, "sections", *_table(sections)]


def _built_from(kind: str | None) -> list[tuple[str, str]]:
    return [] if kind is None else [("built from", f"a folder of the model type {kind}")]


def _row(buffer: dict[str, Any]) -> tuple[str, ...]:
    note = ""
    if "max" in buffer:
        note = "" if buffer["max"] is None else f"0 to {buffer['max']}"
    elif buffer.get("init"):
        note = f"begins as {buffer['init']}"
    return buffer["name"], buffer["dtype"], str(buffer["shape"]), size(buffer["bytes"]), note


def _table(rows: Sequence[tuple[str, ...]]) -> list[str]:
    """Returns the lines of a table with columns of equal width, indented."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return [
        (
            "  " + "  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    ]

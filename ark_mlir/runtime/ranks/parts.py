"""The program of one rank, taken from a program of several ranks: its lanes and its buffers."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...bundle import Bundle, Opcode
from ...errors import DeviceError
from .naming import qualified

__all__ = ["check_slots", "own_lanes", "part_of"]


def part_of(joined: Bundle, rank: int, *, rename: bool = True) -> Bundle:
    """Returns the program of all ranks with the buffers of one rank.

    Slots, tables and tasks stay as they are. Buffers of other ranks get the kind ``peer``: a
    process of this rank never binds them.

    Args:
        joined: the program of all ranks.
        rank: the rank.
        rename: True removes the rank from the names of the rank's buffers: ``rank1/x`` becomes
            ``x``.

    Raises DeviceError if the rank's lanes would access a buffer of another rank.
    """
    manifest = joined.manifest
    prefix = qualified(rank, manifest.ranks, "")
    buffers = tuple(
        buffer
        if buffer.kind == "constant"
        else replace(buffer, name=buffer.name.removeprefix(prefix) if rename else buffer.name)
        if buffer.name.startswith(prefix)
        else replace(buffer, kind="peer")
        for buffer in manifest.buffers
    )
    part = replace(joined, manifest=replace(manifest, buffers=buffers))
    check_slots(part, rank)
    return part


def own_lanes(bundle: Bundle, rank: int) -> tuple[int, ...]:
    """Returns the lanes of a rank's SMs."""
    manifest = bundle.manifest
    share = manifest.target.sms // manifest.ranks
    sms = bundle.tables.lanes[:, 0]
    return tuple(np.flatnonzero(sms // share == rank).tolist())


def check_slots(part: Bundle, rank: int) -> None:
    """Raises DeviceError if a rank's lanes access a buffer of another rank."""
    manifest, tables = part.manifest, part.tables
    foreign = [buffer.slot for buffer in manifest.buffers if buffer.kind == "peer"]
    for lane in own_lanes(part, rank):
        _, first, last = tables.lanes[lane].tolist()
        entries = tables.instructions[first:last]
        tasks: list[int] = np.unique(entries[entries[:, 0] == Opcode.RUN, 1]).tolist()
        for task in tasks:
            begin = int(tables.tasks[task, 1])
            slots = tables.operands[begin : begin + len(manifest.tasks[task].values), 0]
            if np.isin(slots, foreign).any():
                raise DeviceError(
                    f"task {manifest.tasks[task].name!r} of rank {rank} accesses a buffer of "
                    "another rank; such a program runs in one process, on one device",
                    location=part.where,
                )

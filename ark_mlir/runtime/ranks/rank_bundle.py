"""The lanes and the buffers of one rank in the bundle of all ranks."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ...bundle import Bundle, Opcode
from ...errors import DeviceError
from ..drivers.abi import RANK_COUNTERS, SEMAPHORE_STRIDE
from .naming import qualified

__all__ = ["bundle_of_rank", "bytes_of_block", "check_slots", "lanes_of_rank"]


def bundle_of_rank(joined: Bundle, rank: int, *, rename: bool = True) -> Bundle:
    """Returns the bundle of all ranks, in which only the buffers of one rank can be bound.

    Slots, tables and tasks stay as they are. Buffers of other ranks get the kind ``peer``: a
    process of this rank never binds them.

    Args:
        joined: the program of all ranks.
        rank: the rank.
        rename: True removes the rank from the names of the rank's buffers: ``rank1/x`` becomes
            ``x``.

    Raises DeviceError if a lane of the rank accesses a buffer of another rank.
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
    bundle = replace(joined, manifest=replace(manifest, buffers=buffers))
    check_slots(bundle, rank)
    return bundle


def bytes_of_block(bundle: Bundle) -> int:
    """Returns the bytes of one rank that other ranks access: its parts of the arena, the counters
    and the task packets."""
    manifest = bundle.manifest
    parts = (manifest.arena + manifest.packets) // manifest.ranks
    return parts + RANK_COUNTERS * SEMAPHORE_STRIDE


def lanes_of_rank(bundle: Bundle, rank: int) -> tuple[int, ...]:
    """Returns the lanes of a rank's SMs."""
    manifest = bundle.manifest
    share = manifest.target.sms // manifest.ranks
    sms = bundle.tables.lanes[:, 0]
    return tuple(np.flatnonzero(sms // share == rank).tolist())


def check_slots(bundle: Bundle, rank: int) -> None:
    """Raises DeviceError if a lane of `rank` accesses a buffer of another rank."""
    manifest, tables = bundle.manifest, bundle.tables
    foreign = [buffer.slot for buffer in manifest.buffers if buffer.kind == "peer"]
    for lane in lanes_of_rank(bundle, rank):
        _, first, last = tables.lanes[lane].tolist()
        entries = tables.instructions[first:last]
        tasks: list[int] = np.unique(entries[entries[:, 0] == Opcode.RUN, 1]).tolist()
        for task in tasks:
            begin = int(tables.tasks[task, 1])
            slots = tables.operands[begin : begin + len(manifest.tasks[task].values), 0]
            if np.isin(slots, foreign).any():
                raise DeviceError(
                    f"task {manifest.tasks[task].name!r} of rank {rank} accesses a buffer of "
                    "another rank: run all ranks in one process, on one device",
                    location=bundle.where,
                )

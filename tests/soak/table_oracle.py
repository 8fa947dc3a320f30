"""The meaning of a bundle's tables by brute force: lists every byte, and runs every lane item by
item.

The module shares no code with the compiler: it reads the JSON of the manifest and the numbers of
the tables.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

RUN, SIGNAL, WAIT, BARRIER, PREFETCH, STOP = range(6)
ITEM_BYTES = {
    "fp32": 4, "fp16": 2, "bf16": 2, "fp8_e4m3": 1, "fp8_e5m2": 1, "int8": 1, "uint8": 1,
    "int32": 4, "uint32": 4, "int64": 8, "bool": 1,
}  # fmt: skip


@dataclass
class Program:
    """A bundle in lists: instructions by lane, and entries of the other tables."""

    manifest: dict[str, Any]
    lanes: list[tuple[int, list[list[int]]]]
    tasks: list[list[int]]
    operands: list[list[int]]

    @property
    def packet_slot(self) -> int:
        """Returns the slot of packets between tasks, or -1."""
        return len(self.manifest["buffers"]) + 1 if self.manifest.get("packets") else -1

    def footprint(self, task: int) -> list[dict[str, Any]]:
        """Returns the declarations of the operands of a task in the manifest."""
        entry = self.manifest["tasks"][task]
        return self.manifest["bodies"][entry["body"]]["footprints"][entry["footprint"]]


@dataclass(frozen=True)
class Access:
    """The bytes of a slot that a vCTA touches through one operand.

    `relative` has the same bytes, counted from element 0 of the operand.
    """

    vcta: tuple[int, int]
    operand: int
    kind: str
    slot: int
    offsets: np.ndarray[Any, Any]
    relative: np.ndarray[Any, Any]


def value_of(expression: Any, grid: tuple[int, ...]) -> int:
    """Evaluates an expression of a region at one point of the grid."""
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return grid[int(expression[1:])]
    symbol, left, right = expression
    a, b = value_of(left, grid), value_of(right, grid)
    results = {"+": a + b, "*": a * b}
    if symbol in results:
        return results[symbol]
    return {"mod": a % b, "floordiv": a // b, "ceildiv": -(-a // b)}[symbol]


def list_bytes(operand: dict[str, Any], point: tuple[int, ...]) -> np.ndarray[Any, Any]:
    """Returns the bytes that one vCTA touches, counted from element 0."""
    size, shape = ITEM_BYTES[operand["dtype"]], operand["shape"]
    strides = operand.get("strides")
    if strides is None:
        strides = [int(np.prod(shape[dim + 1 :])) for dim in range(len(shape))]
    offsets = np.zeros(1, np.int64)
    for offset, extent, stride, length in zip(
        operand["offsets"], shape, strides, operand["sizes"], strict=True
    ):
        begin = value_of(offset, point)
        indices = np.arange(begin, min(begin + length, extent))
        offsets = (offsets[:, None] + indices * stride).reshape(-1)
    return np.unique((offsets[:, None] * size + np.arange(size)).reshape(-1))


def accesses(program: Program) -> Iterator[Access]:
    """Returns all accesses in program order: by task, by vCTA, reads before writes."""
    for task, entry in enumerate(program.manifest["tasks"]):
        footprint = program.footprint(task)
        order = sorted(range(len(footprint)), key=lambda k: footprint[k]["access"] != "read")
        for vcta in range(entry["vctas"]):
            point = np.unravel_index(vcta, entry["grid"]) if entry["grid"] else ()
            for number in order:
                operand = footprint[number]
                slot, offset = program.operands[program.tasks[task][1] + number]
                relative = list_bytes(operand, tuple(int(i) for i in point))
                yield Access(
                    (task, vcta), number, operand["access"], slot, relative + offset, relative
                )


# -- the execution -------------------------------------------------------------------------------


class Execution:
    """One iteration in which every wait joins all arrivals, with the happens-before order that each
    lane knows at each work item.
    """

    def __init__(self, program: Program, senders: dict[tuple[int, int], set[tuple[int, int]]]):
        self.lanes = program.lanes
        self.positions: dict[tuple[int, int], tuple[int, int]] = {}
        self.clocks: dict[tuple[int, int], list[int]] = {}
        self._senders = senders
        self._next = [0] * len(self.lanes)
        self._known = [[0] * len(self.lanes) for _ in self.lanes]
        self._given = [0] * len(program.manifest["semaphores"])
        self._released = [[0] * len(self.lanes) for _ in self._given]
        self._arrivals = [entry["arrivals"] for entry in program.manifest["semaphores"]]
        self._arrived = [False] * len(self.lanes)
        self._done: set[tuple[int, int]] = set()
        while any([self._step(lane) for lane in range(len(self.lanes))]):
            pass

    @property
    def ended(self) -> bool:
        """True if no lane is stuck."""
        return all(n == len(items) for n, (_, items) in zip(self._next, self.lanes, strict=True))

    def _step(self, lane: int) -> bool:
        items = self.lanes[lane][1]
        start = self._next[lane]
        while self._next[lane] < len(items) and self._take(lane, items[self._next[lane]]):
            self._next[lane] += 1
        return self._next[lane] > start

    def _take(self, lane: int, item: list[int]) -> bool:
        code, a, b, c = item
        if code == RUN:
            return self._run(lane, a, b, c)
        if code in (SIGNAL, BARRIER) and not self._arrived[lane]:
            self._given[a] += 1
            known = [*self._known[lane]]
            known[lane] = self._next[lane]
            self._released[a] = [max(pair) for pair in zip(self._released[a], known, strict=True)]
        if code in (WAIT, BARRIER):
            self._arrived[lane] = True
            if self._given[a] < self._arrivals[a]:
                return False
            self._arrived[lane] = False
            known = self._known[lane]
            self._known[lane] = [max(p) for p in zip(known, self._released[a], strict=True)]
        return True

    def _run(self, lane: int, task: int, begin: int, end: int) -> bool:
        vctas = [(task, vcta) for vcta in range(begin, end)]
        if any(not self._senders.get(vcta, set()) <= self._done for vcta in vctas):
            return False
        at = (lane, self._next[lane])
        self.clocks[at] = self._known[lane]
        self._done.update(vctas)
        self.positions.update(dict.fromkeys(vctas, at))
        return True

    def is_ordered(self, first: tuple[int, int], second: tuple[int, int]) -> bool:
        """Returns True if one vCTA ends before the other begins, in every interleaving."""
        (lane, item), (other, other_item) = self.positions[first], self.positions[second]
        if lane != other:
            return self.clocks[other, other_item][lane] > item
        return item < other_item or (item == other_item and first < second)


# -- faults --------------------------------------------------------------------------------------


def find_violation(program: Program) -> str | None:
    """Returns a fault for which a proof must refuse the program, or None."""
    return (
        _structure(program)
        or _operands(program)
        or _rank_packets(program)
        or _stop(program)
        or _order(program)
    )


def _items(program: Program) -> list[list[int]]:
    return [item for _, lane in program.lanes for item in lane]


def _structure(program: Program) -> str | None:
    manifest, items = program.manifest, _items(program)
    for task, entry in enumerate(manifest["tasks"]):
        ran = [v for code, a, b, c in items if code == RUN and a == task for v in range(b, c)]
        if sorted(ran) != list(range(entry["vctas"])):
            return f"task {task} does not run each vCTA once"
        if program.tasks[task][0] != entry["body"]:
            return f"task {task} runs another body"
    for number, entry in enumerate(manifest["semaphores"]):
        given = sum(code in (SIGNAL, BARRIER) and a == number for code, a, _, _ in items)
        waits = {b for code, a, b, _ in items if code in (WAIT, BARRIER) and a == number}
        if given != entry["arrivals"] or waits - {given}:
            return f"semaphore {number} has other arrivals than signals"
    ends = {tuple(lane[-1][:2]) if lane else (-1, -1) for _, lane in program.lanes}
    if items and (len(ends) != 1 or next(iter(ends))[0] != BARRIER):
        return "lanes do not end in one barrier"
    return None


def _operands(program: Program) -> str | None:
    manifest = program.manifest
    sizes = [manifest["arena"], *(b["bytes"] for b in manifest["buffers"])]
    sizes.append(manifest.get("packets", 0))
    for access in accesses(program):
        if access.offsets.size and access.offsets[-1] >= sizes[access.slot]:
            return f"vCTA {access.vcta} leaves slot {access.slot}"
        inside = 1 <= access.slot <= len(manifest["buffers"])
        kind = manifest["buffers"][access.slot - 1]["kind"] if inside else "arena"
        if access.kind != "read" and kind in ("input", "parameter", "scalar", "constant"):
            return f"vCTA {access.vcta} writes a {kind}"
    return None


def _words(program: Program, task: int) -> tuple[int, int] | None:
    """Returns the first and the last word that the single vCTA of a task sends."""
    entry = program.manifest["tasks"][task]
    if not program.manifest["bodies"][entry["body"]].get("stamps"):
        return None
    written = [a for a in accesses(program) if a.vcta == (task, 0) and a.kind != "read"]
    if len(written) != 1 or entry["vctas"] != 1 or written[0].slot != 0:
        return None
    offsets = written[0].offsets
    return int(offsets[0]), int(offsets[-1]) - 7


def _rank_packets(program: Program) -> str | None:
    sent: dict[int, list[tuple[int, int]]] = {}
    looked: dict[int, list[list[tuple[int, int]]]] = {}
    uses: dict[int, set[bool]] = {}
    for _, lane in program.lanes:
        last: tuple[int, int] | None = None
        for code, a, b, c in lane:
            if code in (SIGNAL, WAIT):
                uses.setdefault(a, set()).add(c != 0)
            if code == RUN:
                last = _words(program, a)
            elif code == WAIT:
                last = None
            if code == SIGNAL and c:
                if last is None:
                    return f"semaphore {a} has a signal by packets without packets before it"
                sent.setdefault(a, []).append(last)
            if code == WAIT and c:
                rows = [row[1] for row in program.operands[c : c + 2 * b]]
                pairs = list(zip(rows[::2], rows[1::2], strict=True))
                looked.setdefault(a, []).append(sorted(pairs))
    if any(len(kinds) > 1 for kinds in uses.values()):
        return "a semaphore has both packets and a counter"
    for semaphore, waits in looked.items():
        if any(pairs != sorted(sent.get(semaphore, [])) for pairs in waits):
            return f"waits for semaphore {semaphore} look at other words than are sent"
    return None


def _stop(program: Program) -> str | None:
    stops = [b for b, entry in enumerate(program.manifest["buffers"], 1) if entry.get("stop")]
    found = 0
    for _, lane in program.lanes:
        for before, item in zip([[WAIT, 0, 0, 0], *lane], lane, strict=False):
            if item[0] != STOP:
                continue
            found += 1
            writers = [a.vcta for a in accesses(program) if a.slot == item[1] and a.kind != "read"]
            if item[1] not in stops or before[:2] != [RUN, writers[-1][0]]:
                return "a stop does not follow the last write"
    return None if found == len(stops) else "the launch never ends, or ends twice"


def _mask(offsets: np.ndarray[Any, Any]) -> int:
    if not offsets.size:
        return 0
    bits = np.zeros(int(offsets[-1]) + 1, np.uint8)
    bits[offsets] = 1
    return int.from_bytes(np.packbits(bits, bitorder="little").tobytes(), "little")


def _order(program: Program) -> str | None:
    """Yields the pairs of vCTAs that touch the same bytes."""
    packets = program.packet_slot
    senders: dict[tuple[int, int], set[tuple[int, int]]] = {}
    seen: dict[int, list[tuple[tuple[int, int], bool, int]]] = {}
    pairs: list[tuple[tuple[int, int], tuple[int, int]]] = []
    written: dict[int, int] = {}
    # A write is visible to successors in program order, and not to the same vCTA.
    for access in accesses(program):
        mask, slot = _mask(access.offsets), access.slot
        writes = access.kind != "read"
        before = written.get(slot, 0)
        if access.kind != "write" and slot in (0, packets) and mask & ~before:
            return f"vCTA {access.vcta} reads bytes of slot {slot} that no task wrote"
        if slot == packets and writes and mask & before:
            return f"vCTA {access.vcta} writes packets twice"
        for other, wrote, bytes_of in seen.get(slot, []):
            if other == access.vcta or not (wrote or writes) or not bytes_of & mask:
                continue
            if slot == packets:
                senders.setdefault(access.vcta, set()).add(other)
            else:
                pairs.append((other, access.vcta))
        seen.setdefault(slot, []).append((access.vcta, writes, mask))
        if writes:
            written[slot] = before | mask
    execution = Execution(program, senders)
    if not execution.ended:
        return "a lane never ends"
    for first, second in pairs:
        if not execution.is_ordered(first, second):
            return f"vCTA {second} does not wait for {first}"
    return None


# -- results -------------------------------------------------------------------------------------


def fingerprint(program: Program, declared: Program) -> str:
    """Returns a digest of the writers of all bytes that vCTAs read, and of all bytes of states and
    outputs at the end. The operand that wrote a byte and the position in it name the byte, so that
    offsets of intermediates do not matter. `declared` has the footprints of the bodies.
    """
    digest = hashlib.sha256()
    model = Program(program.manifest, program.lanes, program.tasks, program.operands)
    model.footprint = declared.footprint  # type: ignore[method-assign]
    sizes: dict[int, int] = {}
    everything = list(accesses(model))
    for access in everything:
        if access.offsets.size:
            sizes[access.slot] = max(sizes.get(access.slot, 0), int(access.offsets[-1]) + 1)
    writer = {slot: np.full(size, -1 - slot, np.int64) for slot, size in sizes.items()}
    relative = {slot: np.arange(size, dtype=np.int64) for slot, size in sizes.items()}
    for number, access in enumerate(everything):
        if access.kind != "write":
            digest.update(repr((access.vcta, access.operand)).encode())
            digest.update(writer[access.slot][access.offsets].tobytes())
            digest.update(relative[access.slot][access.offsets].tobytes())
        if access.kind != "read":
            writer[access.slot][access.offsets] = number
            relative[access.slot][access.offsets] = access.relative
    for slot in sorted(sizes):
        if 1 <= slot <= len(program.manifest["buffers"]):
            digest.update(writer[slot].tobytes() + relative[slot].tobytes())
    digest.update(repr([body for body, _ in program.tasks]).encode())
    return digest.hexdigest()

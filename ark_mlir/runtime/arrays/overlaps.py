"""Overlaps of the arrays in `out=` with other memory of a run.

The proof of a schedule and `llvm.noalias` assume that a buffer that a task writes overlaps no other
buffer. Buffers that no task writes may overlap each other.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ...errors import InvalidUsageError

if TYPE_CHECKING:
    from ...bundle import Manifest
    from .exchange import Slots

# The addresses of the first byte of a buffer and of the byte after its last one, and its slot.
Span = tuple[int, int, int]


class Overlaps:
    """The search for overlaps in the runs of one program, until a parameter is bound again.

    Args:
        manifest: the manifest of the program.
        kept: the memory of all buffers except inputs and outputs.
    """

    def __init__(self, manifest: Manifest, kept: Slots) -> None:
        self._manifest = manifest
        self._inputs = [(buffer.slot, buffer.bytes) for buffer in manifest.inputs]
        self._outputs = {buffer.name: (buffer.slot, buffer.bytes) for buffer in manifest.outputs}
        self._kept = Spans(_span(slot, manifest.slot_bytes[slot], kept) for slot in kept)
        self._begins, self._ends = self._kept.begins, self._kept.ends

    def refuse(self, slots: Slots, written: Collection[str]) -> None:
        """Raises InvalidUsageError if an array in `out` overlaps other memory of the run.

        An input that was copied has the memory of the copy, so that an output may overlap the
        array of the caller: the copy ends before the kernel begins.

        Args:
            slots: the memory of inputs and outputs.
            written: the names of the outputs in `out`.
        """
        if len(written) == 1:
            # Decoders pass one array for every token, so this search calls no other method.
            (name,) = written
            slot, size = self._outputs[name]
            begin = slots[slot].address
            end = begin + size
            for other, size in self._inputs:
                address = slots[other].address
                if address < end and begin < address + size:
                    break
            else:
                index = bisect_left(self._begins, end)
                if not index or self._ends[index - 1] <= begin:
                    return
        outputs = [_span(*self._outputs[name], slots) for name in written]
        inputs = [_span(slot, size, slots) for slot, size in self._inputs]
        if (found := find_overlap(outputs, inputs, self._kept)) is not None:
            program = self._manifest.program
            output, other = (self._manifest.buffers[slot - 1] for slot in found)
            raise InvalidUsageError(
                f"cannot run {program!r}: {output.kind} {output.name!r} overlaps {other.kind} "
                f"{other.name!r} in memory; pass another array in out=, or omit it"
            )


class Spans:
    """Spans, sorted by address, that may overlap each other.

    Attributes:
        begins: the first address of each span.
        ends: for each span, the furthest end of this span and all earlier ones.
        slots: for each entry of `ends`, the slot of the span that ends there.
    """

    def __init__(self, spans: Iterable[Span]) -> None:
        self.begins: list[int] = []
        self.ends: list[int] = []
        self.slots: list[int] = []
        last = owner = 0
        for begin, end, slot in sorted(spans):
            if begin < end:
                if end > last:
                    last, owner = end, slot
                self.begins.append(begin)
                self.ends.append(last)
                self.slots.append(owner)

    def find(self, begin: int, end: int) -> int | None:
        """Returns the slot of a span that overlaps the bytes [begin, end), or None."""
        index = bisect_left(self.begins, end) - 1
        return self.slots[index] if index >= 0 and self.ends[index] > begin else None


def find_overlap(
    written: Sequence[Span], read: Sequence[Span], kept: Spans
) -> tuple[int, int] | None:
    """Returns the slots of an output and of another buffer that overlaps it, or None.

    Args:
        written: the outputs.
        read: the inputs.
        kept: all other buffers.
    """
    for begin, end, slot in written:
        if begin < end and (other := kept.find(begin, end)) is not None:
            return slot, other
    outputs = {slot for _, _, slot in written}
    # The furthest end of all earlier spans with its slot, then that of all earlier outputs.
    end_of_all = end_of_outputs = 0
    last = last_output = 0
    for begin, end, slot in sorted((*written, *read)):
        if begin == end:
            continue
        if slot in outputs:
            if begin < end_of_all:
                return slot, last
            end_of_outputs, last_output = end, slot
        elif begin < end_of_outputs:
            return last_output, slot
        if end > end_of_all:
            end_of_all, last = end, slot
    return None


def _span(slot: int, size: int, slots: Slots) -> Span:
    address = slots[slot].address
    return address, address + size, slot

"""Enumeration of all consistent executions of a litmus program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache

from .axioms import (
    INITIAL,
    Facts,
    Version,
    Witness,
    find_facts,
    find_least_cause,
    find_witnesses,
    races,
)
from .program import Access, Event, Program, list_events
from .relations import Relation, bits, from_pairs, is_acyclic


@dataclass(frozen=True)
class Execution:
    """A consistent execution.

    Attributes:
        registers: the values of all registers at the end.
        sources: for each read, the number of the write whose value it returns, or INITIAL.
        facts: the relations of the program.
        values: the value of each write.
        witness: the orders that make it consistent.
    """

    registers: Mapping[str, int]
    sources: Mapping[int, int]
    facts: Facts
    values: Mapping[int, int]
    witness: Witness


class _Search:
    """Backtracking over the writes that reads return.

    Values follow from the choices. A value that depends on itself does not exist, since the model
    has no values out of thin air.
    """

    def __init__(self, program: Program, version: Version, wanted: Mapping[str, int]) -> None:
        self.program = program
        self.version = version
        self.wanted = wanted
        self.events = list_events(program)
        self.initial = dict(program.initial)
        self.sources: dict[int, int] = {}
        self.facts = cache(lambda absent: find_facts(program, self.events, absent))
        self.all = self.facts(frozenset())
        self.defined = _find_definitions(self.events)
        # Updates first: their chain decides the values that polls see. Weak loads last.
        reads = [event for event in self.events if event.is_read]
        self.reads = sorted(reads, key=_rank)

    def run(self, k: int = 0, cause: Relation | None = None) -> Iterator[Execution]:
        """Yields the executions in which the first k reads have the sources chosen so far.

        Args:
            k: the number of reads with a source.
            cause: causality, as far as the sources of strong reads determine it, once all of them
                have a source.
        """
        if k == len(self.reads):
            yield from self._finish()
            return
        read = self.reads[k]
        if cause is None and not read.instruction.is_strong:
            cause = find_least_cause(self.all, self.sources, self.version)
        for source in self._candidates(read):
            if cause is not None and self._is_hidden(read.number, source, cause):
                continue
            self.sources[read.number] = source
            if self._may_hold() and not self._is_from_thin_air():
                yield from self.run(k + 1, cause)
            del self.sources[read.number]

    def _is_hidden(self, read: int, source: int, cause: Relation) -> bool:
        """Returns True if causality forbids that a read returns the value of a write."""
        if source == INITIAL:
            return any(cause[write] >> read & 1 for write in self._writes_of(read))
        between = cause[source] & self.all.writes[source]
        return bool(cause[read] >> source & 1 or any(cause[w] >> read & 1 for w in bits(between)))

    def _candidates(self, read: Event) -> Iterator[int]:
        """Yields the writes that a read may return, as far as two events alone tell."""
        po_word, number = self.all.po_word, read.number
        taken = self._taken(read)
        overwritten = any(po_word[write] >> number & 1 for write in self._writes_of(number))
        if not overwritten and INITIAL not in taken:
            yield INITIAL
        for write in self._writes_of(number):
            if not po_word[number] >> write & 1 and write not in taken:
                yield write

    def _writes_of(self, number: int) -> Iterator[int]:
        return bits(self.all.writes[number])

    def _taken(self, read: Event) -> set[int]:
        """Returns the writes after which a morally strong addition comes already."""
        if read.instruction.access is not Access.ADD:
            return set()
        strong = self.all.strong
        return {
            source
            for other, source in self.sources.items()
            if self.events[other].instruction.access is Access.ADD
            and strong[read.number] >> self.events[other].partner & 1
            and (source == INITIAL or strong[source] >> read.number & strong[source] >> other & 1)
        }

    def _may_hold(self) -> bool:
        """Returns False if a value that is known already contradicts a poll or a wanted value."""
        return all(self._holds(self.events[number]) is not False for number in self.sources)

    def _holds(self, read: Event) -> bool | None:
        """Returns whether a read has a value that its poll ends with, and None if not known."""
        instruction = read.instruction
        wanted = self.wanted.get(instruction.register)
        if instruction.least is None and wanted is None:
            return True
        value = self._read(read.number, ())
        if value is None:
            return None
        enough = instruction.least is None or value >= instruction.least
        return enough and (wanted is None or value == wanted)

    # -- values ------------------------------------------------------------------------------------

    def _read(self, read: int, seen: tuple[int, ...]) -> int | None:
        """Returns the value that a read returns, or None if it is not known or does not exist."""
        if read not in self.sources or read in seen:
            return None
        source = self.sources[read]
        if source == INITIAL:
            return self.initial.get(self.events[read].instruction.word, 0)
        return self._write(source, (*seen, read))

    def _write(self, write: int, seen: tuple[int, ...]) -> int | None:
        event = self.events[write]
        value = event.instruction.value
        if isinstance(value, str):
            stored = self._read(self.defined[event.thread, value], seen)
        else:
            stored = value
        if event.instruction.access is not Access.ADD or stored is None:
            return stored
        old = self._read(event.partner, seen)
        return None if old is None else old + stored

    # -- complete choices --------------------------------------------------------------------------

    def _finish(self) -> Iterator[Execution]:
        known = ((read.number, self._read(read.number, ())) for read in self.reads)
        reads = {number: value for number, value in known if value is not None}
        if len(reads) < len(self.reads) or not all(self._holds(read) for read in self.reads):
            return
        failed = frozenset(
            read.partner
            for read in self.reads
            if read.instruction.access is Access.COMPARE
            and reads[read.number] != read.instruction.expected
        )
        if failed & set(self.sources.values()):
            return
        facts = self.facts(failed)
        registers = {
            event.instruction.register: reads[event.number]
            for event in self.reads
            if event.instruction.register
        }
        for witness in find_witnesses(facts, self.sources, self.version):
            values = self._values(failed)
            yield Execution(registers, dict(self.sources), facts, values, witness)

    def _values(self, failed: frozenset[int]) -> dict[int, int]:
        """Returns the values of all writes that happen."""
        writes = (e.number for e in self.events if e.is_write and e.number not in failed)
        known = ((number, self._write(number, ())) for number in writes)
        return {number: value for number, value in known if value is not None}

    def _is_from_thin_air(self) -> bool:
        """Returns True if writes depend on each other in a circle, by data or by a poll."""
        depends = from_pairs(len(self.events), self._dependences())
        return not is_acyclic(depends)

    def _dependences(self) -> Iterator[tuple[int, int]]:
        for read, source in self.sources.items():
            if source != INITIAL:
                yield source, read
        for event in self.events:
            if event.is_write and isinstance(event.instruction.value, str):
                yield self.defined[event.thread, event.instruction.value], event.number
            if event.is_write and event.instruction.access in (Access.ADD, Access.COMPARE):
                yield event.partner, event.number
            if event.instruction.least is not None:
                for later in bits(self.all.po[event.number]):
                    yield event.number, later


def _rank(read: Event) -> int:
    if read.partner >= 0:
        return 0
    if read.instruction.least is not None:
        return 1
    return 2 if read.instruction.is_strong else 3


def _find_definitions(events: list[Event]) -> dict[tuple[int, str], int]:
    """Returns the read that sets each register of each thread."""
    return {
        (event.thread, event.instruction.register): event.number
        for event in events
        if event.is_read and event.instruction.register
    }


def explore(
    program: Program,
    version: Version = Version.PTX_6_0,
    wanted: Mapping[str, int] | None = None,
) -> Iterator[Execution]:
    """Yields all consistent executions, or those in which registers have the wanted values."""
    return _Search(program, version, wanted or {}).run()


def allows(program: Program, version: Version = Version.PTX_6_0, **wanted: int) -> bool:
    """Returns True if the model allows an execution with these values of registers."""
    return any(True for _ in explore(program, version, wanted))


def last_values(execution: Execution, word: str) -> set[int]:
    """Returns the values that a word may have at the end: those of its last writes."""
    facts, co = execution.facts, execution.witness.co
    writes = [w for w in execution.values if facts.events[w].instruction.word == word]
    last = [w for w in writes if not any(co[w] >> other & 1 for other in writes)]
    return {execution.values[w] for w in last}


def find_races(program: Program, version: Version = Version.PTX_6_0) -> set[tuple[str, str]]:
    """Returns the data races of all executions, as pairs of instructions."""
    found: set[tuple[str, str]] = set()
    for execution in explore(program, version):
        for a, b in races(execution.facts, execution.witness):
            first, second = (str(execution.facts.events[k].instruction) for k in (a, b))
            found.add((first, second))
    return found

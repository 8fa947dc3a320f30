"""The axioms of PTX's memory model, for one choice of the writes that reads return.

The names follow the ASPLOS paper: program order (po), morally strong, observation, release and
acquire patterns, base causality, causality, coherence (co), from-reads (fr), Fence-SC (sc).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum

from .program import Access, Event, Order, Program, Scope
from .relations import (
    Relation,
    closure,
    compose,
    empty,
    from_pairs,
    identity,
    intersection,
    is_acyclic,
    is_irreflexive,
    pairs,
    union,
)

# The source of a read that returns the initial value.
INITIAL = -1


class Version(Enum):
    """The text of the model: that of the paper, or that of the ISA's manual since version 7.5.

    In the manual, program order alone is part of base causality, and causality relates accesses of
    the same word only.
    """

    PTX_6_0 = "6.0"
    PTX_7_5 = "7.5"


@dataclass(frozen=True)
class Facts:
    """The relations of a program that no execution changes, without the events in `absent`.

    Attributes:
        events: all events.
        po: program order.
        po_word: program order between accesses of the same word.
        same_word: pairs of accesses of the same word.
        strong: pairs that are morally strong.
        rmw: from the read of a read-modify-write to its write.
        barriers: pairs of events of the same barrier of a CTA, in both directions.
        releases: from the first event of a release pattern to its write.
        acquires: from the read of an acquire pattern to its last event.
        fences: pairs of fence.sc that are morally strong, the lower number first.
        writes: for each event, the other writes of its word.
    """

    events: Sequence[Event]
    po: Relation
    po_word: Relation
    same_word: Relation
    strong: Relation
    rmw: Relation
    barriers: Relation
    releases: Relation
    acquires: Relation
    fences: tuple[tuple[int, int], ...]
    writes: Sequence[int]


def find_facts(program: Program, events: Sequence[Event], absent: frozenset[int]) -> Facts:
    """Returns the facts of a program in which the writes `absent` do not happen."""
    n = len(events)
    present = [event for event in events if event.number not in absent]
    ordered = [(a, b) for a in present for b in present if a.number != b.number]
    po = [(a, b) for a, b in ordered if a.thread == b.thread and a.number < b.number]
    word = [(a, b) for a, b in ordered if _share_word(a, b)]
    strong = [(a, b) for a, b in ordered if _is_morally_strong(program, a, b)]
    po_word = from_pairs(n, _numbers((a, b) for a, b in po if _share_word(a, b)))
    return Facts(
        events,
        from_pairs(n, _numbers(po)),
        po_word,
        from_pairs(n, _numbers(word)),
        from_pairs(n, _numbers(strong)),
        from_pairs(n, _numbers((a, b) for a, b in po if a.partner == b.number and a.is_read)),
        from_pairs(n, _numbers((a, b) for a, b in ordered if _meet(program, a, b))),
        from_pairs(n, _numbers(_releases(present))),
        from_pairs(n, _numbers(_acquires(present))),
        tuple(
            _numbers((a, b) for a, b in strong if _is_sc(a) and _is_sc(b) and a.number < b.number)
        ),
        from_pairs(n, _numbers((a, b) for a, b in word if b.is_write)),
    )


def _numbers(events: Iterable[tuple[Event, Event]]) -> Iterator[tuple[int, int]]:
    return ((a.number, b.number) for a, b in events)


def _share_word(a: Event, b: Event) -> bool:
    return a.is_memory and b.is_memory and a.instruction.word == b.instruction.word


def _is_sc(event: Event) -> bool:
    return event.instruction.access is Access.FENCE and event.instruction.order is Order.SC


def _is_morally_strong(program: Program, a: Event, b: Event) -> bool:
    """Returns True for events of one thread, and for strong events in each other's scopes.

    Two accesses have to be of the same word, too.
    """
    if a.is_memory and b.is_memory and not _share_word(a, b):
        return False
    if a.thread == b.thread:
        return True
    return _reaches(program, a, b) and _reaches(program, b, a)


def _reaches(program: Program, a: Event, b: Event) -> bool:
    """Returns True if event `a` is strong and its scope includes the thread of event `b`."""
    if not a.instruction.is_strong:
        return False
    here, there = program.threads[a.thread], program.threads[b.thread]
    if a.instruction.scope is Scope.SYS:
        return True
    if a.instruction.scope is Scope.GPU:
        return here.gpu == there.gpu
    return (here.gpu, here.cta) == (there.gpu, there.cta)


def _meet(program: Program, a: Event, b: Event) -> bool:
    """Returns True if two threads of a CTA pass the same barrier."""
    if not a.instruction.access is b.instruction.access is Access.BARRIER:
        return False
    here, there = program.threads[a.thread], program.threads[b.thread]
    same_cta = (here.gpu, here.cta) == (there.gpu, there.cta)
    return same_cta and a.instruction.word == b.instruction.word


def _releases(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yields the release patterns: a release, and the strong write that announces it."""
    for first in events:
        if not first.is_release:
            continue
        if first.is_write:
            yield first, first
        for write in events:
            later = write.thread == first.thread and write.number > first.number
            fits = not first.is_memory or _share_word(first, write)
            if later and fits and write.is_write and write.instruction.is_strong:
                yield first, write


def _acquires(events: Sequence[Event]) -> Iterator[tuple[Event, Event]]:
    """Yields the acquire patterns: a strong read, and the acquire that completes it."""
    for last in events:
        if not last.is_acquire:
            continue
        if last.is_read:
            yield last, last
        for read in events:
            earlier = read.thread == last.thread and read.number < last.number
            fits = not last.is_memory or _share_word(read, last)
            if earlier and fits and read.is_read and read.instruction.is_strong:
                yield read, last


@dataclass(frozen=True)
class Witness:
    """Orders that make an execution consistent: causality, base causality and coherence."""

    cause: Relation
    base: Relation
    co: Relation


def find_witnesses(facts: Facts, sources: Mapping[int, int], version: Version) -> Iterator[Witness]:
    """Yields the orders with which the axioms allow an execution; nothing if they forbid it.

    Coherence relates no more writes than it has to, since each further pair only forbids more.

    Args:
        facts: the program.
        sources: for each read, the write whose value it returns, or INITIAL.
        version: the text of the model.
    """
    rf = from_pairs(len(facts.events), ((w, r) for r, w in sources.items() if w != INITIAL))
    for sc in _fence_orders(facts):
        base, cause = _find_causes(facts, rf, sc, version)
        if not is_irreflexive(compose(sc, base if version is Version.PTX_7_5 else cause)):
            continue
        if not is_irreflexive(compose(rf, cause)):
            continue
        for co in _coherences(facts, sources, cause):
            if _is_coherent(facts, sources, rf, co, cause):
                yield Witness(cause, base, co)


def find_least_cause(facts: Facts, sources: Mapping[int, int], version: Version) -> Relation:
    """Returns causality without the order of fence.sc; further sources only add pairs."""
    n = len(facts.events)
    rf = from_pairs(n, ((w, r) for r, w in sources.items() if w != INITIAL))
    return _find_causes(facts, rf, empty(n), version)[1]


def _fence_orders(facts: Facts) -> Iterator[Relation]:
    """Yields the acyclic orders of all pairs of morally strong fence.sc."""
    n = len(facts.events)
    for choice in range(1 << len(facts.fences)):
        order = from_pairs(
            n, ((b, a) if choice >> k & 1 else (a, b) for k, (a, b) in enumerate(facts.fences))
        )
        if is_acyclic(order):
            yield order


def _find_causes(
    facts: Facts, rf: Relation, sc: Relation, version: Version
) -> tuple[Relation, Relation]:
    """Returns base causality and causality."""
    n = len(facts.events)
    seen = intersection(facts.strong, rf)
    steps = closure(compose(seen, facts.rmw))
    observation = union(seen, compose(steps, seen))
    through = compose(compose(facts.releases, observation), facts.acquires)
    synchronises = union(intersection(facts.strong, through), sc, facts.barriers)
    maybe_po = union(identity(n), facts.po)
    base = closure(compose(compose(maybe_po, synchronises), maybe_po))
    if version is Version.PTX_6_0:
        return base, union(base, compose(observation, union(base, facts.po_word)))
    base = union(base, facts.po)
    preserved = intersection(base, facts.same_word)
    return base, union(preserved, compose(observation, preserved))


def _coherences(facts: Facts, sources: Mapping[int, int], cause: Relation) -> Iterator[Relation]:
    """Yields the coherence orders with no more pairs than the axioms demand."""
    writes = [event.number for event in facts.events if event.is_write]
    n = len(facts.events)
    seed = empty(n)
    for write in writes:
        later = cause[write] | facts.po_word[write]
        seed[write] = later & facts.writes[write]
    _add_updates(facts, sources, seed)
    undecided = [(a, b) for a in writes for b in writes if a < b and facts.strong[a] >> b & 1]
    yield from _extend(closure(seed), undecided)


def _add_updates(facts: Facts, sources: Mapping[int, int], co: Relation) -> None:
    """Adds the pairs that atomicity demands: an update follows the write that it reads."""
    for read, source in sources.items():
        write = facts.events[read].partner
        if write < 0 or not facts.rmw[read]:
            continue
        others = facts.strong[write] & facts.writes[write]
        if source == INITIAL:
            co[write] |= others
        elif others >> source & 1:
            co[source] |= 1 << write


def _extend(co: Relation, undecided: Sequence[tuple[int, int]]) -> Iterator[Relation]:
    """Yields the acyclic, transitive orders that contain `co` and order the undecided pairs."""
    if not is_irreflexive(co):
        return
    for k, (a, b) in enumerate(undecided):
        if (co[a] >> b | co[b] >> a) & 1:
            continue
        for first, second in ((a, b), (b, a)):
            further = list(co)
            further[first] |= 1 << second
            yield from _extend(closure(further), undecided[k + 1 :])
        return
    yield co


def from_reads(facts: Facts, sources: Mapping[int, int], co: Relation) -> Relation:
    """Returns the pairs of a read and a write that is later in coherence than the read's source."""
    fr = empty(len(facts.events))
    for read, source in sources.items():
        fr[read] = facts.writes[read] if source == INITIAL else co[source]
    return fr


def _is_coherent(
    facts: Facts, sources: Mapping[int, int], rf: Relation, co: Relation, cause: Relation
) -> bool:
    """Returns True if atomicity, SC-per-location and the rest of causality hold."""
    fr = from_reads(facts, sources, co)
    if not is_irreflexive(compose(fr, cause)):
        return False
    between = compose(intersection(facts.strong, fr), intersection(facts.strong, co))
    if any(intersection(between, facts.rmw)):
        return False
    communication = intersection(facts.strong, union(rf, co, fr))
    return is_acyclic(union(communication, facts.po_word))


def races(facts: Facts, witness: Witness) -> Iterator[tuple[int, int]]:
    """Yields the data races: conflicting accesses that are neither morally strong nor ordered."""
    ordered = union(witness.base, witness.cause)
    for a, b in pairs(facts.same_word):
        if a > b or not (facts.events[a].is_write or facts.events[b].is_write):
            continue
        apart = facts.events[a].thread != facts.events[b].thread
        related = (facts.strong[a] | ordered[a]) >> b | ordered[b] >> a
        if apart and not related & 1:
            yield a, b

"""The rule of puts between GPUs that only a network connects (docs/rationale.md), in a model.

No interleaving of the lanes and the network reads another value than the right one. Each mistake
that is planted in a program is found, unless EQUIVALENT has a reason why it changes nothing.
"""

from __future__ import annotations

import pytest
from explorer import ViolationError, explore
from network_protocol import (
    FLUSH,
    Instruction,
    Lane,
    Network,
    Program,
    expect,
    list_mutants,
    put,
    signal,
    store,
    wait,
)


def visit(program: Program) -> int:
    model = Network(program)
    return explore(model.initial, model.steps, model.is_end, model.find_problem)


def all_reduce(iterations: int) -> Program:
    """Each of two GPUs puts its part to the other one, and loads both parts.

    A GPU stores its next part after the other one has signalled that it has loaded this one.
    """
    lanes: list[Lane] = []
    for gpu in range(2):
        rows: list[Instruction] = []
        for i in range(1, iterations + 1):
            rows += [store(f"part{gpu}", i), put(1 - gpu, f"part{gpu}", counter="arrived")]
            rows += [wait("arrived", i), expect("part0", i), expect("part1", i)]
            rows += [signal("loaded", 1 - gpu), wait("loaded", i)]
        lanes.append(Lane(gpu, tuple(rows)))
    return tuple(lanes)


def strong_signal() -> Program:
    """A strong signal covers two earlier puts of its lane, of which one has two words."""
    words = ("a", "b", "c")
    stores = tuple(store(word, 1) for word in words)
    sends = (put(1, "a"), put(1, "b", "c"), signal("all", 1, strong=True))
    loads = tuple(expect(word, 1) for word in words)
    return Lane(0, (*stores, *sends)), Lane(1, (wait("all"), *loads))


def reuse_of_a_source() -> Program:
    """A lane overwrites the source of a put after a flush."""
    sender = Lane(0, (store("a", 1), put(1, "a", counter="arrived"), FLUSH, store("a", 2)))
    return sender, Lane(1, (wait("arrived"), expect("a", 1)))


def signals_of_each_lane() -> Program:
    """Two lanes put, and each of them signals the reader with its put."""
    senders = tuple(Lane(0, (store(w, 1), put(1, w, counter="arrived"))) for w in ("a", "b"))
    return (*senders, Lane(1, (wait("arrived", 2), expect("a", 1), expect("b", 1))))


def acknowledged() -> Program:
    """A lane signals a lane of its own GPU after the other GPU has seen its put."""
    return (
        Lane(0, (store("a", 1), put(1, "a", counter="here"), wait("seen"), signal("done"))),
        Lane(0, (wait("done"), store("b", 1), put(1, "b", counter="arrived"))),
        Lane(1, (wait("here"), signal("seen", 0))),
        Lane(1, (wait("arrived"), expect("a", 1), expect("b", 1))),
    )


PROGRAMS: dict[str, Program] = {
    "all-reduce": all_reduce(2),
    "strong signal": strong_signal(),
    "reuse of a source": reuse_of_a_source(),
    "signals of each lane": signals_of_each_lane(),
    "acknowledged": acknowledged(),
}
END = "The lane does nothing after this wait."
EQUIVALENT = {
    "all-reduce, lane 0: without wait loaded at 13": END,
    "all-reduce, lane 1: without wait loaded at 13": END,
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_no_interleaving_reads_a_wrong_value(name: str) -> None:
    assert visit(PROGRAMS[name]) > 10


def test_mistakes_are_found() -> None:
    survivors: set[str] = set()
    count = 0
    for name, program in PROGRAMS.items():
        for mistake, mutant in list_mutants(program):
            count += 1
            try:
                visit(mutant)
            except ViolationError:
                continue
            survivors.add(f"{name}, {mistake}")
    assert survivors == set(EQUIVALENT)
    assert count > 30


def test_a_put_of_two_words_arrives_word_by_word() -> None:
    """A packet whose flag is a word of the same put would be wrong."""
    sender = Lane(0, (store("data", 1), store("flag", 1), put(1, "data", "flag")))
    with pytest.raises(ViolationError, match="data is 0 instead of 1"):
        visit((sender, Lane(1, (wait("flag"), expect("data", 1)))))


@pytest.mark.parametrize("flush", [(), (FLUSH,)], ids=["no flush", "flush"])
def test_a_strong_signal_does_not_cover_puts_of_another_lane(
    flush: tuple[Instruction, ...],
) -> None:
    """A flush does not help: it waits for the source of the put only."""
    program = (
        Lane(0, (store("a", 1), put(1, "a"), *flush, signal("done"))),
        Lane(0, (wait("done"), signal("all", 1, strong=True))),
        Lane(1, (wait("all"), expect("a", 1))),
    )
    with pytest.raises(ViolationError, match="a is 0 instead of 1"):
        visit(program)


def test_a_barrier_of_two_levels_does_not_cover_puts() -> None:
    """The signals of the first lanes of two GPUs do not cover puts of their second lanes."""
    lanes: list[Lane] = []
    for gpu in range(2):
        meet = (wait("lanes", 2), signal("gpus", 1 - gpu, strong=True), wait("gpus"))
        lanes.append(Lane(gpu, (signal("lanes"), *meet, expect(f"part{1 - gpu}", 1))))
        word = f"part{gpu}"
        lanes.append(Lane(gpu, (store(word, 1), put(1 - gpu, word), FLUSH, signal("lanes"))))
    with pytest.raises(ViolationError, match="is 0 instead of 1"):
        visit(tuple(lanes))


def test_a_weak_signal_does_not_cover_an_earlier_put() -> None:
    sender = Lane(0, (store("a", 1), put(1, "a"), store("b", 1), put(1, "b", counter="arrived")))
    with pytest.raises(ViolationError, match="a is 0 instead of 1"):
        visit((sender, Lane(1, (wait("arrived"), expect("b", 1), expect("a", 1)))))

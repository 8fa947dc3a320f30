"""Litmus programs of the hand-offs of a kernel, and what they must never do.

A lane is a CTA. Its leader signals and waits; if the data is that of other threads, the lane has a
worker, which the leader meets at a barrier of the CTA. A hand-off has several programs if only the
loads at their ends differ. Barriers and signals of several GPUs are the instructions that linking
makes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

from ark_mlir.bundle import Opcode
from ark_mlir.runtime.drivers.abi import RANK_COUNTERS
from ark_mlir.runtime.ranks.linked_semaphore import Entry, LinkedSemaphore

from .kernel_texts import Primitives
from .program import Program, Thread, parse

_ONE = Primitives(ranks=False)
_MANY = Primitives(ranks=True)
# The GPU number of the host, whose thread shares only the system with the GPUs.
_HOST = 9


# Yields the instructions of a lane that passes a barrier, as linking makes them.
Rows = Callable[[LinkedSemaphore, int, bool], Iterator[Entry]]


@dataclass(frozen=True)
class Case:
    """A program, and the values of registers that no execution may have together."""

    program: Program
    forbidden: tuple[Mapping[str, int], ...] = ()


@dataclass(frozen=True)
class HandOff:
    """A hand-off: cases whose threads have the same instructions, up to weak accesses at the end.

    Attributes:
        name: the name.
        cases: the cases.
        mutated: the words whose accesses are mutated; all words and barriers if empty.
    """

    name: str
    cases: tuple[Case, ...]
    mutated: tuple[str, ...] = ()


def make(*threads: tuple[int, int, str]) -> Program:
    """Returns a program of threads, each given by its GPU, its CTA and its text."""
    return Program(tuple(Thread(gpu, cta, parse(text)) for gpu, cta, text in threads))


def never(*outcomes: Mapping[str, int]) -> tuple[Mapping[str, int], ...]:
    return outcomes


# -- one GPU ---------------------------------------------------------------------------------------


def counter() -> HandOff:
    """A lane stores, another lane loads; the threads with the data are not the leaders."""
    program = make(
        (0, 0, "st x, 1; bar.sync s"),
        (0, 0, f"bar.sync s; {_ONE.signal} c, 1"),
        (0, 1, f"{_ONE.wait} c until 1; bar.sync w"),
        (0, 1, "bar.sync w; r = ld x"),
    )
    return HandOff("counter", (Case(program, never({"r": 0})),))


def counter_of_two() -> HandOff:
    """A lane waits for the signals of two lanes."""
    program = make(
        (0, 0, f"st x, 1; {_ONE.signal} c, 1"),
        (0, 1, f"st y, 1; {_ONE.signal} c, 1"),
        (0, 2, f"{_ONE.wait} c until 2; r = ld x; q = ld y"),
    )
    return HandOff("counter of two lanes", (Case(program, never({"r": 0}, {"q": 0})),))


def counter_for_reuse() -> HandOff:
    """A lane overwrites what another lane has read."""
    program = make(
        (0, 0, "r = ld x; bar.sync s"),
        (0, 0, f"bar.sync s; {_ONE.signal} c, 1"),
        (0, 1, f"{_ONE.wait} c until 1; bar.sync w"),
        (0, 1, "bar.sync w; st x, 1"),
    )
    return HandOff("counter, reuse", (Case(program, never({"r": 1})),))


def counters_in_a_row() -> HandOff:
    """A lane passes acquired data on without an access to the data."""
    program = make(
        (0, 0, f"st x, 1; {_ONE.signal} c, 1"),
        (0, 1, f"{_ONE.wait} c until 1; {_ONE.signal} d, 1"),
        (0, 2, f"{_ONE.wait} d until 1; r = ld x"),
    )
    return HandOff("counters in a row", (Case(program, never({"r": 0})),))


def claim() -> HandOff:
    """Two lanes report at once: only one claims the report, and a third lane sees the abort."""
    cas = _ONE.find("ark_set_if_zero", "atom")
    program = make(
        (0, 0, f"a = {cas} abort, 0, 1"),
        (0, 1, f"b = {cas} abort, 0, 1"),
        (0, 2, f"{_ONE.find('ark_load_relaxed', 'ld')} abort until 1"),
    )
    return HandOff("claim of the report", (Case(program, never({"a": 0, "b": 0})),))


# -- between GPUs ----------------------------------------------------------------------------------


def put() -> HandOff:
    """A lane stores to another GPU and signals a lane there."""
    program = make(
        (0, 0, "st x, 1; bar.sync s"),
        (0, 0, f"bar.sync s; {_MANY.signal_peer} c, 1"),
        (1, 1, f"{_MANY.wait} c until 1; bar.sync w"),
        (1, 1, "bar.sync w; r = ld x"),
    )
    return HandOff("put", (Case(program, never({"r": 0})),))


def put_for_reuse() -> HandOff:
    """A lane puts again after a lane of the other GPU has read."""
    program = make(
        (1, 1, "r = ld x; bar.sync s"),
        (1, 1, f"bar.sync s; {_MANY.signal_peer} c, 1"),
        (0, 0, f"{_MANY.wait} c until 1; bar.sync w"),
        (0, 0, "bar.sync w; st x, 1"),
    )
    return HandOff("put, reuse", (Case(program, never({"r": 1})),))


def put_of_lanes() -> HandOff:
    """Two lanes put, and one of them signals for both: its scope covers the other's stores."""
    program = make(
        (0, 0, f"st x, 1; {_MANY.signal} c, 1"),
        (0, 1, f"st y, 1; {_MANY.wait} c until 1; {_MANY.signal_peer} d, 1"),
        (1, 2, f"{_MANY.wait} d until 1; r = ld x; q = ld y"),
    )
    return HandOff("put of two lanes", (Case(program, never({"r": 0}, {"q": 0})),))


def packets(ranks: bool) -> HandOff:
    """A packet of two iterations: epoch and value are one word, ten times the epoch plus a value.

    The reader gets the value of its iteration, although the sender overwrites the word. A counter
    stands for the barrier between the iterations.
    """
    ops = _MANY if ranks else _ONE
    signal = ops.signal_peer if ranks else ops.signal
    program = make(
        (0, 0, f"{ops.send} p, 11; {ops.wait} c until 1; bar.sync w"),
        (0, 0, f"bar.sync w; {ops.send} p, 22"),
        (int(ranks), 1, f"r = {ops.receive} p until 10; bar.sync s"),
        (int(ranks), 1, f"bar.sync s; {signal} c, 1; q = {ops.receive} p until 20"),
    )
    name = "task packets between GPUs" if ranks else "task packets"
    return HandOff(name, (Case(program, never({"r": 22}, {"q": 11})),))


def rank_packets() -> HandOff:
    """Words with epochs, of which each releases the earlier stores of its sender (on cpu)."""
    program = make(
        (0, 0, "st x, 1; st.release.sys p, 11"),
        (1, 1, "st y, 1; st.release.sys q, 12"),
        (2, 2, "ld.acquire.sys p until 10; ld.acquire.sys q until 10; r = ld x; s = ld y"),
    )
    return HandOff("rank packets", (Case(program, never({"r": 0}, {"s": 0})),))


# -- linked instructions ---------------------------------------------------------------------------


def linked(rank: int, rows: Iterable[Entry], epoch: int = 1) -> str:
    """Returns the text of signals and waits that linking has made for a lane of a rank."""
    texts: list[str] = []
    for code, number, arrivals, _ in rows:
        if code == Opcode.SIGNAL:
            distance, counter_number = divmod(number, RANK_COUNTERS)
            signal = _MANY.signal_peer if distance else _MANY.signal
            texts.append(f"{signal} c{counter_number}.{rank + distance}, 1")
        else:
            assert code == Opcode.WAIT
            texts.append(f"{_MANY.wait} c{number}.{rank} until {epoch * arrivals}")
    return "; ".join(texts)


def barrier_of(lanes: tuple[int, ...]) -> LinkedSemaphore:
    """Returns the barrier of all lanes of GPUs with these numbers of lanes."""
    return LinkedSemaphore(0, tuple(range(len(lanes))), lanes, is_barrier=True, remote=1)


def _lanes(lanes: tuple[int, ...]) -> list[tuple[int, int]]:
    return [(gpu, lane) for gpu, count in enumerate(lanes) for lane in range(count)]


def barrier(lanes: tuple[int, ...], rows: Rows = LinkedSemaphore.barrier) -> HandOff:
    """Each lane stores, and loads the stores of all other lanes after the barrier."""
    semaphore = barrier_of(lanes)
    homes = _lanes(lanes)
    cases: list[Case] = []
    for reader in range(len(homes)):
        threads: list[tuple[int, int, str]] = []
        for cta, (gpu, lane) in enumerate(homes):
            text = f"st x{cta}, 1; {linked(gpu, rows(semaphore, gpu, lane == 0))}"
            if cta == reader:
                others = (k for k in range(len(homes)) if k != reader)
                text += "".join(f"; r{k} = ld x{k}" for k in others)
            threads.append((gpu, cta, text))
        stale = ({f"r{k}": 0} for k in range(len(homes)) if k != reader)
        cases.append(Case(make(*threads), never(*stale)))
    return HandOff(f"barrier of {lanes} lanes", tuple(cases))


def barrier_for_reuse(lanes: tuple[int, ...]) -> HandOff:
    """Each lane loads a word, which a lane overwrites after the barrier."""
    semaphore = barrier_of(lanes)
    homes = _lanes(lanes)
    cases: list[Case] = []
    for writer in range(len(homes)):
        others = [k for k in range(len(homes)) if k != writer]
        threads: list[tuple[int, int, str]] = []
        for cta, (gpu, lane) in enumerate(homes):
            rows = linked(gpu, semaphore.barrier(gpu, lane == 0))
            text = f"r{cta} = ld x{cta}; {rows}"
            if cta == writer:
                text += "".join(f"; st x{k}, 1" for k in others)
            threads.append((gpu, cta, text))
        cases.append(Case(make(*threads), never(*({f"r{k}": 1} for k in others))))
    return HandOff(f"barrier of {lanes} lanes, reuse", tuple(cases))


def two_barriers(lanes: tuple[int, ...]) -> HandOff:
    """Each lane stores in two iterations, and loads what the lane before it stored in the first.

    The second barrier counts on from the first one. If each GPU has one lane, program order stands
    for the first level.
    """
    semaphore = barrier_of(lanes)
    is_trivial = max(lanes) == 1
    homes = _lanes(lanes)
    threads: list[tuple[int, int, str]] = []
    for cta, (gpu, lane) in enumerate(homes):
        rows = list(semaphore.barrier(gpu, lane == 0))
        if is_trivial:
            rows = [row for row in rows if row[1] != semaphore.number]
        first, second = linked(gpu, rows), linked(gpu, rows, 2)
        load = f"r{cta} = ld x{cta - 1 if cta else len(homes) - 1}"
        threads.append((gpu, cta, f"st x{cta}, 1; {first}; {load}; {second}; st x{cta}, 2"))
    wrong = ({f"r{cta}": value} for cta in range(len(homes)) for value in (0, 2))
    return HandOff(f"two barriers of {lanes} lanes", (Case(make(*threads), never(*wrong)),))


def counter_of_two_gpus(remote: int | None = 1) -> HandOff:
    """A lane waits for a signal of a lane of its own GPU and for one of another GPU."""
    semaphore = LinkedSemaphore(0, (0,), (1, 1), remote=remote)
    wait = linked(0, semaphore.wait(0, 2))
    program = make(
        (0, 0, f"st x, 1; {linked(0, semaphore.signal(0))}"),
        (1, 1, f"st y, 1; {linked(1, semaphore.signal(1))}"),
        (0, 2, f"{wait}; r = ld x; q = ld y"),
    )
    return HandOff("counter of two GPUs", (Case(program, never({"r": 0}, {"q": 0})),))


# -- words without data ----------------------------------------------------------------------------


def stop(lanes: tuple[int, ...]) -> HandOff:
    """The first lane stores the number of the last iteration for all GPUs before the barrier.

    All other lanes load the word before the barrier, too, since they may be an iteration behind;
    they may get either value. The barrier alone orders the loads after it, which are weak here.
    """
    store, load = _MANY.find("ark_store_remote", "st"), _MANY.find("ark_load_from_peers", "ld")
    semaphore = barrier_of(lanes)
    threads: list[tuple[int, int, str]] = []
    for cta, (gpu, lane) in enumerate(_lanes(lanes)):
        rows = linked(gpu, semaphore.barrier(gpu, lane == 0))
        early = f"e{cta} = {load} s.{gpu}"
        stores = "; ".join(f"{store} s.{other}, 1" for other in range(len(lanes)))
        late = f"; r{cta} = ld s.{gpu}" if cta else ""
        threads.append((gpu, cta, f"{early if cta else stores}; {rows}{late}"))
    old = ({f"r{cta}": 0} for cta in range(1, len(threads)))
    words = tuple(f"s.{gpu}" for gpu in range(len(lanes)))
    return HandOff("stop", (Case(make(*threads), never(*old)),), words)


def begin() -> HandOff:
    """Each kernel stores to the other GPU that it has begun, and polls its own word."""
    store = _MANY.find("ark_store_remote", "st")
    load = _MANY.find("ark_load_from_peers", "ld")
    program = make(
        (0, 0, f"{store} b.1, 1; {load} b.0 until 1"),
        (1, 1, f"{store} b.0, 1; {load} b.1 until 1"),
    )
    return HandOff("begin of the kernels", (Case(program),))


def doorbell() -> HandOff:
    """The host stores inputs and rings; lane 0 passes the ring to a lane, which loads them."""
    program = make(
        (_HOST, 0, "st x, 1; st.release.sys bell, 1"),
        (
            0,
            0,
            f"{_ONE.find('ark_load_host', 'ld')} bell until 1; "
            f"{_ONE.find('ark_store_release', 'st')} pass, 1",
        ),
        (0, 1, f"{_ONE.find('ark_load_acquire', 'ld')} pass until 1; r = ld x"),
    )
    return HandOff("doorbell", (Case(program, never({"r": 0})),))


def answer() -> HandOff:
    """Lanes store outputs and acknowledge the run; lane 0 tells the host, which loads them."""
    program = make(
        (
            0,
            0,
            f"{_ONE.signal} a, 1; {_ONE.wait} a until 2; {_ONE.find('ark_store_host', 'st')} h, 1",
        ),
        (0, 1, f"st x, 1; {_ONE.signal} a, 1"),
        (_HOST, 2, "ld.acquire.sys h until 1; r = ld x"),
    )
    return HandOff("answer", (Case(program, never({"r": 0})),))


HAND_OFFS: tuple[HandOff, ...] = (
    counter(),
    counter_of_two(),
    counter_for_reuse(),
    counters_in_a_row(),
    packets(ranks=False),
    claim(),
    doorbell(),
    answer(),
    put(),
    put_for_reuse(),
    put_of_lanes(),
    packets(ranks=True),
    rank_packets(),
    counter_of_two_gpus(),
    barrier((2, 2)),
    barrier_for_reuse((2, 2)),
    stop((2, 2)),
    begin(),
)
# More lanes and iterations, whose instructions are those above.
LARGER: tuple[HandOff, ...] = (
    barrier((2, 1)),
    barrier((1, 1, 1)),
    barrier((3, 1)),
    barrier_for_reuse((1, 1, 1)),
    two_barriers((1, 1)),
    two_barriers((2, 1)),
)

"""The language of litmus programs: threads, instructions and the memory events that they make."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from enum import Enum, IntEnum, auto


class Scope(IntEnum):
    """The threads with which an access synchronises: those of the CTA, the GPU or the system."""

    CTA = 1
    GPU = 2
    SYS = 3


class Order(Enum):
    """The order of an access or fence; a weak access has no scope."""

    WEAK = "weak"
    RELAXED = "relaxed"
    ACQUIRE = "acquire"
    RELEASE = "release"
    ACQ_REL = "acq_rel"
    SC = "sc"


class Access(Enum):
    """The effect of an instruction."""

    LOAD = auto()
    STORE = auto()
    ADD = auto()
    EXCHANGE = auto()
    COMPARE = auto()
    FENCE = auto()
    BARRIER = auto()


READS = frozenset({Access.LOAD, Access.ADD, Access.EXCHANGE, Access.COMPARE})
WRITES = frozenset({Access.STORE, Access.ADD, Access.EXCHANGE, Access.COMPARE})
UPDATES = READS & WRITES
ACQUIRES = frozenset({Order.ACQUIRE, Order.ACQ_REL, Order.SC})
RELEASES = frozenset({Order.RELEASE, Order.ACQ_REL, Order.SC})


@dataclass(frozen=True)
class Instruction:
    """An instruction of a thread.

    Attributes:
        access: the effect.
        order, scope: the order and scope; the scope of a weak access has no meaning.
        word: the shared word, or the name of the barrier of the CTA; empty for a fence.
        value: the stored value or the summand: a number, or the name of a register.
        register: receives the value that was read; empty if the value is dropped.
        least: a load with a bound stands for a loop that polls until the value is at least this.
        expected: the value that a compare-and-swap replaces.
    """

    access: Access
    order: Order = Order.WEAK
    scope: Scope = Scope.SYS
    word: str = ""
    value: int | str = 0
    register: str = ""
    least: int | None = None
    expected: int = 0

    @property
    def is_strong(self) -> bool:
        return self.access is not Access.BARRIER and self.order is not Order.WEAK

    def __str__(self) -> str:
        if self.access is Access.BARRIER:
            return f"bar.sync {self.word}"
        suffix = (
            self.order.value
            if self.order is Order.WEAK
            else f"{self.order.value}.{self.scope.name.lower()}"
        )
        text = f"{self.access.name.lower()}.{suffix} {self.word}".rstrip()
        return f"{text} until {self.least}" if self.least is not None else text


@dataclass(frozen=True)
class Thread:
    """A thread: its CTA and GPU, and its instructions in program order."""

    gpu: int
    cta: int
    instructions: tuple[Instruction, ...]


@dataclass(frozen=True)
class Program:
    """Threads that run concurrently; all words are zero at first unless `initial` names them."""

    threads: tuple[Thread, ...]
    initial: tuple[tuple[str, int], ...] = ()

    def with_instruction(self, thread: int, index: int, new: Instruction | None) -> Program:
        """Returns the program with one instruction replaced, or without it if `new` is None."""
        old = self.threads[thread]
        rows = list(old.instructions)
        rows[index : index + 1] = [] if new is None else [new]
        threads = list(self.threads)
        threads[thread] = replace(old, instructions=tuple(rows))
        return replace(self, threads=tuple(threads))


@dataclass(frozen=True)
class Event:
    """A memory event, fence or barrier of a thread.

    A read-modify-write makes two events, a read and then a write, which is its `partner`.
    """

    number: int
    thread: int
    instruction: Instruction
    is_read: bool = False
    is_write: bool = False
    partner: int = -1

    @property
    def is_memory(self) -> bool:
        return self.is_read or self.is_write

    @property
    def is_release(self) -> bool:
        """True for a fence or a write that releases."""
        fence = self.instruction.access is Access.FENCE
        return (fence or self.is_write) and self.instruction.order in RELEASES

    @property
    def is_acquire(self) -> bool:
        """True for a fence or a read that acquires."""
        fence = self.instruction.access is Access.FENCE
        return (fence or self.is_read) and self.instruction.order in ACQUIRES


def list_events(program: Program) -> list[Event]:
    """Returns the events of all threads, thread by thread, in program order."""
    events: list[Event] = []
    for number, thread in enumerate(program.threads):
        for instruction in thread.instructions:
            first = len(events)
            if instruction.access in UPDATES:
                read = Event(first, number, instruction, is_read=True, partner=first + 1)
                write = Event(first + 1, number, instruction, is_write=True, partner=first)
                events += [read, write]
                continue
            reads, writes = instruction.access in READS, instruction.access in WRITES
            events.append(Event(first, number, instruction, is_read=reads, is_write=writes))
    return events


# -- text ------------------------------------------------------------------------------------------

_INSTRUCTION = re.compile(
    r"(?:(?P<register>\w+) = )?(?P<op>[\w.]+)(?: (?P<operands>[^=]*?))?(?: until (?P<least>\d+))?"
)
_OPS = {
    "ld": Access.LOAD,
    "st": Access.STORE,
    "red": Access.ADD,
    "atom": Access.ADD,
    "fence": Access.FENCE,
    "bar": Access.BARRIER,
}
_KINDS = {"add": Access.ADD, "exch": Access.EXCHANGE, "cas": Access.COMPARE}
# The default order of an instruction, as in PTX.
_DEFAULT_ORDERS = {"ld": Order.WEAK, "st": Order.WEAK, "red": Order.RELAXED, "atom": Order.RELAXED}


def parse(text: str) -> tuple[Instruction, ...]:
    """Returns the instructions of a text, which are separated by semicolons or lines.

    The spelling is that of PTX, with words instead of addresses: ``st x, 1``, ``fence.sc.gpu``,
    ``r = ld.acquire.gpu x``, ``red.release.sys.add c, 1``, ``atom.relaxed.gpu.cas w, 0, 1``,
    ``bar.sync b``. The name of a weak access needs no order. ``ld.acquire.gpu c until 2`` stands
    for a loop that ends when the word is at least 2.

    Raises ValueError for any other text.
    """
    lines = (line.strip() for line in re.split(r"[;\n]", text))
    return tuple(_parse_line(line) for line in lines if line)


def _parse_line(line: str) -> Instruction:
    match = _INSTRUCTION.fullmatch(line)
    if match is None:
        raise ValueError(f"not an instruction of a litmus program: {line!r}")
    op, *qualifiers = match["op"].split(".")
    if op not in _OPS:
        raise ValueError(f"unknown instruction: {line!r}")
    operands = [word.strip() for word in (match["operands"] or "").split(",") if word.strip()]
    access, order, scope = _OPS[op], _DEFAULT_ORDERS.get(op, Order.ACQ_REL), Scope.SYS
    for qualifier in qualifiers:
        if qualifier in _KINDS:
            access = _KINDS[qualifier]
        elif qualifier == "volatile":
            order = Order.RELAXED
        elif qualifier.upper() in Scope.__members__:
            scope = Scope[qualifier.upper()]
        elif qualifier not in ("sync", "proxy") and not re.fullmatch(
            r"[ubsv]\d+|global", qualifier
        ):
            order = Order(qualifier)
    word, *values = operands or [""]
    return Instruction(
        access,
        order,
        scope,
        word,
        _value(values[-1]) if values else 0,
        match["register"] or "",
        None if match["least"] is None else int(match["least"]),
        int(values[0]) if access is Access.COMPARE else 0,
    )


def _value(text: str) -> int | str:
    return int(text) if text.lstrip("-").isdigit() else text

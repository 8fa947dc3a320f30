"""A model of puts and signals between GPUs that only a network connects.

The model has what the header `nccl_device/gin.h` of NCCL 2.32.3 promises, and no more:

- A put reads its source at any time until a flush of the same lane ends. Its words arrive at the
  peer one by one, in any order.
- A signal that comes with a put arrives after all words of this put.
- A strong signal also waits for the earlier puts to the same peer. The header does not name the
  threads whose puts are earlier, so the model counts those of the same lane only.
- A flush waits until the sources may change. It does not wait until the data has arrived.

Loads, stores and counters within a GPU are sequentially consistent here. The litmus tests explore
the memory model of the GPU.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import Enum, auto
from typing import NamedTuple


class Kind(Enum):
    """The effect of an instruction of a lane."""

    STORE = auto()
    EXPECT = auto()
    PUT = auto()
    SIGNAL = auto()
    FLUSH = auto()
    WAIT = auto()


@dataclass(frozen=True)
class Instruction:
    """An instruction of a lane.

    Attributes:
        kind: the effect.
        words: the words that are stored, loaded or put. A put writes words of the same names.
        value: the stored value, the expected value, or the least value of a counter.
        peer: the GPU to which a put or a signal goes; None for a signal within the GPU.
        counter: the counter of a signal or a wait, or the signal that comes with a put.
        strong: True if the signal waits for earlier puts of the lane to the peer.
    """

    kind: Kind
    words: tuple[str, ...] = ()
    value: int = 1
    peer: int | None = None
    counter: str = ""
    strong: bool = False

    def __str__(self) -> str:
        strong = "strong " if self.strong else ""
        return f"{strong}{self.kind.name.lower()} {' '.join((*self.words, self.counter))}".rstrip()


def store(word: str, value: int) -> Instruction:
    return Instruction(Kind.STORE, (word,), value)


def expect(word: str, value: int) -> Instruction:
    """Returns a load whose result has to be the value."""
    return Instruction(Kind.EXPECT, (word,), value)


def put(peer: int, *words: str, counter: str = "", strong: bool = False) -> Instruction:
    return Instruction(Kind.PUT, words, peer=peer, counter=counter, strong=strong)


def signal(counter: str, peer: int | None = None, strong: bool = False) -> Instruction:
    return Instruction(Kind.SIGNAL, peer=peer, counter=counter, strong=strong)


def wait(counter: str, least: int = 1) -> Instruction:
    return Instruction(Kind.WAIT, value=least, counter=counter)


FLUSH = Instruction(Kind.FLUSH)


@dataclass(frozen=True)
class Lane:
    """A lane: its GPU, and its instructions in program order."""

    gpu: int
    instructions: tuple[Instruction, ...]


Program = tuple[Lane, ...]


class Message(NamedTuple):
    """A put or a signal on its way.

    Attributes:
        lane, row: the instruction that has sent it.
        unread: the words whose source has not been read.
        underway: the words that have been read and have not arrived, with their values.
        signals: True until the signal that comes with the message has arrived.
    """

    lane: int
    row: int
    unread: tuple[str, ...]
    underway: tuple[tuple[str, int], ...]
    signals: bool

    @property
    def has_arrived(self) -> bool:
        return not self.unread and not self.underway


class State(NamedTuple):
    """The next instruction of each lane, memory and counters of all GPUs, and the messages."""

    nexts: tuple[int, ...]
    memory: frozenset[tuple[int, str, int]] = frozenset()
    messages: tuple[Message, ...] = ()
    problem: str = ""

    def read(self, gpu: int, word: str) -> int:
        """Returns the value of a word or counter of a GPU; 0 if nothing has written it."""
        return next((v for g, w, v in self.memory if (g, w) == (gpu, word)), 0)

    def write(self, gpu: int, word: str, value: int) -> State:
        kept = frozenset(entry for entry in self.memory if entry[:2] != (gpu, word))
        return self._replace(memory=kept | {(gpu, word, value)})

    def add(self, gpu: int, counter: str) -> State:
        return self.write(gpu, counter, self.read(gpu, counter) + 1)

    def with_message(self, old: Message, new: Message) -> State:
        """Returns the state with a message replaced, or without it if nothing of it is left."""
        done = new.has_arrived and not new.signals
        rows = (new if message is old else message for message in self.messages)
        return self._replace(messages=tuple(m for m in rows if not (done and m is new)))


class Network:
    """The model of a program on GPUs of different domains.

    Args:
        program: the lanes.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self.initial = State((0,) * len(program))

    def is_end(self, state: State) -> bool:
        """Returns True if all lanes have ended."""
        ends = (len(lane.instructions) for lane in self.program)
        return state.nexts == tuple(ends)

    def find_problem(self, state: State) -> str:
        """Returns the violated property of a state, or an empty string."""
        return state.problem

    def steps(self, state: State) -> Iterator[tuple[str, State]]:
        """Yields each possible step of a lane or the network, and the state after it."""
        for number, lane in enumerate(self.program):
            index = state.nexts[number]
            if index < len(lane.instructions):
                instruction = lane.instructions[index]
                for after in self._execute(state, number, lane.gpu, instruction):
                    nexts = (*state.nexts[:number], index + 1, *state.nexts[number + 1 :])
                    yield f"lane {number}: {instruction}", after._replace(nexts=nexts)
        for message in state.messages:
            yield from self._deliver(state, message)

    # -- lanes -------------------------------------------------------------------------------------

    def _execute(self, state: State, lane: int, gpu: int, row: Instruction) -> Iterator[State]:
        if row.kind is Kind.STORE:
            yield state.write(gpu, row.words[0], row.value)
        elif row.kind is Kind.EXPECT:
            value = state.read(gpu, row.words[0])
            wrong = f"{row.words[0]} is {value} instead of {row.value}"
            yield state if value == row.value else state._replace(problem=wrong)
        elif row.kind is Kind.SIGNAL and row.peer is None:
            yield state.add(gpu, row.counter)
        elif row.kind in (Kind.PUT, Kind.SIGNAL):
            message = Message(lane, state.nexts[lane], row.words, (), bool(row.counter))
            yield state._replace(messages=(*state.messages, message))
        elif row.kind is Kind.FLUSH:
            if not any(message.lane == lane and message.unread for message in state.messages):
                yield state
        elif state.read(gpu, row.counter) >= row.value:
            yield state

    # -- the network -------------------------------------------------------------------------------

    def _deliver(self, state: State, message: Message) -> Iterator[tuple[str, State]]:
        lane = self.program[message.lane]
        row = lane.instructions[message.row]
        assert row.peer is not None
        for word in message.unread:
            rest = tuple(other for other in message.unread if other != word)
            read = tuple(sorted((*message.underway, (word, state.read(lane.gpu, word)))))
            new = message._replace(unread=rest, underway=read)
            yield f"network: read {word}", state.with_message(message, new)
        for word, value in message.underway:
            kept = tuple(entry for entry in message.underway if entry[0] != word)
            after = state.with_message(message, message._replace(underway=kept))
            yield f"network: arrive {word}", after.write(row.peer, word, value)
        if message.signals and message.has_arrived and not self._is_held(state, message, row):
            after = state.with_message(message, message._replace(signals=False))
            yield f"network: signal {row.counter}", after.add(row.peer, row.counter)

    def _is_held(self, state: State, message: Message, row: Instruction) -> bool:
        """Returns True if a strong signal has to wait for an earlier put of the lane."""
        instructions = self.program[message.lane].instructions
        return row.strong and any(
            other.lane == message.lane
            and other.row < message.row
            and instructions[other.row].peer == row.peer
            and not other.has_arrived
            for other in state.messages
        )


def list_mutants(program: Program) -> Iterator[tuple[str, Program]]:
    """Yields programs with one mistake of the network, and the names of the mistakes.

    A mutant drops a put, a signal to a peer, a flush or a wait, makes a strong signal weak, or
    sends a signal before the put in front of it.
    """
    for number, lane in enumerate(program):
        for index, row in enumerate(lane.instructions):
            before, after = lane.instructions[:index], lane.instructions[index + 1 :]
            changes: dict[str, tuple[Instruction, ...]] = {}
            if row.kind not in (Kind.STORE, Kind.EXPECT):
                changes["without"] = (*before, *after)
            if row.strong:
                changes["weak"] = (*before, replace(row, strong=False), *after)
            if row.kind is Kind.SIGNAL and before and before[-1].kind is Kind.PUT:
                changes["early"] = (*before[:-1], row, before[-1], *after)
            if row.kind is Kind.PUT and row.counter:
                early = (signal(row.counter, row.peer), replace(row, counter="", strong=False))
                changes["early"] = (*before, *early, *after)
            for name, rows in changes.items():
                lanes = list(program)
                lanes[number] = replace(lane, instructions=rows)
                yield f"lane {number}: {name} {row} at {index}", tuple(lanes)

#!/usr/bin/env python3
"""Random bodies of tasks: bodies that `ark-verify-tasks` accepts never leave their tiles.

A body computes indices from data, with the arithmetic, loops and branches that the proof knows, and
accesses tiles and temporaries with them. Some bodies also read a part of a state and write another
part, which may be the same bytes. An interpreter of these few ops, which shares no code with the
compiler, executes each accepted body on data that is meant to break it, for every vCTA. A case
fails if an access lies outside of its buffer, a division traps, a loop does not end, or a body
reads bytes through one tile that it writes through another one.

    random_bodies.py --count 100000 [--seed S]     the long run
    random_bodies.py --only K [--seed S]           prints case K
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

from mlir_server import Server

_ROOT = Path(__file__).parents[2]
FULL_COUNT = 100_000
_BATCH = 32
_MARKER = "// ark-bodies: the next body"
_PASS = "--pass-pipeline=builtin.module(ark.program(ark-verify-tasks))"
_GRID = 3
_WORDS = 4  # of data
_TILE = 16
_MOST_ITERATIONS = 40
_DATA_SETS = 12
_LEAST, _MOST = -(2**63), 2**63 - 1
# 3, 5 or 7 times some of these numbers is small in 64 bits.
_NUMBERS = (
    0, 1, 2, 3, 7, 8, 15, 16, 17, -1, -2, -16, 2**31, 2**62, _MOST, _MOST - 1, _LEAST, _LEAST + 1,
    6148914691236517206, -6148914691236517205, 3689348814741910324, 2635249153387078803,
)  # fmt: skip
_CONSTANTS = (0, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, -1, -3, 2**40, 2**62, _MOST, _LEAST)
_TEMPORARY_WORDS = 2
_STATE = 64


def wrap(number: int) -> int:
    """Returns a number modulo 2^64, as a signed number."""
    return (number + 2**63) % 2**64 - 2**63


def unsigned(number: int) -> int:
    return number % 2**64


def truncate(dividend: int, divisor: int) -> int:
    quotient = abs(dividend) // abs(divisor)
    return quotient if (dividend < 0) == (divisor < 0) else -quotient


class Violation(Exception):
    """A fault that the proof must exclude, such as an access outside of a buffer."""


@dataclass
class Step:
    """An op, with the ops of its block if it is a loop or a branch."""

    op: str
    result: str = ""
    operands: tuple[str, ...] = ()
    constant: int = 0
    block: list[Step] = field(default_factory=list["Step"])


# The arithmetic on indices: the text of MLIR, and the value.
ARITHMETIC = {
    "addi": lambda a, b: wrap(a + b),
    "subi": lambda a, b: wrap(a - b),
    "muli": lambda a, b: wrap(a * b),
    "minsi": min,
    "maxsi": max,
    "minui": lambda a, b: min(a, b, key=unsigned),
    "maxui": lambda a, b: max(a, b, key=unsigned),
}
DIVISIONS = {
    "divsi": truncate,
    "ceildivsi": lambda a, b: -(-a // b),
    "ceildivui": lambda a, b: wrap(-(-unsigned(a) // unsigned(b))),
    "floordivsi": lambda a, b: a // b,
    "remsi": lambda a, b: a - b * truncate(a, b),
    "divui": lambda a, b: wrap(unsigned(a) // unsigned(b)),
    "remui": lambda a, b: wrap(unsigned(a) % unsigned(b)),
}
COMPARISONS = {
    "slt": lambda a, b: a < b,
    "sle": lambda a, b: a <= b,
    "sgt": lambda a, b: a > b,
    "sge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "ne": lambda a, b: a != b,
    "ult": lambda a, b: unsigned(a) < unsigned(b),
    "uge": lambda a, b: unsigned(a) >= unsigned(b),
}


@dataclass(frozen=True)
class Part:
    """The part ``state[grid * factor + offset:][:size]`` that a vCTA accesses through a tile."""

    factor: int
    offset: int
    size: int
    is_used: bool

    @staticmethod
    def draw(random: Random) -> Part:
        size = random.choice((1, 2, 4, 8))
        return Part(
            random.choice((0, 1, 2, 4, 8)), random.randint(0, 16), size, random.random() < 0.9
        )

    def region(self) -> str:
        return f"#ark.region<(d0) -> (d0 * {self.factor} + {self.offset}), [{self.size}]>"

    def tile(self) -> str:
        return f"memref<{self.size}xf32, strided<[1], offset: ?>>"

    def elements(self, grid: int) -> range:
        first = grid * self.factor + self.offset
        return range(first, first + self.size)


class Body:
    """A random body: its steps, and their text.

    Attributes:
        steps: the ops that use data.
        read, written: the parts of the state that the body reads and writes.
    """

    def __init__(self, random: Random) -> None:
        self._random = random
        self._names = 0
        self.steps = self._make_block([], depth=0)
        self.read, self.written = Part.draw(random), Part.draw(random)
        if random.random() < 0.6:  # most bodies are about indices
            self.read = replace(self.read, is_used=False)

    def text(self) -> str:
        tile = f"memref<{_TILE}xf32, strided<[1], offset: ?>>"
        data = f"memref<{_WORDS}xi64, strided<[1], offset: ?>>"
        state = f"memref<{_STATE}xf32>"
        load = f"%old = memref.load %read[%zero] : {self.read.tile()}"
        fill = f"linalg.fill ins(%number : f32) outs(%written : {self.written.tile()})"
        lines = [
            f"ark.program @p(%x: memref<{_WORDS}xi64> {{ark.kind = #ark.kind<input>, "
            f'ark.name = "x"}}, %y: memref<{_GRID * _TILE}xf32> {{ark.kind = #ark.kind<output>, '
            f'ark.name = "y"}}, %s: {state} {{ark.kind = #ark.kind<state>, ark.name = "s"}}) {{',
            f'ark.task "t" grid [{_GRID}] ins(%x[#ark.region<(d0) -> (0), [{_WORDS}]>] : '
            f"memref<{_WORDS}xi64>, %s[{self.read.region()}] : {state}) "
            f"outs(%y[#ark.region<(d0) -> (d0 * {_TILE}), [{_TILE}]>] : "
            f"memref<{_GRID * _TILE}xf32>, %s[{self.written.region()}] : {state}) "
            "attributes {shared_memory = 16 : i64, in_place, fresh_outs = array<i64: 0>} {",
            f"^bb0(%grid: index, %data: {data}, %read: {self.read.tile()}, %out: {tile}, "
            f"%written: {self.written.tile()}):",
            f"%temporary = memref.alloca() : memref<{_TEMPORARY_WORDS}xindex>",
            "%zero = arith.constant 0 : index",
            "%number = arith.constant 0.0 : f32",
            f"linalg.fill ins(%number : f32) outs(%out : {tile})",
            f"linalg.fill ins(%zero : index) outs(%temporary : memref<{_TEMPORARY_WORDS}xindex>)",
            *([load] if self.read.is_used else []),
            *([fill] if self.written.is_used else []),
            *self._lines(self.steps),
            "ark.yield",
            "}",
            "ark.return",
            "}",
        ]
        return "\n".join(lines) + "\n"

    # -- drawing ----------------------------------------------------------------------------------

    def _name(self) -> str:
        self._names += 1
        return f"%v{self._names}"

    def _make_block(self, known: list[str], depth: int) -> list[Step]:
        random = self._random
        known = list(known) or ["%grid", "%zero"]
        steps: list[Step] = []
        for _ in range(random.randint(2, 9 if depth == 0 else 5)):
            self._make_step(steps, known, depth)
        self._make_access(steps, known)
        return steps

    def _pick(self, known: list[str]) -> str:
        # Later values depend on more ops.
        return known[-1 - min(int(self._random.expovariate(0.5)), len(known) - 1)]

    def _add(self, steps: list[Step], known: list[str], op: str, *operands: str, c: int = 0) -> str:
        name = self._name()
        steps.append(Step(op, name, operands, c))
        known.append(name)
        return name

    def _constant(self, steps: list[Step], known: list[str]) -> str:
        return self._add(steps, known, "constant", c=self._random.choice(_CONSTANTS))

    def _make_step(self, steps: list[Step], known: list[str], depth: int) -> None:
        random = self._random
        way = random.random()
        if way < 0.15:
            self._constant(steps, known)
        elif way < 0.3:
            self._add(steps, known, "load", c=random.randrange(_WORDS))
        elif way < 0.5:
            op = random.choice(list(ARITHMETIC))
            self._add(steps, known, op, self._pick(known), self._pick(known))
        elif way < 0.58:
            divisor = self._pick(known)
            if random.random() < 0.6:
                divisor = self._add(steps, known, "constant", c=random.choice((1, 2, 3, 16, -1, 0)))
            elif random.random() < 0.6:
                least = self._add(steps, known, "constant", c=random.choice((1, 1, 2, 0, -1)))
                op = random.choice(("maxsi", "maxui"))
                divisor = self._add(steps, known, op, divisor, least)
            self._add(steps, known, random.choice(list(DIVISIONS)), self._pick(known), divisor)
        elif way < 0.64:
            bound = self._add(steps, known, "constant", c=random.choice((1, 4, 16, 17, 0)))
            self._add(steps, known, "check", self._pick(known), bound)
        elif way < 0.72:
            self._make_clamp(steps, known)
        elif way < 0.78:
            condition = self._make_condition(steps, known)
            self._add(steps, known, "select", condition, self._pick(known), self._pick(known))
        elif way < 0.82:
            steps.append(Step("keep", "", (self._pick(known),), random.randrange(_TEMPORARY_WORDS)))
            self._add(steps, known, "recall", c=random.randrange(_TEMPORARY_WORDS))
        elif depth < 2 and way < 0.91:
            condition = self._make_condition(steps, known)
            steps.append(Step("if", "", (condition,), block=self._make_block(known, depth + 1)))
        elif depth < 2:
            self._make_loop(steps, known, depth)
        else:
            self._make_access(steps, known)

    def _make_clamp(self, steps: list[Step], known: list[str]) -> None:
        low = self._add(steps, known, "constant", c=self._random.choice((0, 0, 0, 1, -1)))
        high = self._add(steps, known, "constant", c=self._random.choice((15, 15, 14, 16, 7, 3)))
        at_least = self._add(steps, known, "maxsi", self._pick(known[:-2] or known), low)
        self._add(steps, known, "minsi", at_least, high)

    def _make_condition(self, steps: list[Step], known: list[str]) -> str:
        """A comparison, or two of them, whose names are not known as indices."""
        names: list[str] = []
        for _ in range(self._random.randint(1, 2)):
            left, right = self._pick(known), self._constant(steps, known)
            if self._random.random() < 0.2:
                right = self._pick(known)
            name = self._name()
            predicate = self._random.choice(list(COMPARISONS))
            steps.append(Step(f"cmp {predicate}", name, (left, right)))
            names.append(name)
        if len(names) == 1:
            return names[0]
        both = self._name()
        steps.append(Step("and", both, tuple(names)))
        return both

    def _make_loop(self, steps: list[Step], known: list[str], depth: int) -> None:
        random = self._random
        lower = self._pick(known) if random.random() < 0.4 else "%zero"
        upper = self._pick(known)
        if random.random() < 0.6:
            upper = self._add(steps, known, "constant", c=random.choice((3, 4, 8, 16, 17, -1)))
        step = self._add(steps, known, "constant", c=random.choice((1, 1, 2, 3, 5, 0, -1, 2**62)))
        if random.random() < 0.25:
            step = self._pick(known)
        name = self._name()
        block = self._make_block([*known, name], depth + 1)
        op = "for unsigned" if random.random() < 0.15 else "for"
        steps.append(Step(op, name, (lower, upper, step), block=block))

    def _make_access(self, steps: list[Step], known: list[str]) -> None:
        if self._random.random() < 0.25:
            # A part from an index on, of a size that may depend on data.
            size = self._add(steps, known, "constant", c=self._random.choice((0, 1, 4, 8, 16)))
            if self._random.random() < 0.3:
                size = self._pick(known)
            steps.append(Step("part", self._name(), (self._pick(known), size)))
            return
        steps.append(Step("store", "", (self._pick(known),)))

    # -- text -------------------------------------------------------------------------------------

    def _lines(self, steps: list[Step]) -> list[str]:
        lines: list[str] = []
        for step in steps:
            lines += self._lines_of(step)
        return lines

    def _lines_of(self, step: Step) -> list[str]:
        tile = f"memref<{_TILE}xf32, strided<[1], offset: ?>>"
        data = f"memref<{_WORDS}xi64, strided<[1], offset: ?>>"
        temporary = f"memref<{_TEMPORARY_WORDS}xindex>"
        name, operands = step.result, ", ".join(step.operands)
        if step.op == "constant":
            return [f"{name} = arith.constant {step.constant} : index"]
        if step.op == "load":
            return [
                f"{name}_at = arith.constant {step.constant} : index",
                f"{name}_word = memref.load %data[{name}_at] : {data}",
                f"{name} = arith.index_cast {name}_word : i64 to index",
            ]
        if step.op in ARITHMETIC or step.op in DIVISIONS:
            return [f"{name} = arith.{step.op} {operands} : index"]
        if step.op == "check":
            return [f"{name} = ark.check_index {step.operands[0]} below {step.operands[1]}"]
        if step.op == "select":
            return [f"{name} = arith.select {operands} : index"]
        if step.op.startswith("cmp "):
            return [f"{name} = arith.cmpi {step.op[4:]}, {operands} : index"]
        if step.op == "and":
            return [f"{name} = arith.andi {operands} : i1"]
        if step.op in ("keep", "recall"):
            at = self._name()
            lines = [f"{at} = arith.constant {step.constant} : index"]
            if step.op == "keep":
                return [*lines, f"memref.store {operands}, %temporary[{at}] : {temporary}"]
            return [*lines, f"{name} = memref.load %temporary[{at}] : {temporary}"]
        if step.op == "store":
            return [f"memref.store %number, %out[{operands}] : {tile}"]
        if step.op == "part":
            offset, size = step.operands
            part = "memref<?xf32, strided<[1], offset: ?>>"
            return [
                f"{name} = memref.subview %out[{offset}] [{size}] [1] : {tile} to {part}",
                f"linalg.fill ins(%number : f32) outs({name} : {part})",
            ]
        if step.op == "if":
            return [f"scf.if {operands} {{", *self._lines(step.block), "}"]
        lower, upper, by = step.operands
        sign = step.op.removeprefix("for")
        head = f"scf.for{sign} {name} = {lower} to {upper} step {by} {{"
        return [head, *self._lines(step.block), "}"]


class Run:
    """Executes a body for one vCTA; raises Violation."""

    def __init__(self, body: Body, data: list[int], grid: int) -> None:
        self._data = data
        self._temporary = [0] * _TEMPORARY_WORDS
        self._values: dict[str, int] = {"%grid": grid, "%zero": 0}
        self._run(body.steps)

    def _run(self, steps: list[Step]) -> None:
        for step in steps:
            self._step(step)

    def _step(self, step: Step) -> None:
        operands = [self._values[name] for name in step.operands]
        if step.op == "constant":
            value = step.constant
        elif step.op == "load":
            value = self._data[step.constant]
        elif step.op in ARITHMETIC:
            value = ARITHMETIC[step.op](*operands)
        elif step.op in DIVISIONS:
            overflows = step.op.endswith("si") and operands == [_LEAST, -1]
            if operands[1] == 0 or overflows:
                raise Violation(f"{step.result} divides {operands[0]} by {operands[1]}")
            value = wrap(DIVISIONS[step.op](*operands))
        elif step.op == "check":
            value = operands[0] if 0 <= operands[0] < operands[1] else 0
        elif step.op == "select":
            value = operands[1] if operands[0] else operands[2]
        elif step.op.startswith("cmp "):
            value = int(COMPARISONS[step.op[4:]](*operands))
        elif step.op == "and":
            value = operands[0] & operands[1]
        elif step.op == "recall":
            value = self._temporary[step.constant]
        else:
            self._effect(step, operands)
            return
        self._values[step.result] = value

    def _effect(self, step: Step, operands: list[int]) -> None:
        if step.op == "keep":
            self._temporary[step.constant] = operands[0]
        elif step.op == "store":
            if not 0 <= operands[0] < _TILE:
                raise Violation(f"a store at {operands[0]} of {_TILE}")
        elif step.op == "part":
            offset, size = operands
            if size < 0 or (size > 0 and not 0 <= offset <= _TILE - size):
                raise Violation(f"{size} elements from {offset} on of {_TILE}")
        elif step.op == "if":
            if operands[0]:
                self._run(step.block)
        else:
            self._loop(step, *operands)

    def _loop(self, step: Step, lower: int, upper: int, by: int) -> None:
        is_less = COMPARISONS["ult" if step.op == "for unsigned" else "slt"]
        if is_less(lower, upper):
            self._check_end(step, lower, upper, by)
        index = lower
        for _ in range(_MOST_ITERATIONS):
            if not is_less(index, upper):
                return
            self._values[step.result] = index
            self._run(step.block)
            index = wrap(index + by)

    def _check_end(self, step: Step, lower: int, upper: int, by: int) -> None:
        """Raises Violation if a loop that has an iteration never reaches its upper bound."""
        most = _MOST
        if step.op == "for unsigned":
            lower, upper, by, most = unsigned(lower), unsigned(upper), unsigned(by), 2**64 - 1
        if by <= 0 or lower + -(-(upper - lower) // by) * by > most:
            raise Violation(f"a loop from {lower} to {upper} by {by}")


def find_violation(body: Body, random: Random) -> str | None:
    """Executes a body on random data; returns a description of the first violation, or None."""
    if body.read.is_used and body.written.is_used:
        for grid in range(_GRID):
            if set(body.read.elements(grid)) & set(body.written.elements(grid)):
                return f"vCTA {grid} reads elements of the state that it writes"
    for _ in range(_DATA_SETS):
        data = [
            random.choice(_NUMBERS) if random.random() < 0.7 else random.randint(-3, 20)
            for _ in range(_WORDS)
        ]
        for grid in range(_GRID):
            try:
                Run(body, data, grid)
            except Violation as violation:
                return f"{violation}, with the data {data} in vCTA {grid}"
    return None


def judge(server: Server, bodies: list[Body]) -> list[bool]:
    """Runs the pass on all bodies; returns True for each body that it accepts."""
    together = f"\n{_MARKER}\n".join(body.text() for body in bodies)
    flags = (f"--split-input-file={_MARKER}", f"--output-split-marker={_MARKER}")
    outcome = server.run(together.encode(), (_PASS, *flags))
    parts = outcome.result.decode().split(_MARKER)
    if outcome.signal is not None or len(parts) != len(bodies):
        raise RuntimeError(f"ark-opt gave {len(parts)} results: {outcome.stderr[:2000]}")
    return [bool(part.strip()) for part in parts]


def source(seed: int, number: int) -> Random:
    return Random(f"{seed}:{number}")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=2000, help="bodies (default 2000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first body")
    parser.add_argument("--only", type=int, help="judge and print this body alone")
    parser.add_argument("--server", type=Path, default=_ROOT / "build/bin/ark-opt-server")
    options = parser.parse_args()
    begin = time.monotonic()
    numbers = range(options.count) if options.only is None else [options.only]
    accepted = wrong = refused_right = 0
    with (
        tempfile.TemporaryDirectory(prefix="ark-bodies-") as scratch,
        Server(options.server, Path(scratch)) as server,
    ):
        for first in range(0, len(numbers), _BATCH):
            batch = numbers[first : first + _BATCH]
            sources = [source(options.seed, number) for number in batch]
            bodies = [Body(random) for random in sources]
            verdicts = judge(server, bodies)
            for number, random, body, is_accepted in zip(
                batch, sources, bodies, verdicts, strict=True
            ):
                violation = find_violation(body, random)
                accepted += is_accepted
                refused_right += not is_accepted and violation is None
                if options.only is not None:
                    print(f"{body.text()}accepted: {is_accepted}; {violation}")
                if is_accepted and violation is not None:
                    wrong += 1
                    print(f"seed {options.seed}, body {number}: accepted, but {violation}")
    print(
        f"{len(numbers)} bodies: {accepted} accepted, {wrong} of them wrong; {refused_right} of "
        "those refused did nothing wrong in the runs"
    )
    result = {
        "name": "random_bodies",
        "count": len(numbers),
        "failures": wrong,
        "accepted": accepted,
        "seconds": round(time.monotonic() - begin, 1),
    }
    print(json.dumps(result))
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())

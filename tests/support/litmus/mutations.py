"""Weaker forms of the instructions of a litmus program, and what goes wrong with them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from .axioms import Version, races
from .explorer import explore
from .hand_offs import Case, HandOff
from .program import Access, Instruction, Order, Scope


@dataclass(frozen=True)
class Mutant:
    """A hand-off with a weaker instruction.

    Attributes:
        name: the number of the thread, the number of the instruction there, and the change.
        hand_off: the hand-off with the change.
    """

    name: str
    hand_off: HandOff


def list_mutants(hand_off: HandOff) -> Iterator[Mutant]:
    """Yields the mutants: each wait or barrier of a CTA is dropped, each order and scope weakened.

    A weaker order of an acquire or a release is relaxed, and that of a relaxed load or store is
    weak. A narrower scope is the next one.
    """
    for thread, row in enumerate(hand_off.cases[0].program.threads):
        for index, instruction in enumerate(row.instructions):
            if hand_off.mutated and instruction.word not in hand_off.mutated:
                continue
            for change, new in _weaken(instruction):
                cases = tuple(
                    replace(case, program=case.program.with_instruction(thread, index, new))
                    for case in hand_off.cases
                )
                name = f"{thread}.{index} {instruction}: {change}"
                yield Mutant(name, replace(hand_off, cases=cases))


def _weaken(old: Instruction) -> Iterator[tuple[str, Instruction | None]]:
    is_wait = old.least is not None and not old.register
    if old.access is Access.BARRIER or is_wait:
        yield "dropped", None
    if not old.is_strong:
        return
    if old.order in (Order.ACQUIRE, Order.RELEASE):
        yield "relaxed", replace(old, order=Order.RELAXED)
    elif old.access in (Access.LOAD, Access.STORE):
        yield "weak", replace(old, order=Order.WEAK)
    if old.scope > Scope.CTA:
        narrower = Scope(old.scope - 1)
        yield f"scope {narrower.name.lower()}", replace(old, scope=narrower)


def find_problem(hand_off: HandOff, version: Version = Version.PTX_6_0) -> str:
    """Returns what an execution of a hand-off does wrong, or an empty string."""
    problems = (_find_problem_of(case, version) for case in hand_off.cases)
    return next(filter(None, problems), "")


def _find_problem_of(case: Case, version: Version) -> str:
    ends = False
    race = ""
    for execution in explore(case.program, version):
        ends = True
        for outcome in case.forbidden:
            if all(execution.registers[name] == value for name, value in outcome.items()):
                return f"reads {dict(outcome)}"
        for a, b in races(execution.facts, execution.witness):
            events = execution.facts.events
            race = f"race: {events[a].instruction} with {events[b].instruction}"
    return race if ends else "never ends"

"""The mutation score, and the reasons why other mutants cannot be detected."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from .mutants import Verdict

LEAST_CAUGHT = 0.95

# The reasons, by a pattern of the mutant's name.
_REASONS: list[tuple[str, str]] = [
    (
        r"^boxes: fence_proxy_async_global .*, number 1:",
        "the first product copies inputs and parameters, which no thread of the kernel writes",
    ),
    (
        r"^ptx_ld\.relaxed\.sys of ark_load_stop .*: at the scope of the GPU",
        "the last barrier of the iteration orders the load after the store; a lane that is an "
        "iteration behind continues with either value",
    ),
    (
        r"^ptx_atom_cas\.acq_rel\.gpu of ark_claim ",
        "one lane alone stops the programs, and the host reads its report after the launch",
    ),
]


def find_reason(mutant: str) -> str | None:
    """Returns the reason why a mutant is not detected, or None if it is unknown."""
    return next((why for pattern, why in _REASONS if re.search(pattern, mutant)), None)


@dataclass(frozen=True)
class Score:
    """Mutants by outcome; names begin with the program, unless all programs share the text.

    Attributes:
        alone: mutants that were detected.
        together: redundant barriers and waits whose mutants were detected when others were dropped
            as well.
        removable: barriers and waits without need: all of them in a program can be dropped at once,
            and the checks of the emulation find no access that they would order.
        left: other survivors with their reasons; None for an unknown reason.
    """

    alone: list[str]
    together: list[str]
    removable: list[str]
    left: dict[str, str | None]

    @property
    def share(self) -> float:
        """The fraction of effective mutants that were detected, from 0 to 1."""
        caught = len(self.alone) + len(self.together)
        return caught / max(caught + len(self.left), 1)

    @property
    def is_good(self) -> bool:
        """True if enough mutants were detected and the reasons for the others are known."""
        return self.share >= LEAST_CAUGHT and self.is_explained

    @property
    def is_explained(self) -> bool:
        """True if the reason is known for each mutant that survived."""
        return None not in self.left.values()

    def __str__(self) -> str:
        lines = [f"removable: {name}" for name in self.removable]
        lines += [
            f"survived: {name}: {why or 'no reason known'}" for name, why in self.left.items()
        ]
        total = len(self.alone) + len(self.together) + len(self.removable) + len(self.left)
        lines.append(
            f"{total} mutants: {len(self.alone)} caught alone, {len(self.together)} redundant "
            f"barriers or waits caught with others dropped, {len(self.removable)} removable, "
            f"{len(self.left)} left; {self.share:.1%} caught"
        )
        return "\n".join(lines)


def count(verdicts: Iterable[tuple[str, Verdict]]) -> Score:
    """Returns the score of verdicts with their programs; any program may detect shared mutants."""
    best: dict[str, int] = {}
    for program, verdict in verdicts:
        name = verdict.mutant.name
        key = name if verdict.mutant.is_shared else f"{program}: {name}"
        best[key] = min(best.get(key, 3), _rank(verdict))
    names = [[key for key, rank in best.items() if rank == n] for n in range(4)]
    return Score(names[0], names[1], names[2], {name: find_reason(name) for name in names[3]})


def _rank(verdict: Verdict) -> int:
    if verdict.problem:
        return 1 if verdict.twin else 0
    return 2 if verdict.mutant.may_be_redundant else 3

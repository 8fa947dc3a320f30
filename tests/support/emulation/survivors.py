"""The mutation score, and the reasons why other mutants cannot be detected."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from .mutants import Verdict
from .reasons import REASONS

# The least fraction of all mutants, so that reasons do not replace detection.
LEAST_CAUGHT = 0.95


@dataclass(frozen=True)
class Score:
    """Mutants by outcome; names begin with the program, unless all programs share the text.

    Attributes:
        alone: mutants that were detected.
        together: redundant barriers and waits whose mutants were detected when others were dropped
            as well.
        explained: survivors whose reason is known, with the reason.
        unexplained: other survivors.
        undecided: barriers and waits of shared texts that survived in a part of the programs, and
            that another program may need.
        unused: mutants with a reason that did not survive.
    """

    alone: list[str]
    together: list[str]
    explained: dict[str, str]
    unexplained: list[str]
    undecided: list[str]
    unused: list[str]

    @property
    def total(self) -> int:
        """The number of mutants, without undecided ones."""
        return self.caught + len(self.explained) + len(self.unexplained)

    @property
    def caught(self) -> int:
        """The number of mutants that were detected."""
        return len(self.alone) + len(self.together)

    @property
    def share(self) -> float:
        """The fraction of all mutants that were detected, from 0 to 1."""
        return self.caught / max(self.total, 1)

    @property
    def share_of_others(self) -> float:
        """The fraction of the mutants without a reason that were detected, from 0 to 1."""
        return self.caught / max(self.total - len(self.explained), 1)

    @property
    def is_explained(self) -> bool:
        """True if the reason is known for each mutant that survived."""
        return not self.unexplained

    @property
    def is_good(self) -> bool:
        """True if all programs together detect enough mutants, and the reasons are those of the
        mutants that survive."""
        return self.share >= LEAST_CAUGHT and self.is_explained and not self.unused

    def __str__(self) -> str:
        lines = [f"survived: {name}: {reason}" for name, reason in self.explained.items()]
        lines += [f"survived: {name}: no reason known" for name in self.unexplained]
        lines += [f"survived in these programs: {name}" for name in self.undecided]
        lines += [f"did not survive, but has a reason: {name}" for name in self.unused]
        lines.append(
            f"{self.total} mutants: {len(self.alone)} caught alone, {len(self.together)} caught "
            f"with others dropped, {len(self.explained)} survived for a known reason, "
            f"{len(self.unexplained)} survived; {self.share:.1%} of all and "
            f"{self.share_of_others:.1%} of those without a reason are caught"
        )
        return "\n".join(lines)


def count(
    verdicts: Iterable[tuple[str, Verdict]],
    reasons: Mapping[str, str] = REASONS,
    is_whole: bool = True,
) -> Score:
    """Returns the score of verdicts with their programs; any program may detect shared mutants.

    Args:
        verdicts: pairs of a program and a verdict.
        reasons: the reasons of survivors by name.
        is_whole: True if the verdicts are those of all mutants of all programs.
    """
    best: dict[str, int] = {}
    undecided: list[str] = []
    for program, verdict in verdicts:
        mutant = verdict.mutant
        key = mutant.name if mutant.is_shared else f"{program}: {mutant.name}"
        best[key] = min(best.get(key, 2), _rank(verdict))
        if not is_whole and mutant.is_shared and mutant.may_be_redundant and key not in reasons:
            undecided.append(key)
    alone, together, survivors = (
        [key for key, rank in best.items() if rank == outcome] for outcome in range(3)
    )
    undecided = [name for name in survivors if name in undecided]
    return Score(
        alone,
        together,
        {name: reasons[name] for name in survivors if name in reasons},
        [name for name in survivors if name not in reasons and name not in undecided],
        undecided,
        [name for name in reasons if name not in survivors] if is_whole else [],
    )


def _rank(verdict: Verdict) -> int:
    if not verdict.problem:
        return 2
    return 1 if verdict.twin else 0

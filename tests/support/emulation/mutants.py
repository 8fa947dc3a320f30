"""Kernels with one mutated ordering instruction, and whether a run detects the mutation.

An instruction that orders threads, memory or copies is dropped or weakened, one at a time. Each
mutant runs in a process of its own, which is ended if it takes too long.
"""

from __future__ import annotations

import gc
import multiprocessing
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing.connection import Connection

from .lower import Site


class Mutation(IntEnum):
    """The kind of a mutation; the numbers are those of simt.h."""

    DROP = 1
    RELAX = 2
    NARROW_TO_CTA = 3
    NARROW_TO_GPU = 4
    WAIT_FOR_LESS = 5


_TEXTS = {
    Mutation.DROP: "dropped",
    Mutation.RELAX: "relaxed",
    Mutation.NARROW_TO_CTA: "at the scope of the CTA",
    Mutation.NARROW_TO_GPU: "at the scope of the GPU",
    Mutation.WAIT_FOR_LESS: "waits for one group fewer",
}
# The kinds of mutations of instructions, by a pattern of their names.
_RULES: list[tuple[str, list[Mutation]]] = [
    (r"barrier_cta_(sync|red)", [Mutation.DROP]),
    (r"bar_warp_sync", [Mutation.DROP]),
    (r"fence_proxy", [Mutation.DROP]),
    (r"tensormap_cp_fenceproxy", [Mutation.DROP]),
    (r"mbarrier_(arrive|try_wait|wait)", [Mutation.DROP]),
    (r"cp_async_commit_group", [Mutation.DROP]),
    (r"cp_async_wait_group", [Mutation.DROP, Mutation.WAIT_FOR_LESS]),
    (r"wgmma_(fence|commit_group)", [Mutation.DROP]),
    (r"wgmma_wait_group", [Mutation.DROP, Mutation.WAIT_FOR_LESS]),
]


# Barriers or waits that may make another one redundant, the nearest first.
_MOST_TWINS = 4
# Functions with one instruction each, whose copies in a kernel are mutated together.
_PRIMITIVES = re.compile(r"Cuda(Kernel|PeerStores)\.mlir")
# The last instruction of each body, which the lowering writes at one origin.
_CLOSING = "at the end of bodies"
# The folder and line of an origin, which change more often than its name.
_POSITION = re.compile(r" \((?:.*/)?(?P<file>[^/:]+):\d+\)$")
# Parts of the text that all kernels contain.
_TEXTS_OF_KERNELS = re.compile(r"\((?P<file>\w+\.mlir):\d+\)$")


@dataclass(frozen=True)
class Mutant:
    """An instruction with a planted mistake.

    Attributes:
        name: the instruction by its function or op and its number there, and the mutation. The name
            has no line numbers. Mutants of texts that all kernels share have the same name in all
            programs.
        sites: the instruction, and its copies.
        mutation: the kind of the mistake.
        is_shared: True if all kernels share the text.
    """

    name: str
    sites: tuple[int, ...]
    mutation: Mutation
    is_shared: bool

    @property
    def may_be_redundant(self) -> bool:
        """True if another instruction may have the same effect as the one that is mutated.

        Barriers of the CTA or of a warp, commits, and waits for groups of `wgmma` may be redundant:
        a later commit or wait is for all earlier copies and products.
        """
        return self.name.startswith(("bar", "cp_async_commit", "wgmma_commit", "wgmma_wait"))

    def changes(self) -> dict[int, int]:
        """Returns the mutation of each site."""
        return {site: int(self.mutation) for site in self.sites}


@dataclass(frozen=True)
class Verdict:
    """The outcome of a mutant.

    Attributes:
        mutant: the mutant.
        problem: the failure of its run; empty if the mutant survived.
        twin: the instruction that is dropped as well; the mutant alone survives.
    """

    mutant: Mutant
    problem: str
    twin: str = ""


def list_mutants(sites: Iterable[Site]) -> list[Mutant]:
    """Returns all mutants of these instructions."""
    groups: dict[str, list[Site]] = {}
    counts: Counter[str] = Counter()
    for site in sites:
        name = _name_of(site)
        if site.closes and site.name.startswith("bar"):
            name = f"{site.name} {_CLOSING}"
        elif not _PRIMITIVES.search(site.origin):
            counts[name] += 1
            name += f", number {counts[name]}"
        groups.setdefault(name, []).append(site)
    return [
        Mutant(
            f"{name}: {_TEXTS[mutation]}",
            tuple(site.number for site in group),
            mutation,
            name.endswith(_CLOSING) or _TEXTS_OF_KERNELS.search(group[0].origin) is not None,
        )
        for name, group in groups.items()
        for mutation in _mutations_of(group[0])
    ]


def _name_of(site: Site) -> str:
    ordered = f".{site.order}.{site.scope}" if site.order else ""
    origin = _POSITION.sub(r" (\g<file>)", site.origin)
    return f"{site.name}{ordered}" + (f" of {origin}" if origin else "")


def _mutations_of(site: Site) -> list[Mutation]:
    if site.name.startswith("ptx_"):
        return _weaker(site)
    for pattern, mutations in _RULES:
        if re.match(pattern, site.name):
            return mutations
    return []


def _weaker(site: Site) -> list[Mutation]:
    if site.order == "relaxed":
        return [Mutation.NARROW_TO_GPU] if site.scope == "sys" else []
    narrower = Mutation.NARROW_TO_GPU if site.scope == "sys" else Mutation.NARROW_TO_CTA
    return [Mutation.RELAX, narrower]


# Runs the program with a seed and mutated sites; raises if a result is wrong or a rule is broken.
Trial = Callable[[int, dict[int, int]], object]


def judge(trial: Trial, changes: dict[int, int], seeds: Sequence[int], limit: float) -> str:
    """Runs mutated sites with one seed after another, until a run detects the mutation.

    Returns the failure, or an empty string if all runs succeeded.

    Args:
        trial: runs the program.
        changes: mutations by site.
        seeds: the seeds of the runs.
        limit: seconds that all runs may take; a longer time is a hang.

    Raises:
        RuntimeError: the emulator itself crashed.
    """
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_try_all, args=(trial, changes, seeds, sender))
    process.start()
    sender.close()
    try:
        return receiver.recv() if receiver.poll(limit) else f"no end after {limit:.0f} s"
    except EOFError:
        raise RuntimeError(f"the emulator crashed with the mutations {changes}") from None
    finally:
        process.kill()
        process.join()


def _try_all(
    trial: Trial, changes: dict[int, int], seeds: Sequence[int], sender: Connection
) -> None:
    # Contexts of MLIR have threads, which a fork of the process would lack.
    gc.freeze()
    for seed in seeds:
        try:
            trial(seed, changes)
        except Exception as error:
            text = str(error).strip() or type(error).__name__
            sender.send(f"seed {seed}: {text.splitlines()[0]}")
            return
    sender.send("")


def judge_all(
    trial: Trial,
    mutants: Sequence[Mutant],
    seeds: Sequence[int],
    limit: float,
) -> list[Verdict]:
    """Runs all mutants of a program.

    The mutant of a barrier or wait survives if another instruction makes the barrier or wait
    redundant. So the instructions whose mutants survive are dropped one after the other, and stay
    dropped as long as no run fails. If a run fails, the instruction that was dropped last was
    redundant only because of the instructions dropped before. A dropped instruction was redundant
    because of such an instruction if no run fails with the two exchanged.
    """
    verdicts: dict[str, Verdict] = {}
    for mutant in mutants:
        verdicts[mutant.name] = Verdict(mutant, judge(trial, mutant.changes(), seeds, limit))
    left = [v.mutant for v in verdicts.values() if not v.problem and v.mutant.may_be_redundant]
    dropped: list[Mutant] = []
    needed: list[Mutant] = []
    for mutant in left:
        if problem := judge(trial, _changes([*dropped, mutant]), seeds, limit):
            verdicts[mutant.name] = Verdict(mutant, problem, "the redundant ones before it")
            needed.append(mutant)
        else:
            dropped.append(mutant)
    for mutant in dropped:
        others = [other for other in dropped if other is not mutant]
        for twin in sorted(needed, key=lambda other: _distance(other, mutant))[:_MOST_TWINS]:
            if not judge(trial, _changes([*others, twin]), seeds, limit):
                problem = verdicts[twin.name].problem
                verdicts[mutant.name] = Verdict(mutant, problem, twin.name)
                break
    return list(verdicts.values())


def _changes(mutants: Iterable[Mutant]) -> dict[int, int]:
    return {site: change for mutant in mutants for site, change in mutant.changes().items()}


def _distance(mutant: Mutant, other: Mutant) -> int:
    return min(abs(site - there) for site in mutant.sites for there in other.sites)

"""Kernels with one mistake in what orders them, and whether running them shows it.

An instruction that orders threads, memory or copies is dropped or weakened, one at a time. Each
mutant runs in a process of its own, which is ended if it takes too long.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from enum import IntEnum
from multiprocessing.connection import Connection

from .lower import Site


class Mutation(IntEnum):
    """What is wrong with an instruction; the numbers are those of simt.h."""

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
# What can be wrong with instructions, by a pattern of their names.
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


@dataclass(frozen=True)
class Mutant:
    """An instruction and what is wrong with it."""

    site: Site
    mutation: Mutation

    def __str__(self) -> str:
        ordered = f".{self.site.order}.{self.site.scope}" if self.site.order else ""
        place = f" of {self.site.place}" if self.site.place else ""
        return (
            f"{self.site.name}{ordered}{place}, line {self.site.line + 1}: "
            + (_TEXTS[self.mutation])
        )


@dataclass(frozen=True)
class Verdict:
    """How a mutant ended: what was wrong with its run, or nothing where it has survived."""

    mutant: Mutant
    problem: str
    seconds: float


def list_mutants(sites: Iterable[Site]) -> list[Mutant]:
    """All mutants of these instructions."""
    return [Mutant(site, mutation) for site in sites for mutation in _mutations_of(site)]


def _mutations_of(site: Site) -> list[Mutation]:
    if site.name.startswith("ptx_"):
        return _weaker(site)
    for pattern, mutations in _RULES:
        if re.match(pattern, site.name):
            return mutations
    return []


def _weaker(site: Site) -> list[Mutation]:
    if site.order == "relaxed":
        return []
    narrower = Mutation.NARROW_TO_GPU if site.scope == "sys" else Mutation.NARROW_TO_CTA
    return [Mutation.RELAX, narrower]


# Runs the program with a seed and a mutant; raises where something is wrong.
Trial = Callable[[int, dict[int, int]], object]


def judge(trial: Trial, mutant: Mutant, seeds: Sequence[int], limit: float) -> Verdict:
    """Tries a mutant with one seed after the other, until one shows it.

    Args:
        trial: runs the program.
        mutant: what to try.
        seeds: of the runs.
        limit: seconds that all runs may take; more of them are a hang.
    """
    begin = time.monotonic()
    receiver, sender = multiprocessing.Pipe(duplex=False)
    context = multiprocessing.get_context("fork")
    process = context.Process(target=_try_all, args=(trial, mutant, seeds, sender))
    process.start()
    sender.close()
    problem = _await(receiver, limit)
    process.kill()
    process.join()
    return Verdict(mutant, problem, time.monotonic() - begin)


def _await(receiver: Connection, limit: float) -> str:
    if not receiver.poll(limit):
        return f"no end after {limit:.0f} s"
    try:
        return receiver.recv()
    except EOFError:
        return "the process died"


def _try_all(trial: Trial, mutant: Mutant, seeds: Sequence[int], sender: Connection) -> None:
    for seed in seeds:
        try:
            trial(seed, {mutant.site.number: mutant.mutation})
        except Exception as error:
            text = str(error).strip() or type(error).__name__
            sender.send(f"seed {seed}: {text.splitlines()[0]}")
            return
    sender.send("")

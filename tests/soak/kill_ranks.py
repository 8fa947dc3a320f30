#!/usr/bin/env python3
"""Kills, stops and interrupts ranks at random moments, and checks the other ranks.

    python tests/soak/kill_ranks.py --count 100 --seed 1

In each round, 2 to 4 processes form a world on cpu. They compile a program of collectives and run
it repeatedly, and one of them gets a signal at a random moment. These properties must hold:

- Every survivor raises a RankFailedError or HangError within a deadline, and ends.
- Survivors write nothing to stderr, where an uncaught exception would appear.
- A rank that was stopped and is continued raises such an error, too. A rank that is interrupted
  ends.
- No process is left, including those that a rank started; no name of a socket; and no file in
  /dev/shm, in the folder for temporary files or in the working folder.

Exits with 1 if a round fails. The last line of stdout is a summary in JSON. A round depends only on
the seed and on its number: ``--only N`` repeats it.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import faulthandler
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

FULL_COUNT = 100
# Rounds check /dev/shm for files that remain, and have deadlines.
EXCLUSIVE = True

# The seconds that a rank waits for other ranks, and the timeout of waits in kernels.
TIMEOUT = 10.0
HANG = 3.0
# The survivors allow the lanes of a stopped rank this long to leave the kernel.
GRACE = 10.0
# The seconds by which a busy machine may delay everything.
SLACK = 10.0
STARTUP = 120.0

MODES = ("runs", "iterations", "resident")
SIGNALS = {signal.SIGKILL: 4, signal.SIGSTOP: 3, signal.SIGINT: 2, signal.SIGTERM: 1}
# The last message of the rank before the signal, and the largest delay after it in seconds.
PHASES = {"start": 1.5, "joined": 0.6, "compiled": 0.1, "running": 0.5}
WEIGHTS = (2, 3, 2, 5)
TYPED = {"RankFailedError", "HangError", "LaneHangError"}


# ---------------------------------------------------------------------------- one rank


def say(event: str, **more: object) -> None:
    print(json.dumps({"event": event, **more}), flush=True)


def be_a_rank(mode: str) -> None:
    """Runs until an error occurs, and prints the error."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    import numpy as np

    import ark_mlir as ark

    def work() -> None:
        with ark.distributed.init(timeout=TIMEOUT) as world:
            say("joined")
            with ark.Program("sum", rank=world.rank, world_size=world.world_size) as program:
                x = ark.input("x", (64, 64))
                total = ark.all_reduce(ark.matmul(x, x), name="total")
                ark.output("y", ark.all_gather(total[:4], 0))
            exe = ark.compile(program, target="cpu:1")
            say("compiled")
            given = np.ones((64, 64), np.float32)
            if mode == "resident":
                with exe.resident() as resident:
                    run_for_ever(lambda: resident.run(x=given))
            iterations = 20 if mode == "iterations" else 1
            run_for_ever(lambda: exe.run(x=given, iterations=iterations))

    def run_for_ever(run: Callable[[], Any]) -> None:
        run()
        say("running")
        while True:
            run()

    try:
        work()
    except (ark.ArkError, KeyboardInterrupt) as error:
        say("error", kind=type(error).__name__, text=str(error))


# ---------------------------------------------------------------------------- one round


@dataclass(frozen=True)
class Plan:
    """One round: the number of ranks, their program, and the rank and time of the signal."""

    number: int
    size: int
    mode: str
    victim: int
    signal: signal.Signals
    phase: str
    delay: float

    @staticmethod
    def draw(seed: int, number: int) -> Plan:
        rng = random.Random(f"{seed}/{number}")
        size = rng.randint(2, 4)
        (phase,) = rng.choices(list(PHASES), WEIGHTS)
        (sent,) = rng.choices(list(SIGNALS), list(SIGNALS.values()))
        delay = rng.uniform(0, PHASES[phase])
        return Plan(number, size, rng.choice(MODES), rng.randrange(size), sent, phase, delay)

    def __str__(self) -> str:
        return (
            f"round {self.number}: {self.signal.name} to rank {self.victim} of {self.size}, "
            f"{self.delay:.3f} s after {self.phase!r} ({self.mode})"
        )

    @property
    def deadline(self) -> float:
        """The seconds after the signal within which survivors must end."""
        if self.signal == signal.SIGSTOP:
            return max(TIMEOUT + 1, HANG + min(GRACE, TIMEOUT)) + SLACK
        # If the rank dies before the others have met it, they wait until their timeout. Later,
        # they notice its end at once.
        return SLACK + (TIMEOUT + SLACK if self.phase == "start" else 0)


class Rank:
    """A process and its output."""

    def __init__(self, number: int, plan: Plan, job: str, folder: Path) -> None:
        self.number = number
        self.reports: list[dict[str, Any]] = []
        self.ended: float | None = None
        self._changed = threading.Condition()
        variables = {
            "RANK": str(number),
            "WORLD_SIZE": str(plan.size),
            "MASTER_ADDR": job,
            "ARK_TIMEOUT": str(HANG),
            "ARK_CACHE": "0",
            "TMPDIR": str(folder / "tmp"),
        }
        self._process = subprocess.Popen(
            [sys.executable, __file__, "--rank", plan.mode],
            cwd=folder / "work",
            env={**os.environ, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        self.stderr = ""
        self._threads = [threading.Thread(target=each) for each in (self._read, self._read_errors)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._changed:
                self.reports.append(json.loads(line))
                self._changed.notify_all()
        self._process.wait()
        with self._changed:
            self.ended = time.monotonic()
            self._changed.notify_all()

    def _read_errors(self) -> None:
        assert self._process.stderr is not None
        self.stderr = self._process.stderr.read()

    def await_phase(self, phase: str) -> bool:
        """Returns True if the rank reaches the phase."""
        with self._changed:
            self._changed.wait_for(lambda: phase in self.words or self.ended, STARTUP)
            return phase in self.words

    def await_end(self, deadline: float) -> bool:
        """Returns True if the rank ends before a time of the monotonic clock."""
        with self._changed:
            left = max(0.0, deadline - time.monotonic())
            return bool(self._changed.wait_for(lambda: self.ended, left))

    def send(self, sent: signal.Signals) -> None:
        with contextlib.suppress(ProcessLookupError):
            self._process.send_signal(sent)

    def stacks(self) -> str:
        """Ends a process that hangs, and returns the stacks of its threads."""
        self.send(signal.SIGABRT)
        self.await_end(time.monotonic() + SLACK)
        self._threads[1].join(SLACK)
        return self.stderr

    def remove(self) -> None:
        """Kills the process if necessary, and ends the threads that read its output."""
        self.send(signal.SIGKILL)
        self.send(signal.SIGCONT)
        for thread in self._threads:
            thread.join()
        assert self._process.stdout is not None
        assert self._process.stderr is not None
        self._process.stdout.close()
        self._process.stderr.close()

    @property
    def words(self) -> list[str]:
        return ["start", *(each["event"] for each in self.reports)]

    @property
    def status(self) -> int | None:
        return self._process.returncode

    @property
    def error(self) -> dict[str, Any]:
        """The error that the rank has reported, or an empty string."""
        return next((each for each in self.reports if each["event"] == "error"), {})


@dataclass
class Outcome:
    """The problem of a round, and the seconds that survivors took to end after the signal."""

    plan: Plan
    problems: list[str] = field(default_factory=list[str])
    seconds: list[float] = field(default_factory=list[float])
    errors: list[str] = field(default_factory=list[str])


def play(plan: Plan) -> Outcome:
    """Plays one round; errors of a rank do not raise here."""
    outcome = Outcome(plan)
    shared = set(os.listdir("/dev/shm"))
    job = f"ark-soak-{os.getpid()}-{plan.number}-{time.time_ns()}"
    with tempfile.TemporaryDirectory(prefix="ark-soak-") as name:
        folder = Path(name)
        for part in ("tmp", "work"):
            (folder / part).mkdir()
        ranks = [Rank(number, plan, job, folder) for number in range(plan.size)]
        try:
            strike(plan, ranks, outcome)
        finally:
            for rank in ranks:
                rank.remove()
        outcome.problems += left_behind(plan, job, folder, shared)
    return outcome


def strike(plan: Plan, ranks: list[Rank], outcome: Outcome) -> None:
    """Sends the signal and checks the effects."""
    victim = ranks[plan.victim]
    if not victim.await_phase(plan.phase):
        outcome.problems.append(f"did not get to {plan.phase!r}: {victim.reports} {victim.stderr}")
        return
    time.sleep(plan.delay)
    sent = time.monotonic()
    victim.send(plan.signal)
    for rank in ranks:
        if rank is not victim:
            judge_survivor(rank, sent, plan, outcome)
    judge_victim(victim, plan, outcome)


def judge_survivor(rank: Rank, sent: float, plan: Plan, outcome: Outcome) -> None:
    subject = f"rank {rank.number}"
    if not rank.await_end(sent + plan.deadline):
        outcome.problems.append(
            f"{subject} has not ended after {plan.deadline:g} s: {rank.reports} {rank.stacks()}"
        )
        return
    assert rank.ended is not None
    outcome.seconds.append(rank.ended - sent)
    outcome.errors.append(str(rank.error.get("kind")))
    if rank.status or rank.error.get("kind") not in TYPED:
        outcome.problems.append(f"{subject} ended with {rank.status}: {rank.reports} {rank.stderr}")
    elif rank.stderr:
        outcome.problems.append(f"{subject} wrote: {rank.stderr}")


def judge_victim(rank: Rank, plan: Plan, outcome: Outcome) -> None:
    subject = f"rank {rank.number}, which got {plan.signal.name},"
    began = plan.signal == signal.SIGSTOP
    if began:
        rank.send(signal.SIGCONT)
    # A rank that had not met the others waits for them until its timeout.
    if not rank.await_end(time.monotonic() + SLACK + (STARTUP if plan.phase == "start" else HANG)):
        outcome.problems.append(f"{subject} does not end: {rank.reports} {rank.stacks()}")
    elif began and (rank.status or rank.error.get("kind") not in TYPED or rank.stderr):
        outcome.problems.append(f"{subject} ended with {rank.status}: {rank.reports} {rank.stderr}")


# ---------------------------------------------------------------------------- leftovers


def left_behind(plan: Plan, job: str, folder: Path, shared: set[str]) -> list[str]:
    """Returns the processes, sockets and files that a round has left.

    Waits for a limited time, in which programs that a killed rank had started may end.
    """
    deadline = time.monotonic() + SLACK
    while True:
        found = [
            *(f"process {words}" for words in processes_of(job)),
            *(f"socket {name}" for name in sockets_of(job, plan.size)),
            *(f"/dev/shm/{name}" for name in set(os.listdir("/dev/shm")) - shared),
            *(str(path.relative_to(folder)) for path in folder.glob("*/**/*")),
        ]
        if not found or time.monotonic() > deadline:
            return [f"left behind: {each}" for each in found]
        time.sleep(0.05)


def processes_of(job: str) -> list[str]:
    """Returns the processes of a job, by their environment, which child processes inherit."""
    found: list[str] = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            if f"MASTER_ADDR={job}\0".encode() in (folder / "environ").read_bytes():
                found.append(f"{folder.name} {(folder / 'cmdline').read_bytes()!r}")
    return found


def sockets_of(job: str, size: int) -> list[str]:
    from ark_mlir.distributed.launcher import Identity
    from ark_mlir.distributed.rendezvous import _address

    name = _address(Identity(0, size, 0, f"MASTER_ADDR={job}")).replace("\0", "@")
    return [name] if name in Path("/proc/net/unix").read_text(encoding="utf-8").split() else []


# ---------------------------------------------------------------------------- all rounds


def summarise(outcomes: list[Outcome], seconds: float) -> dict[str, Any]:
    later = [each for each in outcomes if each.plan.phase != "start"]

    def longest(stopped: bool) -> float:
        some = [each for each in later if (each.plan.signal == signal.SIGSTOP) == stopped]
        return round(max((took for each in some for took in each.seconds), default=0.0), 2)

    return {
        "name": "kill_ranks",
        "count": len(outcomes),
        "failures": sum(bool(each.problems) for each in outcomes),
        "survivors": sum(each.plan.size - 1 for each in outcomes),
        "signals": collections.Counter(each.plan.signal.name for each in outcomes),
        "phases": collections.Counter(each.plan.phase for each in outcomes),
        "errors": collections.Counter(kind for each in outcomes for kind in each.errors),
        "longest after an end, s": longest(stopped=False),
        "longest after a stop, s": longest(stopped=True),
        "seconds": round(seconds),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="rounds")
    parser.add_argument("--seed", type=int, default=1, help="default 1")
    parser.add_argument("--only", type=int, help="number of the one round to play")
    parser.add_argument("--rank", choices=MODES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.rank:
        be_a_rank(options.rank)
        return 0
    # Background jobs of a shell ignore SIGINT, and ranks would inherit this.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    faulthandler.enable()
    begin, files = time.monotonic(), len(os.listdir("/proc/self/fd"))
    outcomes: list[Outcome] = []
    for number in range(options.count) if options.only is None else [options.only]:
        outcome = play(Plan.draw(options.seed, number))
        outcomes.append(outcome)
        if len(os.listdir("/proc/self/fd")) > files:
            outcome.problems.append("left behind: files that this process has open")
        longest = max(outcome.seconds, default=0.0)
        print(f"{outcome.plan}: {longest:.2f} s, {outcome.errors}", file=sys.stderr)
        for problem in outcome.problems:
            print(f"  FAILED: {problem}", file=sys.stderr)
    summary = summarise(outcomes, time.monotonic() - begin)
    print(json.dumps(summary))
    return 1 if summary["failures"] else 0


if __name__ == "__main__":
    sys.exit(main())

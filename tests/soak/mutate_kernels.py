"""Mutates every instruction that orders threads, memory or copies in the kernels of some programs.

    python tests/soak/mutate_kernels.py [--seeds N] [--only NAME]... [--limit SECONDS] [--json FILE]

Prints what each mutant was caught by, and those that nothing has caught. Ends with 1 where one
survives that is not listed in tests/support/emulation/survivors.py, or fewer than 95 % are caught.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))

from emulation import build_library  # noqa: E402
from emulation.mutants import Mutant, Verdict, judge, list_mutants  # noqa: E402
from emulation.programs import CASES, Prepared  # noqa: E402
from emulation.survivors import find_reason  # noqa: E402

LEAST_CAUGHT = 0.95


def main() -> int:
    """Runs all mutants; the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=6, help="seeds that each mutant is tried with")
    parser.add_argument("--limit", type=float, default=60, help="seconds for all runs of a mutant")
    parser.add_argument("--only", action="append", choices=list(CASES), help="a program")
    parser.add_argument("--json", type=Path, help="writes all verdicts to a file")
    arguments = parser.parse_args()
    verdicts: list[tuple[str, Verdict]] = []
    kept = ROOT / "build" / "emulation"
    kept.mkdir(parents=True, exist_ok=True)
    library = build_library(kept)
    with tempfile.TemporaryDirectory(prefix="ark-mutants-") as folder:
        for name in arguments.only or CASES:
            prepared = Prepared(CASES[name], library, Path(folder))
            for mutant in find_mutants(prepared, arguments.seeds):
                verdict = judge(prepared.run, mutant, range(arguments.seeds), arguments.limit)
                verdicts.append((name, verdict))
                tell(name, verdict)
    if arguments.json:
        arguments.json.write_text(json.dumps([as_json(*verdict) for verdict in verdicts], indent=1))
    return summarise(verdicts)


def find_mutants(prepared: Prepared, seeds: int) -> list[Mutant]:
    """Those of instructions that the program executes; it runs without any first."""
    executed: set[int] = set()
    for seed in range(seeds):
        prepared.run(seed)
        executed |= prepared.emulation.executed
    return list_mutants(site for site in prepared.emulation.sites if site.number in executed)


def tell(name: str, verdict: Verdict) -> None:
    """One line for one mutant."""
    print(f"{name}: {verdict.mutant}: {verdict.problem or 'SURVIVED'}", flush=True)


def as_json(name: str, verdict: Verdict) -> dict[str, object]:
    """A verdict for a file."""
    return {
        "program": name,
        "mutant": str(verdict.mutant),
        "problem": verdict.problem,
        "seconds": round(verdict.seconds, 2),
    }


def summarise(verdicts: list[tuple[str, Verdict]]) -> int:
    """Says what has survived, and why; the exit status."""
    survivors = [(name, verdict) for name, verdict in verdicts if not verdict.problem]
    caught = len(verdicts) - len(survivors)
    unknown = 0
    for name, verdict in survivors:
        reason = find_reason(name, verdict.mutant)
        unknown += reason is None
        print(f"survived: {name}: {verdict.mutant}: {reason or 'no reason is known'}")
    share = caught / len(verdicts) if verdicts else 0
    seconds = sum(verdict.seconds for _, verdict in verdicts)
    print(f"{caught} of {len(verdicts)} mutants caught ({share:.1%}), in {seconds:.0f} s")
    return int(unknown > 0 or share < LEAST_CAUGHT)


if __name__ == "__main__":
    begin = time.monotonic()
    status = main()
    print(f"ended after {time.monotonic() - begin:.0f} s")
    sys.exit(status)

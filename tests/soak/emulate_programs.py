#!/usr/bin/env python3
"""Random programs on an emulated NVIDIA GPU, compared with the interpreter.

Each pair of a program and a schedule is compiled for a random architecture and number of SMs, with
or without packets, and run three times in the emulator of tests/support/emulation, whose seed
orders threads and delays stores and copies. Outputs are compared as by `random_programs.py`.

    emulate_programs.py --count 1000 [--seed S]
"""

from __future__ import annotations

import argparse
import json
import random
import sys
import tempfile
import time
import traceback
from pathlib import Path

import programs
import random_programs
from random_programs import Tally

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))

from emulation import Emulation, build_library, missing_tools

import ark_mlir as ark

FULL_COUNT = 1_000
ARCHITECTURES = ("sm_90a", "sm_90a", "sm_80", "sm_100a")
SCHEDULERS = ("auto", "list", "round-robin", "rounds")


def run_pair(seed: int, library: Path, folder: Path, tally: Tally) -> str:
    """Compiles and runs one pair; returns a description of the failure, or an empty string."""
    rng = random.Random(f"emulated {seed}")
    drawn = programs.draw(seed, random_programs.pin)
    arch, scheduler = rng.choice(ARCHITECTURES), rng.choice(SCHEDULERS)
    packets = rng.random() < 0.7
    try:
        emulation = Emulation(
            drawn.program,
            library,
            folder,
            arch=arch,
            sms=rng.randint(1, 6),
            seed=seed,
            scheduler=scheduler,
            packets=packets,
        )
        with emulation.executable as executable:
            random_programs.compare(drawn, executable, tally)
        emulation.check()
    except ark.CompileError as error:
        if not any(refusal in str(error) for refusal in random_programs.REFUSALS):
            return traceback.format_exc(limit=4)
        tally["refused"] += 1
        return ""
    except Exception:
        return f"{drawn.ops}\n{traceback.format_exc(limit=4)}"
    tally.update([arch, scheduler, "pairs", *(f"op {name}" for name in set(drawn.ops))])
    tally["packets"] += packets
    return ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="pairs to compare")
    parser.add_argument("--seed", type=int, default=0, help="seed of the first program")
    options = parser.parse_args()
    if missing := missing_tools():
        sys.exit(f"{' and '.join(missing)} are not there: run `make setup`")
    begin = time.monotonic()
    tally, failures, seed = Tally(), 0, options.seed
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        library = build_library(folder)
        while tally["pairs"] + failures < options.count:
            if problem := run_pair(seed, library, folder, tally):
                failures += 1
                print(f"seed {seed}: {problem}", flush=True)
            seed += 1
    result = {
        "name": Path(__file__).stem,
        "count": tally["pairs"] + failures,
        "failures": failures,
        "seconds": round(time.monotonic() - begin, 1),
        **{key: tally[key] for key in sorted(tally)},
    }
    print(json.dumps(result))
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()

#!/usr/bin/env python3
"""Mutates the tables of bundles: the proof refuses each mutant, and accepts each unchanged bundle.

    tests/soak/mutate_tables.py --count 1000 --bundles 1000

A mutant is written with valid hashes and read again. An accepted mutant must be equivalent to the
original by brute force (table_oracle.py): all pairs of vCTAs that touch the same bytes are ordered,
and each vCTA reads the bytes of the same writer as before. Equivalent mutants are counted
separately. The seed determines all programs and mutants.
"""

from __future__ import annotations

import argparse
import collections
import copy
import json
import random
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

from ark_mlir.bundle import Bundle, read_bundle
from ark_mlir.bundle.manifest_checks import parse_manifest
from ark_mlir.bundle.writer import encode
from ark_mlir.compiler.table_proof import prove
from ark_mlir.errors import BundleError, VerificationError

sys.path.insert(0, str(Path(__file__).parent))

from table_mutations import CLASSES
from table_oracle import Program, find_violation, fingerprint
from table_programs import make_bundle

FULL_COUNT = 1000  # mutants that are refused, and bundles that are not
_MUTANTS_PER_BUNDLE = 25


def unpack(bundle: Bundle) -> Program:
    """Returns the tables of a bundle as lists."""
    tables = bundle.tables
    rows = tables.instructions.tolist()
    lanes = [(sm, rows[first:last]) for sm, first, last in tables.lanes.tolist()]
    manifest = bundle.manifest.as_json()
    return Program(manifest, lanes, tables.tasks.tolist(), tables.operands.tolist())


def pack(program: Program, bundle: Bundle) -> dict[str, Any]:
    """Returns the sections of a program; sections other than tables come from `bundle`."""
    rows, lanes = [], []
    for sm, items in program.lanes:
        lanes.append((sm, len(rows), len(rows) + len(items)))
        rows += items
    tables = {
        "instructions": np.array(rows, "<i4"),
        "lanes": np.array(lanes, "<i4"),
        "tasks": np.array(program.tasks, "<i4"),
        "operands": np.array(program.operands, "<i8"),
        "timeline": np.zeros((len(rows), 2), "<i8"),
    }
    return {**bundle.sections, **{name: memoryview(t.tobytes()) for name, t in tables.items()}}


def find_refusal(program: Program, bundle: Bundle, path: Path) -> str | None:
    """Returns the error for a program that is written to a file and read again, or None."""
    try:
        manifest = parse_manifest(program.manifest, "mutant")
        path.write_bytes(b"".join(encode(manifest, pack(program, bundle), "mutant")))
        prove(read_bundle(path))
    except (BundleError, VerificationError) as error:
        return f"{type(error).__name__}: {error}"
    return None


class Soak:
    """Counts the outcomes of mutants."""

    def __init__(self, seed: int, path: Path) -> None:
        self.rng = random.Random(seed)
        self.path = path
        self.refused: collections.Counter[str] = collections.Counter()
        self.equivalent: collections.Counter[str] = collections.Counter()
        self.by_reader = 0
        self.bundles = 0
        self.failures: list[str] = []

    def check_bundle(self) -> tuple[str, Bundle]:
        """Checks that an unaltered bundle is accepted, and that brute force finds it correct."""
        name, bundle = make_bundle(self.rng)
        self.bundles += 1
        program = unpack(bundle)
        if reason := find_refusal(program, bundle, self.path):
            self.failures.append(f"{name}: refused as it was compiled: {reason}")
        return name, bundle

    def mutate(self, name: str, bundle: Bundle) -> None:
        """Tries mutants of one bundle."""
        original = unpack(bundle)
        if reason := find_violation(original):
            self.failures.append(f"{name}: brute force refuses it as it was compiled: {reason}")
            return
        meaning = fingerprint(original, original)
        for _ in range(_MUTANTS_PER_BUNDLE):
            kind = self.rng.choice(list(CLASSES))
            mutant = copy.deepcopy(original)
            if not CLASSES[kind](mutant, self.rng) or mutant == original:
                continue
            reason = find_refusal(mutant, bundle, self.path)
            if reason is not None:
                self.refused[kind] += 1
                self.by_reader += reason.startswith("BundleError")
                continue
            wrong = find_violation(mutant)
            if wrong is None and fingerprint(mutant, original) != meaning:
                wrong = "another vCTA wrote what is read"
            if wrong is None:
                self.equivalent[kind] += 1
            else:
                self.failures.append(f"{name}: {kind}: accepted, but {wrong}")

    def report(self, seconds: float) -> None:
        """Prints the figures."""
        for kind in sorted({*self.refused, *self.equivalent}):
            counts = f"{self.refused[kind]:6} refused {self.equivalent[kind]:6} equivalent"
            print(f"{kind:20} {counts}")
        total = self.refused.total()
        for failure in self.failures[:20]:
            print(f"FAILURE: {failure}")
        result = {
            "name": "mutate_tables",
            "count": total,
            "failures": len(self.failures),
            "seconds": round(seconds, 1),
            "classes": len(self.refused),
            "refused by the reader": self.by_reader,
            "equivalent": self.equivalent.total(),
            "bundles as compiled": self.bundles,
        }
        print(json.dumps(result))


def main() -> int:
    """Runs the soak; returns the exit status, 1 if a case failed."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=FULL_COUNT, help="mutants to be refused")
    parser.add_argument("--bundles", type=int, help="bundles as compiled; as many as mutants")
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        soak = Soak(options.seed, Path(folder) / "mutant.arkbin")
        while soak.refused.total() < options.count and len(soak.failures) < 100:
            soak.mutate(*soak.check_bundle())
        wanted = options.count if options.bundles is None else options.bundles
        while soak.bundles < wanted and len(soak.failures) < 100:
            soak.check_bundle()
        soak.report(time.monotonic() - start)
    return 1 if soak.failures else 0


if __name__ == "__main__":
    sys.exit(main())

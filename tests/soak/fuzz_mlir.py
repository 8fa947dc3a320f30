#!/usr/bin/env python3
"""Fuzzes everything that takes MLIR: the parser, the verifiers, each pass, and each stage.

    python tests/soak/fuzz_mlir.py                              # some seconds
    python tests/soak/fuzz_mlir.py --count 100000               # the long run
    python tests/soak/fuzz_mlir.py --server build-asan/bin/ark-opt-server --count 100000

An input is a text or a bytecode file that was mutated, and a command line of ark-opt. Each input
runs without ark-opt's guard first. Such a run ends well when ark-opt accepts it or refuses it with
a message. The run fails when ark-opt dies by a signal or a fatal error, when a sanitizer reports
something, or when it takes more than 5 s of processor time (15 s with a sanitizer). Each input that
fails runs again with the guard, which must end with status 1 and one error that names the file;
otherwise the failure has escaped.

Failures are counted by cause: the innermost frames of their stacks. The exit status is 1 if a
failure escapes, or if a cause is in ark: the stack contains code of ark other than parsers,
printers and readers of ops, and `upstream_crashes.txt` has no pattern for it. A run that dies
without a stack counts as upstream if it also dies when it only parses the module.

Input N of seed S is always the same: `--seed S --only N` runs it again, alone.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shlex
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
from kernel_abi import expand_constants, read_entries
from mlir_crashes import Causes, Crash, find_crash, is_contained
from mlir_mutations import Mutator, mutate_bytes
from mlir_server import Server

_ROOT = Path(__file__).parents[2]
_STAGES = ("graph", "tiling", "memory", "scheduling", "synchronization", "kernel", "target")
_TARGETS = ("cpu:2", "cuda:sm_90a", "hip:gfx942")
# The number of inputs of the long run.
FULL_COUNT = 100_000
# The number of inputs of one module and one command.
BATCH = 16
# The test programs that are lowered to every stage and target.
_LOWERED = 12
_MARKER = "\n// ark-fuzz: the next input\n"
# Larger modules get fewer inputs; the largest tests are lists of small sections.
_MAX_SEED_BYTES = 1 << 17
_PARSERS: tuple[tuple[str, ...], ...] = (
    (), ("--mlir-print-op-generic",), ("--emit-bytecode",), ("--verify-roundtrip",),
)  # fmt: skip
# A run with this argument reads a module, and runs no verifier and no pass.
_ONLY_PARSE = ("--mlir-very-unsafe-disable-verifier-on-parsing",)

# The words that end a command in a RUN line, and options that matter to tests only.
_ENDS = ("|", "-o", "2>&1", "2>", ">", "<", "&&")
_DROPPED = ("%s", "--split-input-file", "--verify-diagnostics", "--mlir-print-ir", "--mlir-timing")


@dataclass(frozen=True)
class Seed:
    """A module from which mutants are made, and the commands that its test runs on it."""

    name: str
    text: str
    commands: tuple[tuple[str, ...], ...]


@dataclass(frozen=True)
class Input:
    """One input: a file's content, and the arguments of ark-opt."""

    number: int
    kind: str
    seed: str
    data: bytes
    arguments: tuple[str, ...]


def _commands(text: str) -> tuple[tuple[str, ...], ...]:
    """Returns the arguments of each ark-opt in the RUN lines of a test."""
    runs = "\n".join(line.split("RUN:", 1)[1] for line in text.splitlines() if "// RUN:" in line)
    commands: list[tuple[str, ...]] = []
    for line in runs.replace("\\\n", " ").splitlines():
        words = shlex.split(line)
        if "ark-opt" not in words or any("%t" in word or "dump-dir" in word for word in words):
            continue
        words = words[words.index("ark-opt") + 1 :]
        end = next((i for i, word in enumerate(words) if word in _ENDS), len(words))
        commands.append(tuple(w for w in words[:end] if not w.startswith(_DROPPED)))
    return tuple(commands)


def read_seeds() -> list[Seed]:
    """Returns every section of every test, and the texts of kernels."""
    seeds: list[Seed] = []
    entries = read_entries(_ROOT / "passes/kernel/KernelAbi.def")
    for path in sorted([*_ROOT.glob("tests/**/*.mlir"), *_ROOT.glob("passes/**/*.mlir")]):
        text = expand_constants(path.read_text(encoding="utf-8"), entries)
        commands = _commands(text)
        for number, section in enumerate(text.split("// -----")):
            # The CHECK lines of a test are removed, since they do not affect the compiler.
            lines = [line for line in section.splitlines() if not line.lstrip().startswith("//")]
            module = "\n".join(lines).strip() + "\n"
            if module.strip() and len(module) <= _MAX_SEED_BYTES:
                seeds.append(Seed(f"{path.relative_to(_ROOT)}#{number}", module, commands))
    return seeds


def read_passes() -> list[str]:
    """Returns the flags of all passes of ark."""
    definitions = [path.read_text() for path in sorted(_ROOT.glob("passes/**/*asses.td"))]
    return [f"--{name}" for text in definitions for name in re.findall(r'"(ark-[\w-]+)"', text)]


@dataclass(frozen=True)
class Stage:
    """A program of the tests, to be lowered to a stage for a target."""

    program: Seed
    target: str
    stage: str

    def lower(self, server: Server) -> Seed:
        """Returns the lowered module; the program as it is if ark-opt refuses to lower it."""
        arguments = (f"--ark-target={self.target}", f"--ark-compile-to={self.stage}")
        outcome = server.run(self.program.text.encode(), arguments)
        text = outcome.result.decode()
        if outcome.status != 0 or len(text) > _MAX_SEED_BYTES:
            return self.program
        later = _STAGES[min(_STAGES.index(self.stage) + 1, len(_STAGES) - 1)]
        commands = (("--ark-compile-to=target",), (f"--ark-compile-to={later}",))
        return Seed(f"{self.program.name}@{self.target}:{self.stage}", text, commands)


def read_stages(seeds: Sequence[Seed]) -> list[Stage]:
    """Returns some programs of the tests, at every stage and for every target."""
    graphs = [s for s in seeds if "pipelines/compile.mlir" in s.name or "pipelines/ranks" in s.name]
    graphs += [
        s for s in seeds if "tile-groups-ops" in s.name or "graph/form-groups.mlir" in s.name
    ]
    return [
        Stage(program, target, stage)
        for program in graphs[:_LOWERED]
        for target in _TARGETS
        for stage in _STAGES
    ]


class Inputs:
    """All inputs of a seed, each by its index.

    Inputs of a batch are mutants of one module for one command, so that one run of ark-opt can
    take all of them. An input depends only on the tests, the seed and its index: modules are
    lowered when they are drawn, and no word of a mutant comes from another lowered module.
    """

    def __init__(self, server: Server, seed: int) -> None:
        seeds = read_seeds()
        self._server = server
        self._sources: list[Seed | Stage] = [*seeds, *read_stages(seeds)]
        self._lowered: dict[Stage, Seed] = {}
        self._seed = seed
        self._mutator = Mutator([s.text for s in seeds])
        self._passes = read_passes()

    def make(self, numbers: range) -> list[Input]:
        """Returns the inputs with these numbers, which belong to one batch."""
        random = Random(f"{self._seed}:batch:{numbers.start // BATCH}")
        seed = self._module_of(random.choice(self._sources))
        arguments = self._arguments(random, seed)
        data = self._bytecode_of(seed) if random.random() < 0.15 else b""
        inputs: list[Input] = []
        for number in numbers:
            random = Random(f"{self._seed}:{number}")
            if data:
                inputs.append(
                    Input(number, "bytecode", seed.name, mutate_bytes(random, data), arguments)
                )
            else:
                text = self._mutator.mutate(random, seed.text)
                inputs.append(Input(number, "text", seed.name, text.encode(), arguments))
        return inputs

    def _module_of(self, source: Seed | Stage) -> Seed:
        if isinstance(source, Seed):
            return source
        if source not in self._lowered:
            self._lowered[source] = source.lower(self._server)
        return self._lowered[source]

    def _arguments(self, random: Random, seed: Seed) -> tuple[str, ...]:
        choice = random.random()
        if choice < 0.5 and seed.commands:
            return random.choice(seed.commands)
        if choice < 0.65:
            return random.choice(_PARSERS)
        if choice < 0.85:
            return (random.choice(self._passes),)
        stage, target = random.choice(_STAGES), random.choice(_TARGETS)
        return (f"--ark-target={target}", f"--ark-compile-to={stage}")

    def _bytecode_of(self, seed: Seed) -> bytes:
        """Returns the module as bytecode, or no bytes if it does not parse."""
        outcome = self._server.run(seed.text.encode(), ("--emit-bytecode",))
        return outcome.result if outcome.status == 0 else b""


@dataclass
class Tally:
    """The counts of a run so far."""

    inputs: Counter[str] = field(default_factory=Counter[str])
    accepted: int = 0
    crashes: int = 0
    hangs: int = 0
    escaped: int = 0

    def __str__(self) -> str:
        kinds = ", ".join(f"{number} {kind}" for kind, number in sorted(self.inputs.items()))
        return (
            f"{self.inputs.total()} inputs ({kinds}): {self.accepted} accepted, "
            f"{self.inputs.total() - self.accepted - self.crashes - self.hangs} refused, "
            f"{self.crashes} crashes and {self.hangs} hangs without the guard, "
            f"{self.escaped} of these with it"
        )


class Fuzzer:
    """Runs inputs, and counts how they end."""

    def __init__(self, server: Server, causes: Causes, seed: int) -> None:
        self._server = server
        self._causes = causes
        self._seed = seed
        self.tally = Tally()

    def run(self, inputs: Sequence[Input]) -> None:
        """Runs a batch at once; if it fails, runs each of its inputs alone."""
        if inputs[0].kind == "text" and len(inputs) > 1:
            together = _MARKER.encode().join(single.data for single in inputs)
            flags = (
                f"--split-input-file={_MARKER.strip()}",
                f"--output-split-marker={_MARKER.strip()}",
            )
            outcome = self._server.run(together, (*inputs[0].arguments, *flags))
            if find_crash(outcome) is None:
                parts = outcome.result.split(_MARKER.strip().encode())
                self.tally.inputs["text"] += len(inputs)
                self.tally.accepted += sum(1 for part in parts if part.strip())
                return
        for single in inputs:
            self._run_input(single)

    def _run_input(self, single: Input) -> None:
        outcome = self._server.run(single.data, single.arguments)
        self.tally.inputs[single.kind] += 1
        crash = find_crash(outcome)
        if crash is None:
            self.tally.accepted += outcome.status == 0
            return
        if crash.lacks_stack and self._crashes_when_read(single.data, crash):
            crash = replace(crash, upstream=True)
        hangs = crash.kind.startswith("hang")
        self.tally.hangs += hangs
        self.tally.crashes += not hangs
        number = f"{self._seed}:{single.number}"
        self._causes.add(crash, number, single.data, single.arguments, single.seed)
        guarded = self._server.run(single.data, single.arguments, guarded=True)
        if not is_contained(guarded):
            self.tally.escaped += 1
            print(f"input {number} escaped the guard: {guarded}")

    def _crashes_when_read(self, data: bytes, crash: Crash) -> bool:
        """Returns True if a run that only parses the module dies in the same way."""
        return find_crash(self._server.run(data, _ONLY_PARSE)) == crash


def fuzz(options: argparse.Namespace, server: Server) -> int:
    inputs = Inputs(server, options.seed)
    causes = Causes(options.keep)
    fuzzer = Fuzzer(server, causes, options.seed)
    begin = shown = time.monotonic()
    end = begin + options.seconds
    number, last = 0, options.count
    if options.only is not None:
        number, last = options.only, options.only + 1
    while number < last and time.monotonic() < end:
        batch = range(number, min(last, (number // BATCH + 1) * BATCH))
        fuzzer.run(inputs.make(batch))
        number = batch.stop
        if time.monotonic() - shown > 60:
            shown = time.monotonic()
            print(f"{fuzzer.tally}; {len(causes)} causes", flush=True)
    print(fuzzer.tally)
    strange = causes.report()
    print(
        json.dumps(
            {
                "name": "fuzz_mlir",
                "count": fuzzer.tally.inputs.total(),
                "failures": strange + fuzzer.tally.escaped,
                "crashes_without_guard": fuzzer.tally.crashes,
                "hangs_without_guard": fuzzer.tally.hangs,
                "escaped": fuzzer.tally.escaped,
                "causes": len(causes),
                "seconds": round(time.monotonic() - begin, 1),
            }
        )
    )
    return 1 if strange or fuzzer.tally.escaped else 0


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--count", type=int, default=200, help="inputs to run (default 200)")
    parser.add_argument("--only", type=int, help="run this input alone")
    parser.add_argument("--seed", type=int, default=0, help="seed of the mutations")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="stop after so long")
    parser.add_argument("--server", type=Path, default=_ROOT / "build/bin/ark-opt-server")
    parser.add_argument("--keep", type=Path, help="folder for one input of every cause")
    options = parser.parse_args()
    if not os.access(options.server, os.X_OK):
        parser.error(f"{options.server} is not there: run `ninja -C build ark-opt-server`")
    with (
        tempfile.TemporaryDirectory(prefix="ark-fuzz-") as scratch,
        Server(options.server, Path(scratch)) as server,
    ):
        return fuzz(options, server)


if __name__ == "__main__":
    sys.exit(main())

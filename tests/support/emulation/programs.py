"""Programs whose kernels together use every kind of synchronisation of threads and CTAs.

A case names its runs, and compares all outputs with the interpreter's, within their bounds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from small_decoders import CONFIG, LENGTH, make_arrays

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.models.decoder import build_decode, build_prefill
from ark_mlir.testing.bounds import assert_within

from . import Emulation
from .mutants import Mutant, list_mutants
from .worlds import (
    Programs,
    World,
    all_collectives,
    counting,
    decoding,
    forwarding,
    multiplying,
    sharing,
    stepping,
)

Arrays = dict[str, Any]
# A wait that fails should cost little time of the host, except in resident kernels.
_TIMEOUT = "0.5"


@dataclass(frozen=True)
class Case:
    """A program with its runs.

    Attributes:
        build: makes the program.
        runs: inputs and parameters of the runs, in order; all runs use the parameters of the first.
        iterations: the number of iterations of each run.
        resident: True if one launch executes all runs.
        options: options of :class:`Emulation`.
    """

    build: Callable[[], ark.Program]
    runs: Callable[[ark.Program], list[Arrays]]
    iterations: int = 1
    resident: bool = False
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])


@dataclass(frozen=True)
class WorldCase:
    """Programs of ranks on a GPU for each rank.

    Attributes:
        build: makes the program of each rank.
        iterations: the number of iterations of each run.
        exact: True if results are bitwise those of the target cpu.
        between: a pattern of the ops whose packets go to other GPUs, if not all do.
        warps: the number of warps of a CTA; None selects that of the architecture.
    """

    build: Callable[[], Programs]
    iterations: int = 1
    exact: bool = True
    between: str = ""
    warps: int | None = 4


class Prepared:
    """A compiled case, with the expected results of its runs.

    Args:
        case: the case to compile.
        library: the emulator.
        folder: for files of the host's compiler.
    """

    def __init__(self, case: Case, library: Path, folder: Path) -> None:
        self._case = case
        program = case.build()
        self.emulation = Emulation(program, library, folder, **case.options)
        self._runs = case.runs(program)
        parameters = {buffer.name for buffer in self.emulation.executable.parameters}
        self._parameters = {name: self._runs[0][name] for name in parameters}
        self._expected: list[Any] = []
        # The interpreter has no bounds for errors that states accumulate.
        self._bounded = case.iterations == 1
        states: Arrays = {}
        for arrays in self._runs:
            result = ark.reference.evaluate(
                program,
                {**arrays, **self._parameters},
                states,
                iterations=case.iterations,
                bound=self._bounded,
            )
            states = dict(result.states)
            self._expected.append(result)

    def run(self, seed: int, mutations: Mapping[int, int] | None = None) -> None:
        """Executes all runs; raises an error if a result differs from the expected one."""
        self.emulation.load(seed, mutations)
        with knobs.scope(ARK_TIMEOUT=_TIMEOUT), self.emulation.executable as executable:
            executable.bind(self._parameters)
            if not self._case.resident:
                self._run_all(executable.run, iterations=self._case.iterations)
            else:
                with executable.resident() as resident:
                    self._run_all(resident.run, iterations=self._case.iterations)
        self.emulation.check()

    def find_mutants(self, seeds: Iterable[int]) -> list[Mutant]:
        """Returns the mutants of instructions that the runs execute; no instruction is mutated
        here."""
        executed: set[int] = set()
        for seed in seeds:
            self.run(seed)
            executed |= self.emulation.executed
        return list_mutants(site for site in self.emulation.sites if site.number in executed)

    def _run_all(self, run: Callable[..., Any], **options: Any) -> None:
        for arrays, expected in zip(self._runs, self._expected, strict=True):
            inputs = {n: array for n, array in arrays.items() if n not in self._parameters}
            try:
                outputs = run(inputs, **options)
            finally:
                self.emulation.check()
            for name, array in outputs.items():
                wanted = expected.outputs[name]
                if self._bounded:
                    assert_within(array, wanted, expected.bounds[name], name)
                else:
                    np.testing.assert_allclose(array, wanted, rtol=1e-3, atol=1e-4)


# -- decoders ----------------------------------------------------------------------------------


def _decoder_runs(program: ark.Program) -> list[Arrays]:
    return [make_arrays(program)]


def _decode(**options: Any) -> Case:
    return Case(
        lambda: build_decode(CONFIG, batch=1, max_length=LENGTH),
        _decoder_runs,
        options=options,
    )


def _prefill() -> Case:
    return Case(lambda: build_prefill(CONFIG, chunk=33, max_length=LENGTH), _decoder_runs)


# -- products ----------------------------------------------------------------------------------


def _chain(tile: tuple[int, int], **options: Any) -> Case:
    """A chain of products: each SM copies the results of other SMs. The depth is so large that
    stages of shared memory are reused."""
    rows, depth, width = 256, 512, 256
    shapes = {"x": (rows, depth), "v": (depth, depth), "w": (width, depth)}

    def build() -> ark.Program:
        with ark.Program("chain") as program, ark.planner(tile=tile):
            x = ark.input("x", shapes["x"], ark.bf16)
            for name in ("v", "w"):
                weight = ark.parameter(name, shapes[name], ark.bf16)
                x = ark.matmul(x, weight, transpose_other=True)
            ark.output("y", x)
        return program

    def runs(program: ark.Program) -> list[Arrays]:
        del program
        random = np.random.default_rng(0)
        scales = {"x": 1.0, "v": depth**-0.5, "w": depth**-0.5}
        return [
            {
                name: (random.standard_normal(shape) * scales[name]).astype(ark.bf16.numpy)
                for name, shape in shapes.items()
            }
            for _ in range(2)
        ]

    return Case(build, runs, options=options)


def _rows() -> Case:
    """A chain of products of one row. The weights of a warp are more than its ring holds."""
    width = 1024

    def build() -> ark.Program:
        with ark.Program("rows") as program:
            x = ark.input("x", (1, width), ark.bf16)
            for name in ("v", "w"):
                weight = ark.parameter(name, (width, width), ark.bf16)
                x = ark.matmul(x, weight, transpose_other=True)
            ark.output("y", x)
        return program

    def runs(program: ark.Program) -> list[Arrays]:
        del program
        random = np.random.default_rng(3)
        scales = {"x": 1.0, "v": width**-0.5, "w": width**-0.5}
        return [
            {
                name: (random.standard_normal((1 if name == "x" else width, width)) * scale).astype(
                    ark.bf16.numpy
                )
                for name, scale in scales.items()
            }
        ]

    return Case(build, runs)


# -- attention ---------------------------------------------------------------------------------


def _attention(depth: int, keys: int, *, causal: bool) -> Case:
    """Attention of 256 queries on warpgroups. The keys are so many that stages are reused."""
    heads, queries = 2, 256
    shapes = {
        name: (1, heads, count, depth)
        for name, count in zip("qkv", (queries, keys, keys), strict=True)
    }

    def build() -> ark.Program:
        with ark.Program("attention") as program, ark.planner(tile=(queries, depth)):
            q, k, v = (ark.input(name, shape, ark.bf16) for name, shape in shapes.items())
            ark.output("y", ark.attention(q, k, v, causal=causal))
        return program

    def runs(program: ark.Program) -> list[Arrays]:
        del program
        random = np.random.default_rng(2)
        return [
            {
                name: random.standard_normal(shape).astype(ark.bf16.numpy)
                for name, shape in shapes.items()
            }
        ]

    return Case(build, runs)


# -- states ------------------------------------------------------------------------------------

_ROWS, _COLUMNS = 32, 48


def _build_states() -> ark.Program:
    """Every iteration reads on each SM the results of the previous iteration on other SMs."""
    with ark.Program("states") as program, ark.planner(tile=(8, 16)):
        state = ark.state("s", (_ROWS, _ROWS), ark.fp32)
        x = ark.input("x", (_ROWS, _COLUMNS), ark.fp32)
        mixed = ark.matmul(ark.transpose(state, (1, 0)) * 0.1 + 1.0, x)
        new = ark.matmul(mixed, ark.transpose(x, (1, 0)))
        ark.output("y", ark.update(state, new * 0.01, (0, 0)))
    return program


def _state_runs(program: ark.Program) -> list[Arrays]:
    del program
    random = np.random.default_rng(1)
    shape = (_ROWS, _COLUMNS)
    return [{"x": random.standard_normal(shape).astype(np.float32)} for _ in range(3)]


CASES: dict[str, Case] = {
    "decode": _decode(),
    "decode, counters": _decode(packets=False),
    "decode, sm_80": _decode(arch="sm_80"),
    "prompt": _prefill(),
    "boxes": _chain((256, 128)),
    "stages of warpgroups": _chain((128, 128)),
    "stages of warps": _chain((128, 128), arch="sm_100a"),
    "long rows": _rows(),
    "attention": _attention(depth=64, keys=520, causal=False),
    "attention, causal": _attention(depth=64, keys=520, causal=True),
    "attention, deep heads": _attention(depth=128, keys=520, causal=True),
    "states": Case(_build_states, _state_runs, iterations=3),
    "resident": Case(_build_states, _state_runs, iterations=2, resident=True),
}

# Three SMs for each rank, so that the lane that speaks for a GPU waits for two others.
WORLD_CASES: dict[str, WorldCase] = {
    "ranks: collectives": WorldCase(lambda: all_collectives(2), iterations=3),
    "ranks: states": WorldCase(lambda: stepping(2), iterations=4),
    "ranks: sums of rows": WorldCase(lambda: sharing(2), iterations=3),
    "ranks: decode": WorldCase(lambda: decoding(2), exact=False, between=r"\.sum "),
    "ranks: one sender of three": WorldCase(lambda: forwarding(3), iterations=4),
    "ranks: boxes": WorldCase(lambda: multiplying(2), warps=None),
    "ranks: stop": WorldCase(lambda: counting(2, stopper=1), iterations=100),
}
NAMES = (*CASES, *WORLD_CASES)


def prepare(name: str, library: Path, folder: Path) -> Prepared | World:
    """Returns the compiled case of a name.

    Args:
        name: one of `NAMES`.
        library: the emulator.
        folder: for files of the host's compiler.
    """
    if name in CASES:
        return Prepared(CASES[name], library, folder)
    case = WORLD_CASES[name]
    programs = case.build()
    return World(
        programs,
        library,
        folder,
        devices=len(programs),
        iterations=case.iterations,
        exact=case.exact,
        between=case.between,
        sms=3,
        warps=case.warps,
    )

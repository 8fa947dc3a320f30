"""Programs of several ranks on emulated GPUs, whose results are bitwise those of the target cpu."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from collective_programs import draw, draw_arguments, everything
from collective_programs import multiplying as multiplying_rank
from small_decoders import CONFIG, LENGTH

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.dtypes import DType
from ark_mlir.models.decoder import build_decode, divide
from ark_mlir.runtime.ranks.rank_bundle import lanes_of_rank

from . import Emulation
from .mutants import Mutant, Mutation, judge, list_mutants

SEEDS = range(4)
# Seconds for all seeds of a mutant, on a busy machine.
LIMIT = 60
# Instructions of system scope that do not connect the GPUs of these programs.
_OTHERS_OF_SYSTEM = re.compile(r"ark_(load|store)_(host|stop)")
Programs = list[ark.Program]


def all_collectives(size: int, dtype: DType = ark.fp32) -> Programs:
    return [everything(rank, size, dtype) for rank in range(size)]


def stepping(size: int) -> Programs:
    """Returns programs with a state that every iteration sums over all ranks, so that messages
    change each time."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("stepping", rank=rank, world_size=size) as program:
            x = ark.input("x", (4, 96), ark.int32)
            state = ark.state("state", (4, 96), ark.int32)
            mine = ark.add(ark.mul(state, ark.constant([rank + 2], ark.int32)), x)
            total = ark.update(state, ark.all_reduce(mine), (0, 0))
            ark.output("y", ark.identity(total))
        programs.append(program)
    return programs


def forwarding(size: int) -> Programs:
    """Returns programs in which rank 0 sends a state, which changes each time, and receives
    nothing."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("forwarding", rank=rank, world_size=size) as program:
            x = ark.input("x", (4, 96), ark.int32)
            state = ark.state("state", (4, 96), ark.int32)
            factor = ark.constant([3], ark.int32)
            sent = x if rank else ark.update(state, ark.add(ark.mul(state, factor), x), (0, 0))
            received = ark.broadcast(sent, 0)
            if rank:
                received = ark.update(state, ark.add(ark.mul(state, factor), received), (0, 0))
            ark.output("y", ark.identity(received))
        programs.append(program)
    return programs


def in_place(size: int, shape: tuple[int, int]) -> Programs:
    """Returns programs in which each collective reads a state, and its result overwrites the state.

    The rows of `shape` are a multiple of `size`.
    """

    def rows_of(rank: int) -> slice:
        return slice(rank * shape[0] // size, (rank + 1) * shape[0] // size)

    def pass_on(x: ark.Tensor, rank: int) -> ark.Tensor:
        sent = ark.send(x, (rank + 1) % size)
        return ark.identity(ark.recv(shape, ark.int32, (rank - 1) % size), deps=[sent])

    collectives: dict[str, Callable[[ark.Tensor, int], ark.Tensor]] = {
        "sum": lambda x, rank: ark.all_reduce(x),
        "max": lambda x, rank: ark.all_reduce(x, "max"),
        "gather": lambda x, rank: ark.all_gather(x[rows_of(rank)], 0),
        "scatter": lambda x, rank: ark.concat([ark.reduce_scatter(x, 0)] * size, 0),
        "swap": lambda x, rank: ark.all_to_all(x, 0),
        "broadcast": lambda x, rank: ark.broadcast(x, size - 1),
        "send": pass_on,
    }
    programs: Programs = []
    for rank in range(size):
        with ark.Program("in_place", rank=rank, world_size=size) as program:
            x = ark.input("x", shape, ark.int32)
            for name, collective in collectives.items():
                state = ark.state(name, shape, ark.int32)
                new = ark.update(state, ark.add(state, x), (0, 0))
                new = ark.update(state, collective(new, rank), (0, 0))
                ark.output(f"{name}_y", ark.identity(new))
        programs.append(program)
    return programs


def pipelined(size: int, rows: int) -> Programs:
    """Returns programs that pass three microbatches through all ranks, forward and backward."""
    shape, count = (rows, 96), 3
    programs: Programs = []
    for rank in range(size):
        with ark.Program("pipelined", rank=rank, world_size=size) as program:
            x = ark.input("x", shape, ark.int32)
            hidden: list[ark.Tensor] = []
            for number in range(count):
                with ark.planner(microbatch=number):
                    h = ark.recv(shape, ark.int32, rank - 1, 2 * number) if rank else x + number
                    hidden.append(h * 3 + x)
                    if rank < size - 1:
                        ark.send(hidden[-1], rank + 1, 2 * number)
            total = ark.zeros(shape, ark.int32)
            for number, h in enumerate(hidden):
                with ark.planner(microbatch=number, backward=True):
                    tag = 2 * number + 1
                    g = ark.recv(shape, ark.int32, rank + 1, tag) if rank < size - 1 else h
                    if rank:
                        ark.send(g * 5 + h, rank - 1, tag)
                    total = total + g * h
            ark.output("total", total)
        programs.append(program)
    return programs


def sharing(size: int) -> Programs:
    """Returns programs in which each SM needs, in each iteration, values of a state that other SMs
    of its rank and other ranks have computed.
    """
    shape = (24, 32)
    programs: Programs = []
    for rank in range(size):
        with (
            ark.Program("sharing", rank=rank, world_size=size) as program,
            ark.planner(tile=(8, 16)),
        ):
            state = ark.state("state", shape, ark.int32)
            mine = ark.add(ark.mul(state, ark.constant([rank + 2], ark.int32)), 1)
            rows = ark.reduce_sum(mine, axis=0)
            total = ark.all_reduce(ark.mul(mine, rows))
            columns = ark.transpose(ark.reduce_sum(total, axis=1), (1, 0))
            mixed = ark.add(ark.mul(total, rows), ark.reduce_sum(columns, axis=1))
            ark.output("y", ark.identity(ark.update(state, mixed, (0, 0))))
        programs.append(program)
    return programs


def multiplying(size: int) -> Programs:
    """Returns programs with products whose operands TMA copies; a kernel has the default warps."""
    return [multiplying_rank(rank, size, ark.bf16) for rank in range(size)]


def decoding(size: int) -> Programs:
    """Returns the programs of a decoder's step that ranks share."""
    return [build_decode(config, batch=1, max_length=LENGTH) for config in divide(CONFIG, size)]


def normalizing(size: int, rows: int, width: int) -> Programs:
    """Returns programs in which products of all ranks and a residual are added and normalized, as
    in a layer of a decoder: the readers of the norm receive the products of all ranks."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("normalizing", rank=rank, world_size=size) as program:
            residual = ark.input("x", (rows, width), ark.bf16)
            hidden = residual
            for name in ("first", "second"):
                w = ark.parameter(f"{name}.w", (width, width), ark.bf16)
                part = ark.matmul(hidden, w, transpose_other=True, name=f"{name}.part")
                residual = ark.add(residual, ark.all_reduce(part, name=f"{name}.sum"))
                weight = ark.parameter(f"{name}.norm", (width,), ark.bf16)
                hidden = ark.rmsnorm(residual, weight)
            w = ark.parameter("last.w", (width, width), ark.bf16)
            ark.output("y", ark.matmul(hidden, w, transpose_other=True))
        programs.append(program)
    return programs


def counting(size: int, stopper: int) -> Programs:
    """Returns programs in which one rank stops the launch once a sum over all ranks exceeds 11."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("counting", rank=rank, world_size=size) as program:
            total = ark.state("total", (1,), ark.int32)
            one = ark.all_reduce(ark.constant([1], ark.int32))
            total = ark.update(total, ark.add(total, one), (0,))
            if rank == stopper:
                done = ark.state("done", (1,), ark.int32)
                ark.update(done, ark.cast(ark.greater(total, 11), ark.int32), (0,))
                ark.stop_when(done)
            ark.output("y", ark.identity(total))
        programs.append(program)
    return programs


def scattering(size: int) -> Programs:
    """Returns programs whose packets all go to another GPU."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("scattering", rank=rank, world_size=size) as program:
            x = ark.input("x", (2 * size, 3))
            ark.output("y", ark.reduce_scatter(x, 0))
        programs.append(program)
    return programs


def looking_up(size: int) -> Programs:
    """Each rank looks up its own element, and all ranks sum the elements."""
    programs: Programs = []
    for rank in range(size):
        with ark.Program("looking_up", rank=rank, world_size=size) as program:
            x = ark.input("x", (4,), ark.int32)
            index = ark.scalar("index", ark.int32)
            picked = ark.gather(ark.mul(x, x), index, 0, name="pick")
            ark.output("y", ark.all_reduce(picked, name="total"))
        programs.append(program)
    return programs


def wait_for_more(bundle: Bundle, rank: int) -> Bundle:
    """Makes the first wait of a rank require one signal more than there are."""
    rows = np.array(bundle.tables.instructions)
    lanes = bundle.tables.lanes[list(lanes_of_rank(bundle, rank))]
    bounds: list[tuple[int, int]] = [(first, last) for _, first, last in lanes.tolist()]
    own = np.concatenate([np.arange(first, last, dtype=np.int64) for first, last in bounds])
    wait = own[rows[own, 0] == Opcode.WAIT][0]
    rows[wait, 2] += 1
    tables = replace(bundle.tables, instructions=rows)
    return replace(
        bundle,
        tables=tables,
        sections={**bundle.sections, "instructions": memoryview(rows.tobytes())},
    )


class World:
    """Programs of ranks on emulated GPUs, with the outputs of the target cpu.

    Args:
        programs: the program of each rank.
        library: the emulator.
        folder: for files of the host's compiler.
        devices: the number of GPUs.
        iterations: the number of iterations of each run.
        exact: True if results are bitwise those of the target cpu. If not, they are bitwise those
            of a run without mutations, and differ from the target cpu's by rounding.
        between: a pattern of the ops whose packets go to other GPUs. The scope of a GPU suffices
            for other packets.
        kind: the class of the emulation.
        options: options of :class:`Emulation`.
    """

    def __init__(
        self,
        programs: Programs,
        library: Path,
        folder: Path,
        devices: int,
        iterations: int = 1,
        exact: bool = True,
        between: str = "",
        kind: type[Emulation] = Emulation,
        **options: Any,
    ) -> None:
        settings: dict[str, Any] = {"sms": 2, "warps": 4, **options}
        self.emulation = kind(programs, library, folder, devices=devices, **settings)
        rng = np.random.default_rng(0)
        self._inputs = [draw(rng, program) for program in programs]
        self._parameters = [draw_arguments(rng, program.parameters, 0.1) for program in programs]
        self._iterations = iterations
        self._between = re.compile(between)
        chosen = {name: options[name] for name in ("collectives",) if name in options}
        with ark.compile(programs, target=f"cpu:{2 * len(programs)}", **chosen) as cpu:
            cpu.bind(self._parameters)
            self._expected = cpu.run(self._inputs, iterations=iterations)
        if not exact:
            self._accept_rounding()

    def _accept_rounding(self) -> None:
        self.emulation.load(0)
        with self.emulation.executable as executable:
            executable.bind(self._parameters)
            outputs = self.emulation.run(self._inputs, iterations=self._iterations)
        for got, expected in zip(outputs, self._expected, strict=True):
            for name, array in expected.items():
                np.testing.assert_allclose(got[name], array, rtol=0.02, atol=0.02, err_msg=name)
        self._expected = outputs

    def run(self, seed: int, mutations: Mapping[int, int] | None = None) -> None:
        """Runs twice with a seed; raises an error if a bit is wrong or a rule is broken."""
        self.emulation.load(seed, mutations)
        with self.emulation.executable as executable:
            executable.bind(self._parameters)
            for _ in range(2):
                self._compare(self.emulation.run(self._inputs, iterations=self._iterations))
                executable.reset()

    def recover(self, seed: int, begin: Callable[[], object], end: Callable[[], object]) -> None:
        """Runs between `begin` and `end`, and then again; raises an error if a bit of the last run
        is wrong, or the first run does not hang."""
        self.emulation.load(seed)
        with self.emulation.executable as executable:
            executable.bind(self._parameters)
            begin()
            try:
                self.emulation.run(self._inputs, iterations=self._iterations)
            except ark.HangError:
                pass
            else:
                raise AssertionError("the run did not hang")
            finally:
                end()
            executable.reset()
            outputs = self.emulation.run(self._inputs, iterations=self._iterations)
            self._compare(outputs)

    def _compare(self, outputs: Sequence[Mapping[str, Any]]) -> None:
        for rank, (got, expected) in enumerate(zip(outputs, self._expected, strict=True)):
            for name, array in expected.items():
                assert got[name].tobytes() == array.tobytes(), f"rank {rank}: {name}"

    def judge(self, changes: Mapping[int, int], seeds: Sequence[int] = SEEDS) -> str:
        """Returns the problem of a run with mutated instructions; empty if there is none."""
        return judge(self.run, dict(changes), seeds, LIMIT)

    def find_mutants(self, seeds: Iterable[int]) -> list[Mutant]:
        """Returns the mutants of instructions that the runs execute; no instruction is mutated
        here."""
        executed: set[int] = set()
        for seed in seeds:
            self.run(seed)
            executed |= self.emulation.executed
        mutants = list_mutants(site for site in self.emulation.sites if site.number in executed)
        return [mutant for mutant in mutants if not self._is_harmless(mutant)]

    def _is_harmless(self, mutant: Mutant) -> bool:
        """Returns True for packets within a GPU that have the scope of the GPU."""
        return (
            mutant.mutation == Mutation.NARROW_TO_GPU
            and not mutant.is_shared
            and not self._between.search(mutant.name)
        )

    def peer_mutants(self) -> list[Mutant]:
        """Returns mutants of the signals and packets between GPUs."""
        return [
            mutant
            for mutant in list_mutants(self.emulation.sites)
            if ".sys" in mutant.name and not _OTHERS_OF_SYSTEM.search(mutant.name)
        ]

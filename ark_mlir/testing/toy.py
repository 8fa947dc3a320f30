"""Toy programs: valid bundles without a compiler, and a kernel in C that can run them.

program = ToyProgram(sms=2)
x = program.buffer("x", "input", "fp32", [32])
y = program.buffer("y", "output", "fp32", [32])
add = program.task("add", vctas=2, operands=[(y, 0), (x, 0), (x, 0)])
program.lane(0, [run(add, 0, 1)])
program.lane(1, [run(add, 1, 2)])
manifest, sections = program.parts(kernel=compile_kernel())
"""

from __future__ import annotations

import functools
import math
import platform
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..bundle import Opcode
from ..bundle.format import VERSION
from ..dtypes import as_dtype

# The bodies in toy_kernel.c with their operands: access, element type, and elements per vCTA. With
# None, all vCTAs access the same element.
BODIES: dict[str, tuple[tuple[str, str, int | None], ...]] = {
    "add": (("write", "fp32", 16), ("read", "fp32", 16), ("read", "fp32", 16)),
    "gather": (("write", "fp32", 16), ("read", "int32", 1), ("read", "fp32", None)),
    "count": (("update", "int64", None),),
    "fill": (("write", "int32", 1), ("read", "int32", None)),
    "copy": (("write", "uint8", 64), ("read", "uint8", 64)),
    "nap": (),
    "endless": (("update", "int32", None),),
    "align": (("write", "int64", None), ("read", "uint8", None)),
    "nothing": (),
}
# Bodies that take milliseconds or do not end, and the predicted time of their instructions in ns.
_LONG_NUMBERS = {list(BODIES).index(body) for body in ("nap", "endless")}
_LONG_NS = 10_000_000
# The number of elements of the input that every vCTA of `gather` reads.
_GATHERED = 8 * 16
_SPARE_OPERANDS = 4

Instruction = tuple[int, int, int, int]


def run(task: int, begin: int, end: int) -> Instruction:
    """Returns an instruction that runs the vCTAs [begin, end) of a task."""
    return (Opcode.RUN, task, begin, end)


def signal(semaphore: int) -> Instruction:
    """Returns an instruction that adds one to a semaphore."""
    return (Opcode.SIGNAL, semaphore, 0, 0)


def wait(semaphore: int, arrivals: int) -> Instruction:
    """Returns an instruction that waits for a semaphore."""
    return (Opcode.WAIT, semaphore, arrivals, 0)


def barrier(semaphore: int, arrivals: int) -> Instruction:
    """Returns an instruction that signals a semaphore and waits for it."""
    return (Opcode.BARRIER, semaphore, arrivals, 0)


def prefetch(task: int, begin: int, end: int) -> Instruction:
    """Returns an instruction that prefetches for the vCTAs [begin, end) of a task."""
    return (Opcode.PREFETCH, task, begin, end)


class ToyProgram:
    """Collects the parts of a bundle; each method returns the index of the part that it adds."""

    def __init__(self, sms: int = 2, name: str = "toy", arena: int = 4096) -> None:
        self._name = name
        self._sms = sms
        self._arena = arena
        self._buffers: list[dict[str, Any]] = []
        self._tasks: list[dict[str, Any]] = []
        self._first: list[int] = []
        self._footprints: dict[str, list[list[dict[str, Any]]]] = {name: [] for name in BODIES}
        self._operands: list[tuple[int, int]] = []
        self._semaphores: list[dict[str, Any]] = []
        self._lanes: list[tuple[int, list[Instruction]]] = []
        self._constants = b""

    def buffer(self, name: str, kind: str, dtype: str, shape: Sequence[int], **extra: Any) -> int:
        """Adds a buffer, and returns its slot."""
        size = math.prod(shape) * as_dtype(dtype).itemsize
        self._buffers.append(
            dict(name=name, kind=kind, dtype=dtype, shape=list(shape), bytes=size, **extra)
        )
        return len(self._buffers)

    def constant(self, name: str, array: np.ndarray[Any, Any], dtype: str) -> int:
        """Adds a constant buffer with these values, and returns its slot."""
        offset = len(self._constants)
        self._constants += array.tobytes()
        self._constants += bytes(-len(self._constants) % 64)
        return self.buffer(name, "constant", dtype, array.shape, offset=offset)

    def task(
        self,
        body: str,
        vctas: int = 1,
        operands: Sequence[tuple[int, int]] = (),
        name: str | None = None,
        ops: Sequence[str] | None = None,
        location: str = "toy.py:1",
    ) -> int:
        """Adds a task, and returns its index; operands are pairs (slot, byte offset)."""
        index = list(BODIES).index(body)
        footprint = [
            _declare(body, index, vctas, offset) for index, (_, offset) in enumerate(operands)
        ]
        known = self._footprints[body]
        if footprint not in known:
            known.append(footprint)
        self._tasks.append(
            {
                "name": name or f"{body}_{len(self._tasks)}",
                "body": index,
                "vctas": vctas,
                "grid": [vctas],
                "ops": list(ops or [f"ark.{body}"]),
                "location": location,
                "bytes": 64 * vctas,
                "flops": 16 * vctas,
                "footprint": known.index(footprint),
                "values": [slot for slot, _ in operands],  # `parts` replaces slots by values
            }
        )
        self._first.append(len(self._operands))
        self._operands += operands
        return len(self._tasks) - 1

    def semaphore(self, arrivals: int, name: str | None = None) -> int:
        """Adds a semaphore, and returns its index."""
        name = name or f"s{len(self._semaphores)}"
        self._semaphores.append({"name": name, "arrivals": arrivals, "handoff": "counter"})
        return len(self._semaphores) - 1

    def lane(self, sm: int, instructions: Iterable[Instruction]) -> int:
        """Adds a lane with its instructions, and returns its index."""
        self._lanes.append((sm, list(instructions)))
        return len(self._lanes) - 1

    def parts(
        self,
        kernel: bytes = b"no kernel",
        trace: bool = False,
        packets: int = 0,
        ranks: int = 1,
    ) -> tuple[dict[str, Any], dict[str, bytes]]:
        """Returns the manifest and the sections; `packets` is the size of the buffer of packets in
        bytes. Several ranks share the SMs and the arena equally."""
        instructions = [each for _, lane in self._lanes for each in lane]
        manifest: dict[str, Any] = {
            "format": VERSION,
            "producer": "ark toy",
            "program": self._name,
            "target": {
                "backend": "cpu",
                "arch": platform.machine(),
                "features": [],
                "sms": self._sms,
                "warps": 1,
                "shared_memory": 0,
            },
            "entry": "ark_kernel",
            "arena": self._arena,
            "buffers": self._buffers,
            "tasks": [self._number_values(task) for task in self._tasks],
            "bodies": [
                {"name": name, "footprints": footprints}
                for name, footprints in self._footprints.items()
            ],
            "intermediates": [
                [0, 0, self._arena],
                *([[len(self._buffers) + 1, 0, packets]] if packets else []),
            ],
            "semaphores": self._semaphores,
            **({"packets": packets} if packets else {}),
            **({"ranks": ranks} if ranks > 1 else {}),
            "statistics": self._statistics(instructions),
            # Toy programs count as proven, although nothing has proven them.
            "options": {"trace": trace, "verify": True},
        }
        return manifest, {
            "kernel": kernel,
            **self._tables(instructions),
            "constants": self._constants,
        }

    def _number_values(self, task: dict[str, Any]) -> dict[str, Any]:
        """Returns a task with indices of values in place of slots, in the order buffers, arena,
        packets."""
        count = len(self._buffers)
        numbers = {0: count, **{slot: slot - 1 for slot in range(1, count + 1)}}
        return {**task, "values": [numbers.get(slot, slot) for slot in task["values"]]}

    def _statistics(self, instructions: list[Instruction]) -> dict[str, int]:
        count = [sum(each[0] == opcode for each in instructions) for opcode in Opcode]
        return {
            "waits": count[Opcode.WAIT],
            "signals": count[Opcode.SIGNAL],
            "barriers": count[Opcode.BARRIER],
            "vctas": sum(task["vctas"] for task in self._tasks),
            "predicted_ns": 1000 * len(instructions),
        }

    def _predict(self, instruction: Instruction) -> int:
        """Returns the predicted time of an instruction, in ns."""
        opcode, task, *_ = instruction
        is_long = opcode == Opcode.RUN and self._tasks[task]["body"] in _LONG_NUMBERS
        return _LONG_NS if is_long else 900

    def _tables(self, instructions: list[Instruction]) -> dict[str, bytes]:
        lanes: list[tuple[int, int, int]] = []
        times: list[tuple[int, int]] = []
        for sm, items in self._lanes:
            first = lanes[-1][2] if lanes else 0
            lanes.append((sm, first, first + len(items)))
            times += [(1000 * index, self._predict(item)) for index, item in enumerate(items)]
        tasks = [
            (task["body"], first) for task, first in zip(self._tasks, self._first, strict=True)
        ]
        operands = self._operands + [(0, 0)] * _SPARE_OPERANDS
        return {
            "instructions": np.array(instructions, "<i4").tobytes(),
            "lanes": np.array(lanes, "<i4").tobytes(),
            "tasks": np.array(tasks, "<i4").tobytes(),
            "operands": np.array(operands, "<i8").tobytes(),
            "timeline": np.array(times, "<i8").tobytes(),
        }


def _declare(body: str, index: int, vctas: int, begin: int) -> dict[str, Any]:
    """Returns the footprint of an operand that begins `begin` bytes into its value."""
    access, dtype, count = BODIES[body][index]
    result: dict[str, Any] = {"access": access, "dtype": dtype}
    if begin:
        result["begin"] = begin
    if count is None:
        size = _GATHERED if body == "gather" else 1
        return {**result, "shape": [size], "offsets": [0], "sizes": [size]}
    offset = ["*", "d0", count] if count > 1 else "d0"
    return {**result, "shape": [count * vctas], "offsets": [offset], "sizes": [count]}


def add_program(vctas: int = 8) -> ToyProgram:
    """Returns ``y = (x + w) + c`` on two lanes that wait for each other; all arrays are fp32
    ``[16 * vctas]``."""
    program, size = ToyProgram(arena=64 * vctas), 16 * vctas
    x = program.buffer("x", "input", "fp32", [vctas, 16])
    w = program.buffer("w", "parameter", "fp32", [size])
    c = program.constant("c", np.full(size, 0.5, np.float32), "fp32")
    y = program.buffer("y", "output", "fp32", [size])
    first = program.task("add", vctas, [(0, 0), (x, 0), (w, 0)], "first", location="net.py:7")
    second = program.task("add", vctas, [(y, 0), (0, 0), (c, 0)], "second", location="net.py:8")
    half = vctas // 2
    done = program.semaphore(2, "done")
    again = program.semaphore(2, "again")
    for lane, (mine, other) in enumerate([((0, half), (half, vctas)), ((half, vctas), (0, half))]):
        program.lane(
            lane,
            [
                prefetch(first, *mine),
                run(first, *mine),
                signal(done),
                wait(done, 2),
                run(second, *other),
                barrier(again, 2),
            ],
        )
    return program


def counting_program() -> ToyProgram:
    """Returns a program whose state counts iterations, with a second lane that waits for each of
    them."""
    program = ToyProgram(sms=2)
    state = program.buffer("n", "state", "int64", [])
    count, nothing = program.task("count", 1, [(state, 0)]), program.task("nothing")
    done = program.semaphore(1, "done")
    program.lane(0, [run(count, 0, 1), signal(done)])
    program.lane(1, [wait(done, 1), run(nothing, 0, 1)])
    return program


def gather_program() -> ToyProgram:
    """Returns ``y = table[ids]`` for one row of an fp32 table ``[8, 16]``, on one lane without
    waits."""
    program = ToyProgram(sms=1)
    ids = program.buffer("ids", "input", "int32", [1])
    table = program.buffer("table", "parameter", "fp32", [8, 16])
    y = program.buffer("y", "output", "fp32", [1, 16])
    program.lane(0, [run(program.task("gather", 1, [(y, 0), (ids, 0), (table, 0)]), 0, 1)])
    return program


def ring_program(ranks: int, part: int = 2 << 20) -> ToyProgram:
    """Returns a program of several ranks, each of which sends ``x + w`` to the next one.

    On each rank ``y = (x' + w') + c`` with x' and w' of the rank before it, and a state counts
    iterations. All arrays are fp32 ``[128]``. Each rank has two lanes and a part of the arena.
    """
    program, vctas = ToyProgram(sms=2 * ranks, arena=part * ranks), 8
    size = 16 * vctas
    c = program.constant("c", np.full(size, 0.5, np.float32), "fp32")
    again = program.semaphore(2 * ranks, "again")
    arrived = [program.semaphore(1, f"rank{rank}/arrived") for rank in range(ranks)]
    for rank in range(ranks):
        name, target = f"rank{rank}/", (rank + 1) % ranks
        x, w = (
            program.buffer(f"{name}{letter}", kind, "fp32", [size])
            for letter, kind in (("x", "input"), ("w", "parameter"))
        )
        state = program.buffer(f"{name}n", "state", "int64", [])
        y = program.buffer(f"{name}y", "output", "fp32", [size])
        sent, received = (0, target * part), (0, rank * part)
        send = program.task("add", vctas, [sent, (x, 0), (w, 0)], f"{name}send")
        receive = program.task("add", vctas, [(y, 0), received, (c, 0)], f"{name}receive")
        count = program.task("count", 1, [(state, 0)], f"{name}count")
        sending = [run(send, 0, vctas), signal(arrived[target]), barrier(again, 2 * ranks)]
        receiving = [wait(arrived[rank], 1), run(receive, 0, vctas), run(count, 0, 1)]
        program.lane(2 * rank, sending)
        program.lane(2 * rank + 1, [*receiving, barrier(again, 2 * ranks)])
    return program


def compiler() -> str:
    """Returns the name of a C compiler in PATH; raises RuntimeError if there is none."""
    for name in ("cc", "gcc", "clang", "clang-22"):
        if path := shutil.which(name):
            return path
    raise RuntimeError("no C compiler; install cc, gcc or clang, and add it to PATH")


@functools.cache
def compile_kernel(*options: str) -> bytes:
    """Compiles the toy kernel, and returns its shared object; needs a C compiler."""
    source = Path(__file__).with_name("toy_kernel.c")
    return compile_c(source, "-nostartfiles", *options)


def compile_c(source: Path, *options: str) -> bytes:
    """Compiles a C file, and returns its shared object."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "kernel.so"
        flags = ("-std=gnu11", "-O1", "-shared", "-fPIC", *options)
        subprocess.run([compiler(), *flags, "-o", output, source], check=True)
        return output.read_bytes()

"""Random small programs, and their bundles without machine code, which the proof does not need."""

from __future__ import annotations

import random
from dataclasses import replace

import ark_mlir as ark
from ark_mlir.bundle import Bundle
from ark_mlir.compiler.lowering import choose_target, lower
from ark_mlir.compiler.options import CompileOptions
from ark_mlir.compiler.packaging import take_kernel
from ark_mlir.compiler.source import load_module
from ark_mlir.progress import Progress
from ark_mlir.targets import Code, Target, backend_of, resolve

TARGETS = ("cpu:2", "cpu:3", "cpu:5", "cuda:sm_90a", "cuda:sm_80", "hip:gfx942")
SCHEDULERS = ("auto", "list", "round-robin", "rounds")


def make_bundle(rng: random.Random) -> tuple[str, Bundle]:
    """Returns a bundle and a line that describes it."""
    if rng.random() < 0.2:
        ranks, target = rng.randint(2, 3), rng.choice(("cpu:1", "cpu:2"))
        source = [_exchange(rank, ranks, rng.getstate()) for rank in range(ranks)]
        kind = f"{ranks} ranks"
    else:
        kind = rng.choice(("chain", "decode", "states", "stop"))
        target = rng.choice(TARGETS)
        source = {"chain": _chain, "decode": _decode, "states": _states, "stop": _stop}[kind](rng)
    scheduler = rng.choice(SCHEDULERS)
    options = CompileOptions(scheduler=scheduler, cpu="baseline", packets=rng.random() < 0.7)
    return f"{kind} for {target}, {scheduler}", compile_tables(source, _cut(target, rng), options)


def _cut(target: str, rng: random.Random) -> Target:
    """Returns a target with hand-offs that cost nothing, so that attentions of small programs are
    split.
    """
    machine = replace(resolve(target), handoff=1, barrier=1, overhead=1)
    return machine if machine.backend == "cpu" else replace(machine, sms=rng.randint(3, 9))


def compile_tables(source: object, target: Target, options: CompileOptions) -> Bundle:
    """Compiles a program to a bundle with placeholder bytes instead of a kernel."""
    module = load_module(source)  # type: ignore[arg-type]
    machine = choose_target(module, target)
    backend = backend_of(machine.backend)
    with Progress("compiling") as progress:
        lower(module, machine, backend, options, "kernel", progress)
    parts = take_kernel(module, machine, options)
    code = Code(image=b"no kernel", arch=machine.arch, features=())
    return Bundle.from_parts(*parts.finish(code, None))


def _size(rng: random.Random) -> int:
    return rng.choice((8, 16, 24, 32, 48, 64))


def _step(x: ark.Tensor, others: list[ark.Tensor], number: int, rng: random.Random) -> ark.Tensor:
    """Applies one more op to a matrix, or to it and an earlier one."""
    rows, columns = x.shape
    kind = rng.choice(("matmul", "softmax", "relu", "add", "slice", "concat", "transpose", "sum"))
    if kind == "matmul":
        size = _size(rng)
        w = ark.parameter(f"w{number}", (size, columns), x.dtype)
        return ark.matmul(x, w, transpose_other=True)
    if kind == "softmax":
        return ark.softmax(x)
    if kind == "add":
        same = [other for other in others if other.shape == x.shape]
        return x + rng.choice(same) if same else ark.gelu(x)
    if kind == "slice" and columns >= 16:
        return ark.slice(x, [0, columns // 2], [rows, columns])
    if kind == "concat":
        return ark.concat([x, ark.relu(x)], 1) if columns <= 32 else ark.relu(x)
    if kind == "transpose":
        return ark.copy(ark.transpose(x, [1, 0]))
    if kind == "sum":
        return x - ark.reduce_mean(x, 1)
    return ark.relu(x)


def _chain(rng: random.Random) -> ark.Program:
    dtype = rng.choice((ark.fp32, ark.bf16))
    with ark.Program("chain") as program:
        x = ark.input("x", (_size(rng), _size(rng)), dtype)
        made = [x]
        for number in range(rng.randint(3, 8)):
            made.append(_step(rng.choice(made[-2:]), made, number, rng))
        ark.output("y", made[-1])
        if rng.random() < 0.3:
            ark.output("z", ark.reduce_sum(made[len(made) // 2], 0))
    return program


def _decode(rng: random.Random) -> ark.Program:
    """Builds an MLP with norms for one row, which a GPU hands off in packets."""
    size, wide = rng.choice((32, 64)), rng.choice((64, 128))
    with ark.Program("decode") as program:
        x = ark.input("x", (1, size), ark.bf16)
        for layer in range(rng.randint(1, 3)):
            gate = ark.parameter(f"gate{layer}", (wide, size), ark.bf16)
            up = ark.parameter(f"up{layer}", (wide, size), ark.bf16)
            down = ark.parameter(f"down{layer}", (size, wide), ark.bf16)
            norm = ark.rmsnorm(x, ark.parameter(f"norm{layer}", (size,), ark.bf16))
            inner = ark.silu(ark.matmul(norm, gate, transpose_other=True))
            inner = inner * ark.matmul(norm, up, transpose_other=True)
            x = x + ark.matmul(inner, down, transpose_other=True)
        ark.output("y", x)
    return program


def _states(rng: random.Random) -> ark.Program:
    size, length = rng.choice((16, 32)), rng.choice((8, 16))
    with ark.Program("states") as program:
        x = ark.input("x", (1, size))
        cache = ark.state("cache", (length, size), ark.fp32)
        total = ark.state("total", (1, size), ark.fp32)
        position = ark.scalar("position", max=length - 1)
        updated = ark.update(cache, ark.relu(x), [position, 0])
        summed = ark.update(total, total + x, [0, 0])
        ark.output("y", ark.matmul(ark.softmax(summed), updated, transpose_other=True))
    return program


def _stop(rng: random.Random) -> ark.Program:
    size = rng.choice((16, 32))
    with ark.Program("stop") as program:
        x = ark.input("x", (size, size))
        count = ark.state("count", (1,), ark.int32)
        done = ark.state("done", (1,), ark.int32)
        more = ark.update(count, count + 1, [0])
        ark.update(done, ark.cast(ark.greater_equal(more, rng.randint(2, 5)), ark.int32), [0])
        ark.stop_when(done)
        ark.output("y", ark.softmax(ark.matmul(x, ark.relu(x))))
    return program


def _exchange(rank: int, ranks: int, state: object) -> ark.Program:
    """Returns the same program for all ranks, from one state of the generator."""
    rng = random.Random()
    rng.setstate(state)  # type: ignore[arg-type]
    rows, columns = _size(rng), rng.choice((12, 24, 48))
    with ark.Program("exchange", rank=rank, world_size=ranks) as program:
        x = ark.relu(ark.input("x", (rows, columns)))
        kind = rng.choice(("all_reduce", "all_gather", "both"))
        if kind != "all_gather":
            x = ark.all_reduce(x)
        if kind != "all_reduce":
            x = ark.all_gather(ark.softmax(x), 0)
        ark.output("y", x)
    return program

"""Exports the files that a machine with a GPU, but without the compiler, needs to run the tests
beside this file.

Usage: export.py <folder> [<target>]. The folder gets the runtime part of the package, which needs
no compiler, and models. For every case of tests/support/op_cases.py, it gets a bundle with inputs,
expected outputs and bounds. Programs of several ranks and of NVIDIA's assemblers are for targets of
`cuda` alone.
"""

from __future__ import annotations

import math
import multiprocessing
import shutil
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import product
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "support"))
import counting
import hand_off_programs
import op_cases
import state_bodies
from compact import compact
from export_collectives import export_collectives
from export_models import as_bytes, export_models
from export_runtime import copy_runtime
from export_shared_models import export_shared_models
from export_worlds import export_worlds, spoil

import ark_mlir as ark
from ark_mlir.targets import cuda, resolve

RUN = 0


def export_ops(folder: Path, target: str) -> int:
    """Writes the bundle of every case with its arrays beside it, in one process per core, and
    returns the number of bundles."""
    folder.mkdir()
    pairs = [(name, d) for name, case in op_cases.CASES.items() for d in range(len(case.dtypes))]
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(mp_context=context) as pool:
        jobs = [pool.submit(export_op, name, dtype, folder, target) for name, dtype in pairs]
        for number, job in enumerate(as_completed(jobs), start=1):
            job.result()
            say(f"{number}/{len(jobs)} ops")
    return len(pairs)


def export_op(name: str, number: int, folder: Path, target: str) -> None:
    """Writes the bundle of the case `name`, with the dtype `case.dtypes[number]`."""
    case = op_cases.CASES[name]
    dtype = case.dtypes[number]
    program, inputs = op_cases.build(case, dtype), op_cases.make_inputs(case, dtype)
    write(program, inputs, folder / f"{name}-{dtype}", target)


def write(
    program: ark.Program, inputs: dict[str, Any], path: Path, target: str, **options: Any
) -> ark.Executable:
    """Writes a bundle, with inputs, expected outputs and their bounds beside it."""
    executable = ark.compile(program, target=target, **options)
    executable.save(path.with_suffix(".arkbin"))
    expected = ark.reference.evaluate(program, inputs, bound=True)
    arrays: dict[str, Any] = {}
    for name, array in inputs.items():
        arrays[f"input.{name}"] = as_bytes(array)
    for name, array in expected.outputs.items():
        arrays[f"output.{name}"], arrays[f"bound.{name}"] = compact(array, expected.bounds[name])
    np.savez_compressed(path.with_suffix(".npz"), **arrays)
    return executable


def export_hang(path: Path, target: str) -> None:
    """Exports a program in which one wait requires an arrival too many, the same program without
    the fault, and one with a trace."""
    with ark.Program("hang") as program:
        x = ark.input("x", (64, 256), ark.fp32)
        for _ in range(4):
            x = ark.softmax(x)
        ark.output("y", ark.reduce_sum(x, axis=0))
    ark.compile(program, target=target, trace=True).save(path / "traced.arkbin")
    executable = ark.compile(program, target=target)
    executable.save(path / "good.arkbin")
    spoil(executable).save(path / "hang.arkbin")


def export_streams(path: Path, target: str) -> None:
    """Exports blocks of a decoder for one token, whose parameters are streamed through shared
    memory. Numbers of rows are odd, and rows have one, two or four chunks. One program has a wait
    that never ends, and one has fp8 weights."""
    executable = write(*block_of_decoder([ark.bf16] * 4), path / "streams", target)
    spoil(executable).save(path / "streams-hang.arkbin")
    eights = [ark.fp8_e4m3, ark.fp8_e4m3, ark.fp8_e4m3, ark.fp8_e5m2]
    write(*block_of_decoder(eights), path / "streams-eights", target)


def block_of_decoder(dtypes: list[Any]) -> tuple[ark.Program, dict[str, Any]]:
    """Builds the block with weights of these dtypes, and its arrays."""
    random = np.random.default_rng(0)
    shapes = {"gate": (4099, 512), "up": (4099, 512), "mix": (2048, 2048), "down": (512, 4096)}
    kinds = {"x": ark.bf16, "g": ark.bf16, **dict(zip(shapes, dtypes, strict=True))}
    with ark.Program("streams") as program:
        x = ark.input("x", (1, 512), ark.bf16)
        g = ark.parameter("g", (512,), ark.bf16)
        gate, up, mix, down = (ark.parameter(n, s, kinds[n]) for n, s in shapes.items())
        h = ark.rmsnorm(x, g)
        h = ark.silu(ark.matmul(h, gate, transpose_other=True)) * ark.matmul(
            h, up, transpose_other=True
        )
        ark.output("mixed", ark.matmul(h[:, 1:2049], mix, transpose_other=True))
        ark.output("y", ark.matmul(h[:, :4096], down, transpose_other=True) + x)
    all_shapes = {"x": (1, 512), "g": (512,), **shapes}
    return program, {n: weights(random, s, kinds[n]) for n, s in all_shapes.items()}


def weights(random: np.random.Generator, shape: tuple[int, ...], dtype: Any) -> Any:
    """Returns small numbers; large arrays repeat a prime number of values, so that they compress
    well."""
    values = random.standard_normal(min(math.prod(shape), 4093)) * 0.1
    return np.resize(values.astype(dtype.numpy), shape)


def export_packets(path: Path, target: str) -> None:
    """Exports programs with and without packets between their tasks: blocks of a decoder with
    streamed parameters, sums of columns, and a split attention, whose packets have 64 bits. In one
    more program a lane waits for packets that it would send itself afterwards.
    """
    programs = {
        "blocks": hand_off_programs.blocks,
        "partitions": hand_off_programs.partitions,
        "shares": hand_off_programs.shares,
    }
    random = np.random.default_rng(0)
    for name, make in programs.items():  # the order of the last one is reversed below
        program, options = make(), hand_off_programs.OPTIONS[name]
        executable = ark.compile(program, target=target, packets=False, **options)
        executable.save(path / f"{name}.arkbin")
        arrays = {
            b.name: (random.standard_normal(b.shape) * 0.05).astype(ark.bf16.numpy)
            for b in executable.inputs + executable.parameters
        }
        executable = write(program, arrays, path / f"{name}-packets", target, **options)
    turn_round(executable).save(path / "shares-hang.arkbin")


def turn_round(executable: ark.Executable) -> ark.Executable:
    """Swaps the first two tasks of the first lane, so that it receives packets before it sends
    them."""
    bundle = executable.bundle
    instructions = np.frombuffer(bundle.sections["instructions"], np.int32).reshape(-1, 4).copy()
    first, second = np.flatnonzero(instructions[:, 0] == RUN)[:2]
    instructions[[first, second]] = instructions[[second, first]]
    sections = {**bundle.sections, "instructions": instructions.tobytes()}
    return ark.Executable.from_parts(bundle.manifest, sections)


def export_stop(path: Path, target: str) -> None:
    """Exports a program that ends its launch when its counter reaches a limit."""
    program = counting.counter(rows=512)
    ark.compile(program, target=target, tile={"total": (1, 16)}).save(path / "stop.arkbin")


def export_arrays(path: Path, target: str) -> None:
    """Exports the programs for tests of arrays, graphs and resident kernels: one with weights,
    whose position counts the filled rows of a state, and one that looks up rows."""
    random = np.random.default_rng(0)
    with ark.Program("weights") as program:
        x = ark.input("x", (4, 64), ark.bf16)
        w = ark.parameter("w", (256, 64), ark.bf16)
        position = ark.scalar("position", max=63)
        rows = ark.update(ark.state("rows", (64, 64), ark.bf16), x, (position, 0))
        ark.output("y", ark.gelu(ark.matmul(x, w, transpose_other=True)))
        ark.output("sum", ark.reduce_sum(ark.cast(rows, ark.fp32), axis=0))
    arrays = {
        "x": random.standard_normal((4, 64)).astype(ark.bf16.numpy),
        "w": random.standard_normal((256, 64)).astype(ark.bf16.numpy),
        "position": np.full((), 8, np.int32),
    }
    write(program, arrays, path / "weights", target)
    with ark.Program("lookup") as program:
        ids = ark.input("ids", (4,), ark.int32)
        table = ark.parameter("table", (100, 64), ark.fp32)
        ark.output("y", ark.embedding(ids, table))
    ark.compile(program, target=target).save(path / "lookup.arkbin")


def export_tiles(path: Path, target: str) -> None:
    """Exports products with tiles so large that operands are staged in shared memory: with the
    whole depth in one stage, with several stages, and with two results of one left operand.
    """
    random = np.random.default_rng(0)
    for dtype, tile in product((ark.bf16, ark.fp16), ((128, 128), (128, 64), (64, 64))):
        with ark.Program("tiles") as program:
            x = ark.input("x", (256, 512), dtype)
            w = ark.input("w", (256, 512), dtype)
            v = ark.input("v", (256, 512), dtype)
            up = ark.matmul(x, w, transpose_other=True, name="up")
            gate = ark.matmul(x, v, transpose_other=True, name="gate")
            ark.output("y", ark.mul(ark.silu(gate), up))
            ark.output("z", ark.matmul(w, v, transpose_other=True, name="z"))
        arrays = {
            name: random.standard_normal((256, 512)).astype(dtype.numpy) for name in ("x", "w", "v")
        }
        name = f"matmul in tiles of {tile[0]} by {tile[1]}-{dtype}"
        tiles = dict.fromkeys(("up", "gate", "z"), tile)
        write(program, arrays, path / name, target, tile=tiles)


def export_warpgroups(path: Path, target: str) -> None:
    """Exports products of whole tiles with different prologues and epilogues, on one SM: each tile
    reuses shared memory that all threads have finished with."""
    random = np.random.default_rng(0)
    for dtype in (ark.bf16, ark.fp16):
        with ark.Program("warpgroups") as program:
            x, w, v = (ark.input(name, (256, 320), dtype) for name in "xwv")
            b = ark.input("b", 256, dtype)

            def product(
                other: ark.Tensor, tile: tuple[int, int], left: ark.Tensor = x
            ) -> ark.Tensor:
                with ark.planner(sms=1, tile=tile):
                    return ark.matmul(left, other, transpose_other=True)

            with ark.planner(sms=1):
                ark.output("bias", ark.gelu(product(w, (256, 128)) + b))
                ark.output("residual", product(w, (128, 256), left=v) + product(v, (64, 256)))
                ark.output("pair", ark.silu(product(w, (128, 128))) * product(v, (128, 128)))
                ark.output("wide", ark.cast(product(v, (256, 64)), ark.fp32))
                ark.output("narrow", ark.softmax(product(v, (64, 256)), axis=-1))
        shapes = {**dict.fromkeys("xwv", (256, 320)), "b": 256}
        arrays = {
            name: random.standard_normal(shape).astype(dtype.numpy)
            for name, shape in shapes.items()
        }
        write(program, arrays, path / f"matmul by warpgroups-{dtype}", target)


def export_clipped(path: Path, target: str) -> None:
    """Exports products and attentions of which tiles have fewer rows or columns than others, on one
    SM: the copies of a clipped tile follow those of a whole one."""
    random = np.random.default_rng(0)
    for dtype in (ark.bf16, ark.fp16):
        shapes = {"x": (300, 320), "w": (200, 320), "v": (200, 320), "r": (300, 200)}
        with ark.Program("clipped") as program, ark.planner(sms=1, tile=(128, 64)):
            x, w, v, r = (ark.input(name, shape, dtype) for name, shape in shapes.items())
            first, second = (ark.matmul(x, other, transpose_other=True) for other in (w, v))
            ark.output("pair", ark.silu(first) * second)
            ark.output("residual", ark.matmul(x, w, transpose_other=True) + r)
            ark.output("wide", ark.cast(ark.matmul(x, v, transpose_other=True), ark.fp32))
        arrays = {
            name: random.standard_normal(shape).astype(dtype.numpy)
            for name, shape in shapes.items()
        }
        write(program, arrays, path / f"matmul in clipped tiles-{dtype}", target)
        for queries in (127, 130, 131, 257):
            rows = {"q": (1, 4, queries, 64), "k": (1, 2, 300, 64), "v": (1, 2, 300, 64)}
            with ark.Program("attention") as program:
                operands = [ark.input(name, shape, dtype) for name, shape in rows.items()]
                ark.output("y", ark.attention(*operands, causal=True))
            arrays = {
                name: random.standard_normal(shape).astype(dtype.numpy)
                for name, shape in rows.items()
            }
            write(program, arrays, path / f"attention of {queries} queries-{dtype}", target)


def export_boxes(path: Path, target: str) -> None:
    """Exports two products in a row whose operands are copied by tensor maps. The first one
    multiplies an input and a part of a parameter, the second one values that other SMs have stored
    and a parameter."""
    random = np.random.default_rng(0)
    with ark.Program("boxes") as program, ark.planner(tile=(256, 128)):
        x = ark.input("x", (512, 256), ark.bf16)
        w = ark.parameter("w", (512, 1024), ark.bf16)
        v = ark.parameter("v", (256, 512), ark.bf16)
        h = ark.gelu(ark.matmul(x, w[:, 512:768], transpose_other=True))
        ark.output("y", ark.matmul(h, v, transpose_other=True))
    shapes = {"x": (512, 256), "w": (512, 1024), "v": (256, 512)}
    arrays = {n: weights(random, shape, ark.bf16) for n, shape in shapes.items()}
    write(program, arrays, path / "boxes", target)


def export_states(folder: Path, target: str) -> None:
    """Exports programs with states, and their outputs over several runs and iterations."""
    folder.mkdir()
    for name, (body, shape) in state_bodies.BODIES.items():
        with ark.Program(name) as program:
            body()
        with ark.compile(program, target=target) as executable:
            executable.save(folder / f"{name}.arkbin")
        arrays: dict[str, Any] = {}
        states: dict[str, Any] = {}
        for run, iterations in enumerate((1, 1, 3, 2)):
            x = state_bodies.random(*shape) + np.float32(run)
            expected = ark.reference.evaluate(program, {"x": x}, states, iterations=iterations)
            states = dict(expected.states)
            arrays |= {f"{run}.input.x": x, f"{run}.iterations": np.array(iterations)}
            arrays |= {f"{run}.output.{n}": array for n, array in expected.outputs.items()}
            arrays |= {f"{run}.state.{n}": array for n, array in states.items()}
        np.savez_compressed(folder / f"{name}.npz", **arrays)


def export_assemblers(path: Path, target: str) -> None:
    """Exports one program assembled by nvJitLink, as PTX for NVIDIA's driver, as PTX for older
    GPUs, and without libdevice. The program uses every function of libdevice that ark calls."""
    path.mkdir()
    random = np.random.default_rng(0)
    with ark.Program("assembled") as program:
        x = ark.input("x", (5, 64), ark.bf16)
        w = ark.parameter("w", (96, 64), ark.bf16)
        h = ark.cast(ark.gelu(ark.matmul(x, w, transpose_other=True)), ark.fp32)
        ark.output("waves", ark.sin(h) * ark.cos(h) + ark.pow(ark.abs(h) + 0.5, h))
        ark.output("roots", ark.sqrt(ark.abs(h)) + ark.rsqrt(ark.abs(h) + 0.5) + ark.tanh(h))
        ark.output("y", ark.softmax(h))
    shapes = {"x": (5, 64), "w": (96, 64)}
    arrays = {n: weights(random, shape, ark.bf16) for n, shape in shapes.items()}
    for name, assembler, arch in (
        ("nvjitlink", "nvjitlink", target),
        ("driver", "driver", target),
        ("driver-sm_80", "driver", "cuda:sm_80"),
    ):
        with ark.knobs.scope(ARK_ASSEMBLER=assembler):
            write(program, arrays, path / name, arch)
    with (
        patch.object(cuda, "find_libdevice", lambda: None),
        ark.knobs.scope(ARK_ASSEMBLER="driver"),
    ):
        write(program, arrays, path / "no-libdevice", target, cache=False)


def say(text: str) -> None:
    """Prints progress if stderr is a terminal."""
    if sys.stderr.isatty():
        print(f"\r{text}\x1b[K", end="", file=sys.stderr)


def export_ranks(root: Path, target: str) -> int:
    """Exports programs of several ranks; returns the number of models."""
    export_worlds(root, target)
    export_collectives(root / "collectives", target, say)
    return export_shared_models(root / "shared-models", target, say)


def main(folder: str, target: str = "cuda:sm_90a") -> None:
    root = Path(folder)
    shutil.rmtree(root, ignore_errors=True)
    copy_runtime(root)
    cases = root / "ops"
    ops = export_ops(cases, target)
    export_packets(root, target)
    export_states(root / "states", target)
    export_tiles(cases, target)
    export_warpgroups(cases, target)
    export_clipped(cases, target)
    export_hang(root, target)
    export_stop(root, target)
    export_arrays(root, target)
    export_streams(root, target)
    export_boxes(root, target)
    models = export_models(root / "models", target, say)
    models += export_ranks(root, target)
    if resolve(target).backend == "cuda":
        export_assemblers(root / "assemblers", target)
    size = sum(path.stat().st_size for path in root.rglob("*") if path.is_file())
    print(
        f"{ops} ops and {models} models for {target} in {root}: {size / 2**20:.0f} MiB",
    )


if __name__ == "__main__":
    main(*sys.argv[1:])

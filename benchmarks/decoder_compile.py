"""Measures the compilation of a decoder, and the quality of its schedule.

    python benchmarks/decoder_compile.py

Llama-3.2-1B shapes, one decode step at context 1024, bf16; no weights are needed.

1. From Python to a proven schedule for 132 SMs, in a fresh process: seconds and peak memory.
2. The distribution of the tasks that stream weights: the busiest SM against the mean.
3. The arena against the largest set of values alive at once.
4. Kernel code of 32 layers against 16, on cpu.
5. From a built program to a cpu executable, cold and from the cache, in fresh processes.
6. Tasks of one layer of the decode step, and the ops of each task.
7. From Python to the bundle of 8 ranks with the GPU's code, in a fresh process: seconds, processor
   time and peak memory, and the load of the machine. `--ranks 8` measures this alone, and `--ranks`
   takes other numbers, too.

`--models` measures instead the compilation of whole decoders, from Python to a saved bundle with
the GPU's code, each in a fresh process. It fails if a bundle takes longer or more memory than the
aims allow; the aims are for two idle cores.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path
from typing import Any

from table import print_table

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, RopeScaling, build_decode, divide

TARGET = "cuda:sm_90a"
# These ops read a few rows of a table, whatever its size.
LOOKUPS = {"embedding", "gather"}

FRESH = """
import json, resource, sys, time
start = time.perf_counter()
import decoder_compile as benchmark
result = benchmark.proven(int(sys.argv[1]))
print(json.dumps({
    "seconds": time.perf_counter() - start,
    "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    "text": str(result),
}))
"""


COMPILED = """
import json, sys, time
import decoder_compile as benchmark
import ark_mlir as ark
start = time.perf_counter()
program = benchmark.decode(int(sys.argv[1]))
built = time.perf_counter()
ark.compile(program, "cpu:2", cache=sys.argv[2])
print(json.dumps({"build": built - start, "compile": time.perf_counter() - built}))
"""


BUNDLED = """
import json, os, resource, sys, time
load = os.getloadavg()[0]
start = time.perf_counter()
import decoder_compile as benchmark
assembler = benchmark.bundle(benchmark.steps_of(sys.argv[1]), sys.argv[2])
seconds = time.perf_counter() - start
usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
print(json.dumps({
    "seconds": seconds,
    "processor": sum(each.ru_utime + each.ru_stime for each in usages),
    "megabytes": max(each.ru_maxrss for each in usages) / 1024,
    "load": load,
    "assembler": assembler,
}))
"""

Rows = list[tuple[str, str, str]]

# Layers, vocabulary, hidden size, query heads, KV heads, size of a head, intermediate size.
MODELS = {
    "Llama-3.2-1B": (16, 128256, 2048, 32, 8, 64, 8192),
    "Llama-3.1-8B": (32, 128256, 4096, 32, 8, 128, 14336),
    "Qwen3-32B": (64, 151936, 5120, 64, 8, 128, 25600),
    "Llama-3.1-70B": (80, 128256, 8192, 64, 8, 128, 28672),
}
MOST_SECONDS, MOST_GIGABYTES = 30.0, 3.0


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument(
        "--ranks", type=int, metavar="N", help="measures only the bundle of N ranks"
    )
    parser.add_argument(
        "--models",
        nargs="*",
        choices=MODELS,
        metavar="NAME",
        help="measures only whole decoders: all, or some of " + ", ".join(MODELS),
    )
    given = parser.parse_args()
    ranks: int | None = given.ranks
    if given.models is not None:
        return measure_models(given.models or list(MODELS))
    heading = ("figure", "measured", "aim, at most")
    if ranks is not None:
        print_table(heading, measure_ranks(ranks))
        return 0
    cold = fresh(FRESH, 16)
    rows = [
        ("Python to a proven schedule, 132 SMs, s", f"{cold['seconds']:.1f}", "10"),
        ("its peak memory, MB", f"{cold['megabytes']:.0f}", "2000"),
    ]
    with tempfile.TemporaryDirectory() as folder:
        ark.compiler.check(decode(16), TARGET, ark.CompileOptions(dump_dir=folder))
        (dump,) = Path(folder).glob("*-synchronization.mlir")
        step, worst, task = shares(dump.read_text())
        first, second = (fresh(COMPILED, 16, f"{folder}/cache") for _ in range(2))
    rows += [
        ("weights per SM over a step, largest / mean", f"{step:.3f}", "1.02"),
        (f"the same, worst single task ({task})", f"{worst:.3f}", "1.02"),
    ]
    small, large = (
        ark.compile(decode(layers), "cpu:2", cache=False).report() for layers in (16, 32)
    )
    arena = small.arena_bytes / small.largest_live_set
    code = large.kernel_bytes / small.kernel_bytes
    rows += [
        ("arena / largest live set", f"{arena:.3f}", "1.15"),
        ("kernel code, 32 layers / 16", f"{code:.3f}", "1.10"),
        ("cpu bundle, cold, s", f"{first['compile']:.2f}", "30"),
        ("cpu bundle, from the cache, s", f"{second['compile']:.2f}", "0.5"),
        ("building the program in Python, s", f"{second['build']:.2f}", "-"),
        ("tasks of a layer in decode", f"{(large.tasks - small.tasks) / 16:.0f}", "6"),
    ]
    print_table(heading, rows + measure_ranks(8))
    print(cold["text"])
    for ops, count in small.task_ops:
        print(f"{count:>3} x {', '.join(ops)}")
    return 0


def decode(layers: int) -> ark.Program:
    """Builds one decode step of Llama-3.2-1B with the given number of layers."""
    return build_decode(config_of(layers), max_length=1024)


def config_of(layers: int) -> DecoderConfig:
    """Returns the shapes of Llama-3.2-1B with the given number of layers."""
    return DecoderConfig(
        vocabulary=128256,
        hidden=2048,
        layers=layers,
        heads=32,
        kv_heads=8,
        head=64,
        intermediate=8192,
        tied=True,
        scaling=RopeScaling(32.0, 1.0, 4.0, 8192),
    )


def measure_models(names: list[str]) -> int:
    """Prints a row for the compilation of each model; returns 1 if one misses an aim, else 0."""
    rows: list[tuple[str, ...]] = []
    missed = False
    for name in names:
        with tempfile.TemporaryDirectory() as folder:
            found = fresh(BUNDLED, name, f"{folder}/model.arkbin")
        gigabytes = found["megabytes"] / 1024
        missed |= found["seconds"] > MOST_SECONDS or gigabytes > MOST_GIGABYTES
        figures = (found["seconds"], found["processor"], gigabytes, found["load"])
        rows.append((name, str(MODELS[name][0]), *(f"{each:.1f}" for each in figures)))
    print_table(("decode step", "layers", "s", "processor s", "GB", "load before"), rows)
    print(f"aims, at most: {MOST_SECONDS:g} s, {MOST_GIGABYTES:g} GB")
    return int(missed)


def measure_ranks(ranks: int) -> Rows:
    """Returns rows for the compilation of the bundle of several ranks."""
    with tempfile.TemporaryDirectory() as folder:
        found = fresh(BUNDLED, ranks, f"{folder}/ranks.arkbin")
    text = f"bundle of {ranks} ranks with code for sm_90a by {found['assembler']}"
    return [
        (f"{text}, s", f"{found['seconds']:.1f}", "15"),
        ("its processor time, s", f"{found['processor']:.1f}", "-"),
        ("its peak memory, MB", f"{found['megabytes']:.0f}", "-"),
        ("load of the machine before", f"{found['load']:.1f}", "-"),
    ]


def steps_of(name: str) -> list[ark.Program]:
    """Returns the decode step of a model, or of each rank of Llama-3.2-1B for a number of ranks."""
    if name not in MODELS:
        configs = divide(config_of(16), int(name))
        return [build_decode(config, max_length=1024) for config in configs]
    layers, vocabulary, hidden, heads, kv_heads, head, intermediate = MODELS[name]
    config = DecoderConfig(
        vocabulary=vocabulary,
        hidden=hidden,
        layers=layers,
        heads=heads,
        kv_heads=kv_heads,
        head=head,
        intermediate=intermediate,
        eps=1e-5,
        theta=500000.0,
        tied=name == "Llama-3.2-1B",
        scaling=None,
    )
    return [build_decode(config, max_length=1024)]


def bundle(steps: list[ark.Program], path: str) -> str:
    """Compiles the programs of all ranks, and saves the bundle; returns the assembler."""
    compiled = ark.compile(steps if len(steps) > 1 else steps[0], target=TARGET, cache=False)
    compiled.save(path)
    return str(compiled.bundle.manifest.options["assembler"])


def proven(layers: int) -> object:
    return ark.compiler.check(decode(layers), TARGET)


def fresh(script: str, *arguments: object) -> dict[str, Any]:
    """Runs a script in a fresh process and returns its output."""
    done = subprocess.run(
        [sys.executable, "-c", script, *map(str, arguments)],
        cwd=Path(__file__).parent,
        check=True,
        capture_output=True,
        text=True,
    )
    return json.loads(done.stdout)


def shares(text: str) -> tuple[float, float, str]:
    """Returns the largest share of weight bytes over the mean, of the whole step and of the worst
    task."""
    from ark_mlir import ir

    per_step: dict[int, float] = defaultdict(float)
    worst, worst_task = 0.0, ""
    with ir.Context():
        module = ir.Module.parse(text)
        bytes_of = weights_per_vcta(module)
        per_task: dict[str, dict[int, float]] = defaultdict(lambda: defaultdict(float))
        for sm, task, count in runs(module):
            per_task[task][sm] += count * bytes_of.get(task, 0.0)
    sms = 132
    for task, shares in per_task.items():
        total = sum(shares.values())
        if total == 0:
            continue
        for sm, share in shares.items():
            per_step[sm] += share
        ratio = max(shares.values()) * sms / total
        if ratio > worst:
            worst, worst_task = ratio, task
    return max(per_step.values()) * sms / sum(per_step.values()), worst, worst_task


def weights_per_vcta(module: object) -> dict[str, float]:
    """Returns the bytes of matrix parameters that a vCTA of each task reads."""
    from ark_mlir import ir

    result: dict[str, float] = {}
    (program,) = [op for op in module.body.operations if op.operation.name == "ark.program"]  # type: ignore[attr-defined]
    block = program.regions[0].blocks[0]
    matrices = {
        argument
        for argument, attributes in zip(
            block.arguments, program.attributes["arg_attrs"], strict=True
        )
        if "parameter" in str(attributes["ark.kind"]) and len(argument.type.shape) == 2
    }
    for op in block.operations:
        if op.operation.name != "ark.task" or LOOKUPS & operations(op):
            continue
        grid = 1
        for extent in ir.DenseI64ArrayAttr(op.attributes["grid"]):
            grid *= extent
        size = sum(
            operand.type.shape[0] * operand.type.shape[1] * 2
            for operand in op.operands
            if operand in matrices
        )
        if size:
            result[ir.StringAttr(op.attributes["name"]).value] = size / grid
    return result


def operations(task: object) -> set[str]:
    """Returns the names of the graph ops in a task."""
    return {name.value for name in task.attributes["ops"]}  # type: ignore[attr-defined]


def runs(module: object) -> list[tuple[int, str, int]]:
    """Returns SM, task and number of vCTAs of every work item."""
    from ark_mlir import ir

    found: list[tuple[int, str, int]] = []

    def visit(op: ir.Operation) -> ir.WalkResult:
        if op.name == "ark.lane":
            first, last = ir.DenseI64ArrayAttr(op.attributes["sms"])
            for item in op.regions[0].blocks[0].operations:
                if item.operation.name != "ark.run":
                    continue
                task = ir.StringAttr(item.attributes["task"]).value
                text = str(item.attributes["range"])
                for sm in range(first, last):
                    begin, end = evaluate(text, sm)
                    found.append((sm, task, end - begin))
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)  # type: ignore[attr-defined]
    return found


def evaluate(text: str, sm: int) -> tuple[int, int]:
    """Evaluates both bounds of `affine_map<(d0) -> (begin, end)>` for one SM."""
    expressions = text[text.index("->") + 2 :].strip(" >")
    code = expressions.replace("floordiv", "//").replace("mod", "%")
    begin, end = eval(code, {"__builtins__": {}}, {"d0": sm})
    return begin, end


if __name__ == "__main__":
    sys.exit(main())

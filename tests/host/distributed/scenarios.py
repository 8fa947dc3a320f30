"""Scenarios of the tests: functions that each process of a world runs.

``python scenarios.py NAME`` runs one and prints its result as JSON.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2] / "support"))
from collective_programs import draw
from collective_programs import everything as everything_of
from internals import driver_of

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.compiler import ranks
from ark_mlir.distributed import driver as rank_driver
from ark_mlir.distributed.links import Links
from ark_mlir.testing.bounds import assert_within
from ark_mlir.tuning.costs import Costs, TaskCost


def product(name: str = "product", rows: int = 4) -> ark.Program:
    """Returns a program that sums the products of all ranks; its index may be out of range."""
    world = ark.distributed.current()
    with ark.Program(name, rank=world.rank, world_size=world.world_size) as program:
        x = ark.input("x", (rows,))
        index = ark.scalar("index", ark.int32)
        w = ark.parameter("w", (rows,))
        ark.output("y", ark.all_reduce(ark.gather(x * w, index, 0, name="pick"), name="total"))
    return program


def compiled(**options: Any) -> Any:
    exe = ark.compile(product(**options), target="cpu:1")
    return exe.bind({"w": np.full(exe.parameters[0].shape, exe._rank + 1, np.float32)})


X = np.arange(4, dtype=np.float32)


def value(exe: Any, index: int = 2, **options: Any) -> float:
    return float(exe.run(x=X, index=index, **options)["y"])


def error_of(work: Callable[[], Any]) -> list[str]:
    """Returns the class and the text of the error that `work` raises."""
    try:
        return ["none", repr(work())]
    except (ark.ArkError, KeyboardInterrupt) as error:
        return [type(error).__name__, str(error)]


# ---------------------------------------------------------------------------- runs that succeed


def everything() -> Any:
    """Runs every collective twice and compares with the interpreter; then chains of states without
    resets."""
    world = ark.distributed.current()
    size = world.world_size
    programs = [everything_of(rank, size, ark.fp32) for rank in range(size)]
    rng = np.random.default_rng(size)
    with ark.compile(programs[world.rank], target="cpu:1") as exe:
        for _ in range(2):
            inputs = [draw(rng, program) for program in programs]
            expected = ark.reference.evaluate_ranks(programs, inputs, bound=True)[world.rank]
            outputs = exe.run(inputs[world.rank])
            assert sorted(outputs) == sorted(expected.outputs)
            for name, wanted in expected.outputs.items():
                bound = expected.bounds.get(name, np.zeros(wanted.shape))
                assert_within(outputs[name], wanted, bound, name)
    return "good"


def chain() -> Any:
    """States and epochs over many iterations, with and without a doorbell."""
    world = ark.distributed.current()
    with ark.Program("chain", rank=world.rank, world_size=2) as program:
        state = ark.state("s", (4,), ark.int32, init=world.rank + 1)
        ark.output("y", ark.update(state, ark.all_reduce(state) + world.rank, (0,)))
    got: list[int] = []
    with ark.compile(program, target="cpu:2") as exe:
        for iterations in (1, 3, 40):
            got.append(int(exe.run(iterations=iterations)["y"][0]))
        exe.reset()
        with exe.resident() as resident:
            got += [int(resident.run()["y"][0]) for _ in range(3)]
        got.append(int(exe.states["s"][0]))
    return got


def two_programs() -> Any:
    """Two programs, alternately and from one thread each; a file; and the contents of a trace."""
    world = ark.distributed.current()
    first = compiled(name="first")
    second = ark.compile(product("second"), target="cpu:1", trace=True)
    second.bind({"w": np.full(4, 10 * (world.rank + 1), np.float32)})
    got = [value(first), value(second), value(second, 3), value(first, 3)]
    results: dict[str, float] = {}

    def work(exe: Any) -> None:
        for _ in range(20):
            results[exe.name] = value(exe)

    threads = [threading.Thread(target=work, args=(exe,)) for exe in (first, second)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    got += [results["first"], results["second"]]
    file = Path(f"world{world.rank}.arkbin")
    first.save(file)
    with ark.load(file) as loaded:
        loaded.bind({"w": np.full(4, world.rank + 1, np.float32)})
        got.append(value(loaded))
    trace = Path(f"trace{world.rank}.json")
    value(second, trace=trace)
    events = json.loads(trace.read_text())["traceEvents"]
    ran = {e["name"].split("/")[0] for e in events if e.get("cat") == "run" and e["dur"] > 0}
    return [got, sorted(ran)]


def llama(folder: str) -> Any:
    world = ark.distributed.current()
    model = ark.models.load(folder, max_length=24, chunk=4, tensor_parallel=world.world_size)
    model.compile("cpu:1")
    return model.generate([3, 1, 4, 1, 5], max_new_tokens=6, stop=())


def large_profile(tasks: str) -> Any:
    """Measured costs of very many tasks, one of which is in the program; and other options that
    differ by rank."""
    exe = compiled()
    name = exe.bundle.manifest.tasks[0].name
    costs = {f"task{number}": TaskCost(1, 100.0) for number in range(int(tasks))}
    costs[name] = TaskCost(exe.bundle.manifest.tasks[0].vctas, 50.0)
    profile = Costs("product", costs)
    exe = ark.compile(product(), target="cpu:1", profile=profile)
    exe.bind({"w": np.full(4, exe._rank + 1, np.float32)})
    other = replace(profile, lanes=(1.0 + exe._rank,))
    return [
        len(repr(profile)),
        value(exe),
        error_of(lambda: ark.compile(product(), target="cpu:1", profile=other)),
    ]


def unproven() -> Any:
    """Returns the warnings of a compilation without a proof, and the value of a run."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        exe = ark.compile(product(), target="cpu:1", verify=False)
    exe.bind({"w": np.full(4, exe._rank + 1, np.float32)})
    said = [[w.category.__name__, str(w.message), Path(w.filename).name] for w in caught]
    return [said, value(exe)]


def damaged() -> Any:
    """Rank 1 sends rank 0 a malformed message while all ranks are in a run that cannot end."""
    rank = ark.distributed.current().rank
    exe = compiled()
    value(exe)

    class Damaging(rank_driver.RankDriver):
        def _start(self, kernel: Any, *rest: Any) -> None:
            exe._communicator.links._sockets[0].send(b"garbage")
            # The others wait for the lanes of rank 1 until the failure is noticed and ends the run.
            deadline = time.monotonic() + 100
            while not kernel.report[0]:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            super()._start(kernel, *rest)

    if rank == 1:
        driver_of(exe).__class__ = Damaging
    begin = time.monotonic()
    got = [error_of(lambda: value(exe)), error_of(lambda: value(exe))]
    return [*got, time.monotonic() - begin]


# ---------------------------------------------------------------------------- runs that fail


def bad_input() -> Any:
    """Errors of one rank, each followed by a successful run."""
    rank = ark.distributed.current().rank
    exe = compiled()
    got = [error_of(lambda: exe.run(x=X[:2] if rank else X, index=0)), value(exe)]
    got += [error_of(lambda: value(exe, 9 if rank else 0)), value(exe)]
    got += [error_of(lambda: value(exe, iterations=1 + rank)), value(exe)]
    return got


def bad_sequence() -> Any:
    """An offset of one sequence of rank 1 is out of range; then a good run."""
    world = ark.distributed.current()
    with ark.Program("rows", rank=world.rank, world_size=world.world_size) as program:
        at, x = ark.input("at", (2,), ark.int32), ark.input("x", (2, 1))
        rows = ark.update(ark.state("s", (2, 4)), x, (0, at), name="row")
        ark.output("y", ark.all_reduce(ark.reduce_sum(rows), name="total"))
    values = np.full((2, 1), world.rank + 1, np.float32)
    with ark.compile(program, target="cpu:1") as exe:

        def run(last: int) -> float:
            return float(exe.run(x=values, at=np.array([1, last], np.int32))["y"][0, 0])

        return [error_of(lambda: run(9 if world.rank else 2)), run(3)]


def bad_programs() -> Any:
    """Programs of the ranks differ; the world works afterwards."""
    world = ark.distributed.current()

    def build(body: Callable[[Any], Any], rank: int = world.rank, size: int = 2) -> Any:
        with ark.Program(f"rank{rank}", rank=rank, world_size=size) as program:
            ark.output("y", body(ark.input("x", (4, 4))))
        return program

    other = build(ark.all_reduce if world.rank else lambda x: ark.all_gather(x, 0))
    got = [
        error_of(lambda: ark.compile(other, target="cpu:1")),
        error_of(lambda: ark.compile(product(), target=f"cpu:{1 + world.rank}")),
        error_of(lambda: ark.compile(product(), target="cpu:1", trace=bool(world.rank))),
        error_of(lambda: ark.compile(build(ark.relu, 0, 3 if world.rank else 2), target="cpu:1")),
        error_of(lambda: ark.compile(build(ark.all_reduce), target="hip:gfx942")),
    ]
    compiled(name=f"program{world.rank}", rows=4).save("a.arkbin" if world.rank else "x.arkbin")
    compiled(name="other", rows=5).save("b.arkbin" if world.rank else "y.arkbin")
    got.append(error_of(lambda: ark.load("a.arkbin" if world.rank else "y.arkbin")))
    with ark.Program("alone") as alone:
        ark.output("y", ark.relu(ark.input("x", (2,))))
    got.append(ark.compile(alone, target="cpu:1").run(x=X[2:])["y"].tolist())
    got.append(value(compiled()))
    return got


def ctrl_c() -> Any:
    """Rank 1 is interrupted while its lanes run, and misses one run."""
    rank = ark.distributed.current().rank
    exe = compiled()
    value(exe)

    class Interrupted(rank_driver.RankDriver):
        def _watch(self, run: Any) -> None:
            raise KeyboardInterrupt

        def _start(self, *_: Any) -> None:
            super()._start(*_)
            # The lanes of rank 1 wait for the other ranks.
            os.kill(os.getpid(), signal.SIGINT)

    driver = driver_of(exe)
    if rank:
        driver.__class__ = Interrupted
    got = [error_of(lambda: value(exe))]
    driver.__class__ = rank_driver.RankDriver
    return [*got, value(exe)]


def killed() -> Any:
    """Rank 1 is killed shortly before or during the run of the other ranks."""
    rank = ark.distributed.current().rank
    exe = compiled()
    value(exe)

    class Killed(rank_driver.RankDriver):
        def _start(self, *_: Any) -> None:
            os.kill(os.getpid(), signal.SIGKILL)

    if rank == 1:
        driver_of(exe).__class__ = Killed
    return [error_of(lambda: value(exe)), error_of(lambda: value(exe)), error_of(compiled)]


def stuck() -> Any:
    """Rank 1 joins the run, but its lanes do not start."""
    rank = ark.distributed.current().rank
    exe = compiled()

    class Stuck(rank_driver.RankDriver):
        def _start(self, *_: Any) -> None:
            time.sleep(1000)

    class ShortTimeout(rank_driver.RankDriver):
        def _exchange_codes(self, *_: Any) -> Any:
            self._current_call().timeout = 0.1
            return super()._exchange_codes(*_)

    driver_of(exe).__class__ = Stuck if rank == 1 else ShortTimeout
    with knobs.scope(ARK_TIMEOUT="0.3"):
        return error_of(lambda: value(exe))


def stopped() -> Any:
    """Rank 0 is stopped while it compiles; the test continues it after the error of the other
    rank."""
    world = ark.distributed.current()
    if world.rank:
        world.timeout = world._communicator.timeout = 0.5
        said = error_of(compiled)
        os.kill(world._links.processes[0], signal.SIGCONT)
        return said

    def stop(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGSTOP)

    compile_for_all = ranks._compile_for_all
    ranks._compile_for_all = lambda *given: (stop(), compile_for_all(*given))[1]
    return error_of(compiled)


def elsewhere() -> Any:
    """Rank 0 runs one program while rank 1 runs another; then rank 0 closes a program, and
    leaves."""
    world = ark.distributed.current()
    first, second = compiled(name="first"), compiled(name="second")
    links = world._links

    def until(condition: Callable[[], Any]) -> None:
        assert links.monitor.wait_for(condition, 100)

    if world.rank == 0:
        until(lambda: links.mailbox(1, first._communicator.number).messages)
        second._communicator.timeout = 0.2
        got = [error_of(lambda: value(second)), value(first)]
        second._communicator.timeout = 100
        got.append(value(second))
        second.close()
        return got
    got = [value(first), error_of(lambda: value(second)), value(second)]
    got.append(error_of(lambda: value(second)))
    until(lambda: links.gone)
    got.append(error_of(lambda: value(first)))
    return got


def raises() -> Any:
    """Rank 1 raises its own error while the other rank waits for it."""
    if ark.distributed.current().rank == 1:
        raise RuntimeError("no data")
    return error_of(compiled)


def forked() -> Any:
    exe = compiled()
    link: Links = exe._communicator.links
    child = os.fork()
    if not child:
        said = error_of(lambda: value(exe))[0], ark.distributed.current() is None
        os._exit(0 if said == ("InvalidUsageError", True) else 1)
    assert os.waitpid(child, 0)[1] == 0
    assert not link.gone
    return value(exe)


def main() -> None:
    name, *arguments = sys.argv[1:]
    # Background jobs of a shell ignore SIGINT.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with ark.distributed.init():
        result = globals()[name](*arguments)
    print(json.dumps(result))


if __name__ == "__main__":
    main()

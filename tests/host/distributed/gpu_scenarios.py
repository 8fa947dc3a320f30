"""Scenarios of test_gpu_processes.py: functions that each process of a world runs, on a stand-in
for CUDA or HIP.

``python gpu_scenarios.py NAME`` runs one and prints its result as JSON. The variable STAND_IN is
``hip`` for HIP.
"""

from __future__ import annotations

import functools
import gc
import json
import os
import signal
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.distributed import gpu_memory
from ark_mlir.runtime.cuda import api as cuda_api
from ark_mlir.runtime.gpu import driver as gpu_driver
from ark_mlir.runtime.gpu import queue as gpu_queue
from ark_mlir.runtime.hip import api as hip_api
from ark_mlir.testing import toy
from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip
from ark_mlir.testing.toy import ToyProgram, compile_kernel, ring_program

FOREVER = 1 << 31


VENDOR = FakeHip if os.environ.get("STAND_IN") == "hip" else FakeCuda
TARGET = f"{VENDOR.backend}:{VENDOR.arch}"


class Machine(VENDOR):  # type: ignore[misc, valid-type]
    """A stand-in that kills or stops its process at the first call of a function.

    Attributes:
        signal_at: the name of the function.
        signal: the signal.
    """

    signal_at = ""
    signal = signal.SIGKILL

    def _refuse(self, name: str, shown: str, arguments: tuple[Any, ...]) -> int:
        if name == self.signal_at:
            os.kill(os.getpid(), self.signal)
        return super()._refuse(name, shown, arguments)


# The version of ROCm imports file descriptors.
CUDA = Machine(devices=4, **({"version": 70151831} if VENDOR is FakeHip else {}))
VERSION = CUDA.version
cuda_api.import_driver = lambda: CUDA
hip_api.find_library = lambda: CUDA
world: Any = None


def bundle(spoilt: bool = False) -> Bundle:
    """Returns a program in which each rank sends to the next one; if `spoilt`, rank 0 waits for one
    arrival too many.
    """
    size = world.world_size
    manifest, sections = ring_program(size).parts(compile_kernel(), ranks=size)
    if spoilt:
        table = np.frombuffer(sections["instructions"], np.int32).reshape(-1, 4).copy()
        table[np.argmax(table[:, 0] == Opcode.WAIT), 2] += 1
        sections["instructions"] = table.tobytes()
    return as_bundle(manifest, sections)


def as_bundle(manifest: dict[str, Any], sections: dict[str, Any]) -> Bundle:
    """Returns a toy program as a bundle for the stand-in."""
    fields = {"backend": CUDA.backend, "arch": CUDA.arch, "warps": 16, "shared_memory": 1024}
    manifest["target"].update(fields)
    manifest["options"].update(clears_queued=True, far_signals=True)
    return Bundle.from_parts(manifest, sections)


def bound(devices: list[int] | None = None, **options: Any) -> Any:
    executable = world.load(bundle(**options), devices)
    try:
        return executable.bind({"w": np.full(128, world.rank + 1, np.float32)})
    except BaseException:
        executable.close()
        raise


def run(executable: Any, **options: Any) -> float:
    """Returns the difference between the received sum and the expected one."""
    source = (world.rank - 1) % world.world_size
    y = executable.run(x=np.full(128, 10 * world.rank, np.float32), **options)["y"]
    assert (y == y[0]).all()
    return float(y[0]) - (10 * source + source + 1 + 0.5)


def error_of(work: Callable[[], Any]) -> list[str]:
    kinds = (
        ark.HangError, ark.BusyError, ark.RankFailedError, ark.InvalidUsageError,
        ark.UnsupportedError,
    )  # fmt: skip
    try:
        return ["none", repr(work())]
    except (ark.ArkError, KeyboardInterrupt) as error:
        kind = next((each for each in kinds if isinstance(error, each)), type(error))
        return [kind.__name__, str(error)]


def left() -> list[int]:
    """Counts the resources of this process: handles of NVIDIA's driver, and open files."""
    gc.collect()
    return [CUDA.held, len(os.listdir("/proc/self/fd"))]


def used_devices() -> list[int]:
    """Returns the GPUs that hold something of this process; a context of CUDA counts as well."""
    return [device.ordinal for device in CUDA.devices if device.held]


def after(seconds: float, work: Callable[[], Any]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


def values() -> Any:
    before = left()
    with bound() as executable:
        errors = [run(executable, iterations=count) for count in (1, 3, 2)]
        count = int(executable.states["n"])
        with executable.resident() as resident:
            resident.run(x=np.zeros(128, np.float32))
        errors.append(run(executable))
        used = used_devices()
    return [errors, count, used, CUDA.foreign_accesses, left() == before]


def chosen() -> Any:
    """Selects GPUs by number: a list for all ranks, or the number for this rank."""
    seen: list[int] = []
    for devices in ([3, 1], [world.rank + 1]):
        with bound(devices) as executable:
            assert run(executable) == 0
            seen += used_devices()
    return seen


def share_gpus(permitted: bool) -> None:
    """Lets kernels of several processes run on a GPU at the same time, or in turns."""
    CUDA.mps = permitted
    # The option of AMD's kernel module, without a file that a killed process would leave behind.
    text = "-1\n" if permitted else "0\n"
    hip_api._PROCESSES = SimpleNamespace(read_text=lambda encoding: text)


def wrong_devices() -> Any:
    share_gpus(False)
    lists = ([0, 1, 2], [9], [0, 0], [0])
    return [error_of(functools.partial(bound, devices)) for devices in lists]


def launches_at_once() -> Any:
    """Ranks in processes have no launches on one GPU: neither compiled nor loaded programs."""
    with ark.Program("sum", rank=world.rank, world_size=world.world_size) as program:
        ark.output("y", ark.all_reduce(ark.input("x", (4,))))
    shared: dict[str, Any] = {"devices": [0, 0], "concurrent": True}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "world.arkbin"
        bundle().save(path)
        return [
            error_of(lambda: ark.compile(program, TARGET, **shared)),
            error_of(lambda: ark.load(path, **shared)),
        ]


def differ(difference: str) -> Any:
    """Rank 1's GPU or driver is different; then a program runs."""
    before = left()
    if world.rank == 1:
        if difference == "kind":
            for device in CUDA.devices:
                device.name = "other"
        elif difference == "version":
            CUDA.version += 200000
        elif difference == "page":
            CUDA.page = 4 << 20
        elif difference == "link":
            CUDA.unlinked = {(1, 0)}
        elif difference in ("export", "import"):
            setattr(CUDA, f"refuses_{difference}", True)
            CUDA.refuses_ipc = True
        elif difference == "open":
            CUDA.refuses_import = True
            CUDA._cuIpcOpenMemHandle = lambda *_: (801, None)
        elif difference == "memory":
            CUDA.memory = 3 << 20
        elif difference == "lanes":
            CUDA.sms = 1
    error = error_of(bound)
    CUDA.version, CUDA.page, CUDA.sms, CUDA.memory = VERSION, 2 << 20, 132, 1 << 30
    CUDA.unlinked, CUDA.refuses_export, CUDA.refuses_import = set(), False, False
    CUDA.refuses_ipc = False
    vars(CUDA).pop("_cuIpcOpenMemHandle", None)
    for device in CUDA.devices:
        device.name = "stand-in"
    clean = left() == before
    with bound() as executable:
        return [*error, clean, run(executable)]


def remaining_resources() -> list[int]:
    """The resources that are left when all ranks have closed their programs."""
    with world.collective_call("close") as call:
        call.all_gather("closed")
        # Another rank sends that it has unmapped memory before it arrives here.
        gpu_memory.free_kept()
        call.all_gather("freed")
    return left()


def legacy(refused: str) -> Any:
    """NVIDIA's driver at rank 1 refuses file descriptors of memory in some way."""
    before = remaining_resources()
    if world.rank == 1:
        if refused == "create":
            CUDA._cuMemCreate = lambda *_: (801, None)
        elif refused == "uncached":
            CUDA.has_uncached = False
        else:
            setattr(CUDA, f"refuses_{refused}", True)
    with bound() as executable:
        errors = [run(executable, iterations=count) for count in (1, 3, 2)]
        sharing = executable.report().sharing
        rows = str(executable.report())
        count = int(executable.states["n"])
    with bound() as executable:
        errors.append(run(executable))
    return [
        errors,
        count,
        sharing,
        sharing in rows,
        CUDA.foreign_accesses,
        remaining_resources() == before,
    ]


def distances(executable: Any) -> list[int]:
    """Returns the distances to the counters of the other ranks, in bytes."""
    addresses = executable._memory._addresses
    counters = addresses.counters
    return [each - counters[world.rank] for rank, each in enumerate(counters) if rank != world.rank]


def legacy_far() -> Any:
    """NVIDIA's driver maps memory of legacy IPC at distant addresses."""
    before = remaining_resources()
    CUDA.refuses_export = CUDA.far_apart = True
    with bound() as executable:
        errors = [run(executable, iterations=count) for count in (1, 3)]
        is_far = min(map(abs, distances(executable))) > 1 << 40
    return [errors, is_far, CUDA.foreign_accesses, remaining_resources() == before]


def legacy_failures() -> Any:
    """Each call of NVIDIA's driver fails once at rank 1, with legacy IPC."""
    CUDA.refuses_export = True
    return faults()


def legacy_hang() -> Any:
    CUDA.refuses_export = True
    return hang()


def one_gpu() -> Any:
    """One GPU for both ranks, whose kernels run at the same time; then too many lanes for it."""
    share_gpus(True)
    with bound([2]) as executable:
        difference = run(executable, iterations=3)
        used = used_devices()
    CUDA.sms = 3
    return [difference, used, *error_of(lambda: bound([2]))]


def faults() -> Any:
    """Each call of NVIDIA's driver fails once at rank 1, in loading, binding and a run."""
    before, first = remaining_resources(), len(CUDA.calls)
    with bound() as executable:
        run(executable)
        count = len(CUDA.calls) - first
    with world.collective_call("count") as call:
        count = call.all_gather("calls", count)[1].body
    kinds: list[str] = []
    texts: set[str] = set()
    leaks = 0
    for number in range(1, count + 1):
        if world.rank == 1:
            CUDA.fail_at = len(CUDA.calls) + number
        executable = None
        try:
            executable = bound()
            assert run(executable) == 0
            kinds.append("none")
        except ark.ArkError as error:
            kinds.append(type(error).__name__)
            texts.add(str(error))
            del error
        if executable is not None:
            if world.rank == 1:
                CUDA.fail_at = -1
            executable.close()
        executable = None
        leaks += remaining_resources() != before
    CUDA.fail_at = -1
    with bound() as executable:
        return [count, sorted(set(kinds)), kinds.count("none"), leaks, run(executable)]


def retries() -> Any:
    """Each call of NVIDIA's driver in a run fails once at rank 1; then the same program runs."""
    with bound() as executable:
        run(executable)
        first = len(CUDA.calls)
        run(executable)
        count = len(CUDA.calls) - first
        kinds: set[str] = set()
        for number in range(1, count + 1):
            if world.rank == 1:
                CUDA.fail_at = len(CUDA.calls) + number
            kinds.add(error_of(lambda: run(executable))[0])
            CUDA.fail_at = -1
            assert run(executable) == 0
        return [count, sorted(kinds)]


def killed(where: str) -> Any:
    """Rank 1 is killed at a call of NVIDIA's driver, or in the midst of a run."""
    before = left()
    if world.rank == 1 and where.startswith("cu"):
        CUDA.signal_at = where

    def work() -> None:
        with bound() as executable:
            run(executable)
            if world.rank == 1:
                after(0.3, lambda: os.kill(os.getpid(), signal.SIGKILL))
            run(executable, iterations=FOREVER)

    begin = time.monotonic()
    error = error_of(work)
    seconds = time.monotonic() - begin
    after_death = error_of(bound)
    return [*error, seconds, left()[0] - before[0], *after_death]


def killed_in(where: str) -> Any:
    """Rank 1 is killed while it computes what rank 0 waits for, or while it waits for rank 0 at
    the barrier that ends an iteration."""
    size = world.world_size
    program = ToyProgram(sms=size, arena=size << 21)
    again, arrived = program.semaphore(size, "again"), program.semaphore(1, "rank0/arrived")
    for rank in range(size):
        late = rank == (1 if where == "put" else 0)
        naps = 50 if late else 1
        work = [toy.run(program.task("nap", naps, name=f"rank{rank}/nap"), 0, naps)]
        hand_off = [toy.wait(arrived, 1)] if rank == 0 else [toy.signal(arrived)] * (rank == 1)
        program.lane(rank, [*work, *hand_off, toy.barrier(again, size)])
    before = left()
    begin = 0.0

    def work_together() -> None:
        nonlocal begin
        with world.load(as_bundle(*program.parts(compile_kernel(), ranks=size))) as executable:
            if world.rank == 1:
                after(0.5, lambda: os.kill(os.getpid(), signal.SIGKILL))
            begin = time.monotonic()
            executable.run()

    error = error_of(work_together)
    seconds = time.monotonic() - begin
    return [*error, seconds, left()[0] - before[0], error_of(bound)[0], CUDA.running]


def unlike(difference: str) -> Any:
    """Ranks load different programs, or one for another number of ranks; then a good program."""
    before = left()

    def load() -> Any:
        size = 3 if difference == "size" else world.world_size
        part = 4 << 20 if difference == "program" and world.rank == 1 else 2 << 20
        parts = ring_program(size, part).parts(compile_kernel(), ranks=size)
        return world.load(as_bundle(*parts))

    error = error_of(load)
    clean = left() == before
    with bound() as executable:
        return [*error, clean, run(executable)]


def stopped(when: str) -> Any:
    """Rank 1 is stopped between runs, before its launch, or in a run; the other ranks continue."""
    with bound() as executable, ark.knobs.scope(ARK_TIMEOUT="1"):
        run(executable)
        if world.rank == 1:
            if when == "between":
                os.kill(os.getpid(), signal.SIGSTOP)
            if when == "before its launch":
                CUDA.signal_at, CUDA.signal = "cuLaunchKernelEx", signal.SIGSTOP
            after(0.3, lambda: os.kill(os.getpid(), signal.SIGSTOP))
        return error_of(lambda: run(executable, iterations=FOREVER))


def queued(seconds: str, *device: str) -> Any:
    """A kernel of others has the GPU of rank 1 for a while, longer than a wait may last.

    The argument `device` is the number of a GPU that both ranks share.
    """
    gpu_queue._MAX_SECONDS_BETWEEN_POLLS = 0.1
    share_gpus(True)
    devices = list(map(int, device)) or None
    with ark.knobs.scope(ARK_TIMEOUT="0.3"), bound(devices) as executable:
        run(executable)
        if world.rank == 1:
            CUDA.occupied = True
            after(float(seconds), lambda: setattr(CUDA, "occupied", False))
        begin = time.monotonic()
        error = error_of(lambda: run(executable, iterations=2))
        waited = time.monotonic() - begin
        CUDA.occupied = False
        return [*error, waited, int(executable.peek("n")), run(executable), CUDA.running]


def streamed() -> Any:
    """Work that rank 1's stream had before takes longer than a wait may last."""
    with ark.knobs.scope(ARK_TIMEOUT="0.3"), bound() as executable:
        run(executable)
        with CUDA.on_device(world.rank):
            stream = CUDA.new_stream()
        if world.rank == 1:
            end = time.monotonic() + 2
            CUDA.delay(stream, lambda: time.monotonic() > end)
        return run(executable, stream=stream)


def hang() -> Any:
    with ark.knobs.scope(ARK_TIMEOUT="0.5"), bound(spoilt=True) as hung, bound() as good:
        results: list[Any] = []
        for _ in range(2):
            begin = time.monotonic()
            error = error_of(lambda: run(hung))
            results.append([*error, time.monotonic() - begin < 8, run(good)])
    return [results, CUDA.held]


def interrupted() -> Any:
    with bound() as executable:
        run(executable)
        if world.rank == 1:
            after(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
        error = error_of(lambda: run(executable, iterations=FOREVER))
        return [error, run(executable)]


def other_iterations() -> Any:
    with bound() as executable:
        error = error_of(lambda: run(executable, iterations=world.rank + 1))
        return [*error, run(executable)]


def bad_index() -> Any:
    """An index of rank 1 is out of range; then a good run."""
    size = world.world_size
    program = ToyProgram(sms=size, arena=size << 21)
    again = program.semaphore(size, "again")
    for rank in range(size):
        name = f"rank{rank}/"
        y = program.buffer(f"{name}y", "output", "fp32", [16])
        index = program.buffer(f"{name}index", "input", "int32", [1])
        table = program.buffer(f"{name}table", "input", "fp32", [8, 16])
        task = program.task("gather", 1, [(y, 0), (index, 0), (table, 0)], f"{name}pick")
        program.lane(rank, [toy.run(task, 0, 1), toy.barrier(again, size)])
    table = np.repeat(np.arange(8, dtype=np.float32), 16).reshape(8, 16)
    with world.load(as_bundle(*program.parts(compile_kernel(), ranks=size))) as executable:

        def pick(index: int) -> float:
            return float(executable.run(index=np.array([index], np.int32), table=table)["y"][5])

        return [error_of(lambda: pick(3 + 9 * world.rank)), pick(3 + world.rank)]


def captured() -> Any:
    """A run cannot be part of a graph."""
    stream = CUDA.new_stream()
    with bound() as executable:
        CUDA.begin_capture(stream)
        error = error_of(lambda: run(executable, stream=stream))
        CUDA.end_capture(stream)
        return [*error, run(executable)]


def main() -> None:
    global world
    name, *arguments = sys.argv[1:]
    timeout = 3.0 if name == "stopped" else 60.0
    gpu_driver.GRACE_SECONDS = 5.0
    with ark.distributed.init(timeout=timeout) as world:
        print(json.dumps(globals()[name](*arguments)), flush=True)


if __name__ == "__main__":
    main()

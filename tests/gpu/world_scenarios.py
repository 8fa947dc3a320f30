"""Scenarios of test_world_processes.py: functions that each process of a world runs.

``python world_scenarios.py NAME`` runs one and prints its result as JSON. A scenario needs no
compiler.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import shared_models

import ark_mlir as ark
from ark_mlir.runtime.gpu import peers

FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
# The time limit of every collective call in a scenario, in seconds.
TIMEOUT = 20.0
X = np.arange(4096, dtype=np.float32)
FOREVER = 1 << 31
KINDS = (
    ark.HangError, ark.RankFailedError, ark.InvalidUsageError, ark.UnsupportedError,
    ark.DeviceError, ark.ArkError, KeyboardInterrupt,
)  # fmt: skip


def member() -> Any:
    """Returns the world with this process as a rank."""
    world = ark.distributed.current()
    assert world is not None
    return world


def bound(name: str = "world") -> Any:
    """Returns an executable of export.py, bound to the parameters of this rank."""
    executable = ark.load(FOLDER / f"{name}.arkbin")
    return executable.bind({"w": np.full(4096, member().rank + 1, np.float32)})


def sums(executable: Any, index: int = 3, **options: Any) -> list[float]:
    """Returns two numbers of the outputs of a run: the sum of all elements, and one element."""
    out = executable.run(x=X, index=index, **options)
    return [float(out["y"].sum(dtype=np.float64)), float(out["picked"])]


def error_of(work: Callable[[], Any]) -> list[str]:
    """Returns the public class and the text of the error that `work` raises."""
    try:
        return ["none", repr(work())]
    except (ark.ArkError, KeyboardInterrupt) as error:
        return [next(kind.__name__ for kind in type(error).__mro__ if kind in KINDS), str(error)]


def open_files() -> int:
    """Returns the number of open file descriptors of this process."""
    return len(os.listdir("/proc/self/fd"))


def values() -> Any:
    """Runs with several numbers of iterations, then the same program once more."""
    with bound() as executable:
        seen = [sums(executable, iterations=count) for count in (1, 3, 100, 1)]
        total = int(executable.states["n"][0])
    with bound() as again:
        seen.append(sums(again))
    return [seen, total]


def legacy() -> Any:
    """Runs as `values`, while NVIDIA's driver at rank 1 refuses file descriptors of memory."""

    def refuse(part: Any) -> int:
        raise ark.DeviceError("cuMemExportToShareableHandle failed: CUDA_ERROR_NOT_PERMITTED")

    if member().rank == 1:
        peers.ExportedPart.export = refuse
    with bound() as executable:
        sharing = executable.report().sharing
    return [sharing, *values()]


def files() -> Any:
    """Loading and closing programs leaves no file open."""
    counts: list[int] = []
    for _ in range(4):
        with bound() as executable:
            sums(executable)
        counts.append(open_files())
    return counts[1:] == counts[:1] * 3


def tensors() -> Any:
    """Inputs and parameters of PyTorch on this rank's GPU."""
    import torch

    device = f"cuda:{member().local_rank}"
    x = torch.arange(4096, dtype=torch.float32, device=device)
    with ark.load(FOLDER / "world.arkbin") as executable:
        executable.bind({"w": torch.full((4096,), member().rank + 1.0, device=device)})
        out = executable.run(x=x, index=3)
        torch.cuda.synchronize(device)
        return [str(out["y"].device), float(out["y"].sum(dtype=torch.float64))]


def bad_index() -> Any:
    """An index of rank 1 is out of range; then a good run."""
    with bound() as executable:
        index = 3 if member().rank == 0 else 5000
        return [error_of(lambda: sums(executable, index)), sums(executable)]


def hang() -> Any:
    """Runs a program with a wait that never ends; then another program runs."""
    with ark.knobs.scope(ARK_TIMEOUT="0.5"), bound("world-hang") as hung, bound() as good:
        results: list[Any] = []
        for _ in range(2):
            begin = time.monotonic()
            error = error_of(lambda: sums(hung))
            results.append([*error, time.monotonic() - begin, sums(good)])
        return results


def _after(seconds: float, work: Callable[[], Any]) -> None:
    timer = threading.Timer(seconds, work)
    timer.daemon = True
    timer.start()


def kill() -> Any:
    """Rank 1 is killed in a run; rank 0 reports it, and runs a program of its own."""
    with bound() as executable:
        sums(executable)
        if member().rank == 1:
            _after(1.0, lambda: os.kill(os.getpid(), signal.SIGKILL))
        begin = time.monotonic()
        first = error_of(lambda: sums(executable, iterations=FOREVER))
        seconds = time.monotonic() - begin
        second = error_of(lambda: sums(executable))
    with ark.load(FOLDER / "good.arkbin") as alone:
        y = alone.run(x=np.zeros((64, 256), np.float32))["y"]
    return [first, seconds, second, float(y.sum())]


def interrupt() -> Any:
    """Ctrl-C at rank 1 in a run; then a good run."""
    with bound() as executable:
        sums(executable)
        if member().rank == 1:
            _after(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
        first = error_of(lambda: sums(executable, iterations=FOREVER))
        return [first, sums(executable)]


def stopped() -> Any:
    """Rank 1 is stopped between two runs."""
    with bound() as executable:
        sums(executable)
        if member().rank == 1:
            os.kill(os.getpid(), signal.SIGSTOP)
        return error_of(lambda: sums(executable))


def one_gpu() -> Any:
    """All ranks name the same GPU, with a program for half of it each."""

    def work() -> list[list[float]]:
        with ark.load(FOLDER / "world-shared.arkbin", devices=[0]) as executable:
            executable.bind({"w": np.full(4096, member().rank + 1, np.float32)})
            return [sums(executable, iterations=count) for count in (1, 100)]

    return error_of(work)


def swapped() -> Any:
    """Rank 0 takes the second GPU, and rank 1 the first one."""
    with ark.load(FOLDER / "world.arkbin", devices=[1, 0]) as executable:
        executable.bind({"w": np.full(4096, member().rank + 1, np.float32)})
        return sums(executable)


def duration() -> Any:
    """Returns the microseconds of a run of one iteration, and of one iteration in a run of many."""
    with bound() as executable:
        times: list[float] = []
        for count in [1] * 50 + [20_000]:
            begin = time.perf_counter()
            sums(executable, iterations=count)
            times.append((time.perf_counter() - begin) * 1e6)
    return [sorted(times[:50])[25], times[50] / 20_000]


def generate(name: str) -> Any:
    """Returns the tokens of a model of `export_shared_models.py`."""
    return shared_models.generate(name)


def engine(file: str, address: str = "") -> Any:
    """Runs as `values`, with memory of PyTorch's symmetric memory. With an address, the ranks
    connect over TCP. `file` is the path of PyTorch's `FileStore`."""
    # NVLink multicast may disturb GPUs that others use.
    os.environ.update(NCCL_NVLS_ENABLE="0", TORCH_SYMM_MEM_DISABLE_MULTICAST="1")
    import torch
    import torch.distributed as dist

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{file}", rank=rank, world_size=ranks)
    options: dict[str, Any] = {"engine": ark.distributed.TorchSymmetricMemory()}
    if address:
        options |= {"address": address, "secret": "0123456789abcdef" * 2}
    try:
        with ark.distributed.init(timeout=TIMEOUT, **options):
            with bound() as executable:
                sharing = executable.report().sharing
            return [sharing, *values()]
    finally:
        dist.destroy_process_group()


def main() -> None:
    scenario, *arguments = sys.argv[1:]
    if scenario == "engine":
        print(json.dumps(engine(*arguments)), flush=True)
        return
    timeout = 4.0 if scenario == "stopped" else TIMEOUT
    with ark.distributed.init(timeout=timeout):
        print(json.dumps(globals()[scenario](*arguments)), flush=True)


if __name__ == "__main__":
    main()

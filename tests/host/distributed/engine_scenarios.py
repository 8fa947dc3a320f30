"""Scenarios of test_engines.py: what each process of a world runs with an engine.

``python engine_scenarios.py ENGINE FAULT FOLDER [ADDRESS]`` prints its result as JSON. With an
address, the processes connect over TCP.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
import time
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import gpu_scenarios
import numpy as np
import peer_libraries
import port_library
from gpu_scenarios import CUDA, bound, error_of, left, run

import ark_mlir as ark
from ark_mlir.runtime.cuda import port_channels
from ark_mlir.runtime.drivers.abi import DOMAIN_SHIFT
from ark_mlir.runtime.gpu import driver as gpu_driver_of_one

RANK, RANKS = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])


def make_engine(name: str, fault: str, folder: str) -> Any:
    broker = peer_libraries.Broker(Path(folder), RANK, RANKS, fault)
    if fault == "every call":
        broker.seconds = 1.0
    if fault == "numbers":
        broker.rank = RANKS - 1 - RANK
    if name == "torch":
        if fault != "missing":
            peer_libraries.install_torch(CUDA, broker, is_initialized=fault != "uninitialized")
        return ark.distributed.TorchSymmetricMemory()
    if name == "nccl":
        if fault != "missing":
            wrong = fault == "version" and RANK == 1
            peer_libraries.install_nccl(CUDA, "2.29.7" if wrong else "2.32.3")
        else:
            sys.modules["nccl"] = None  # type: ignore[assignment]  # also where nccl4py is installed
        reachable = 1 if fault in ("hosts", "domains", "no network", "aborted") else None
        return ark.distributed.NcclMemory(peer_libraries.NcclCommunicator(broker, reachable))
    if fault != "missing":
        peer_libraries.install_mscclpp()
        port_library.install_port_channels(CUDA, broker)
    local = 1 if fault == "hosts" or uses_ports(fault) else None
    communicator = peer_libraries.Communicator(CUDA, broker, local)
    transport = "IB0" if uses_ports(fault) else None
    return ark.distributed.MscclppMemory(communicator, tag=7, transport=transport)


def uses_ports(fault: str) -> bool:
    return fault.startswith("ports")


def domains() -> Any:
    """Loads a program whose ranks are in different domains. Returns the record of the network, and
    what the tables say of the other ranks."""
    toy = gpu_scenarios.bundle()
    program = replace(toy, manifest=replace(toy.manifest, domains=tuple(range(RANKS))))
    with gpu_scenarios.world.load(program, None) as executable:
        shared = executable._memory.shared
        assert shared is not None
        communicator, window, begin, counters, ranks, rank = shared.network
        assert ctypes.string_at(communicator, 11) == b"ncclDevComm"
        assert counters == program.manifest.arena // RANKS
        assert shared.semaphores.address == begin + counters
        far = [address >> DOMAIN_SHIFT for address in shared.begun]
        return [window, ranks, rank, [number if far[number] else None for number in range(ranks)]]


def aborted() -> Any:
    """Returns the errors of two runs, of which the first one is aborted."""
    toy = gpu_scenarios.bundle()
    program = replace(toy, manifest=replace(toy.manifest, domains=tuple(range(RANKS))))
    with gpu_scenarios.world.load(program, None) as executable:
        executable.bind({"w": np.zeros(128, np.float32)})
        driver = executable._runner.driver

        def fail(launch: Any) -> None:
            del launch
            driver._dirty = True
            raise ark.BusyError("aborted")

        with mock.patch.object(gpu_driver_of_one.GpuDriver, "launch", side_effect=fail):
            return [error_of(lambda: executable.run(x=np.zeros(128, np.float32))) for _ in range(2)]


# The scenarios with a fault of the port channels. All other scenarios have correct layouts.
PORT_FAULTS = {
    "ports library", "ports version", "ports length", "ports handle", "ports silent",
    "ports stride", "ports copies", "ports forwarding",
}  # fmt: skip


def with_ports(library: str = "mscclpp") -> Any:
    """Returns the toy program with each rank in a domain of its own."""
    toy = gpu_scenarios.bundle()
    manifest = replace(toy.manifest, domains=tuple(range(RANKS)), network=library)
    return replace(toy, manifest=manifest)


def load_with_ports(fault: str = "") -> Any:
    if fault in ("ports silent", "ports stride"):
        port_channels._SECONDS = 1.0
    library = "nccl" if fault == "ports library" else "mscclpp"
    return gpu_scenarios.world.load(with_ports(library), None)


def count_late(executable: Any) -> int:
    """Returns the signals that count after a failed run whose triggers are executed late."""
    channels = executable._memory.shared.ports
    signals = [channels._signal(number) for number in channels.numbers.values()]
    channels._push(5 * signals, None)
    executable._runner.driver._dirty = True
    with mock.patch.object(gpu_driver_of_one.GpuDriver, "launch", side_effect=ark.BusyError("no")):
        error = error_of(lambda: executable.run(x=np.zeros(128, np.float32)))
    assert error == ["BusyError", "no"], error
    time.sleep(1)
    with gpu_scenarios.world.collective_call("late") as call:
        call.all_gather("late")
    return sum(channels.arrivals().values())


def ports() -> Any:
    """Loads a program with port channels. Returns the number of semaphores that stand for counters,
    and the signals that count after failed runs, with and without the wait for late messages."""
    with load_with_ports() as executable:
        shared = executable._memory.shared
        address, window, begin, counters, ranks, rank = shared.network
        assert (address, window, ranks, rank) == (shared.ports.address, 0, RANKS, RANK)
        assert shared.semaphores.address == begin + counters
        executable.bind({"w": np.zeros(128, np.float32)})
        port_library.ProxyService.delay = 0.02
        right = count_late(executable)
        with mock.patch.object(type(shared.ports), "meet"):
            wrong = count_late(executable)
        return [len(shared.ports.numbers), right, wrong]


def work(fault: str) -> Any:
    """Runs a program, or returns the error; then what this process still holds."""
    if fault == "every call":
        return gpu_scenarios.faults()
    before = left()
    if uses_ports(fault):
        is_wrong = fault in PORT_FAULTS
        result = error_of(lambda: load_with_ports(fault)) if is_wrong else ports()
        return [result, left() == before]
    if fault == "aborted":
        return [aborted(), left() == before]
    if fault in ("domains", "no network"):
        return [domains() if fault == "domains" else error_of(domains), left() == before]
    if fault == "far":
        CUDA.far_apart = True
        with bound() as executable:
            is_far = min(map(abs, gpu_scenarios.distances(executable))) > 1 << 40
            result: Any = [run(executable), run(executable, iterations=3), is_far]
        return [result, CUDA.foreign_accesses, left() == before]
    if fault:
        result = error_of(lambda: run(bound()) if fault == "killed" else bound())
    else:
        with bound() as executable:
            result = [run(executable), run(executable, iterations=3), CUDA.foreign_accesses]
    return [result, left() == before]


def main() -> None:
    name, fault, folder, *address = sys.argv[1:]
    has_none = name == "none" or (fault == "mixed" and RANK == 1)
    options: dict[str, Any] = {} if has_none else {"engine": make_engine(name, fault, folder)}
    if address:
        options |= {"address": address[0], "secret": "0123456789abcdef" * 2}
    with ark.distributed.init(timeout=60, **options) as world:
        gpu_scenarios.world = world
        if fault == "killed" and RANK == 1:
            CUDA.signal_at = "cuLaunchKernelEx"
        print(json.dumps(work(fault)), flush=True)


if __name__ == "__main__":
    main()

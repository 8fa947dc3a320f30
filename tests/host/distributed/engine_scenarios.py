"""Scenarios of test_engines.py: what each process of a world runs with an engine.

``python engine_scenarios.py ENGINE FAULT FOLDER [ADDRESS]`` prints its result as JSON. With an
address, the processes connect over TCP.
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import gpu_scenarios
import peer_libraries
from gpu_scenarios import CUDA, bound, error_of, left, run

import ark_mlir as ark
from ark_mlir.runtime.drivers.abi import DOMAIN_SHIFT

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
        reachable = 1 if fault in ("hosts", "domains", "no network") else None
        return ark.distributed.NcclMemory(peer_libraries.NcclCommunicator(broker, reachable))
    if fault != "missing":
        peer_libraries.install_mscclpp()
    local = 1 if fault == "hosts" else None
    return ark.distributed.MscclppMemory(peer_libraries.Communicator(CUDA, broker, local), tag=7)


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


def work(fault: str) -> Any:
    """Runs a program, or returns the error; then what this process still holds."""
    if fault == "every call":
        return gpu_scenarios.faults()
    before = left()
    if fault in ("domains", "no network"):
        return [domains() if fault == "domains" else error_of(domains), left() == before]
    if fault:
        result: Any = error_of(lambda: run(bound()) if fault == "killed" else bound())
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

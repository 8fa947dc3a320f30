"""Worlds whose ranks are threads of the test process, or processes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Protocol

import pytest

import ark_mlir as ark
from ark_mlir.distributed import rendezvous
from ark_mlir.distributed.launcher import Identity
from ark_mlir.distributed.links import Links


class Come(Protocol):
    """The fixture `come`."""

    job: str

    def __call__(self, *identities: tuple[int, int], timeout: float = 100) -> list[Any]: ...


@pytest.fixture
def come() -> Iterator[Come]:
    """``come((rank, size), ..., timeout=100)`` returns, for each rank, its links or its error.

    ``come.job`` is the name of the job.
    """
    job, opened = uuid.uuid4().hex, list[Links]()

    def run(*identities: tuple[int, int], timeout: float = 100) -> list[Any]:
        results: list[Any] = [None] * len(identities)

        def work(number: int, rank: int, size: int) -> None:
            try:
                results[number] = rendezvous.connect_ranks(Identity(rank, size, rank, job), timeout)
                opened.append(results[number])
            except ark.ArkError as error:
                results[number] = error

        threads = [
            threading.Thread(target=work, args=(number, *identity))
            for number, identity in enumerate(identities)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    run.job = job  # type: ignore[attr-defined]
    yield run  # type: ignore[misc]
    for link in opened:
        link.close("is done")


@pytest.fixture
def launch_ranks() -> Iterator[Callable[..., list[Any]]]:
    """``launch_ranks(script, *arguments, size=2, unheard=None)`` starts a process for each rank.

    Returns what each process printed as JSON, or its exit status; None for the rank `unheard`.
    """
    processes: list[subprocess.Popen[str]] = []

    def run(script: Path, *words: str, size: int = 2, unheard: int | None = None) -> list[Any]:
        job = uuid.uuid4().hex
        for rank in range(size):
            variables = {"RANK": str(rank), "WORLD_SIZE": str(size), "MASTER_ADDR": job}
            processes.append(
                subprocess.Popen(
                    [sys.executable, script, *words],
                    env={**os.environ, **variables},
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
        return [None if rank == unheard else read(each) for rank, each in enumerate(processes)]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


def read(process: subprocess.Popen[str]) -> Any:
    output, _ = process.communicate(timeout=400)
    return process.returncode or json.loads(output.splitlines()[-1])

"""Processes that are ranks of PyTorch, for benchmarks that compare ark with it on several GPUs.

The parent sends a command to all ranks and collects their answers.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from typing import Any

from typing_extensions import Self

# Time limit of one command. The first command of an arm also makes weights and captures a graph.
SECONDS = 180.0


class ArmError(RuntimeError):
    """Reports an arm that has no figures."""


class RankProcesses:
    """A process for each rank, which ends with the ``with`` block.

    Args:
        ranks: the number of processes.
        device: ``cuda`` (with NCCL), or ``cpu`` (with Gloo) to try a benchmark without GPUs.
        port: the port of PyTorch's store.
        make: ``make(rank, job)`` returns an object whose methods are the commands. `make` runs in
            the process of the rank, so it must be a function of a module.
        job: the settings of all ranks.
    """

    def __init__(
        self, ranks: int, device: str, port: int, make: Callable[[int, Any], Any], job: Any
    ) -> None:
        import torch.multiprocessing as mp

        context = mp.get_context("spawn")
        self._connections: list[Any] = []
        self._processes: list[Any] = []
        for rank in range(ranks):
            here, there = context.Pipe()
            process = context.Process(
                target=_serve, args=(rank, ranks, device, port, make, job, there), daemon=True
            )
            process.start()
            there.close()
            self._connections.append(here)
            self._processes.append(process)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        for connection in self._connections:
            with contextlib.suppress(OSError):  # the process has ended already
                connection.send(None)
        for process in self._processes:
            process.join(5)
            if process.is_alive():
                process.kill()
                process.join()

    def ask(self, *command: object) -> list[Any]:
        """Returns the answers of all ranks to a command: the name of a method, and its arguments.

        Raises ArmError if a rank raises an error, has ended, or gives no answer in time.
        """
        answers: list[Any] = []
        try:
            for connection in self._connections:
                connection.send(command)
            for rank, connection in enumerate(self._connections):
                if not connection.poll(SECONDS):
                    raise ArmError(f"rank {rank} gave no answer in {SECONDS:.0f} s")
                answers.append(connection.recv())
        except (EOFError, OSError) as error:
            raise ArmError(f"rank {len(answers)} has ended: {error!r}") from None
        for answer in answers:
            if isinstance(answer, ArmError):
                raise answer
        return answers


def _serve(
    rank: int,
    ranks: int,
    device: str,
    port: int,
    make: Callable[[int, Any], Any],
    job: Any,
    connection: Any,
) -> None:
    """Answers the commands of the parent until it sends None or ends."""
    import torch
    import torch.distributed as dist

    os.environ.update(MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port))
    on_gpu = device == "cuda"
    if on_gpu:
        torch.cuda.set_device(rank)
    dist.init_process_group(
        "nccl" if on_gpu else "gloo",
        rank=rank,
        world_size=ranks,
        device_id=torch.device("cuda", rank) if on_gpu else None,
    )
    commands = make(rank, job)
    with torch.no_grad():
        while (command := _receive(connection)) is not None:
            connection.send(_answer(commands, *command))
    connection.close()
    # A group whose collectives are in CUDA graphs may never be destroyed.
    os._exit(0)


def _receive(connection: Any) -> Any:
    try:
        return connection.recv()
    except EOFError:
        return None


def _answer(commands: Any, command: str, *arguments: Any) -> object:
    """Returns the result of a command, or the error that the parent raises."""
    try:
        return getattr(commands, command)(*arguments)
    except Exception as error:  # the other arms keep their figures
        return ArmError(f"{type(error).__name__}: {error}"[:300])

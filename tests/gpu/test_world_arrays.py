"""Tensors of PyTorch on the GPU of each rank, and streams, for worlds in one process."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from conftest import FOLDER
from processes import two_gpus

import ark_mlir as ark

pytestmark = pytest.mark.gpu

# On one GPU, and on a GPU for each rank: the program, and the number of each rank's GPU.
SETUPS = [
    pytest.param(("world-shared", [0], [0, 0]), id="one GPU"),
    pytest.param(("world-shared", [0, 0], [0, 0]), id="two launches on one GPU"),
    pytest.param(("world", [0, 1], [0, 1]), id="two GPUs", marks=two_gpus),
    pytest.param(("world", [1, 0], [1, 0]), id="two GPUs in reverse", marks=two_gpus),
]
Setup = tuple[str, list[int], list[int]]


@contextmanager
def bound(torch: Any, setup: Setup) -> Generator[ark.World]:
    """The world, whose parameters are tensors on the GPU of their rank: 1 and 2 everywhere."""
    name, devices, gpus = setup
    concurrent = len(set(devices)) < len(devices)
    path = Path(FOLDER) / f"{name}.arkbin"
    with ark.load(path, devices=devices, concurrent=concurrent) as world:
        assert isinstance(world, ark.World)
        weights = [
            {"w": torch.full((4096,), rank + 1.0, device=f"cuda:{gpu}")}
            for rank, gpu in enumerate(gpus)
        ]
        world.bind(weights)
        assert world.report().bound_in_place == 2 * 4 * 4096
        yield world


def inputs(torch: Any, gpus: list[int], scale: float = 1.0) -> list[dict[str, Any]]:
    """The same ramp for both ranks, on their GPUs."""
    return [{"x": scale * torch.arange(4096.0, device=f"cuda:{gpu}"), "index": 3} for gpu in gpus]


def expected(torch: Any, scale: float = 1.0) -> Any:
    """The sum over the ranks."""
    return 3 * scale * torch.arange(4096.0)


@pytest.mark.parametrize("setup", SETUPS)
def test_tensors_are_used_in_place(torch: Any, setup: Setup) -> None:
    gpus = setup[2]
    with bound(torch, setup) as world:
        for scale in (1.0, 2.0):
            results = world.run(inputs(torch, gpus, scale))
            for result, gpu in zip(results, gpus, strict=True):
                assert result["y"].device == torch.device("cuda", gpu)
                assert torch.equal(result["y"].cpu(), expected(torch, scale))
                assert float(result["picked"]) == 9 * scale
        out = [{"y": torch.zeros(4096, device=f"cuda:{gpu}")} for gpu in gpus]
        results = world.run(inputs(torch, gpus, 3.0), out=out)
        for result, given in zip(results, out, strict=True):
            assert result["y"] is given["y"]
            assert torch.equal(given["y"].cpu(), expected(torch, 3.0))


@pytest.mark.parametrize("setup", SETUPS)
def test_streams_with_earlier_work(torch: Any, setup: Setup) -> None:
    """Each rank's input is written late, in a stream of its own; no wait of a lane times out."""
    gpus = setup[2]
    with bound(torch, setup) as world, ark.knobs.scope(ARK_TIMEOUT="0.2"):
        for late in range(2):
            given = inputs(torch, gpus)
            streams = [torch.cuda.Stream(device=gpu) for gpu in gpus]
            for rank, stream in enumerate(streams):
                stream.wait_stream(torch.cuda.current_stream(gpus[rank]))
                with torch.cuda.stream(stream):
                    if rank == late:
                        torch.cuda._sleep(2_000_000_000)  # about one second
                    given[rank]["x"] *= 2
            results = world.run(given, stream=streams)
            for result in results:
                assert torch.equal(result["y"].cpu(), expected(torch, 2.0))


@pytest.mark.parametrize("setup", SETUPS)
def test_current_streams(torch: Any, setup: Setup) -> None:
    """Without `stream`, a run follows torch's current stream on each GPU."""
    gpus = setup[2]
    with bound(torch, setup) as world:
        given = inputs(torch, gpus)
        torch.cuda.synchronize()
        for gpu in set(gpus):
            with torch.cuda.device(gpu):
                torch.cuda._sleep(200_000_000)
        for entry in given:
            entry["x"] *= 3
        for result in world.run(given):
            assert torch.equal(result["y"].cpu(), expected(torch, 3.0))


@two_gpus
def test_a_tensor_on_the_wrong_gpu(torch: Any) -> None:
    with bound(torch, ("world", [0, 1], [0, 1])) as world:
        with pytest.raises(
            ark.InvalidUsageError, match=r"'rank0/x' is on (\w+):1; rank 0 runs on \1:0"
        ):
            world.run(inputs(torch, [1, 0]))
        assert torch.equal(world.run(inputs(torch, [0, 1]))[0]["y"].cpu(), expected(torch))


def test_a_graph_on_one_gpu(torch: Any) -> None:
    with bound(torch, ("world-shared", [0], [0, 0])) as world:
        given = inputs(torch, [0, 0])
        world.run(given)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            results = world.run(given)
        for entry in given:
            entry["x"] *= 5
        graph.replay()
        world.check()
        for result in results:
            assert torch.equal(result["y"].cpu(), expected(torch, 5.0))

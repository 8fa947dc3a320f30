"""Kernels of two ranks that begin together: two launches on one GPU, each on half of its SMs."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conftest import FOLDER
from internals import driver_of, ranks_of

import ark_mlir as ark

pytestmark = pytest.mark.gpu

X = np.arange(4096, dtype=np.float32)


@pytest.fixture
def world() -> Iterator[ark.World]:
    """Two ranks with a launch of their own, both on the first GPU."""
    path = Path(FOLDER) / "world-shared.arkbin"
    with ark.load(path, devices=[0, 0], concurrent=True) as world:
        assert isinstance(world, ark.World)
        yield world.bind([{"w": np.full(4096, rank + 1, np.float32)} for rank in range(2)])


def check_run(world: ark.World, **options: Any) -> None:
    for out in world.run({"x": X, "index": 3}, **options):
        np.testing.assert_array_equal(out["y"], 3 * X)


def require_two_kernels(world: ark.World) -> None:
    """Skips the test if the GPU runs one cooperative launch after the other."""
    try:
        check_run(world)
    except ark.BusyError:
        pytest.skip("this GPU runs cooperative launches one after the other")


def test_two_launches_on_one_gpu(world: ark.World) -> None:
    """Results are right, or a BusyError names the rank whose kernel is queued."""
    with ark.knobs.scope(ARK_TIMEOUT="0.3"):
        error = None
        try:
            for iterations in (1, 1, 3, 100, 1):
                check_run(world, iterations=iterations)
        except ark.BusyError as caught:
            error = caught
    text = "the kernel of rank 1 of 'world' (GPU 0) has not begun for 1.5 s"
    assert error is None or text in str(error)
    counts = [int(world.states[f"rank{rank}/n"][0]) for rank in range(2)]
    assert counts == ([106, 106] if error is None else [0, 0])


def test_a_program_for_whole_gpus_does_not_fit() -> None:
    """The lanes of two ranks, each for a GPU of its own, are more than one GPU holds."""
    model = Path(FOLDER) / "shared-models" / "wide llama in bf16"
    path = model / "prefill on a GPU for each rank.arkbin"
    with pytest.raises(ark.UnsupportedError, match="the 2 ranks on GPU 0 have") as caught:
        ark.load(path, devices=[0, 0], concurrent=True)
    assert "concurrent=True" in str(caught.value)


def test_a_hang_names_the_rank() -> None:
    """The first wait of rank 0 never ends."""
    path = Path(FOLDER) / "world-shared-hang.arkbin"
    weights = [{"w": np.full(4096, rank + 1, np.float32)} for rank in range(2)]
    with (
        ark.knobs.scope(ARK_TIMEOUT="0.5"),
        ark.load(path, devices=[0, 0], concurrent=True) as hung,
    ):
        assert isinstance(hung, ark.World)
        hung.bind(weights)
        for _ in range(2):
            with pytest.raises(ark.HangError, match="rank0/"):
                hung.run({"x": X, "index": 3})


def test_a_kernel_waits_for_the_launch_of_the_other(world: ark.World) -> None:
    """Longer than a wait of a lane may last."""
    require_two_kernels(world)
    driver = driver_of(world)
    late = ranks_of(driver)[1]
    launch = late.launch

    def launch_late(arguments: Any) -> None:
        time.sleep(0.6)
        launch(arguments)

    late.launch = launch_late
    with ark.knobs.scope(ARK_TIMEOUT="0.3"):
        check_run(world)
    del late.launch
    check_run(world)


def test_the_other_launch_fails(world: ark.World) -> None:
    """The kernel that has begun ends at once, and has computed nothing."""
    driver = driver_of(world)
    failing = ranks_of(driver)[1]

    def fail(arguments: Any) -> None:
        time.sleep(0.1)
        raise ark.DeviceError("no launch today")

    failing.launch = fail
    start = time.monotonic()
    with pytest.raises(ark.DeviceError, match="no launch today"):
        check_run(world)
    assert time.monotonic() - start < 2
    del failing.launch
    assert [int(world.states[f"rank{rank}/n"][0]) for rank in range(2)] == [0, 0]
    require_two_kernels(world)
    assert int(world.states["rank0/n"][0]) == 1


def test_a_kernel_that_does_not_begin_in_time(
    world: ark.World, torch: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Rank 1's launch follows work of three seconds in its stream, for which rank 0's does not
    wait. The error names the rank, and no state has changed."""
    driver = driver_of(world)
    monkeypatch.setattr(
        driver, "_gather", lambda run_stream: [stream for _, stream in driver._by_rank(run_stream)]
    )
    world.prepare()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(6_000_000_000)
    with ark.knobs.scope(ARK_TIMEOUT="0.2"):
        start = time.monotonic()
        with pytest.raises(ark.BusyError, match="the kernel of rank 1 of 'world'"):
            world.run({"x": X, "index": 3}, stream=[None, stream])
        assert 0.9 < time.monotonic() - start < 10
    assert int(world.states["rank0/n"][0]) == 0

"""Ranks with launches of their own on one GPU, on stand-ins for GPUs."""

from __future__ import annotations

import time
from typing import Any

import numpy as np
import pytest
from internals import driver_of, ranks_of
from ring_worlds import bound_world, check_run, inputs, waiting_program, weights

import ark_mlir as ark
from ark_mlir.testing.fake_gpu import FakeCuda, OnDevice, fake_world


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARK_TIMEOUT", "0.2")


def counts(world: ark.World) -> list[int]:
    """Returns the completed iterations of each rank."""
    return [int(world.states[f"rank{rank}/n"]) for rank in range(world.size)]


@pytest.mark.parametrize(
    "devices", [[0, 0], [0, 0, 0], [1, 1], [0, 0, 1, 1], [1, 0, 1, 0]], ids=str
)
def test_results(vendor: type[FakeCuda], kernel: bytes, devices: list[int]) -> None:
    cuda = vendor(devices=2)
    with bound_world(cuda, kernel, len(devices), devices=devices) as world:
        for iterations in (1, 3, 2):
            check_run(world, iterations=iterations)
        assert len(set(cuda.launched)) == len(devices)
        assert counts(world) == [6] * len(devices)
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


def test_a_gpu_that_runs_one_launch_after_the_other(cuda: FakeCuda, kernel: bytes) -> None:
    """The error names the rank that waits and the remedy; no rank has computed anything."""
    cuda.devices[0].serial = True
    with bound_world(cuda, kernel, 3, devices=[0, 0, 0]) as world:
        begin = time.monotonic()
        with pytest.raises(ark.BusyError, match=r"rank 1 of 'toy' \(GPU 0\) has not begun") as info:
            check_run(world)
        assert time.monotonic() - begin < 10
        assert "devices=[0] runs all ranks in one launch" in str(info.value)
        assert counts(world) == [0, 0, 0]
        cuda.devices[0].serial = False
        check_run(world, 2)
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


def test_more_lanes_than_the_gpu_holds(vendor: type[FakeCuda], kernel: bytes) -> None:
    """Each kernel fits, and both together do not: the load raises an error."""
    cuda = vendor(sms=3)
    with pytest.raises(ark.UnsupportedError) as caught:
        bound_world(cuda, kernel, devices=[0, 0]).prepare()
    assert "the 2 ranks on GPU 0 have 4 lanes; this GPU holds 3 of their CTAs" in str(caught.value)
    assert "concurrent=True" in str(caught.value)
    assert (cuda.held, cuda.running) == (0, 0)


def test_a_launch_that_fails(cuda: FakeCuda, kernel: bytes) -> None:
    with bound_world(cuda, kernel, devices=[0, 0]) as world:
        check_run(world)
        driver = driver_of(world)
        launch = ranks_of(driver)[1].launch

        def fail(arguments: Any) -> None:
            time.sleep(0.1)
            raise ark.DeviceError("no launch today")

        ranks_of(driver)[1].launch = fail
        with pytest.raises(ark.DeviceError, match="no launch today"):
            check_run(world)
        ranks_of(driver)[1].launch = launch
        assert counts(world) == [1, 1]
        check_run(world)
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


@pytest.mark.parametrize("hangs", [0, 1])
def test_a_rank_that_hangs(cuda: FakeCuda, kernel: bytes, hangs: int) -> None:
    with fake_world(cuda, kernel, waiting_program(hangs), 2, devices=[0, 0]) as world:
        for _ in range(2):
            with pytest.raises(ark.HangError) as caught:
                world.run()
            assert f"rank{hangs}/count" in str(caught.value)
            assert cuda.running == 0
    assert (cuda.held, cuda.foreign_accesses) == (0, [])


@pytest.mark.parametrize("own", [True, False], ids=["a stream each", "one stream"])
def test_streams_of_the_caller(cuda: FakeCuda, kernel: bytes, own: bool) -> None:
    """Two kernels in one stream would run one after the other."""
    given = [{"x": OnDevice(entry["x"])} for entry in inputs(2)]
    with bound_world(cuda, kernel, devices=[0, 0]) as world:
        first = cuda.new_stream()
        streams = [first, cuda.new_stream() if own else first]
        outputs = world.run(given, stream=streams)
        for rank, output in enumerate(outputs):
            record = output["y"].__cuda_array_interface__
            values = np.asarray(type("Host", (), {"__array_interface__": record}))
            sent = inputs(2)[1 - rank]["x"] + weights(2)[1 - rank]["w"] + np.float32(0.5)
            np.testing.assert_array_equal(values, sent)
        del outputs
        assert cuda.launched[0] == first
        assert (cuda.launched[1] == streams[1]) is own
        # The second kernel waits for the earlier work of the caller's stream.
        assert (cuda.launched[1], first) in cuda.waits or (first, cuda.launched[1]) in cuda.waits
    assert (cuda.running, cuda.foreign_accesses) == (0, [])

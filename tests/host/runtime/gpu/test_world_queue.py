"""A launch that is queued on one of several GPUs, on stand-ins for GPUs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

import pytest
from internals import driver_of, ranks_of
from occupied_gpus import NEVER, occupied
from ring_worlds import bound_world, check_run, inputs

import ark_mlir as ark
from ark_mlir.runtime.drivers import abi
from ark_mlir.runtime.gpu import queue as gpu_queue
from ark_mlir.testing.fake_gpu import FakeCuda

FIVE = gpu_queue._LIMIT_FACTOR  # before any test changes it


@pytest.fixture(autouse=True)
def _short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ARK_TIMEOUT", "0.2")
    monkeypatch.setattr(gpu_queue, "_LIMIT_FACTOR", FIVE)
    monkeypatch.setattr(gpu_queue, "_MAX_SECONDS_BETWEEN_POLLS", 0.25)


def test_kernels_and_hosts_have_the_same_limit() -> None:
    assert FIVE == abi.BEGIN_LIMIT_FACTOR


@pytest.mark.parametrize("queued", [0, 1, 2])
def test_a_launch_that_stays_queued(vendor: type[FakeCuda], kernel: bytes, queued: int) -> None:
    """The error names the rank and its GPU. No rank has computed anything, all other GPUs are free,
    and the next run is right."""
    cuda = vendor(devices=3)
    with bound_world(cuda, kernel, 3) as world:
        check_run(world)
        with occupied(cuda.devices[queued]):
            start = time.monotonic()
            name = rf"the kernel of rank {queued} of 'toy' \(GPU {queued}\) has not begun for 1 s"
            with pytest.raises(ark.BusyError, match=name) as caught:
                world.run(inputs(3, 2))
            assert 0.9 < time.monotonic() - start < NEVER / 2
            assert "states may hold" not in str(caught.value)
            assert [device.running for device in cuda.devices] == [
                int(number == queued) for number in range(3)
            ]
        assert [int(world.peek(f"rank{rank}/n")) for rank in range(3)] == [1] * 3
        check_run(world, 3, iterations=2)
        assert [int(world.states[f"rank{rank}/n"]) for rank in range(3)] == [3] * 3
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])


@pytest.mark.parametrize("queued", [0, 1])
def test_a_launch_that_is_queued_for_a_while(two: FakeCuda, kernel: bytes, queued: int) -> None:
    """The other kernel waits for longer than one of its waits may last."""
    with bound_world(two, kernel) as world:
        for iterations in (1, 3):
            with occupied(two.devices[queued], 0.5):
                check_run(world, iterations=iterations)


@pytest.mark.parametrize("queued", [0, 1])
def test_the_next_run_while_a_launch_is_queued(two: FakeCuda, kernel: bytes, queued: int) -> None:
    """The error is the same each time."""
    with bound_world(two, kernel) as world:
        with occupied(two.devices[queued]):
            for _ in range(2):
                with pytest.raises(ark.BusyError, match=f"rank {queued} of 'toy'"):
                    check_run(world)
        check_run(world)


@pytest.mark.parametrize("queued", [0, 1])
def test_closing_while_a_launch_is_queued(
    two: FakeCuda, kernel: bytes, queued: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ark_mlir.runtime.gpu.driver.GRACE_SECONDS", 0.2)
    world = bound_world(two, kernel)
    with occupied(two.devices[queued]):
        with pytest.raises(ark.BusyError):
            check_run(world)
        with pytest.raises(ark.BusyError, match="its last run is still queued"):
            world.close()
    bound_world(two, kernel).close()


@pytest.mark.parametrize("queued", [0, 1])
def test_a_kernel_that_begins_when_the_others_have_given_it_up(
    two: FakeCuda, kernel: bytes, queued: int
) -> None:
    """The run is abandoned, and the error says that states may have changed."""
    with bound_world(two, kernel) as world:
        check_run(world)
        driver = driver_of(world)
        late, other = ranks_of(driver)[queued], ranks_of(driver)[1 - queued]
        with occupied(two.devices[queued]):
            # This host has the time limit of the other kernel, and would raise its error first.
            late._watch.poll = lambda: None
            timer = threading.Timer(1.3, lambda: setattr(two.devices[queued], "occupied", False))
            timer.start()
            if queued == 1:
                wait = other.wait

                def wait_for_begin() -> Any:
                    outcome = wait()
                    while late.record.queued:
                        time.sleep(0.01)
                    return outcome

                other.wait = wait_for_begin
            with pytest.raises(ark.BusyError, match=f"rank {queued} of 'toy'") as caught:
                world.run(inputs(2))
            assert "states may hold part of the run" in str(caught.value)
            vars(other).pop("wait", None)
        late._watch = late._make_watch(late._loaded())
        check_run(world, 2)


@pytest.mark.parametrize("broken", [0, 1])
def test_a_gpu_whose_context_is_lost_before_its_kernel_begins(
    two: FakeCuda, kernel: bytes, broken: int, in_threads: Callable[..., None]
) -> None:
    """The error is that of the GPU, and not one of a queue."""
    world = bound_world(two, kernel)
    check_run(world)
    with occupied(two.devices[broken]):
        timer = threading.Timer(0.2, lambda: setattr(two.devices[broken], "broken", True))
        timer.start()
        with pytest.raises(ark.DeviceError, match=two.error("ILLEGAL_ADDRESS")) as caught:
            world.run(inputs(2))
        assert not isinstance(caught.value, ark.BusyError)
    with pytest.raises(ark.DeviceError):
        world.close()

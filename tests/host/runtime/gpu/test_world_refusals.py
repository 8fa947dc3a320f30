"""GPUs on which the ranks of a world cannot run together, on stand-ins for GPUs.

Each case raises one typed error, holds nothing afterwards, and leaves the GPUs usable.
"""

from __future__ import annotations

import gc
from collections.abc import Callable

import pytest
from ring_worlds import PAGE, bound_world, check_run

import ark_mlir as ark
from ark_mlir.testing.fake_gpu import FakeCuda

ONE_GPU = ("compile with devices=[0] to run all ranks on one GPU",)


def unlink(cuda: FakeCuda, pair: tuple[int, int]) -> None:
    cuda.unlinked = {pair}


def rename(cuda: FakeCuda) -> None:
    cuda.devices[1].name = "other"


def set_page(cuda: FakeCuda, nbytes: int) -> None:
    cuda.page = nbytes


def fill(cuda: FakeCuda, ordinal: int) -> None:
    cuda.devices[ordinal].memory = PAGE


def shrink(cuda: FakeCuda) -> None:
    cuda.sms = 1


CASES: dict[str, tuple[Callable[[FakeCuda], None], type[ark.ArkError], str]] = {
    "no access of GPU 0": (
        lambda cuda: unlink(cuda, (0, 1)),
        ark.UnsupportedError,
        "GPU 0 cannot access the memory of GPU 1",
    ),
    "no access of GPU 1": (
        lambda cuda: unlink(cuda, (1, 0)),
        ark.UnsupportedError,
        "GPU 1 cannot access the memory of GPU 0",
    ),
    "kinds": (
        rename,
        ark.UnsupportedError,
        r"GPU 0 is stand-in \((\w+)\), and GPU 1 is other \(\1\): ranks need GPUs of one kind",
    ),
    "large pages": (
        lambda cuda: set_page(cuda, 4 << 20),
        ark.UnsupportedError,
        "share memory in pages of 4194304 bytes",
    ),
    "odd pages": (
        lambda cuda: set_page(cuda, 3 << 20),
        ark.UnsupportedError,
        "share memory in pages of 3145728 bytes",
    ),
    "memory of GPU 0": (lambda cuda: fill(cuda, 0), ark.DeviceError, "(OUT_OF_MEMORY|OutOfMemory)"),
    "memory of GPU 1": (lambda cuda: fill(cuda, 1), ark.DeviceError, "(OUT_OF_MEMORY|OutOfMemory)"),
    "lanes": (shrink, ark.UnsupportedError, "2 lanes; this GPU holds 1 of its CTAs at once"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_world_that_cannot_run(vendor: type[FakeCuda], kernel: bytes, case: str) -> None:
    spoil, kind, message = CASES[case]
    cuda = vendor(devices=3)
    with bound_world(cuda, kernel, devices=[0, 2]) as neighbour:
        check_run(neighbour)
        held = cuda.held
        spoil(cuda)
        with pytest.raises(kind, match=message) as caught:
            bound_world(cuda, kernel)
        if "access" in case or case == "kinds":
            assert caught.value.notes == ONE_GPU
        del caught
        gc.collect()
        assert cuda.held == held
        good = vendor(devices=3)
        cuda.unlinked, cuda.page, cuda.sms = set(), good.page, good.sms
        cuda.memory = good.memory
        cuda.devices[1].name = good.devices[1].name
        with bound_world(cuda, kernel) as world:
            check_run(world)
            check_run(neighbour, 2)
    gc.collect()
    assert (cuda.held, cuda.running, cuda.foreign_accesses) == (0, 0, [])

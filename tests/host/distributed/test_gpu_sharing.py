"""The way in which processes share memory of a GPU, which ``ark env`` prints, on stand-ins."""

from __future__ import annotations

import gc
from collections.abc import Callable
from pathlib import Path

import pytest

from ark_mlir.cli import env
from ark_mlir.distributed.gpu_memory import find_sharing
from ark_mlir.runtime.cuda import api as cuda_api
from ark_mlir.runtime.hip import api as hip_api
from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip

LEGACY = "legacy {} IPC, since file descriptors of memory are refused"
FILES = "file descriptors"
# The files of the devices of each backend.
NODES = {"cuda": "nvidia0", "hip": "renderD128"}

Install = Callable[[FakeCuda], FakeCuda]


@pytest.fixture
def install(monkeypatch: pytest.MonkeyPatch) -> Install:
    """``install(gpu)`` makes a stand-in the library of its vendor."""

    def use(gpu: FakeCuda) -> FakeCuda:
        if gpu.backend == "hip":
            monkeypatch.setattr(hip_api, "find_library", lambda: gpu)
        else:
            monkeypatch.setattr(cuda_api, "import_driver", lambda: gpu)
        return gpu

    return use


@pytest.fixture
def plug(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """``plug(*backends)`` makes this machine seem to have the GPUs of these backends alone."""

    def seem(*backends: str) -> None:
        names = {"/dev": "cuda", "/dev/dri": "hip"}
        exists = Path.exists
        monkeypatch.setattr(
            env,
            "_devices",
            lambda folder, pattern: NODES[b] if (b := names[folder]) in backends else "none",
        )
        monkeypatch.setattr(
            Path, "exists", lambda path: "hip" in backends if path.name == "kfd" else exists(path)
        )

    return seem


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([], FILES),
        (["refuses_export"], LEGACY),
        (["refuses_export", "refuses_ipc"], "refused: {}IpcGetMemHandle failed: "),
    ],
)
def test_the_way_of_this_machine(
    vendor: type[FakeCuda], install: Install, refused: list[str], expected: str
) -> None:
    gpu = install(vendor())
    for name in refused:
        setattr(gpu, name, True)
    word = "CUDA" if gpu.backend == "cuda" else "HIP"
    begin = expected.format(gpu.prefix if expected.startswith("refused") else word)
    assert find_sharing(gpu.backend).startswith(begin)
    gc.collect()
    assert gpu.held == 0


def test_rocm_without_uncached_memory(install: Install) -> None:
    gpu = install(FakeHip())
    gpu.has_uncached = False  # type: ignore[attr-defined]
    assert find_sharing("hip") == LEGACY.format("HIP")


def test_a_library_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    """The device files of AMD GPUs exist, and HIP finds no GPU."""
    gpu = FakeHip()
    monkeypatch.setattr(FakeHip, "hipGetDeviceCount", lambda self: (0, 0), raising=False)
    monkeypatch.setattr(hip_api, "find_library", lambda: gpu)
    assert find_sharing("hip").startswith("unknown: a program for hip needs a GPU of AMD")


def test_env_shows_it(vendor: type[FakeCuda], install: Install, plug: Callable[..., None]) -> None:
    install(vendor())
    plug(vendor.backend)
    machine = env.collect()["machine"]
    assert machine["memory of ranks"] == FILES
    assert {machine["nvidia"], machine["amd"]} == {NODES[vendor.backend], "none"}


def test_env_of_a_machine_with_both_vendors(install: Install, plug: Callable[..., None]) -> None:
    install(FakeCuda())
    install(FakeHip()).refuses_export = True
    plug("cuda", "hip")
    machine = env.collect()["machine"]
    assert machine["memory of ranks, cuda"] == FILES
    assert machine["memory of ranks, hip"] == LEGACY.format("HIP")
    assert "memory of ranks" not in machine


def test_env_of_a_machine_without_a_gpu(plug: Callable[..., None]) -> None:
    plug()
    assert not any(name.startswith("memory of ranks") for name in env.collect()["machine"])

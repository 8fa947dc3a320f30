"""The way in which processes share memory of a GPU, which ``ark env`` prints, on a stand-in."""

from __future__ import annotations

import gc

import pytest

from ark_mlir.cli import env
from ark_mlir.distributed.gpu_memory import find_sharing
from ark_mlir.runtime.cuda import api as cuda_api
from ark_mlir.testing.fake_gpu import FakeCuda

LEGACY = "legacy CUDA IPC, since file descriptors of memory are refused"


@pytest.mark.parametrize(
    ("refused", "expected"),
    [
        ([], "file descriptors"),
        (["refuses_export"], LEGACY),
        (["refuses_export", "refuses_ipc"], "refused: cuIpcGetMemHandle failed: CUDA_ERROR_NOT_"),
    ],
)
def test_the_way_of_this_machine(
    monkeypatch: pytest.MonkeyPatch, refused: list[str], expected: str
) -> None:
    cuda = FakeCuda()
    for name in refused:
        setattr(cuda, name, True)
    monkeypatch.setattr(cuda_api, "import_driver", lambda: cuda)
    assert find_sharing("cuda").startswith(expected)
    gc.collect()
    assert cuda.held == 0


def test_env_shows_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cuda_api, "import_driver", lambda: FakeCuda())
    monkeypatch.setattr(env, "_devices", lambda folder, pattern: "nvidia0")
    assert env.collect()["machine"]["memory of ranks"] == "file descriptors"
    monkeypatch.setattr(env, "_devices", lambda folder, pattern: "none")
    assert "memory of ranks" not in env.collect()["machine"]

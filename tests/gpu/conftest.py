"""The programs of `make gpu-bundles`, and their arrays as tensors on the GPU."""

from __future__ import annotations

import logging
import os
import subprocess
import sys
import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import read_bundle

# The folder of the modules that several tests share.
sys.path.insert(0, str(Path(__file__).parent))
from processes import Launch, read_result

SCRIPT = Path(__file__).with_name("world_scenarios.py")
FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
# The files whose tests are skipped if the bundles are for AMD GPUs, with the reason.
FOR_NVIDIA = {
    "test_assemblers.py": "ptxas, nvJitLink and the assembler in the driver are NVIDIA's",
}


def backend_of_bundles() -> str:
    """Returns the backend of the exported programs; ``cuda`` if there are none."""
    path = FOLDER / "good.arkbin"
    return read_bundle(path).manifest.target.backend if path.exists() else "cuda"


@pytest.fixture
def backend() -> str:
    """The backend of the exported programs."""
    return backend_of_bundles()


class Executed:
    """Makes a session fail if every test was skipped."""

    def __init__(self) -> None:
        self.count = 0

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Counts the tests whose body has begun, including those of worker processes."""
        self.count += report.when == "call" and not report.skipped

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        """Sets the exit status, unless tests are only listed."""
        tells = not (
            session.config.getoption("collectonly") or hasattr(session.config, "workerinput")
        )
        if tells and exitstatus == pytest.ExitCode.OK and not self.count:
            session.exitstatus = pytest.ExitCode.NO_TESTS_COLLECTED


def pytest_configure(config: pytest.Config) -> None:
    config.pluginmanager.register(Executed())


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skips the tests of `FOR_NVIDIA` if the bundles are for AMD GPUs."""
    if backend_of_bundles() != "hip":
        return
    for item in items:
        if reason := FOR_NVIDIA.get(item.path.name):
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.fixture
def load() -> Iterator[Callable[[str], ark.Executable]]:
    """``load(name)`` returns an executable, which is closed after the test."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(ark.load(FOLDER / f"{name}.arkbin"))


@pytest.fixture
def torch() -> Any:
    """PyTorch with CUDA, or with ROCm, which has the names of CUDA."""
    module = pytest.importorskip("torch", reason="PyTorch is not installed")
    assert module.cuda.is_available(), "this PyTorch sees no GPU"
    module.zeros(1, device="cuda")
    return module


def _read_arrays(name: str) -> dict[str, Any]:
    """Returns inputs, parameters, outputs and bounds of a program, by names such as `input.x`."""
    executable = ark.load(FOLDER / f"{name}.arkbin")
    buffers = executable.inputs + executable.parameters
    executable.close()
    with np.load(FOLDER / f"{name}.npz") as file:
        result = {name: file[name] for name in file.files}
    for buffer in buffers:
        data = result[f"input.{buffer.name}"]
        result[f"input.{buffer.name}"] = np.frombuffer(data, buffer.dtype.numpy).reshape(
            buffer.shape
        )
    return result


@pytest.fixture
def read_arrays() -> Callable[[str], dict[str, Any]]:
    """``read_arrays(name)`` returns the arrays of a program."""
    return _read_arrays


@pytest.fixture
def arrays() -> dict[str, Any]:
    """The arrays of the program `weights`."""
    return _read_arrays("weights")


@pytest.fixture
def block() -> dict[str, Any]:
    """The arrays of the program `streams`."""
    return _read_arrays("streams")


@pytest.fixture
def tensors(torch: Any, arrays: dict[str, Any]) -> dict[str, Any]:
    """The inputs of `weights` on the GPU; the position is an int."""
    bits = {name: arrays[f"input.{name}"].view(np.int16).copy() for name in ("x", "w")}
    result = {name: torch.from_numpy(a).view(torch.bfloat16).cuda() for name, a in bits.items()}
    torch.cuda.synchronize()
    return {**result, "position": int(arrays["input.position"])}


@pytest.fixture
def launch() -> Iterator[Launch]:
    """``launch(name, *arguments)`` returns each rank's output or, if it failed, its exit status."""
    processes: list[subprocess.Popen[str]] = []

    def run(*words: str, unheard: int = -1) -> list[Any]:
        job = uuid.uuid4().hex
        for rank in range(2):
            variables = {"RANK": str(rank), "WORLD_SIZE": "2", "MASTER_ADDR": job}
            process = subprocess.Popen(
                [sys.executable, SCRIPT, *words],
                env={**os.environ, **variables},
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
            processes.append(process)
        return [
            None if rank == unheard else read_result(process)
            for rank, process in enumerate(processes)
        ]

    yield run
    for process in processes:
        process.kill()
        process.communicate()


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """``logged()`` returns the warnings of the backend of ``torch.compile`` so far."""
    caplog.set_level(logging.WARNING, "ark.pytorch")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "ark.pytorch"]

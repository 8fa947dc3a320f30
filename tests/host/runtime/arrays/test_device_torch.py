"""Tensors of torch on a GPU, simulated by tensors on the host that claim to be there."""

from __future__ import annotations

from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.cuda.driver import CudaDriver
from ark_mlir.testing.fake_cuda import FakeCuda
from ark_mlir.testing.toy import add_program

torch: Any = pytest.importorskip("torch", reason="torch is not installed")
Array = np.ndarray[Any, Any]


class Tensor(torch.Tensor):
    """A tensor on the stand-in's device."""

    is_cuda = True

    def get_device(self) -> int:
        return 0


def on_device(tensor: Any) -> Any:
    return tensor.as_subclass(Tensor)


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch) -> FakeCuda:
    cuda = FakeCuda()
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda device: SimpleNamespace(cuda_stream=cuda.current)
    )
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(cuda, "current", 0, raising=False)
    return cuda


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    manifest, sections = add_program().parts(kernel)
    manifest["target"].update(backend="cuda", arch="sm_90a")
    for buffer in manifest["buffers"]:
        buffer["alignment"] = 16
    drivers = {"cuda": lambda: CudaDriver(CudaApi(cuda))}
    with Executable.from_parts(manifest, sections, drivers) as executable:
        yield executable
    assert cuda.held == 0


def test_tensors_are_inputs_and_outputs(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    weight = on_device(torch.nn.Parameter(torch.arange(128.0)))
    exe.bind({"w": weight})
    assert exe.report().bound_in_place == 512
    y = exe.run(x=on_device(torch.from_numpy(x)))["y"]
    assert type(y) is torch.Tensor
    np.testing.assert_array_equal(y.numpy(), x.ravel() + np.arange(128) + 0.5)
    assert cuda.launched == [0], "torch's current stream, which is the default one"


def test_a_run_follows_the_current_stream(exe: Executable, cuda: Any, x: Array) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    mine, other = cuda.new_stream(), cuda.new_stream()
    cuda.current = mine
    given = on_device(torch.from_numpy(x))
    exe.run(x=given)
    assert cuda.waits == []
    exe.run(x=given, stream=other)
    assert cuda.launched == [mine, other]
    assert cuda.waits == [(other, mine)]


def test_a_graph_and_its_check(exe: Executable, cuda: Any, x: Array) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    given = on_device(torch.from_numpy(x.copy()))
    exe.run(x=given)
    cuda.current = stream = cuda.new_stream()
    cuda.begin_capture(stream)
    y = exe.run(x=given)["y"]
    replay = cuda.end_capture(stream)
    cuda.current = 0
    given.mul_(2)
    replay(0)
    exe.check()
    np.testing.assert_array_equal(y.numpy(), 2 * x.ravel() + 0.5)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.double(), "has elements of torch.float64"),
        (lambda t: t.half(), "has elements of fp16, should have fp32"),
        (lambda t: t.reshape(16, 8).t(), "is not dense"),
        (lambda t: t.clone().requires_grad_(), "requires a gradient"),
        (lambda t: t[:4], r"has shape \[4, 16\]"),
    ],
)
def test_tensors_that_a_kernel_cannot_use(
    exe: Executable, x: Array, spoil: Any, message: str
) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    with pytest.raises(ark.InvalidUsageError, match=f"input 'x' {message}"):
        exe.run(x=on_device(spoil(torch.from_numpy(x))))


def test_a_fake_tensor_has_no_memory(exe: Executable, x: Array) -> None:
    class Fake(Tensor):
        def data_ptr(self) -> int:
            raise RuntimeError("Cannot access data pointer")

    exe.bind({"w": np.zeros(128, np.float32)})
    with pytest.raises(ark.InvalidUsageError, match="input 'x' has no memory"):
        exe.run(x=torch.from_numpy(x).as_subclass(Fake))


def test_a_lazy_negation_is_resolved(exe: Executable, x: Array) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    negative = torch._neg_view(torch.from_numpy(x))
    y = exe.run(x=on_device(negative))["y"]
    np.testing.assert_array_equal(y.numpy(), 0.5 - x.ravel())

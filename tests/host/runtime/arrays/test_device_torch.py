"""Tensors of torch on a GPU, simulated by tensors on the host that claim to be there."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ring_worlds import bound_world, inputs, weights
from torch_on_fake_gpu import Tensor, claim_vendor, make_cuda, on_gpu, torch

import ark_mlir as ark
from ark_mlir.runtime import Executable
from ark_mlir.runtime.arrays.streams import DEVICE_NAMES, torch_stream
from ark_mlir.testing.fake_gpu import FakeCuda, fake_executable
from ark_mlir.testing.toy import add_program

Array = np.ndarray[Any, Any]


@pytest.fixture
def cuda(monkeypatch: pytest.MonkeyPatch, vendor: type[FakeCuda]) -> FakeCuda:
    return make_cuda(monkeypatch, vendor)


@pytest.fixture
def exe(cuda: FakeCuda, kernel: bytes) -> Iterator[Executable]:
    with fake_executable(cuda, kernel, add_program()) as executable:
        yield executable
    assert cuda.held == 0


def test_tensors_are_inputs_and_outputs(exe: Executable, cuda: FakeCuda, x: Array) -> None:
    weight = on_gpu(torch.nn.Parameter(torch.arange(128.0)))
    exe.bind({"w": weight})
    assert exe.report().bound_in_place == 512
    y = exe.run(x=on_gpu(torch.from_numpy(x)))["y"]
    assert type(y) is torch.Tensor
    np.testing.assert_array_equal(y.numpy(), x.ravel() + np.arange(128) + 0.5)
    assert cuda.launched == [0], "torch's current stream, which is the default one"


def test_a_run_follows_the_current_stream(exe: Executable, cuda: Any, x: Array) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    mine, other = cuda.new_stream(), cuda.new_stream()
    cuda.current = mine
    given = on_gpu(torch.from_numpy(x))
    exe.run(x=given)
    assert cuda.waits == []
    exe.run(x=given, stream=other)
    assert cuda.launched == [mine, other]
    assert cuda.waits == [(other, mine)]


def test_a_graph_and_its_check(exe: Executable, cuda: Any, x: Array) -> None:
    exe.bind({"w": np.zeros(128, np.float32)})
    given = on_gpu(torch.from_numpy(x.copy()))
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
        (lambda t: t.half(), "has elements of fp16; expected fp32"),
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
        exe.run(x=on_gpu(spoil(torch.from_numpy(x))))


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
    y = exe.run(x=on_gpu(negative))["y"]
    np.testing.assert_array_equal(y.numpy(), 0.5 - x.ravel())


class Elsewhere(Tensor):
    """A tensor on the second GPU of the stand-in."""

    def get_device(self) -> int:
        return 1


def new_streams(cuda: FakeCuda) -> list[int]:
    """Returns the handle of a new stream on each GPU."""
    streams: list[int] = []
    for ordinal in range(len(cuda.devices)):
        with cuda.on_device(ordinal):
            streams.append(cuda.new_stream())
    return streams


@pytest.fixture
def two_gpus(vendor: type[FakeCuda], monkeypatch: pytest.MonkeyPatch) -> Iterator[Any]:
    """Two GPUs, each with a stream that is torch's current one; `current` has their handles."""
    cuda: Any = vendor(devices=2)
    claim_vendor(monkeypatch, vendor)
    cuda.current = new_streams(cuda)
    monkeypatch.setattr(
        torch._C, "_cuda_getCurrentRawStream", lambda i: cuda.current[i], raising=False
    )
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    yield cuda
    assert (cuda.held, cuda.foreign_accesses) == (0, [])


def shared_inputs(scale: float = 1.0) -> list[dict[str, Any]]:
    """A tensor for each of two ranks, on its GPU."""
    first, second = (torch.full((128,), scale * (rank + 10)) for rank in range(2))
    return [{"x": first.as_subclass(Tensor)}, {"x": second.as_subclass(Elsewhere)}]


def test_a_world_follows_the_current_stream_on_each_gpu(two_gpus: Any, kernel: bytes) -> None:
    outputs: list[Any] = [{"y": torch.zeros(128).as_subclass(kind)} for kind in (Tensor, Elsewhere)]
    with bound_world(two_gpus, kernel) as world:
        results = world.run(shared_inputs(), out=outputs)
        assert two_gpus.launched == two_gpus.current
        for rank in range(2):
            assert results[rank]["y"] is outputs[rank]["y"]
        # A rank with arrays on the host has a stream of the driver.
        y = world.run([shared_inputs()[0], inputs(2)[1]], out=[outputs[0], {}])[1]["y"]
        assert isinstance(y, np.ndarray)
        assert two_gpus.launched[2] == two_gpus.current[0]
        assert two_gpus.launched[3] not in two_gpus.current
    expected = inputs(2)[1]["x"] + weights(2)[1]["w"] + np.float32(0.5)
    np.testing.assert_array_equal(outputs[0]["y"].numpy(), expected)


def test_threads_of_ranks_have_current_streams_of_their_own(
    two_gpus: Any, kernel: bytes, in_threads: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The thread of the last rank launches all kernels."""
    mine = threading.local()
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", lambda i: mine.streams[i])
    outputs = [torch.zeros(128).as_subclass(kind) for kind in (Tensor, Elsewhere)]
    strangers = new_streams(two_gpus)
    with bound_world(two_gpus, kernel) as world:

        def run(rank: int) -> None:
            mine.streams = list(strangers)
            mine.streams[rank] = two_gpus.current[rank]
            world.rank(rank).run(shared_inputs()[rank], out={"y": outputs[rank]})

        in_threads(lambda: run(0), lambda: run(1))
        assert two_gpus.launched == two_gpus.current


def test_a_tensor_on_the_gpu_of_another_rank(two_gpus: Any, kernel: bytes) -> None:
    name = DEVICE_NAMES[two_gpus.device_type]
    message = f"'rank0/x' is on {name}:1; rank 0 runs on {name}:0"
    with bound_world(two_gpus, kernel) as world:
        with pytest.raises(ark.InvalidUsageError, match=message):
            world.run(shared_inputs()[::-1])
        assert two_gpus.launched == []


def test_the_current_stream_by_the_public_function_of_torch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A version of torch may lack the faster function, which is not public."""
    monkeypatch.setattr(torch._C, "_cuda_getCurrentRawStream", None, raising=False)
    monkeypatch.setattr(
        torch.cuda, "current_stream", lambda ordinal: SimpleNamespace(cuda_stream=70 + ordinal)
    )
    assert torch_stream(torch, 1) == 71

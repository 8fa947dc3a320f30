"""Arrays on the GPU are used in place, and runs are ordered with the streams that write the
arrays."""

from __future__ import annotations

import gc
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]
LONG = 200_000_000  # cycles, about a tenth of a second

pytestmark = pytest.mark.gpu


class Capsule:
    """A tensor that offers only DLPack."""

    def __init__(self, tensor: Any) -> None:
        self._tensor = tensor

    def __dlpack__(self, **arguments: Any) -> Any:
        return self._tensor.__dlpack__(**arguments)

    def __dlpack_device__(self) -> Any:
        return self._tensor.__dlpack_device__()


class Interface:
    """A tensor that offers only the CUDA array interface."""

    def __init__(self, tensor: Any, stream: int | None = None) -> None:
        self._tensor = tensor
        self.__cuda_array_interface__ = {**tensor.__cuda_array_interface__, "stream": stream}


def on_host(tensor: Any) -> Any:
    return tensor.float().cpu().numpy()


def test_tensors_and_host_arrays_give_the_same(
    load: Load, torch: Any, arrays: Arrays, tensors: Arrays
) -> None:
    exe = load("weights")
    exe.bind({"w": tensors["w"]})
    assert exe.report().bound_copied == 0
    result = exe.run(x=tensors["x"], position=tensors["position"])
    assert {name: value.device.type for name, value in result.items()} == {
        "y": "cuda", "sum": "cuda"
    }  # fmt: skip
    for name, value in result.items():
        assert_within(on_host(value), arrays[f"output.{name}"], arrays[f"bound.{name}"], name)

    other = load("weights")
    other.bind({"w": arrays["input.w"]})
    again = other.run(x=arrays["input.x"], position=tensors["position"])
    for name, value in result.items():
        np.testing.assert_array_equal(again[name].astype(np.float32), on_host(value))


def test_bound_arrays_stay_alive_and_in_place(load: Load, torch: Any, tensors: Arrays) -> None:
    exe = load("weights").bind({"w": tensors["w"]})
    before = exe.run(x=tensors["x"], position=0)["y"]
    tensors["w"].neg_()
    after = exe.run(x=tensors["x"], position=0)["y"]
    assert not torch.equal(before, after)
    # The test drops its own reference; the executable's reference keeps the memory.
    pointer, weight = tensors["w"].data_ptr(), tensors.pop("w")
    del weight
    gc.collect()
    assert torch.empty(256, 64, dtype=torch.bfloat16, device="cuda").data_ptr() != pointer
    assert torch.equal(exe.run(x=tensors["x"], position=0)["y"], after)


def test_outputs_in_place(load: Load, torch: Any, tensors: Arrays) -> None:
    exe = load("weights").bind({"w": tensors["w"]})
    y = torch.empty(4, 256, dtype=torch.bfloat16, device="cuda")
    result = exe.run(x=tensors["x"], position=3, out={"y": y})
    assert result["y"] is y
    assert torch.equal(y, exe.run(x=tensors["x"], position=3)["y"])


@pytest.mark.parametrize("library", [Capsule, Interface])
def test_other_libraries(load: Load, torch: Any, library: type[Any]) -> None:
    x = torch.randn(64, 256, device="cuda")
    exe = load("good")
    expected = exe.run(x=x)["y"]
    y = torch.empty_like(expected)
    exe.run(x=library(x), out={"y": library(y)})
    assert torch.equal(y, expected)


@pytest.mark.parametrize("library", [Capsule, Interface])
@pytest.mark.parametrize("end", ["close", "drop"])
def test_outputs_outlive_the_executable(
    torch: Any, library: type[Any], end: str, capfd: pytest.CaptureFixture[str]
) -> None:
    """Outputs in ark's memory can be read through DLPack after the executable has been closed."""
    x = torch.randn(64, 256, device="cuda")
    exe = ark.load(FOLDER / "good.arkbin")
    expected = exe.run(x=x)["y"].clone()
    first, second = (exe.run(x=library(x))["y"] for _ in range(2))
    before = torch.from_dlpack(first)
    if end == "close":
        exe.close()
    del exe, first
    gc.collect()
    # These allocations would reuse memory that was freed.
    other = ark.load(FOLDER / "good.arkbin")
    other.run(x=library(-x))
    others = torch.full((1 << 24,), -1.0, device="cuda")
    after = torch.from_dlpack(second)
    for read in (before, after):
        assert torch.equal(read, expected)
    other.close()
    del others, before, after, second, read
    gc.collect()
    torch.cuda.synchronize()
    assert "Exception ignored" not in capfd.readouterr().err


@pytest.mark.parametrize("use", ["never", "run", "resident"])
def test_a_dropped_executable_frees_its_memory(torch: Any, use: str) -> None:
    """After many dropped executables, as much memory is free as after the first one."""
    x = torch.randn(64, 256, device="cuda")

    def drop() -> int:
        exe = ark.load(FOLDER / "good.arkbin")
        if use == "run":
            exe.run(x=x)
        elif use == "resident":
            block = exe.resident()
            block.__enter__().run(x=x.cpu().numpy())
            del block
        del exe
        gc.collect()
        return torch.cuda.mem_get_info()[0]

    drop()
    free = [drop() for _ in range(20)]
    assert free[-1] >= free[0] - (4 << 20)


def test_arrays_that_a_kernel_cannot_use(load: Load, torch: Any) -> None:
    exe = load("good")
    flat = torch.randn(64 * 256 + 1, device="cuda")
    bad = {
        "is not dense": torch.randn(256, 64, device="cuda").t(),
        "not a multiple of 16": flat[1:].view(64, 256),
        "has elements of fp16": torch.zeros(64, 256, dtype=torch.float16, device="cuda"),
        "has shape": torch.zeros(64, 128, device="cuda"),
        "requires a gradient": torch.zeros(64, 256, device="cuda", requires_grad=True),
    }
    for message, tensor in bad.items():
        with pytest.raises(ark.InvalidUsageError, match=f"input 'x' .*{message}"):
            exe.run(x=tensor)
    good = flat[:-1].view(64, 256)
    np.testing.assert_array_equal(
        exe.run(x=good)["y"].cpu().numpy(), exe.run(x=good.cpu().numpy())["y"]
    )


@pytest.mark.parametrize("given", [True, False])
def test_a_run_follows_earlier_work_of_its_stream(load: Load, torch: Any, given: bool) -> None:
    exe = load("good")
    expected = exe.run(x=torch.ones(64, 256, device="cuda") * 3)["y"]
    x, stream = torch.zeros(64, 256, device="cuda"), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
        x.fill_(3)
        # One run is on the stream that writes x, another one on a stream that has to wait for it.
        other = {"stream": torch.cuda.Stream()} if given else {}
        y = exe.run(x=x, **other)["y"]
    assert torch.equal(y, expected)


@pytest.mark.parametrize("library", [Capsule, Interface])
def test_runs_wait_for_producers_that_are_not_tensors(
    load: Load, torch: Any, library: type[Any]
) -> None:
    exe = load("good")
    expected = exe.run(x=torch.ones(64, 256, device="cuda") * 3)["y"]
    x, stream = torch.zeros(64, 256, device="cuda"), torch.cuda.Stream()
    y = torch.empty_like(expected)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(LONG)
        x.fill_(3)
        producer = () if library is Capsule else (stream.cuda_stream,)
        exe.run(x=library(x, *producer), out={"y": library(y)})
    assert torch.equal(y, expected)


def test_other_streams_are_not_waited_for(load: Load, torch: Any) -> None:
    """Work of other streams that leaves SMs free goes on beside runs, binding and reading of
    states."""
    exe = load("weights")
    busy, done = torch.cuda.Stream(), torch.cuda.Event()
    weight = torch.randn(256, 64, device="cuda").bfloat16()
    x = torch.randn(4, 64, device="cuda").bfloat16()
    exe.bind({"w": weight}).run(x=x, position=0)
    torch.cuda.synchronize()
    with torch.cuda.stream(busy):
        torch.cuda._sleep(20 * LONG)
        done.record()
    exe.bind({"w": weight})
    exe.run(x=x.clone(), position=1, stream=torch.cuda.Stream())
    assert exe.states["rows"].shape == (64, 64)
    assert not done.query(), "the run waited for another stream"
    torch.cuda.synchronize()


def test_weights_from_a_file(load: Load, arrays: Arrays, tmp_path: Path) -> None:
    """Parameters are copied to the GPU straight from the pages of the file."""
    import json

    w = arrays["input.w"]
    header = json.dumps(
        {"w": {"dtype": "BF16", "shape": list(w.shape), "data_offsets": [0, w.nbytes]}}
    ).encode()
    path = tmp_path / "w.safetensors"
    path.write_bytes(len(header).to_bytes(8, "little") + header + w.tobytes())
    exe = load("weights").bind(path)
    result = exe.run(x=arrays["input.x"], position=arrays["input.position"])
    assert_within(result["y"].astype(np.float64), arrays["output.y"], arrays["bound.y"], "y")


def test_closing_frees_all_memory(load: Load, torch: Any, tensors: Arrays) -> None:
    def once() -> None:
        with load("weights") as exe:
            exe.bind({"w": tensors["w"]})
            exe.run(x=tensors["x"], position=0)

    once()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    before, _ = torch.cuda.mem_get_info()
    for _ in range(100):
        once()
    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    after, _ = torch.cuda.mem_get_info()
    assert before - after < 4 << 20

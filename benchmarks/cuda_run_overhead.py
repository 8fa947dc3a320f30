"""Measures the host's time for a run on a GPU, without the time of NVIDIA's driver and of the GPU.

    python benchmarks/cuda_run_overhead.py [--samples 20]

Functions that do nothing replace those of NVIDIA's driver, so no GPU is needed. The measured time
is that of Python: checks of arrays, the launch record, the calls. The program has 150 parameters.
The tensors are those of torch if it is installed, as when decoders run. Then a third row has the
time of a part of a graph of ``torch.compile``, in which PyTorch passes all parameters to each call.
The times are those of the thread, without the times for which other programs have the core.
"""

from __future__ import annotations

import argparse
import ctypes
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from table import print_table

from ark_mlir.runtime import Executable
from ark_mlir.runtime.arrays.dlpack import Exporter
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.testing.fake_gpu import FakeCuda
from ark_mlir.testing.toy import ToyProgram, run

PARAMETERS, WEIGHTS, RUNS = 150, 128, 1000


class IdleCuda(FakeCuda):
    """A stand-in for NVIDIA's driver whose functions succeed, do nothing, and count their calls."""

    count = 0

    def __getattr__(self, name: str) -> Any:
        if not name.startswith("cu"):
            raise AttributeError(name)
        reply: Callable[..., object] = {
            "cuDeviceGetAttribute": lambda key, device: self._cuDeviceGetAttribute(key, device),
            "cuMemAlloc": lambda nbytes: next(self._addresses),
            "cuMemHostAlloc": lambda nbytes, flags: self._pinned(nbytes),
            "cuStreamCreate": lambda flags: next(self._addresses),
            "cuStreamIsCapturing": lambda stream: 0,
        }.get(name, lambda *arguments: 1)

        def call(*arguments: Any) -> tuple[int, object]:
            self.count += 1
            return 0, reply(*arguments)

        # Found in the instance from now on, like a function of a module.
        setattr(self, name, call)
        return call

    def __init__(self) -> None:
        super().__init__()
        self._addresses: Iterator[int] = iter(range(1 << 32, 1 << 40, 1 << 20))
        self._blocks: list[Any] = []

    def _pinned(self, nbytes: int) -> int:
        self._blocks.append((ctypes.c_uint8 * nbytes)())
        return ctypes.addressof(self._blocks[-1])


class OnDevice:
    """An array that claims to be on the GPU, and implements DLPack."""

    def __init__(self, array: Any) -> None:
        self.array = array

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 2, 0


def on_device(array: Any) -> Any:
    """Returns an array that claims to be on the GPU: of torch, or with DLPack."""
    try:
        import torch
    except ImportError:
        return OnDevice(array)

    class Tensor(torch.Tensor):
        is_cuda = True
        # As fast as a tensor of torch's own class.
        __torch_function__ = torch._C._disabled_torch_function_impl

        def get_device(self) -> int:
            return 0

    torch._C._cuda_getCurrentRawStream = lambda ordinal: 0  # type: ignore[attr-defined]
    return torch.from_numpy(array).as_subclass(Tensor)


def loaded(program: ToyProgram, cuda: IdleCuda) -> Executable:
    """Returns the executable of a program, on the stand-in for NVIDIA's driver."""
    manifest, sections = program.parts(b"\x7fELF, which is not read")
    manifest["target"].update(backend="cuda", arch="sm_90a", warps=16)
    for buffer in manifest["buffers"]:
        buffer["alignment"] = 16
    return Executable.from_parts(manifest, sections, {"cuda": lambda: GpuDriver(CudaApi(cuda))})


def decoder(cuda: IdleCuda) -> Executable:
    """Builds a program with the arguments of a decode step: token, position, weights, logits."""
    program = ToyProgram(sms=2)
    token = program.buffer("token", "input", "int64", [1])
    program.buffer("position", "scalar", "int32", [], max=4096)
    first = program.buffer("w0", "parameter", "fp32", [WEIGHTS])
    for index in range(1, PARAMETERS):
        program.buffer(f"w{index}", "parameter", "fp32", [WEIGHTS])
    logits = program.buffer("logits", "output", "fp32", [1, 64])
    task = program.task("gather", 1, [(logits, 0), (token, 0), (first, 0)])
    program.lane(0, [run(task, 0, 1)])
    executable = loaded(program, cuda)
    weight = np.zeros(WEIGHTS, np.float32)
    return executable.bind({f"w{index}": weight for index in range(PARAMETERS)})


def part(cuda: IdleCuda) -> Callable[[], object]:
    """Returns a call of a part of ``torch.compile``, with a token and 150 parameters."""
    import torch
    from torch.nn import Parameter

    from ark_mlir.pytorch.subgraph import CompiledSubgraph

    program = ToyProgram(sms=2)
    token = program.buffer("token", "input", "int64", [1])
    first = program.buffer("w0", "parameter", "fp32", [WEIGHTS])
    for index in range(1, PARAMETERS):
        program.buffer(f"w{index}", "parameter", "fp32", [WEIGHTS])
    logits = program.buffer("0", "output", "fp32", [1, 64])
    task = program.task("gather", 1, [(logits, 0), (token, 0), (first, 0)])
    program.lane(0, [run(task, 0, 1)])
    graph = torch.fx.Graph()
    nodes = [graph.placeholder(name) for name in ("token", *(f"w{i}" for i in range(PARAMETERS)))]
    result = graph.call_function(torch.ops.aten.add.Tensor, tuple(nodes[:2]))
    result.meta["val"] = torch.empty(1, 64)
    graph.output(result)
    roles = ["input", *["parameter"] * PARAMETERS]
    compiled = CompiledSubgraph(
        loaded(program, cuda), torch.fx.GraphModule({}, graph), roles, torch.device("cpu"), True
    )
    # Attributes of the class cost as little as those of a real tensor on a GPU. A subclass of
    # Parameter would add torch's dispatch to each call.
    Parameter.is_cuda = True  # type: ignore[method-assign]
    Parameter.get_device = lambda self: 0  # type: ignore[method-assign]
    Parameter.detach = lambda self: self  # type: ignore[method-assign]
    given = on_device(np.zeros(1, np.int64))
    type(given).detach = lambda self: self
    weights = [Parameter(torch.zeros(WEIGHTS), requires_grad=False) for _ in range(PARAMETERS)]
    return lambda: compiled(given, *weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=20)
    samples = parser.parse_args().samples
    cuda = IdleCuda()
    executable = decoder(cuda)
    token = np.zeros(1, np.int64)
    on_gpu = on_device(token)
    out = {"logits": on_device(np.zeros((1, 64), np.float32))}
    arms: dict[str, Callable[[], object]] = {
        "arrays on the GPU, outputs given": lambda: executable.run(
            token=on_gpu, position=3, out=out
        ),
        "arrays on the host": lambda: executable.run(token=token, position=3),
    }
    if "torch" in sys.modules:
        arms["a part of torch.compile"] = part(cuda)
    rows: list[tuple[str, ...]] = []
    for name, work in arms.items():
        work()
        before = cuda.count
        work()
        calls = cuda.count - before
        times = [seconds(work) / RUNS * 1e6 for _ in range(samples)]
        rows.append((name, f"{statistics.median(times):.1f}", f"{min(times):.1f}", str(calls)))
    print_table(("what", "median, us", "least, us", "calls of the vendor's driver"), rows)
    print("tensors of torch" if "torch" in sys.modules else "arrays that speak DLPack")


def seconds(work: Callable[[], object]) -> float:
    start = time.thread_time()
    for _ in range(RUNS):
        work()
    return time.thread_time() - start


if __name__ == "__main__":
    main()

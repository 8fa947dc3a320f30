"""Measures the host's time for the calls of one run on a GPU: ark's layer against cuda.core.

    python benchmarks/host_calls.py [--idle] [--samples 20]

A run is one copy to the device, one cooperative launch, one copy back and an event. Both arms make
the same calls, except the query whether the stream is being captured, which cuda.core lacks. A
second table compares the times to read address, element type and shape of an array.

With a GPU, the times include those of NVIDIA's driver, and the kernel runs between the samples.
With --idle, no GPU is needed: a driver whose functions do nothing (idle_libcuda.c, built with cc)
leaves only the time of the bindings.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from table import print_table

from ark_mlir import dtypes
from ark_mlir.runtime.arrays.dlpack import DeviceExporter, Exporter, describe_dlpack, import_dlpack
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.memory import DeviceMemory, PinnedMemory

CTAS, THREADS, SHARED_MEMORY, RECORD = 32, 256, 1024, 4096
# The number of calls is so small that the queue of a stream holds all of their work.
RUNS = 100
PTX = b""".version 7.0
.target sm_80
.address_size 64
.visible .entry nothing(.param .u64 context) { ret; }
"""

Arms = dict[str, Callable[[], object]]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--samples", type=int, default=20)
    parser.add_argument("--idle", action="store_true", help="a driver that does nothing")
    options = parser.parse_args()
    if options.idle and "ARK_IDLE_CUDA" not in os.environ:
        sys.exit(run_idle(sys.argv[1:]))
    api = CudaApi()
    api.open()
    finish = synchronizer(api)
    show("call", {**ark_run(api), **core_run()}, options.samples, finish)
    show("array", arrays(), options.samples, finish)


def run_idle(arguments: list[str]) -> int:
    """Runs this script with the idle driver in the loader's path."""
    with tempfile.TemporaryDirectory() as folder:
        source = Path(__file__).with_name("idle_libcuda.c")
        library = f"{folder}/libcuda.so.1"
        subprocess.run(["cc", "-shared", "-fPIC", "-O2", "-o", library, source], check=True)
        path = f"{folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"
        environment = {**os.environ, "LD_LIBRARY_PATH": path, "ARK_IDLE_CUDA": "1"}
        return subprocess.run([sys.executable, __file__, *arguments], env=environment).returncode


def synchronizer(api: CudaApi) -> Callable[[], object]:
    return lambda: api.call("cuCtxSynchronize")


def ark_run(api: CudaApi) -> Arms:
    """Returns ark's calls of a run, separately and all in order."""
    driver = api.driver
    stream = int(api.call("cuStreamCreate", driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    event = api.call("cuEventCreate", driver.CUevent_flags.CU_EVENT_DISABLE_TIMING)
    host, device = PinnedMemory(api, RECORD), DeviceMemory(api, stream, RECORD)
    module = api.call("cuModuleLoadData", PTX + b"\0")
    function = api.call("cuModuleGetFunction", module, b"nothing")
    argument = np.array([device.address], np.uint64)
    parameters = np.array([argument.ctypes.data], np.uint64)

    def configuration() -> Any:
        attribute = driver.CUlaunchAttribute()
        attribute.id = driver.CUlaunchAttributeID.CU_LAUNCH_ATTRIBUTE_COOPERATIVE
        attribute.value.cooperative = 1
        config = driver.CUlaunchConfig()
        config.gridDimX, config.gridDimY, config.gridDimZ = CTAS, 1, 1
        config.blockDimX, config.blockDimY, config.blockDimZ = THREADS, 1, 1
        config.sharedMemBytes, config.hStream = SHARED_MEMORY, stream
        config.attrs, config.numAttrs = [attribute], 1
        return config

    config, address = configuration(), parameters.ctypes.data

    def launch(config: Any = config) -> None:
        api.call("cuLaunchKernelEx", config, function, address, 0)

    def run() -> None:
        api.enter()
        api.call("cuStreamIsCapturing", stream)
        api.call("cuMemcpyHtoDAsync", device.address, host.address, RECORD, stream)
        launch()
        api.call("cuMemcpyDtoHAsync", host.address, device.address, RECORD, stream)
        api.call("cuEventRecord", event, stream)
        api.has_happened(event)

    # The arms of a table share the memory, which lives as long as they do.
    run.keeps = (host, device, argument, parameters)  # type: ignore[attr-defined]
    return {
        "ark: a run": run,
        "ark: cuLaunchKernelEx": launch,
        "ark: the same, with a new configuration": lambda: launch(configuration()),
        "ark: cuMemcpyHtoDAsync": lambda: api.call(
            "cuMemcpyHtoDAsync", device.address, host.address, RECORD, stream
        ),
        "ark: cuEventRecord": lambda: api.call("cuEventRecord", event, stream),
        "ark: cuEventQuery": lambda: api.has_happened(event),
    }


def core_run() -> Arms:
    """Returns the same calls by cuda.core; none if it is not installed."""
    try:
        from cuda.core import Buffer, Device, LaunchConfig, ObjectCode, Stream, launch
    except ImportError as error:
        print(f"cuda.core cannot be imported: {error}", file=sys.stderr)
        return {}
    device = Device(0)
    device.set_current()
    api = CudaApi()
    api.open()
    own = device.create_stream()
    handle = int(own.handle)
    event = own.record()
    pinned, memory = PinnedMemory(api, RECORD), DeviceMemory(api, handle, RECORD)
    there = Buffer.from_handle(memory.address, RECORD, owner=memory)
    here = Buffer.from_handle(pinned.address, RECORD, owner=pinned)
    kernel = ObjectCode.from_ptx(PTX).get_kernel("nothing")

    def configuration() -> Any:
        return LaunchConfig(grid=CTAS, block=THREADS, shmem_size=SHARED_MEMORY, is_cooperative=True)

    config = configuration()

    def run(stream: Any = own) -> None:
        device.set_current()
        here.copy_to(there, stream=stream)
        launch(stream, config, kernel, memory.address)
        there.copy_to(here, stream=stream)
        stream.record(event)
        event.is_done  # noqa: B018

    return {
        "cuda.core: a run": run,
        "cuda.core: a run on an adopted stream": lambda: run(Stream.from_handle(handle)),
        "cuda.core: launch": lambda: launch(own, config, kernel, memory.address),
        "cuda.core: the same, with a new LaunchConfig": lambda: launch(
            own, configuration(), kernel, memory.address
        ),
        "cuda.core: Buffer.copy_to": lambda: here.copy_to(there, stream=own),
        "cuda.core: Stream.record": lambda: own.record(event),
        "cuda.core: Event.is_done": lambda: event.is_done,
        "cuda.core: Stream.from_handle": lambda: Stream.from_handle(handle),
    }


class OnHost:
    """An array that implements DLPack and is not a numpy array."""

    def __init__(self, array: Any) -> None:
        self._exporter = Exporter(array)

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        return self._exporter.__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def arrays() -> Arms:
    """Returns readers of arrays: ark's, NumPy's, and cuda.core's, which needs a stream's number."""
    host = OnHost(np.zeros((4, 64), np.float32))
    device = DeviceExporter(1 << 32, dtypes.fp32, (4, 64), (2, 0), host)
    arms: Arms = {
        "on the host: ark": lambda: import_dlpack(host, "x"),
        "on the host: numpy.from_dlpack": lambda: np.from_dlpack(host),
        "on the device: ark": lambda: describe_dlpack(device, "x", 1),
        "on the device: the capsule alone": lambda: device.__dlpack__(max_version=(1, 0)),
    }
    try:
        from cuda.core.utils import StridedMemoryView
    except ImportError:
        return arms

    def read(array: Any, stream: int) -> object:
        view = StridedMemoryView.from_dlpack(array, stream)
        return view.ptr, view.dtype, view.shape, view.strides, view.readonly

    return {
        **arms,
        "on the host: StridedMemoryView": lambda: read(host, -1),
        "on the device: StridedMemoryView": lambda: read(device, 1),
    }


def show(title: str, arms: Arms, samples: int, finish: Callable[[], object]) -> None:
    """Prints the median and the minimum time of each arm; samples of the arms are interleaved."""
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(samples):
        for name, work in arms.items():
            work()
            finish()
            start = time.perf_counter()
            for _ in range(RUNS):
                work()
            times[name].append((time.perf_counter() - start) / RUNS * 1e6)
            finish()
    rows = [
        (name, f"{statistics.median(each):.2f}", f"{min(each):.2f}") for name, each in times.items()
    ]
    print_table((title, "median, us", "least, us"), rows)
    print()


if __name__ == "__main__":
    main()

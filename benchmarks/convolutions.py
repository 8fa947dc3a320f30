"""The convolutions of ResNet-50, with and without the copy of their windows.

    python benchmarks/convolutions.py --compile FOLDER [--target cuda:sm_90a] [--batch 8]
    python benchmarks/convolutions.py --bundles FOLDER [--output F]

The first command needs the compiler. The second one runs on the machine with the target, and also
measures PyTorch there if it is installed. The bundles are in fp16 for GPUs and in fp32 for cpu.

layer      size of the filters, stride, channels, features, and rows of the image
count      the number of such layers in ResNet-50
ark        µs of the convolution: padding, copy of the windows, product
product    µs of the product alone, whose right operand is the matrix of the windows
PyTorch    µs of `torch.nn.functional.conv2d`

The difference of the second and the third column is the most that a product can save that reads all
windows in the image (implicit GEMM). On sm_90a, layers of 3 x 3 read the rows of their windows in
the image, and copy windows over the columns only. Times are means over the iterations of a launch,
medians of launches in turns. For cpu they are times of the processor, which other work on the
machine affects little: compile for `cpu:1`, and set `OMP_NUM_THREADS=1`. PyTorch's tensors on a GPU
have the channels last in memory, for which cuDNN is fastest. Products of filters of 1 x 1 with
stride 1 have no windows and no second program.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from table import table

import ark_mlir as ark

ROUNDS = 7
_SECONDS = 0.02  # the least duration of a timed launch


@dataclass(frozen=True)
class Layer:
    """A convolution of square images, with `count` equal layers in the network."""

    count: int
    size: int
    stride: int
    channels: int
    features: int
    rows: int

    @property
    def name(self) -> str:
        """The name of the files and of the row."""
        return f"{self.size}x{self.size}-s{self.stride}-{self.channels}-{self.features}-{self.rows}"

    @property
    def padding(self) -> int:
        """The zeros on each side."""
        return self.size // 2

    @property
    def has_windows(self) -> bool:
        """True if the convolution copies windows before the product."""
        return self.size > 1 or self.stride > 1

    @property
    def depth(self) -> int:
        """The number of elements of a window."""
        return self.channels * self.size**2

    @property
    def windows(self) -> int:
        """The number of windows of an image."""
        return ((self.rows + 2 * self.padding - self.size) // self.stride + 1) ** 2


LAYERS = tuple(
    Layer(*sizes)
    for sizes in (
        (1, 7, 2, 3, 64, 224),
        (1, 1, 1, 64, 64, 56), (2, 1, 1, 256, 64, 56), (3, 3, 1, 64, 64, 56),
        (4, 1, 1, 64, 256, 56),
        (1, 1, 1, 256, 128, 56), (1, 3, 2, 128, 128, 56), (1, 1, 2, 256, 512, 56),
        (3, 1, 1, 512, 128, 28), (3, 3, 1, 128, 128, 28), (4, 1, 1, 128, 512, 28),
        (1, 1, 1, 512, 256, 28), (1, 3, 2, 256, 256, 28), (1, 1, 2, 512, 1024, 28),
        (5, 1, 1, 1024, 256, 14), (5, 3, 1, 256, 256, 14), (6, 1, 1, 256, 1024, 14),
        (1, 1, 1, 1024, 512, 14), (1, 3, 2, 512, 512, 14), (1, 1, 2, 1024, 2048, 14),
        (2, 1, 1, 2048, 512, 7), (2, 3, 1, 512, 512, 7), (3, 1, 1, 512, 2048, 7),
    )
)  # fmt: skip


def convolution(layer: Layer, batch: int, dtype: Any) -> ark.Program:
    """Returns the program of a layer."""
    with ark.Program("convolution") as program:
        x = ark.input("x", (batch, layer.channels, layer.rows, layer.rows), dtype)
        filters = ark.parameter(
            "filters", (layer.features, layer.channels, layer.size, layer.size), dtype
        )
        ark.output("y", ark.conv2d(x, filters, stride=layer.stride, padding=layer.padding))
    return program


def product(layer: Layer, batch: int, dtype: Any) -> ark.Program:
    """Returns the program of the product of a layer, whose input is the matrix of the windows."""
    with ark.Program("product") as program:
        columns = ark.input("x", (batch, layer.depth, layer.windows), dtype)
        filters = ark.parameter("filters", (layer.features, layer.depth), dtype)
        ark.output("y", ark.matmul(filters, columns))
    return program


def compile_all(folder: Path, target: str, batch: int, layers: Sequence[Layer]) -> None:
    """Writes the bundles of all layers."""
    folder.mkdir(parents=True, exist_ok=True)
    dtype = ark.fp32 if target.startswith("cpu") else ark.fp16
    for layer in layers:
        ark.compile(convolution(layer, batch, dtype), target=target).save(
            folder / f"{layer.name}.arkbin"
        )
        if layer.has_windows:
            ark.compile(product(layer, batch, dtype), target=target).save(
                folder / f"{layer.name}-product.arkbin"
            )
        print(layer.name, file=sys.stderr, flush=True)


def _clock(gpu: bool) -> Callable[[], float]:
    return time.perf_counter if gpu else time.process_time


def ark_arm(path: Path) -> Callable[[], float]:
    """Returns a function that measures the µs of one iteration of a bundle."""
    exe = ark.load(path)
    random = np.random.default_rng(0)

    def values(buffer: Any) -> Any:
        return random.standard_normal(buffer.shape).astype(buffer.dtype.numpy)

    exe.bind({buffer.name: values(buffer) for buffer in exe.parameters})
    given = {buffer.name: values(buffer) for buffer in exe.inputs}

    clock = _clock(exe.bundle.manifest.target.backend != "cpu")

    def measure(iterations: int) -> float:
        start = clock()
        exe.run(given, iterations=iterations)
        return (clock() - start) / iterations

    measure(1)
    iterations = 1
    while measure(iterations) * iterations < _SECONDS:
        iterations *= 2
    return lambda: measure(iterations) * 1e6


def torch_arm(layer: Layer, batch: int, gpu: bool) -> Callable[[], float] | None:
    """Returns a function that measures the µs of PyTorch's convolution; None without PyTorch."""
    try:
        import torch
    except ImportError:
        return None
    device, dtype = ("cuda", torch.float16) if gpu else ("cpu", torch.float32)
    x = torch.randn(batch, layer.channels, layer.rows, layer.rows, device=device, dtype=dtype)
    shape = (layer.features, layer.channels, layer.size, layer.size)
    filters = torch.randn(shape, device=device, dtype=dtype)
    if gpu:
        x = x.to(memory_format=torch.channels_last)
        filters = filters.to(memory_format=torch.channels_last)
        torch.backends.cudnn.benchmark = True
    clock = _clock(gpu)

    def measure(iterations: int) -> float:
        start = clock()
        for _ in range(iterations):
            torch.nn.functional.conv2d(x, filters, None, layer.stride, layer.padding)
        if gpu:
            torch.cuda.synchronize()
        return clock() - start

    with torch.inference_mode():
        measure(3)
        iterations = 1
        while measure(iterations) < _SECONDS:
            iterations *= 2

    def microseconds() -> float:
        with torch.inference_mode():
            return measure(iterations) / iterations * 1e6

    return microseconds


def measure(layer: Layer, folder: Path) -> dict[str, float]:
    """Returns the µs of the arms of a layer, the median of launches in turns."""
    path = folder / f"{layer.name}.arkbin"
    manifest = ark.bundle.read_bundle(path).manifest
    batch = next(buffer for buffer in manifest.inputs if buffer.name == "x").shape[0]
    arms = {"ark": ark_arm(path)}
    if layer.has_windows:
        arms["product"] = ark_arm(folder / f"{layer.name}-product.arkbin")
    peer = torch_arm(layer, batch, manifest.target.backend != "cpu")
    if peer is not None:
        arms["PyTorch"] = peer
    times: dict[str, list[float]] = {name: [] for name in arms}
    for _ in range(ROUNDS):
        for name, arm in arms.items():
            times[name].append(arm())
    return {name: statistics.median(values) for name, values in times.items()}


def report(found: dict[Layer, dict[str, float]]) -> str:
    """Returns the table of all layers, with the sums over the network and the share of the
    copies."""
    rows = [
        (layer.name, str(layer.count), *(_cell(times.get(arm)) for arm in _ARMS))
        for layer, times in found.items()
    ]
    sums = {
        arm: sum(
            layer.count * times.get(arm, times["ark"] if arm == "product" else 0.0)
            for layer, times in found.items()
        )
        for arm in _ARMS
    }
    rows.append(("all layers", "", *(_cell(sums[arm] or None) for arm in _ARMS)))
    share = 1 - sums["product"] / sums["ark"]
    text = table(("layer", "count", *(f"{arm}, µs" for arm in _ARMS)), rows)
    return f"{text}\n\nThe copies of windows take {share:.1%} of the time of all layers."


_ARMS = ("ark", "product", "PyTorch")


def _cell(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}"


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--compile", type=Path, metavar="FOLDER", help="write the bundles")
    action.add_argument("--bundles", type=Path, metavar="FOLDER", help="measure the bundles")
    parser.add_argument("--target", default="cuda:sm_90a")
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--only", action="append", choices=[layer.name for layer in LAYERS])
    parser.add_argument("--output", type=Path, help="file for the table")
    options = parser.parse_args()
    layers = [layer for layer in LAYERS if layer.name in (options.only or [layer.name])]
    if options.compile:
        compile_all(options.compile, options.target, options.batch, layers)
        return 0
    present = [layer for layer in layers if (options.bundles / f"{layer.name}.arkbin").is_file()]
    if not present:
        parser.error(f"{options.bundles} has no bundle of a layer; --compile writes them")
    text = report({layer: measure(layer, options.bundles) for layer in present})
    print(text)
    if options.output:
        options.output.write_text(text + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())

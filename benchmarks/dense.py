"""One dense product in one task on one GPU: ark against cuBLAS and Triton.

    python benchmarks/dense.py --compile FOLDER                # where the compiler is
    python benchmarks/dense.py --bundles FOLDER [--output F]   # where the GPU is

The second command needs ark's runtime, numpy, ml_dtypes, cuda-python and torch. All arms
have the same random arrays, of bf16 or, in rows whose name ends so, of fp32. PyTorch multiplies
fp32 without TF32, its default. A row is named by rows, columns, depth, and the layout of both
factors: ``n`` for row-major, ``t`` for transposed, so that ``nt`` is a linear layer. Arms are
replays of a CUDA graph over several copies of the operands, which do not fit the L2, except those
that are called warm. Arms of ark with a larger error than torch.matmul have no times.

cublas          torch.matmul
cublas warm     the same, always with the same operands
max-autotune    torch.compile, which measures Triton kernels and cuBLAS, and takes the fastest
ark             one launch for each product
ark warm        more products in one launch, always with the same operands
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from protocol.comparison import Arm, compare, error_of
from protocol.record import Result, Workload
from protocol.suite import Suite, Task, run, save
from protocol.timing import Calls, caller_seconds, copies_for_cold_l2, device_seconds

import ark_mlir as ark

ARMS = ("cublas", "cublas warm", "max-autotune", "ark", "ark warm")
FEW, MANY = 4, 24
# The largest error of ark relative to that of torch.matmul. Sums of fp32 have other orders.
SLACK = {"bf16": 1.01, "fp32": 2.0}


@dataclass(frozen=True)
class Shape:
    """The sizes and layouts of one product."""

    rows: int
    columns: int
    depth: int
    layout: str = "nt"
    dtype: str = "bf16"

    @property
    def left(self) -> tuple[int, int]:
        return (self.rows, self.depth) if self.layout[0] == "n" else (self.depth, self.rows)

    @property
    def right(self) -> tuple[int, int]:
        return (self.depth, self.columns) if self.layout[1] == "n" else (self.columns, self.depth)

    @property
    def name(self) -> str:
        suffix = "" if self.dtype == "bf16" else f"-{self.dtype}"
        return f"{self.rows}x{self.columns}x{self.depth}-{self.layout}{suffix}"

    def workload(self) -> Workload:
        rows, columns, depth = self.rows, self.columns, self.depth
        elements = rows * depth + columns * depth + rows * columns
        return Workload(
            f"[{rows}, {depth}] x [{depth}, {columns}], {self.layout}, {self.dtype}",
            bytes=float(ark.dtypes.as_dtype(self.dtype).itemsize * elements),
            flops=2.0 * rows * columns * depth,
        )


def shapes() -> Iterator[Shape]:
    """Yields the products of the table: cubes, odd widths, few rows, and other layouts."""
    for size in (1024, 2048, 3072, 4096, 8192):
        yield Shape(size, size, size)
    yield from (Shape(4096, 4096, depth) for depth in (1024, 2048, 8192))
    yield from (Shape(2048, 1600, 1600), Shape(2048, 11008, 4096), Shape(2048, 14336, 4096))
    yield from (Shape(rows, 4096, 4096) for rows in (16, 32, 64, 128, 256, 512))
    yield from (Shape(128, 8192, 2048), Shape(128, 14336, 4096), Shape(512, 4096, 14336))
    for layout in ("nn", "tn"):
        yield from (Shape(2048, 2048, 2048, layout), Shape(4096, 4096, 4096, layout))
        yield Shape(512, 14336, 4096, layout)
    for size in (1024, 4096):
        yield from (Shape(size, size, size, layout, "fp32") for layout in ("nt", "nn", "tn"))
    yield Shape(512, 3072, 768, "nt", "fp32")


SHAPES = {shape.name: shape for shape in shapes()}
SMALL = {
    shape.name: shape
    for shape in (Shape(64, 96, 128), Shape(64, 96, 128, "tn"), Shape(64, 96, 128, "nt", "fp32"))
}


def compile_row(row: str, folder: Path, target: str) -> None:
    shape = {**SHAPES, **SMALL}[row]
    with ark.Program("dense") as program:
        x = ark.input("x", shape.left, shape.dtype)
        w = ark.parameter("w", shape.right, shape.dtype)
        x = ark.transpose(x, (1, 0)) if shape.layout[0] == "t" else x
        ark.output("y", ark.matmul(x, w, transpose_other=shape.layout[1] == "t"))
    save(program, folder, row, target)


class Operands:
    """Random factors, in as many copies as the L2 cannot hold."""

    def __init__(self, shape: Shape, device: str) -> None:
        import torch

        generator = torch.Generator(device).manual_seed(0)
        dtype = {"bf16": torch.bfloat16, "fp32": torch.float32}[shape.dtype]

        def draw(size: tuple[int, int]) -> Any:
            return torch.randn(size, generator=generator, device=device, dtype=dtype)

        self.shape, self.device = shape, device
        self.copies = [
            (draw(shape.left), draw(shape.right))
            for _ in range(copies_for_cold_l2(shape.workload().bytes, device))
        ]

    def views(self, copy: tuple[Any, Any]) -> tuple[Any, Any]:
        """Returns the factors as matrices ``[rows, depth]`` and ``[depth, columns]``."""
        left, right = copy
        layout = self.shape.layout
        return (left if layout[0] == "n" else left.T), (right if layout[1] == "n" else right.T)

    def result(self) -> Any:
        """Returns an array for the product."""
        return self.copies[0][0].new_empty(self.shape.rows, self.shape.columns)


def exact(operands: Operands) -> Any:
    """Returns the product of the first copy, of bf16 in fp32, of fp32 in float64."""
    import torch

    torch.backends.cuda.matmul.allow_tf32 = False
    left, right = operands.views(operands.copies[0])
    if operands.shape.dtype == "fp32":
        return (left.double() @ right.double()).cpu().numpy()
    return (left.float() @ right.float()).cpu().numpy()


def cublas(operands: Operands, warm: bool) -> Calls:
    """Returns the arm of torch.matmul."""
    import torch

    def call(copy: tuple[Any, Any]) -> Callable[[], Any]:
        (left, right), out = operands.views(copy), operands.result()
        return lambda: torch.matmul(left, right, out=out)

    copies = operands.copies[:1] * 20 if warm else operands.copies
    return Calls([call(copy) for copy in copies], operands.device)


def autotuned(operands: Operands) -> Calls:
    """Returns the arm of torch.compile."""
    import torch

    mode = "max-autotune-no-cudagraphs"
    product = torch.compile(torch.mm, mode=mode, fullgraph=True, dynamic=False)
    pairs = [operands.views(copy) for copy in operands.copies]
    return Calls([lambda pair=pair: product(*pair) for pair in pairs], operands.device)


def ark_calls(operands: Operands, task: Task) -> Calls:
    """Returns the arm of the bundle; each copy of the operands has an executable of its own."""
    calls, executables = [], []
    for left, right in operands.copies:
        executable = ark.load(task.bundle).bind({"w": right})
        executables.append(executable)
        out = operands.result().fill_(float("nan"))
        calls.append(lambda e=executable, x=left, out=out: e.run(x=x, out={"y": out})["y"])

    def check() -> None:
        for executable in executables:
            executable.check()

    return Calls(calls, operands.device, check=check)


class ArkInOneLaunch:
    """Many products in one launch, with the same operands: the slope between two numbers."""

    def __init__(self, operands: Operands, task: Task) -> None:
        left, right = operands.copies[0]
        self._executable = ark.load(task.bundle).bind({"w": right})
        self._x, self._out = left, {"y": operands.result()}
        self._device = operands.device

    def _run(self, products: int) -> Callable[[], object]:
        return lambda: self._executable.run(x=self._x, out=self._out, iterations=products)

    def output(self) -> Any:
        self._run(2)()
        return self._out["y"].float().cpu().numpy()

    def device_seconds(self) -> float:
        few, many = (device_seconds(self._run(count), self._device) for count in (FEW, MANY))
        return max(0.0, many - few) / (MANY - FEW)

    def caller_seconds(self) -> float:
        return caller_seconds(self._run(MANY), self._device) / MANY


def measure_row(task: Task) -> Iterator[Result]:
    operands = Operands({**SHAPES, **SMALL}[task.row], task.device())
    expected = exact(operands)
    makers: dict[str, Callable[[], Arm]] = {
        "cublas": lambda: cublas(operands, warm=False),
        "cublas warm": lambda: cublas(operands, warm=True),
        "max-autotune": lambda: autotuned(operands),
        "ark": lambda: ark_calls(operands, task),
        "ark warm": lambda: ArkInOneLaunch(operands, task),
    }
    bound = error_of(makers["cublas"]().output(), expected)
    wanted = {arm: makers[arm] for arm in task.arms}
    slack = SLACK[operands.shape.dtype]
    yield from compare(task.row, wanted, expected, bound, task.samples, slack)


SUITE = Suite(
    name="dense",
    workloads={name: shape.workload() for name, shape in {**SHAPES, **SMALL}.items()},
    figures=tuple(SHAPES),
    compile=compile_row,
    measure=measure_row,
    arms=ARMS,
    default_arms=ARMS,
    together=True,
)


def main() -> int:
    return run(SUITE, __doc__)


if __name__ == "__main__":
    sys.exit(main())

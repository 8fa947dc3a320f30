"""One dense product in one task on one GPU: ark against torch.matmul.

    python benchmarks/dense.py --compile FOLDER                # where the compiler is
    python benchmarks/dense.py --bundles FOLDER [--output F]   # where the GPU is

The second needs the runtime half of the package, numpy, ml_dtypes, cuda-python and torch. Every
bundle of the folder is a row: a product of one shape, whose `w` is transposed. Both arms have the
same random arrays, and their samples are interleaved. A time is the median over the samples, for
one product: the additional time of `--products` more products, divided by their number. These are
iterations of one launch for ark, and launched back to back for PyTorch.

Before the measurement, both are compared with a product in fp32. If ark's relative error is above
that of torch.matmul, ark has no time and the exit status is 1.
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from bundle_options import bundle_parser
from decode_arms import error_of
from table import table

import ark_mlir as ark

# Rows, columns and depth.
SHAPES = {
    "tiny": (64, 96, 128),
    "cube-2048": (2048, 2048, 2048),
    "cube-4096": (4096, 4096, 4096),
    "cube-8192": (8192, 8192, 8192),
    "prompt-128": (128, 8192, 2048),
}
FIGURES = ("cube-2048", "cube-4096", "cube-8192", "prompt-128")
DTYPES = {"bf16": ark.bf16, "fp16": ark.fp16}
# Both arms round their accumulators once, and add in different orders.
SLACK = 1.01
FEW = 4


def main() -> int:
    options = parse()
    if options.compile is not None:
        for name in options.shapes:
            compile_product(options.compile / f"{name}.arkbin", SHAPES[name], options)
        return 0
    paths = sorted(options.bundles.glob("*.arkbin"))
    if not paths:
        raise SystemExit(f"dense: {options.bundles} has no bundle")
    rows = [measure(path, options) for path in paths]
    head = ("product", "rows x columns x depth", "torch ms", "ark ms", "ark TFLOP/s", "torch / ark")
    text = table((*head, "error torch", "error ark"), rows)
    print(text)
    if options.output is not None:
        options.output.write_text(f"{text}\n", encoding="utf-8")
    return int(any(row[3] == "wrong" for row in rows))


def parse() -> argparse.Namespace:
    parser = bundle_parser(__doc__)
    parser.add_argument("--shapes", nargs="+", choices=SHAPES, default=FIGURES, help="of --compile")
    parser.add_argument("--dtype", choices=DTYPES, default="bf16", help="of --compile")
    parser.add_argument("--products", type=int, default=20, help="of one sample")
    parser.add_argument("--samples", type=int, default=15)
    return parser.parse_args()


def compile_product(path: Path, shape: tuple[int, int, int], options: argparse.Namespace) -> None:
    rows, columns, depth = shape
    dtype = DTYPES[options.dtype]
    with ark.Program("dense") as program:
        x = ark.input("x", (rows, depth), dtype)
        w = ark.parameter("w", (columns, depth), dtype)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    path.parent.mkdir(parents=True, exist_ok=True)
    ark.compile(program, options.target, cache=False).save(path)


class Product:
    """A product that both arms compute, and their times."""

    def __init__(self, executable: ark.Executable) -> None:
        import torch

        self.executable = executable
        target = executable.bundle.manifest.target
        self.device = "cuda" if target.backend == "cuda" else "cpu"
        (x,), (w,) = executable.inputs, executable.parameters
        (self.rows, self.depth), self.columns = x.shape, w.shape[0]
        dtype = getattr(torch, x.dtype.numpy_name)
        generator = torch.Generator(self.device).manual_seed(0)

        def draw(shape: Any) -> Any:
            return torch.randn(shape, dtype=dtype, device=self.device, generator=generator)

        self.x, self.w = draw(x.shape), draw(w.shape)
        self.mine, self.other = (self.x.new_empty(self.rows, self.columns) for _ in range(2))
        executable.bind({w.name: self.w})

    def errors(self) -> tuple[float, float]:
        """Returns the errors of torch.matmul and of ark, relative to a product in fp32."""
        import torch

        torch.backends.cuda.matmul.allow_tf32 = False
        wide = (self.x.float() @ self.w.float().T).cpu().numpy()
        self.mine.fill_(float("nan"))
        self.run_torch(1)
        self.run_ark(1)
        found = (array.float().cpu().numpy() for array in (self.other, self.mine))
        torch_error, error = (error_of(np.nan_to_num(array), wide) for array in found)
        return torch_error, error

    def run_ark(self, products: int) -> float:
        """Returns ark's milliseconds on the device, zero without a GPU."""
        return self._timed(
            lambda: self.executable.run(x=self.x, out={"y": self.mine}, iterations=products)
        )

    def run_torch(self, products: int) -> float:
        """Returns torch's milliseconds on the device."""
        import torch

        def run() -> None:
            for _ in range(products):
                torch.matmul(self.x, self.w.T, out=self.other)

        return self._timed(run)

    def _timed(self, work: Callable[[], object]) -> float:
        import torch

        if self.device == "cpu":
            work()
            return 0.0
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        work()
        end.record()
        end.synchronize()
        return float(begin.elapsed_time(end))

    def sample(self, products: int) -> tuple[float, float]:
        """Returns the milliseconds of one product by torch.matmul and by ark: the slope between a
        short run and a longer one."""
        few, many = FEW, FEW + products
        theirs = self.run_torch(many) - self.run_torch(few)
        mine = self.run_ark(many) - self.run_ark(few)
        return theirs / products, mine / products


def measure(path: Path, options: argparse.Namespace) -> tuple[str, ...]:
    """Measures a product and returns its row of the table."""
    with ark.load(path) as executable:
        product = Product(executable)
        torch_error, error = product.errors()
        shape = f"{product.rows} x {product.columns} x {product.depth}"
        errors = f"{torch_error:.6f}", f"{error:.6f}"
        if not error <= torch_error * SLACK:
            print(f"dense: WRONG: {path.stem}: relative error {error}", file=sys.stderr)
            return path.stem, shape, "-", "wrong", "-", "-", *errors
        times: tuple[list[float], list[float]] = [], []
        for sample in range(options.samples + 1):
            pair = product.sample(options.products)
            if sample:  # the first one warms up
                for taken, one in zip(times, pair, strict=True):
                    taken.append(one)
        theirs, mine = map(statistics.median, times)
        flops = 2 * product.rows * product.columns * product.depth
        rate, ratio = (flops / mine / 1e9, theirs / mine) if mine else (0.0, 0.0)
        figures = f"{theirs:.4f}", f"{mine:.4f}", f"{rate:.0f}", f"{ratio:.3f}"
        return path.stem, shape, *figures, *errors


if __name__ == "__main__":
    sys.exit(main())

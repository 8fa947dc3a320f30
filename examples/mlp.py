"""Builds a network of two layers from modules, compiles and runs it, and checks the result.

python examples/mlp.py
"""

from __future__ import annotations

import numpy as np

import ark_mlir as ark


class Linear(ark.Module):
    """``x @ weight.T + bias``."""

    def __init__(self, inner: int, outer: int) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outer, inner), ark.fp32)
        self.bias = ark.parameter("bias", (outer,), ark.fp32)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True) + self.bias


class MLP(ark.Module):
    """Two layers with a gelu between them."""

    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.up = Linear(width, hidden)
        self.down = Linear(hidden, width)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return self.down(ark.gelu(self.up(x)))


def main() -> None:
    with ark.Program("mlp") as program:
        model = MLP(64, 256)
        ark.output("y", model(ark.input("x", (32, 64), ark.fp32)))

    random = np.random.default_rng(0)
    weights = {
        name: (random.standard_normal(argument.shape) / 8).astype(np.float32)
        for name, argument in program.parameters.items()
    }
    x = random.standard_normal((32, 64)).astype(np.float32)

    with ark.compile(program, target="cpu").bind(weights) as executable:
        y = executable.run(x=x)["y"]
        print(executable.report())
    expected = ark.reference.run(program, {"x": x, **weights})["y"]
    print(f"largest difference from the float64 interpreter: {np.abs(y - expected).max():.1e}")


if __name__ == "__main__":
    main()

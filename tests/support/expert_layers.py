"""A layer with experts outside of a decoder, and arrays for it."""

from __future__ import annotations

from typing import Any

import numpy as np

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.models import moe
from ark_mlir.models.experts import Experts
from ark_mlir.models.sharding import Shard


class Layer:
    """The part of a decoder's builder that a layer with experts uses."""

    def __init__(self, experts: Experts, dtype: DType) -> None:
        self.config = self
        self.experts = experts
        self.activation = "silu"
        self.shard = Shard()
        self.dtype = dtype

    def parameter(self, name: str, *shape: int, dtype: DType | None = None) -> ark.Tensor:
        return ark.parameter(name, shape, dtype or self.dtype)

    def dense(self, x: ark.Tensor, name: str, outputs: int, bias: bool = False) -> ark.Tensor:
        weight = self.parameter(f"{name}.weight", outputs, x.shape[-1])
        return ark.matmul(x, weight, transpose_other=True)

    def total(self, product: ark.Tensor, name: str) -> ark.Tensor:
        return product

    def all_rows(self, x: ark.Tensor, name: str) -> ark.Tensor:
        return x

    def routed(self, logits: ark.Tensor, chosen: ark.Tensor) -> None:
        assert logits.shape[0] == chosen.shape[0]


def build_layer(
    experts: Experts, tokens: int, hidden: int = 16, dtype: DType = ark.fp32
) -> ark.Program:
    with ark.Program("layer") as program:
        x = ark.input("x", (tokens, hidden), dtype)
        ark.output("y", moe.build_mlp(Layer(experts, dtype), experts, x, "mlp"))
    return program


def make_arrays(program: ark.Program, seed: int) -> dict[str, Any]:
    random = np.random.default_rng(seed)
    declared = {**program.inputs, **program.parameters}
    return {
        name: random.standard_normal(argument.shape).astype(argument.dtype.numpy)
        for name, argument in declared.items()
    }

"""Programs and ops."""

import ml_dtypes
import numpy as np
from typing_extensions import assert_type

import ark_mlir as ark


class Linear(ark.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.weight = ark.parameter("weight", (outputs, inputs), ark.bf16)

    def forward(self, x: ark.Tensor) -> ark.Tensor:
        return ark.matmul(x, self.weight, transpose_other=True)


def pinned(n: int, dtype: ark.typing.DTypeLike, axis: ark.typing.Axes) -> ark.Tensor:
    with (
        ark.planner(stage=0, microbatch=n, backward=True),
        ark.planner(sms=(0, 4), tile=(4, 32), sync=False),
    ):
        return ark.reduce_sum(ark.zeros([n, np.int64(n)], dtype), axis)


with ark.Program("right") as program:
    x = ark.input("x", (4, 64), ark.bf16)
    names = [ark.input(f"x{i}", x.shape, d) for i, d in enumerate((np.float32, ml_dtypes.bfloat16))]
    text = ark.input("text", np.array([4, 64]), "bfloat16")
    count = ark.scalar("count", "int32", max=7)
    cache = ark.state("cache", (8, 64), np.dtype(np.float32), init=-1.5)
    h = ark.gelu(Linear(64, 256)(x), approximate="none") * 2 + np.ones(256)
    y = ark.where((h > 0) & True, h[..., ::2].shape[0] * h, 0.5 - h)
    y = ark.maximum(1, y)[None, 1:, np.int32(3)]
    row = ark.constant([[1, 2.5], [3, True]], ark.fp32) @ np.ones((2, 3), np.float32)
    parts = ark.split(x, [16, 48], axis=-1) + ark.split(x, 2, axis=1)
    cache = ark.update(cache, ark.ones((1, 64)), (count, 0))
    ark.noop(ark.squeeze(ark.unsqueeze(x, (0, -1)), axis=0))
    ark.output("y", ark.reduce_sum(h, axis=(0, -1)))
    ark.output("z", pinned(4, bool, -1))

assert_type(x, ark.Tensor)
assert_type(x.shape, tuple[int, ...])
assert_type(program.inputs, dict[str, ark.Argument])
assert_type(program.outputs["y"], ark.Output)
assert_type(ark.dtypes.as_dtype("whatever"), ark.DType)

with ark.Program("wrong", rank="0") as wrong:  # error: "Literal['0']" is not assignable
    ark.input("x", (4, 64), "bfloat17")  # error: "Literal['bfloat17']" is not assignable
    ark.input("x", (4, 64), float)  # error: reportArgumentType
    ark.input("x", (4.0, 64.0), ark.bf16)  # error: reportArgumentType
    ark.input("x", "4, 64")  # error: reportArgumentType
    ark.input("x")  # error: Argument missing for parameter "shape"
    ark.input(x, (4, 64))  # error: "Tensor" is not assignable to "str"
    ark.parameter("w", (4, 64), dytpe=ark.fp32)  # error: No parameter named "dytpe"
    ark.state("s", (4,), init="zero")  # error: "Literal['zero']" is not assignable to "float"
    ark.scalar("n", max=2.5)  # error: "float" is not assignable to "int"
    ark.output("y", np.zeros(4))  # error: is not assignable to "Tensor"
    ark.stop_when(True)  # error: "Literal[True]" is not assignable
    ark.matmul(x, [1.0, 2.0])  # error: reportArgumentType
    ark.matmul(x, h, transpose_rhs=True)  # error: No parameter named "transpose_rhs"
    ark.gelu(x, approximate="sigmoid")  # error: "Literal['sigmoid']" is not assignable
    ark.reduce_sum(x, axis=0.5)  # error: reportArgumentType
    ark.reduce_sum(x, axis="last")  # error: reportArgumentType
    ark.reshape(x, (h, 2))  # error: reportArgumentType
    ark.cast(x, "double")  # error: reportArgumentType
    ark.constant("text")  # error: reportArgumentType
    ark.constant(x)  # error: reportArgumentType
    ark.full((4,), "one")  # error: reportArgumentType
    ark.concat(x, axis=0)  # error: "Tensor" is not assignable to "Sequence[Tensor]"
    ark.update(cache, y, count)  # error: reportArgumentType
    ark.all_reduce(x, op="mean")  # error: "Literal['mean']" is not assignable
    ark.planner(sms="all")  # error: reportArgumentType
    ark.planner(microbatch=(0, 1))  # error: reportArgumentType
    x + "text"  # error: Operator "+" not supported
    x @ 2  # error: Operator "@" not supported
    x[x > 0]  # error: reportArgumentType
    x["first"]  # error: reportArgumentType
    if x > 0:  # error: Invalid conditional operand of type "Tensor"
        pass
    ark.relux(x)  # error: "relux" is not a known attribute

"""Every op of the graph level, for every dtype that it takes, compiled and compared with the
float64 interpreter, within its bound per element."""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from op_case import FLOATS, Case
from op_cases import CASES, build, make_inputs

import ark_mlir as ark
from ark_mlir.dtypes import DType
from ark_mlir.testing.bounds import assert_within

Pick = Callable[[str], str]

IS_X86 = platform.machine() in ("x86_64", "AMD64")
# Features that this machine's processor may have and these processors lack.
PROCESSORS = ("baseline", "x86-64-v3") if IS_X86 else ("baseline",)
PAIRS = [
    pytest.param(case, dtype, id=f"{name}-{dtype}")
    for name, case in CASES.items()
    for dtype in case.dtypes
]


# -- comparison -----------------------------------------------------------------------------------


def agree(case: Case, dtype: DType, target: str = "cpu:2", **options: Any) -> None:
    """Checks that the compiled case gives the interpreter's results."""
    program, inputs = build(case, dtype), make_inputs(case, dtype)
    expected = ark.reference.evaluate(program, inputs, bound=True)
    with ark.compile(program, target=target, **options) as executable:
        got = executable.run(inputs)
        states = {name: np.array(executable.states[name]) for name in expected.states}
    for name, value in expected.outputs.items():
        assert got[name].dtype == program.outputs[name].dtype.numpy
        assert_within(got[name], value, expected.bounds[name], name)
    for name, value in expected.states.items():
        assert_within(states[name], value, np.zeros(value.shape), name)


@pytest.mark.parametrize(("case", "dtype"), PAIRS)
def test_op(case: Case, dtype: DType, pick_target: Pick) -> None:
    agree(case, dtype, pick_target("cpu:2"))


@pytest.mark.parametrize("dtype", FLOATS, ids=str)
@pytest.mark.parametrize("cpu", PROCESSORS)
def test_other_processors(cpu: str, dtype: DType) -> None:
    """Without instructions for narrow floats, LLVM would call functions that a kernel lacks."""
    agree(CASES["gather"], dtype, cpu=cpu)
    agree(Case(ark.matmul, ((21, 131), (131, 41)), FLOATS), dtype, cpu=cpu)
    agree(Case(lambda x: ark.exp(ark.softmax(x)), ((3, 77),), FLOATS), dtype, cpu=cpu)


def test_every_op_has_a_case() -> None:
    """Ops made by functions of other names are listed under these names."""
    covered = {
        op.operation.name.removeprefix("ark.")
        for case in CASES.values()
        for op in build(case, case.dtypes[0]).module.body.operations[0].regions[0].blocks[0]
    }
    from ark_mlir.reference.interpreter import HANDLERS

    collectives = {
        "all_reduce", "all_gather", "reduce_scatter", "all_to_all", "broadcast", "send", "recv"
    }  # fmt: skip
    # test_split_attention.py, test_split_argmax.py, ../training/test_attention_ops.py,
    # ../training/test_norm_gradients.py, ../training/test_attention_log_sum_exp.py
    elsewhere = {
        f"{half}_{op}" for half in ("partial", "combine") for op in ("attention", "argmax")
    } | {f"attention_{operand}_gradient" for operand in ("query", "key_value")}
    # test_convolutions.py
    elsewhere |= {
        "norm_input_gradient", "norm_statistics", "convolution", "attention_log_sum_exp"
    }  # fmt: skip
    ops = {name.removeprefix("ark.") for name in HANDLERS}
    assert ops - covered - collectives == elsewhere


@pytest.mark.parametrize("cpu", ["host", "baseline"])
def test_signs_of_zero(cpu: str, pick_target: Pick) -> None:
    """Error bounds do not cover signs of zero, since the difference is zero."""
    odd = (ark.neg, ark.sqrt, ark.sin, ark.tanh, ark.erf, ark.silu, ark.gelu, ark.copy)
    x = np.array([0.0, -0.0] * 9, np.float32)
    with ark.Program("zeros") as program:
        tensor = ark.input("x", x.shape, ark.fp32)
        for op in odd:
            ark.output(op.__name__, op(tensor))
        ark.output("reciprocal", ark.reciprocal(tensor))
        ark.output("bf16", ark.cast(tensor, ark.bf16))
    with ark.compile(program, target=pick_target("cpu:2"), cpu=cpu) as executable:
        got = executable.run(x=x)
    for name, value in ark.reference.run(program, {"x": x}).items():
        np.testing.assert_array_equal(np.signbit(got[name]), np.signbit(value), err_msg=name)
        np.testing.assert_array_equal(got[name].astype(np.float32), value, err_msg=name)

"""Bounds for whole models: finite, wide enough for rounding errors, and not much wider."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within


def deep(layers: int, dtype: ark.DType) -> ark.Program:
    """A residual network like a transformer's, without attention."""
    with ark.Program("deep") as program:
        h = ark.input("x", (5, 32), dtype)
        for layer in range(layers):
            up = ark.parameter(f"up{layer}", (64, 32), dtype)
            down = ark.parameter(f"down{layer}", (32, 64), dtype)
            gate = ark.silu(ark.matmul(ark.rmsnorm(h), up, transpose_other=True))
            h = h + ark.matmul(gate, down, transpose_other=True)
        ark.output("y", h)
    return program


def arrays(program: ark.Program, seed: int = 0) -> dict[str, Any]:
    rng = np.random.default_rng(seed)
    arguments = {**program.inputs, **program.parameters}
    return {
        name: (0.3 * rng.standard_normal(argument.shape)).astype(argument.dtype.numpy)
        for name, argument in arguments.items()
    }


@pytest.mark.parametrize("dtype", [ark.fp32, ark.bf16], ids=str)
@pytest.mark.parametrize("layers", [1, 4, 12])
def test_deep_programs_have_finite_bounds(layers: int, dtype: ark.DType) -> None:
    """The bound that adds all errors is useless for such programs. This bound holds, and detects a
    weight with an error above the precision of its dtype."""
    program = deep(layers, dtype)
    inputs = arrays(program)
    wanted = ark.reference.error_spread(program, inputs)
    assert np.isfinite(wanted.bounds["y"]).all()
    with ark.compile(program, target="cpu:2") as executable:
        executable.bind({name: inputs[name] for name in program.parameters})
        got = executable.run(x=inputs["x"])["y"]
        assert_within(got, wanted.outputs["y"], wanted.bounds["y"], "deep")
        spoiled = {name: np.array(inputs[name]) for name in program.parameters}
        spoiled["up0"][0] *= 1.5
        executable.bind(spoiled)
        wrong = executable.run(x=inputs["x"])["y"]
    with pytest.raises(AssertionError):
        assert_within(wrong, wanted.outputs["y"], wanted.bounds["y"], "spoiled")


def test_the_sum_of_all_errors_is_infinite() -> None:
    program = deep(4, ark.bf16)
    inputs = arrays(program)
    assert np.isinf(ark.reference.error_bound(program, inputs)["y"]).any()
    spread = ark.reference.error_spread(program, inputs).bounds["y"]
    again = ark.reference.error_spread(program, inputs).bounds["y"]
    np.testing.assert_array_equal(spread, again)
    other = ark.reference.error_spread(program, inputs, seed=1).bounds["y"]
    assert not np.array_equal(spread, other)


def test_values_without_a_bound_stay_without_one() -> None:
    """Overflow inside of the program is not a rounding error."""
    with ark.Program("overflow") as program:
        x = ark.input("x", (2, 4))
        ark.output("y", ark.rmsnorm(x))
    x = np.array([[1, 2, 3, 4], [1e30, 1, 1, 1]], np.float32)
    for bounds in (
        ark.reference.error_bound(program, {"x": x}),
        ark.reference.error_spread(program, {"x": x}).bounds,
    ):
        assert (bounds["y"][0] < 1e-5).all()
        assert np.isinf(bounds["y"][1]).all()


def test_integers_and_infinities_are_exact() -> None:
    with ark.Program("exact") as program:
        x = ark.input("x", (4,))
        ark.output("n", ark.cast(x, ark.int32) * 3)
        ark.output("i", ark.where(x > 2.0, -np.inf, x))
    x = np.arange(4, dtype=np.float32)
    wanted = ark.reference.error_spread(program, {"x": x})
    np.testing.assert_array_equal(wanted.outputs["n"], [0, 3, 6, 9])
    assert all((bound < 1e-6).all() for bound in wanted.bounds.values())

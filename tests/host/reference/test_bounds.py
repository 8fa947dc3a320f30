"""The error bounds hold for fp32 arithmetic, and are tight enough to detect errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Evaluation = Callable[..., Any]
F = np.float32
RNG = np.random.default_rng(1)


def normal(*shape: int, scale: float = 1.0) -> Any:
    return (scale * RNG.normal(size=shape)).astype(F)


def softmax32(x: Any) -> Any:
    weights = np.exp(x - x.max(-1, keepdims=True))
    return weights / weights.sum(-1, keepdims=True)


def layernorm32(x: Any, w: Any, b: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    variance = (centred * centred).mean(-1, keepdims=True)
    return centred / np.sqrt(variance + F(1e-5)) * w + b


def attention32(q: Any, k: Any, v: Any) -> Any:
    return softmax32(q @ k.swapaxes(-1, -2) * F(k.shape[-1] ** -0.5)) @ v


# For every op: its form in ark and in fp32 numpy, its operands, and the largest allowed ratio of
# the bound to the largest observed error.
CASES: dict[str, tuple[Any, Any, tuple[Any, ...], float]] = {
    "add": (ark.add, np.add, (normal(500), normal(500)), 5),
    "mul": (ark.mul, np.multiply, (normal(500), normal(500)), 5),
    "div": (ark.div, np.divide, (normal(500), 1 + abs(normal(500))), 5),
    "exp": (ark.exp, np.exp, (normal(500),), 20),
    "tanh": (ark.tanh, np.tanh, (normal(500),), 20),
    "sqrt": (ark.sqrt, np.sqrt, (abs(normal(500)),), 20),
    "log": (ark.log, np.log, (abs(normal(500)) + F(0.1),), 20),
    "sigmoid": (ark.sigmoid, lambda x: 1 / (1 + np.exp(-x)), (normal(500),), 20),
    "silu": (ark.silu, lambda x: x / (1 + np.exp(-x)), (normal(500),), 20),
    "pow": (ark.pow, np.power, (abs(normal(500)) + F(0.1), normal(500)), 200),
    "reduce_sum": (
        lambda x: ark.reduce_sum(x, -1), lambda x: x.cumsum(-1)[..., -1:], (normal(40, 300),), 300,
    ),
    "reduce_mean": (
        lambda x: ark.reduce_mean(x, -1), lambda x: x.mean(-1, keepdims=True), (normal(40, 300),),
        2000,
    ),
    "matmul": (ark.matmul, np.matmul, (normal(30, 200), normal(200, 40)), 500),
    "softmax": (ark.softmax, softmax32, (normal(40, 100, scale=3),), 300),
    "layernorm": (
        lambda x, w, b: ark.layernorm(x, w, b), layernorm32,
        (normal(30, 100), normal(100), normal(100)), 500,
    ),
    "rmsnorm": (
        lambda x: ark.rmsnorm(x), lambda x: x / np.sqrt((x * x).mean(-1, keepdims=True) + F(1e-5)),
        (normal(30, 100),), 500,
    ),
    "attention": (
        lambda q, k, v: ark.attention(q, k, v), attention32,
        (normal(4, 20, 16), normal(4, 30, 16), normal(4, 30, 16)), 500,
    ),
    "mlp": (
        lambda x, w: ark.relu(x @ w) @ w, lambda x, w: np.maximum(x @ w, 0) @ w,
        (normal(10, 64), normal(64, 64)), 5000,
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_the_bound_holds_and_is_useful(evaluation: Evaluation, name: str) -> None:
    op, plain, operands, width = CASES[name]
    result = evaluation(op, *operands, bound=True)
    with np.errstate(all="ignore"):
        got = plain(*operands)
    assert got.dtype == F
    error = np.abs(got - result.outputs["y"])
    bound = result.bounds["y"]
    assert bound.shape == error.shape
    assert (error <= bound).all(), (error / bound).max()
    assert bound.max() <= width * error.max(), bound.max() / error.max()


@pytest.mark.parametrize("dtype", ["bf16", "fp16"])
def test_the_bound_covers_rounding_to_narrow_types(evaluation: Evaluation, dtype: str) -> None:
    kind = ark.dtypes.as_dtype(dtype)
    x, w = normal(16, 32).astype(kind.numpy), normal(32, 24).astype(kind.numpy)

    def network(x: Any, w: Any) -> Any:
        return ark.softmax(ark.gelu(x @ w) + 1)

    exact = evaluation(network, x, w, bound=True)
    rounded = evaluation(network, x, w, round_to_dtype=True).outputs["y"]
    assert (np.abs(rounded - exact.outputs["y"]) <= exact.bounds["y"]).all()
    assert (rounded == rounded.astype(kind.numpy).astype(np.float64)).all()


def test_views_carry_bounds_along(evaluation: Evaluation) -> None:
    x = normal(4, 6)

    def network(x: Any) -> Any:
        y = ark.exp(x)
        parts = [ark.transpose(y)[1:, ::-1], ark.reshape(y, (6, 4))[1:]]
        return ark.concat(parts, 1)

    def plain(x: Any) -> Any:
        y = np.exp(x)
        return np.concatenate([y.T[1:, ::-1], y.reshape(6, 4)[1:]], 1)

    result = evaluation(network, x, bound=True)
    assert (np.abs(plain(x) - result.outputs["y"]) <= result.bounds["y"]).all()


def test_exact_ops_have_no_bound(evaluation: Evaluation) -> None:
    x = normal(4, 6)
    for op in (ark.neg, ark.abs, ark.relu, ark.copy, lambda t: ark.maximum(t, t[::-1])):
        assert not evaluation(op, x, bound=True).bounds["y"].any()


def test_a_decision_within_the_error_has_an_infinite_bound(evaluation: Evaluation) -> None:
    x = np.array([0.0, 1.0], F)
    one = evaluation(lambda t: ark.exp(t) > 1, x, bound=True)
    assert one.bounds["y"].tolist() == [np.inf, 0.0]
    two = evaluation(lambda t: ark.cast(ark.exp(t), ark.int32), x, bound=True)
    assert two.bounds["y"].tolist() == [np.inf, 0.0]
    three = evaluation(lambda t: ark.argmax(ark.exp(t), 0), np.array([1.0, 1.0], F), bound=True)
    assert three.bounds["y"] == np.inf
    four = evaluation(lambda t: 1 / (ark.exp(t) - 1), x, bound=True)
    assert four.bounds["y"][1] < 1e-5


def test_a_where_within_the_error_has_the_distance_as_bound(evaluation: Evaluation) -> None:
    x = np.array([0.0, 1.0], F)
    result = evaluation(lambda t: ark.where(ark.exp(t) > 1, t + 10, t), x, bound=True)
    assert 10 <= result.bounds["y"][0] < 10.001
    assert result.bounds["y"][1] < 1e-5


def test_overflow_has_no_bound_and_infinity_is_exact(evaluation: Evaluation) -> None:
    x = np.array([80.0, 100.0, np.inf, -np.inf], F)
    result = evaluation(ark.exp, x, bound=True)
    assert np.isfinite(result.bounds["y"][0])
    assert result.bounds["y"][1] == np.inf  # overflows fp32
    assert result.bounds["y"][2:].tolist() == [0.0, pytest.approx(0, abs=1e-37)]


def test_the_bound_of_silu_covers_a_sigmoid_that_devices_flush_to_zero(
    evaluation: Evaluation,
) -> None:
    """The sigmoid of -88.8 is not a normal number, and its product with x is one."""
    x = np.linspace(-110, -80, 3001).astype(F)
    with np.errstate(all="ignore"):
        sigmoid = 1 / (1 + np.exp(-x))
        got = x * np.where(sigmoid < np.finfo(F).smallest_normal, F(0), sigmoid)
    result = evaluation(ark.silu, x, bound=True)
    assert (np.abs(got - result.outputs["y"]) <= result.bounds["y"]).all()
    assert result.bounds["y"].max() < 2e-36


def test_error_bound_is_a_shorthand() -> None:
    with ark.Program("p") as program:
        ark.output("y", ark.exp(ark.input("x", (3,))))
    bound = ark.reference.error_bound(program, {"x": normal(3)})
    assert bound["y"].shape == (3,)
    assert (bound["y"] > 0).all()


def test_an_index_within_the_error_raises(evaluation: Evaluation) -> None:
    table = normal(4, 2)
    with pytest.raises(ark.InvalidUsageError, match="depends on rounding"):
        evaluation(
            lambda x, t: ark.gather(t, ark.cast(ark.exp(x), ark.int32), 0),
            np.zeros(1, F), table, bound=True,
        )  # fmt: skip

"""Sampled tokens have the right frequencies, and are reproducible for a seed."""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.options import sampling_inputs
from ark_mlir.models.sampling import draw

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
Draws = Callable[..., Array]
PROMPT = [3, 10, 17, 24]

DRAWS = 8000


@pytest.fixture(scope="module")
def drawn(pick_target: Pick) -> Draws:
    """``drawn(logits, **choice)`` returns tokens for one row of logits: rows of a batch differ only
    in their noise."""

    @functools.cache
    def compiled(vocabulary: int) -> tuple[ark.Program, ark.Executable]:
        with ark.Program("draw") as program:
            logits = ark.input("logits", (DRAWS, vocabulary), ark.fp32)
            ark.output("token", draw(logits, ark.scalar("position")))
        return program, ark.compile(program, pick_target("cpu:2"))

    def run(logits: Array, **choice: Any) -> Array:
        program, executable = compiled(logits.size)
        options = {"temperature": 1.0, "top_k": 0, "top_p": 1.0, "seed": 0, **choice}
        names = ("temperature", "top_k", "top_p", "seed")
        inputs = {
            "logits": np.tile(logits.astype(np.float32), (DRAWS, 1)),
            "position": 3,
            **sampling_inputs(*(options[name] for name in names)),
        }
        tokens = executable.run(inputs)["token"]
        np.testing.assert_array_equal(tokens, ark.reference.run(program, inputs)["token"])
        return tokens

    return run


LOGITS = np.array([1.0, 3.0, -2.0, 2.5, 0.0, 2.0, -30.0])


def probabilities(logits: Array) -> Array:
    powers = np.exp(logits - logits.max())
    return powers / powers.sum()


@pytest.mark.parametrize("temperature", [0.5, 1.0, 3.0])
def test_frequencies_equal_the_probabilities(drawn: Draws, temperature: float) -> None:
    counts = np.bincount(drawn(LOGITS, temperature=temperature), minlength=LOGITS.size)
    expected = probabilities(LOGITS / temperature)
    # Four standard deviations of a binomial distribution.
    slack = 4 * np.sqrt(DRAWS * expected * (1 - expected)) + 1
    assert (np.abs(counts - DRAWS * expected) <= slack).all(), (counts, DRAWS * expected)


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        ({"top_k": 1}, {1}),
        ({"top_k": 3}, {1, 3, 5}),
        ({"top_p": 0.01}, {1}),
        ({"top_p": 0.75}, {1, 3, 5}),  # 0.47 + 0.28 is just below
        ({"top_k": 2, "top_p": 0.99}, {1, 3}),
        ({"top_k": 3, "top_p": 0.6}, {1, 3}),
        ({"temperature": 0.0}, {1}),
        ({"temperature": 1e-9}, {1}),
    ],
)
def test_only_the_nucleus_is_sampled(drawn: Draws, choice: dict[str, Any], kept: set[int]) -> None:
    assert set(drawn(LOGITS, **choice).tolist()) == kept


def test_seeds_and_positions_give_different_noise(drawn: Draws) -> None:
    level = np.zeros(7)
    first, second = drawn(level, seed=1), drawn(level, seed=2**62 + 1)
    assert 0.1 < (first == second).mean() < 0.2
    np.testing.assert_array_equal(first, drawn(level, seed=1))


@pytest.fixture(scope="module")
def model(tiny: Any, tmp_path_factory: Any, pick_target: Pick) -> Any:
    folder = tiny.write_model(tmp_path_factory.mktemp("sampling"), "llama")
    return ark.models.load(folder, max_length=48, chunk=3, sampling=True).compile(
        pick_target("cpu:2")
    )


def test_generation_with_sampling(model: Any, tiny: Any, tmp_path: Path, pick_target: Pick) -> None:
    choice: dict[str, Any] = {"temperature": 1.3, "top_k": 20, "top_p": 0.95, "seed": 7}
    tokens = model.generate(PROMPT, 24, **choice)
    assert tokens == model.generate(PROMPT, 24, **choice)
    assert tokens == model.generate(PROMPT, 24, reference=True, **choice)
    assert tokens[:9] == model.generate(PROMPT, 9, **choice)
    assert tokens != model.generate(PROMPT, 24, **{**choice, "seed": 8})
    assert len(set(tokens)) > 5
    # Neither the chunks of the prompt nor the number of lanes matter.
    folder = tiny.write_model(tmp_path, "llama")
    other = ark.models.load(folder, max_length=40, chunk=4, sampling=True).compile(
        pick_target("cpu:3")
    )
    assert tokens == other.generate(PROMPT, 24, **choice)


def test_temperature_zero_is_greedy(
    model: Any, tiny: Any, tmp_path: Path, pick_target: Pick
) -> None:
    greedy = ark.models.load(tiny.write_model(tmp_path, "llama"), max_length=48, chunk=3)
    tokens = greedy.compile(pick_target("cpu:2")).generate(PROMPT, 12)
    assert model.generate(PROMPT, 12) == tokens
    assert model.generate(PROMPT, 12, temperature=1.0, top_k=1) == tokens
    with pytest.raises(ark.InvalidUsageError, match="load the model with sampling=True"):
        greedy.generate(PROMPT, 12, temperature=1.0)


@pytest.mark.parametrize(
    ("choice", "message"),
    [
        ({"temperature": -1}, "temperature must be finite and not negative, not -1"),
        ({"temperature": float("nan")}, "temperature must be finite and not negative"),
        ({"temperature": "hot"}, "temperature must be a number, not 'hot'"),
        ({"top_p": 0}, "top_p must be above 0 and at most 1, not 0"),
        ({"top_p": 1.5}, "top_p must be above 0 and at most 1"),
        ({"top_k": -1}, "top_k must be at least 0, not -1"),
        ({"top_k": 2.5}, "top_k must be an integer"),
        ({"top_k": 2**31}, "top_k must be below 2^31"),
        ({"seed": -1}, "seed must be at least 0"),
        ({"seed": 2**63}, "seed must be below 2^63"),
        ({"stop": 37}, r"stop\[0\] has token 37, but the vocabulary has 37"),
        ({"stop": -1}, r"stop\[0\] has token -1"),
        ({"stop": list(range(9))}, "stop has 9 tokens; the limit is 8"),
        ({"stop": [1.5]}, r"stop\[0\] must be a row of integers"),
    ],
)
def test_invalid_options_raise(model: Any, choice: dict[str, Any], message: str) -> None:
    with pytest.raises(ark.InvalidUsageError) as caught:
        model.generate(PROMPT, 2, **choice)
    assert message.replace("\\", "") in str(caught.value)

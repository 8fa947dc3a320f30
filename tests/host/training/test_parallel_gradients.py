"""Gradients of the training steps of several ranks, beside those of one rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def step_of_gradients(model: Any, slopes: list[ark.Tensor], loss: ark.Tensor) -> None:
    """Replaces the step of the optimizer by outputs of the gradients."""
    ark.output("loss", loss)
    for name, slope in zip(model.weights, slopes, strict=True):
        ark.output(f"{name}.slope", slope)


def gradients(models: Any, kind: str, sizes: Any, ranks: int) -> list[dict[str, np.ndarray]]:
    """Returns loss and gradients of each rank."""
    from parallel_training import batches, first_values

    programs = [models.build(sizes, kind, rank, ranks) for rank in range(ranks)]
    with ark.compile(programs, "cpu:1") as world:
        world.bind(first_values(world.bundle, sizes))
        return world.run(batches(kind, sizes, ranks))


@pytest.mark.parametrize("kind", ["sequence", "tensor"])
def test_gradients_are_those_of_one_rank(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each rank has the gradients of its parts of weights, and whole gradients of whole weights.

    The model has two layers and three sequences of eight tokens. The ranks of `sequence` divide the
    rows of tokens in the middle of a sequence.
    """
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    import parallel_training_models as models
    from parallel_training_weights import rank_part
    from training_models import Sizes

    monkeypatch.setattr(models, "_step", step_of_gradients)
    sizes = Sizes(64, 32, 2, 4, 8, 3)
    (one,) = gradients(models, "data", sizes, 1)
    found = gradients(models, kind, sizes, 2)
    assert len(one) > 20
    for rank, arrays in enumerate(found):
        assert set(arrays) == set(one)
        for name, array in arrays.items():
            expected = rank_part(one[name], array.shape, rank)
            scale = np.abs(one[name]).max()
            assert scale > 0
            np.testing.assert_allclose(array, expected, atol=2e-5 * scale, rtol=0, err_msg=name)
    wider = replace(sizes, batch=4)
    assert gradients(models, kind, wider, 2)[0]["loss"] != found[0]["loss"]

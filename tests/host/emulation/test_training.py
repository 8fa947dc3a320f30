"""Steps of a training on the emulated GPU: forward, backward and AdamW in one launch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation

import ark_mlir as ark

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
STEPS, RATE = 3, 3e-4


def build(gpt: Any, sizes: Any) -> ark.Program:
    with ark.Program("training") as program:
        loop = ark.training.Loop(steps=STEPS)
        rows = loop.input("rows", (sizes.batch, sizes.length + 1), ark.int32)
        model = gpt(sizes)
        weights = ark.trainable(model, masters=True)
        logits = ark.cast(model(rows[:, :-1]), ark.fp32)
        loss = ark.cross_entropy(logits, rows[:, 1:])
        optimizer = ark.optim.AdamW(weights, RATE)
        optimizer.step(ark.gradients(loss, weights), skip=loop.end(loss))
    return program


# The bounds are three times the errors of these weights and batches, or more: that of the losses,
# and those of the changes of weights and of the moments, relative to their norms. Steps of AdamW
# have the size of the rate, so that rounding changes those of small gradients most.
@pytest.mark.parametrize(
    ("dtype", "of_loss", "of_changes", "of_moments"),
    [("fp32", 5e-7, 1e-4, 3e-6), ("bf16", 5e-4, 0.2, 0.02)],
)
def test_steps_of_a_gpt(
    dtype: str,
    of_loss: float,
    of_changes: float,
    of_moments: float,
    library: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Three steps follow those of the interpreter in float64."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    models = importlib.import_module("training_models")
    sizes = models.Sizes(24, 32, 2, 2, 16, 2, dtype)
    program = build(importlib.import_module("training_gpt").GPT, sizes)
    first = models.first_weights(sizes)
    shape = STEPS, sizes.batch, sizes.length + 1
    rows = np.random.default_rng(0).integers(0, sizes.vocabulary, shape, dtype=np.int32)
    _, expected = ark.reference.run(
        program,
        {"rows": rows},
        {name: array.astype(float) for name, array in first.items()},
        iterations=STEPS,
        return_states=True,
    )
    emulation = Emulation(program, library, tmp_path, arch="sm_90a")
    with emulation.executable as executable:
        executable.bind(first)
        emulation.run({"rows": rows}, iterations=STEPS)
        got = {name: np.array(array, np.float64) for name, array in executable.states.items()}

    assert np.abs(got["loop.losses"] - expected["loop.losses"]).max() <= of_loss
    errors = {name: got[name] - expected[name] for name in first}
    changes = {name: expected[name] - first[name] for name in first}
    assert relative(errors, changes) <= of_changes
    moments = [name for name in expected if name.startswith("adamw.") and expected[name].ndim]
    assert len(moments) == 2 * len(first)
    for kind in ("mean", "square"):
        names = [name for name in moments if name.startswith(f"adamw.{kind}.")]
        errors = {name: got[name] - expected[name] for name in names}
        assert relative(errors, {name: expected[name] for name in names}) <= of_moments


def relative(errors: dict[str, Any], values: dict[str, Any]) -> float:
    """Returns the norm of all errors, divided by that of all values."""
    norms = [sum(float((array**2).sum()) for array in each.values()) for each in (errors, values)]
    return float(np.sqrt(norms[0] / norms[1]))

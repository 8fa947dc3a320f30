"""Every type of decoder, as small random models of transformers: logits and greedy tokens.

The float64 interpreter agrees with transformers in float64 up to its table of angles, which it
makes in fp32; and the compiled programs, in fp32, generate the tokens of transformers.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from model_cases import DECODERS, MIXTURES, PROMPT

import ark_mlir as ark
from ark_mlir.models.families import FAMILIES

torch: Any = importlib.import_module("torch")

Pick = Callable[[str], str]

# transformers computes angles, and their cosines, in fp32.
ANGLES = 3e-4
COUNT = 8
CASES = {**DECODERS, **MIXTURES}


def test_every_type_has_a_case() -> None:
    assert {case.kind for case in CASES.values()} == set(FAMILIES)


@pytest.mark.parametrize("name", CASES)
def test_logits_and_tokens_are_those_of_transformers(
    name: str, tmp_path: Path, pick_target: Pick
) -> None:
    theirs = CASES[name].make(tmp_path)
    ids, wanted, logits = list(PROMPT), [], np.zeros(0)
    with torch.no_grad():
        # The cache of transformers loses keys before a window, and LongRoPE changes with length.
        for _ in range(COUNT):
            rows = theirs(torch.tensor([ids]), use_cache=False).logits[0].numpy()
            logits = rows[-1] if not wanted else logits
            wanted.append(int(rows[-1].argmax()))
            ids.append(wanted[-1])
    # A chunk of eight tokens sorts rows by expert; one token is multiplied row by row.
    chunk = 8 if name in MIXTURES else 4
    model = ark.models.load(tmp_path, max_length=len(ids), chunk=chunk)
    assert model.compile(pick_target("cpu:2"), opt_level=0).generate(PROMPT, COUNT) == wanted

    whole = ark.models.load(tmp_path, max_length=len(ids), chunk=len(PROMPT))
    inputs: dict[str, Any] = {
        "ids": [PROMPT], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    exact = whole.run("prefill", inputs, reference=True)["logits"][0]
    np.testing.assert_allclose(exact, logits, atol=ANGLES)

"""Every type of decoder, as small random models of transformers: logits and greedy tokens.

The float64 interpreter agrees with transformers in float64 up to its table of angles, which it
makes in fp32; and the compiled programs, in fp32, generate the tokens of transformers.
"""

from __future__ import annotations

import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from model_cases import DECODERS, MIXTURES, PROMPT, SIZES
from tiny_models import write_safetensors

import ark_mlir as ark
from ark_mlir.models.families import FAMILIES
from ark_mlir.runtime.arrays.safetensors import read_safetensors

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
    # A chunk of eight tokens sorts rows by expert; one token is multiplied row by row.
    check(tmp_path, CASES[name].make(tmp_path), pick_target("cpu:2"), 8 if name in MIXTURES else 4)


@pytest.mark.parametrize("old", [False, True], ids=["new names", "old names"])
def test_the_text_part_of_gemma3(old: bool, tmp_path: Path, pick_target: Pick) -> None:
    """Published files have names of an older version of transformers, and fewer entries."""
    transformers: Any = importlib.import_module("transformers")
    torch.manual_seed(7)
    text = {**SIZES, **DECODERS["gemma3"].more}
    vision = {
        "hidden_size": 16, "intermediate_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "image_size": 28, "patch_size": 14,
    }  # fmt: skip
    config = transformers.Gemma3Config(
        text_config=text, vision_config=vision, mm_tokens_per_image=4, image_token_index=60
    )
    theirs = transformers.Gemma3ForConditionalGeneration(config).float()
    theirs.save_pretrained(tmp_path)
    if old:
        arrays = read_safetensors(tmp_path / "model.safetensors")
        renamed = {
            re.sub(r"^(model\.)?language_model\.(model\.)?", "language_model.model.", name): array
            for name, array in arrays.items()
        }
        write_safetensors(tmp_path / "model.safetensors", renamed)
        entries = json.loads((tmp_path / "config.json").read_text())
        del entries["text_config"]["query_pre_attn_scalar"]
        theirs.config.text_config.query_pre_attn_scalar = 256
        for layer in theirs.model.language_model.layers:
            layer.self_attn.scaling = 256**-0.5
        (tmp_path / "config.json").write_text(json.dumps(entries))
    check(tmp_path, theirs.double().eval(), pick_target("cpu:2"), 4)


def check(folder: Path, theirs: Any, target: str, chunk: int) -> None:
    """Compares the logits of a prompt and the tokens after it."""
    ids, wanted, logits = list(PROMPT), [], np.zeros(0)
    with torch.no_grad():
        # The cache of transformers loses keys before a window, and LongRoPE changes with length.
        for _ in range(COUNT):
            rows = theirs(torch.tensor([ids]), use_cache=False).logits[0].numpy()
            logits = rows[-1] if not wanted else logits
            wanted.append(int(rows[-1].argmax()))
            ids.append(wanted[-1])
    model = ark.models.load(folder, max_length=len(ids), chunk=chunk)
    assert model.compile(target, opt_level=0).generate(PROMPT, COUNT) == wanted

    whole = ark.models.load(folder, max_length=len(ids), chunk=len(PROMPT))
    inputs: dict[str, Any] = {
        "ids": [PROMPT], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    exact = whole.run("prefill", inputs, reference=True)["logits"][0]
    np.testing.assert_allclose(exact, logits, atol=ANGLES)

"""Every type of encoder, as small random models of transformers: the vectors of all tokens.

Prompts of unequal lengths are padded to a batch. The float64 interpreter agrees with transformers
in float64, up to its table of angles in fp32 where there are rotary positions.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

from model_cases import ENCODERS, PROMPTS

import ark_mlir as ark
from ark_mlir.models.encoder_config import ENCODERS as FAMILIES

torch: Any = importlib.import_module("torch")

Pick = Callable[[str], str]


def test_every_type_has_a_case() -> None:
    assert {case.kind for case in ENCODERS.values()} == set(FAMILIES)


def check(folder: Path, theirs: Any, angles: float, target: str) -> None:
    """Compares vectors of all tokens, and the compiled program with the interpreter."""
    longest = max(map(len, PROMPTS))
    ids, mask = np.ones((len(PROMPTS), longest), np.int64), np.zeros((len(PROMPTS), longest), int)
    for row, prompt in enumerate(PROMPTS):
        ids[row, : len(prompt)], mask[row, : len(prompt)] = prompt, 1
    with torch.no_grad():
        result = theirs(torch.tensor(ids), attention_mask=torch.tensor(mask))
    wanted = result.last_hidden_state.numpy()[mask.astype(bool)]
    model = ark.models.load(folder, batch=3, length=longest, pooling="none", normalize=False)
    exact = model.embed(PROMPTS, reference=True)[mask.astype(bool)]
    np.testing.assert_allclose(exact, wanted, atol=angles)
    got = model.compile(target, opt_level=0).embed(PROMPTS)[mask.astype(bool)]
    np.testing.assert_allclose(got, exact, atol=5e-5)


@pytest.mark.parametrize("name", ENCODERS)
def test_vectors_are_those_of_transformers(name: str, tmp_path: Path, pick_target: Pick) -> None:
    case = ENCODERS[name]
    check(tmp_path, case.make(tmp_path), case.angles, pick_target("cpu:2"))


def test_old_files_of_nomic(tmp_path: Path, pick_target: Pick) -> None:
    """Older configurations have the keys of GPT-2; transformers still saves the old names."""
    theirs = ENCODERS["nomic"].make(tmp_path)
    old = {
        "model_type": "nomic_bert", "activation_function": "swiglu", "n_embd": 24, "n_head": 4,
        "n_inner": 40, "n_layer": 2, "n_positions": 20, "vocab_size": 41, "type_vocab_size": 2,
        "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
        "qkv_proj_bias": False, "prenorm": False, "use_flash_attn": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(old))
    check(tmp_path, theirs, 3e-5, pick_target("cpu:2"))


def test_types_without_token_types_or_a_pooler(tmp_path: Path) -> None:
    ENCODERS["distilbert"].make(tmp_path)
    model = ark.models.load(tmp_path, batch=1, length=8)
    assert list(model.programs["embed"].inputs) == ["ids", "mask"]
    with pytest.raises(ark.InvalidUsageError, match=r"types\[0\] must be from 0 to 0"):
        model.embed([[1, 2]], types=[[0, 1]], reference=True)
    with pytest.raises(ark.InvalidUsageError, match="type distilbert have no pooler"):
        ark.models.load(tmp_path, length=8, pooling="pooler")


def test_positions_after_that_of_padding(tmp_path: Path) -> None:
    ENCODERS["roberta"].make(tmp_path)
    with pytest.raises(ark.InvalidUsageError, match="length 19 exceeds the model's 18 positions"):
        ark.models.load(tmp_path, length=19)


def test_new_files_of_nomic(tmp_path: Path, tiny: Any, pick_target: Pick) -> None:
    theirs = ENCODERS["nomic"].make(tmp_path)
    arrays = {name: value.numpy() for name, value in theirs.float().state_dict().items()}
    assert "layers.1.self_attn.q_proj.weight" in arrays
    tiny.write_safetensors(tmp_path / "model.safetensors", arrays)
    check(tmp_path, theirs.double(), 3e-5, pick_target("cpu:2"))

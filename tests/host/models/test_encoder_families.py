"""Every type of encoder, as small random models of transformers: the vectors of all tokens.

Prompts of unequal lengths are padded to a batch. The float64 interpreter agrees with transformers
in float64, up to its table of angles in fp32 where there are rotary positions.
"""

from __future__ import annotations

import dataclasses
import importlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("transformers", reason="transformers is not installed")

import ark_mlir as ark
from ark_mlir.models.encoder_config import ENCODERS

torch: Any = importlib.import_module("torch")
transformers: Any = importlib.import_module("transformers")

Pick = Callable[[str], str]

SIZES: dict[str, Any] = {
    "vocab_size": 41, "hidden_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
    "intermediate_size": 40, "max_position_embeddings": 20, "initializer_range": 0.3,
    "pad_token_id": 1, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
DISTILBERT: dict[str, Any] = {
    "vocab_size": 41, "dim": 24, "n_layers": 2, "n_heads": 4, "hidden_dim": 40,
    "max_position_embeddings": 20, "initializer_range": 0.3, "pad_token_id": 1,
}  # fmt: skip
MODERN: dict[str, Any] = {
    **SIZES, "num_hidden_layers": 3, "layer_types":
    ["full_attention", "sliding_attention", "sliding_attention"], "local_attention": 6,
    "cls_token_id": None, "sep_token_id": None,
}  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Case:
    """A model; `angles` is the error that its table of angles causes."""

    kind: str
    family: str
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    sizes: dict[str, Any] = dataclasses.field(default_factory=lambda: SIZES)
    angles: float = 1e-9

    def make(self, folder: Path) -> Any:
        """Saves the model and returns it in float64."""
        torch.manual_seed(5)
        config = getattr(transformers, f"{self.family}Config")(**{**self.sizes, **self.more})
        model = getattr(transformers, f"{self.family}Model")(config).float()
        with torch.no_grad():  # ones and zeros would hide a missing weight
            for key, parameter in model.named_parameters():
                if "norm" in key.lower() or key.endswith("bias"):
                    parameter.add_(0.3 * torch.randn_like(parameter))
        model.save_pretrained(folder)
        assert json.loads((folder / "config.json").read_text())["model_type"] == self.kind
        return model.double().eval()


CASES = {
    "bert": Case("bert", "Bert"),
    "roberta": Case("roberta", "Roberta", {"type_vocab_size": 1}),
    "xlm-roberta": Case("xlm-roberta", "XLMRoberta", {"hidden_act": "gelu_new"}),
    "camembert": Case("camembert", "Camembert"),
    "distilbert": Case("distilbert", "DistilBert", {}, DISTILBERT),
    "distilbert, sinusoidal": Case(
        "distilbert", "DistilBert", {"sinusoidal_pos_embds": True, "activation": "relu"}, DISTILBERT
    ),
    "modernbert": Case("modernbert", "ModernBert", {}, MODERN, 3e-5),
    "nomic": Case("nomic_bert", "NomicBert", {}, SIZES, 3e-5),
}
# The last prompt has more tokens than the window of ModernBERT reaches.
PROMPTS = [[5, 9, 2, 17, 3], [4], [8, 8, 3, 30, 30, 2, 6, 11, 23, 40, 12, 7]]


def test_every_type_has_a_case() -> None:
    assert {case.kind for case in CASES.values()} == set(ENCODERS)


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


@pytest.mark.parametrize("name", CASES)
def test_vectors_are_those_of_transformers(name: str, tmp_path: Path, pick_target: Pick) -> None:
    case = CASES[name]
    check(tmp_path, case.make(tmp_path), case.angles, pick_target("cpu:2"))


def test_old_files_of_nomic(tmp_path: Path, pick_target: Pick) -> None:
    """Older configurations have the keys of GPT-2; transformers still saves the old names."""
    theirs = CASES["nomic"].make(tmp_path)
    old = {
        "model_type": "nomic_bert", "activation_function": "swiglu", "n_embd": 24, "n_head": 4,
        "n_inner": 40, "n_layer": 2, "n_positions": 20, "vocab_size": 41, "type_vocab_size": 2,
        "layer_norm_epsilon": 1e-12, "rotary_emb_base": 1000, "rotary_emb_fraction": 1.0,
        "qkv_proj_bias": False, "prenorm": False, "use_flash_attn": True,
    }  # fmt: skip
    (tmp_path / "config.json").write_text(json.dumps(old))
    check(tmp_path, theirs, 3e-5, pick_target("cpu:2"))


def test_types_without_token_types_or_a_pooler(tmp_path: Path) -> None:
    CASES["distilbert"].make(tmp_path)
    model = ark.models.load(tmp_path, batch=1, length=8)
    assert list(model.programs["embed"].inputs) == ["ids", "mask"]
    with pytest.raises(ark.InvalidUsageError, match=r"types\[0\] must be from 0 to 0"):
        model.embed([[1, 2]], types=[[0, 1]], reference=True)
    with pytest.raises(ark.InvalidUsageError, match="type distilbert have no pooler"):
        ark.models.load(tmp_path, length=8, pooling="pooler")


def test_positions_after_that_of_padding(tmp_path: Path) -> None:
    CASES["roberta"].make(tmp_path)
    with pytest.raises(ark.InvalidUsageError, match="length 19 exceeds the model's 18 positions"):
        ark.models.load(tmp_path, length=19)


def test_new_files_of_nomic(tmp_path: Path, tiny: Any, pick_target: Pick) -> None:
    theirs = CASES["nomic"].make(tmp_path)
    arrays = {name: value.numpy() for name, value in theirs.float().state_dict().items()}
    assert "layers.1.self_attn.q_proj.weight" in arrays
    tiny.write_safetensors(tmp_path / "model.safetensors", arrays)
    check(tmp_path, theirs.double(), 3e-5, pick_target("cpu:2"))

"""Every type of decoder, as small random models of transformers: logits and greedy tokens.

The float64 interpreter agrees with transformers in float64 up to its table of angles, which it
makes in fp32; and the compiled programs, in fp32, generate the tokens of transformers.
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
from ark_mlir.models.families import FAMILIES

torch: Any = importlib.import_module("torch")
transformers: Any = importlib.import_module("transformers")

Pick = Callable[[str], str]

# transformers computes angles, and their cosines, in fp32.
ANGLES = 3e-4
COUNT = 8

SIZES: dict[str, Any] = {
    "vocab_size": 61, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
    "num_key_value_heads": 2, "intermediate_size": 44, "max_position_embeddings": 64,
    "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None, "pad_token_id": None,
}  # fmt: skip
GPT2: dict[str, Any] = {
    "vocab_size": 61, "n_embd": 32, "n_layer": 2, "n_head": 4, "n_positions": 64,
    "initializer_range": 0.3, "bos_token_id": None, "eos_token_id": None,
}  # fmt: skip
YARN = {
    "rope_type": "yarn", "rope_theta": 10000.0, "factor": 4.0,
    "original_max_position_embeddings": 16,
}  # fmt: skip
LONG = {
    "rope_type": "longrope", "rope_theta": 10000.0, "partial_rotary_factor": 0.5,
    "short_factor": [1.0, 1.5], "long_factor": [2.0, 5.0], "original_max_position_embeddings": 16,
}  # fmt: skip
LINEAR = {"rope_type": "linear", "rope_theta": 10000.0, "factor": 4.0}

# Classes of transformers whose names do not follow from those of their configurations.
CLASSES = {"gpt2": "GPT2LMHeadModel", "gemma3_text": "Gemma3ForCausalLM"}


@dataclasses.dataclass(frozen=True)
class Case:
    """A model, and how it runs."""

    kind: str
    family: str
    more: dict[str, Any] = dataclasses.field(default_factory=dict[str, Any])
    sizes: dict[str, Any] = dataclasses.field(default_factory=lambda: SIZES)

    def make(self, folder: Path) -> Any:
        """Saves the model and returns it in float64."""
        torch.manual_seed(7)
        config = getattr(transformers, f"{self.family}Config")(**{**self.sizes, **self.more})
        # Other kinds of attention in transformers ignore soft caps.
        config._attn_implementation = "eager"
        model = getattr(transformers, CLASSES.get(self.kind, f"{self.family}ForCausalLM"))(config)
        model = model.float()
        with torch.no_grad():  # ones and zeros would hide a missing weight
            for key, parameter in model.named_parameters():
                if "norm" in key or "ln_" in key or key.endswith("bias"):
                    parameter.add_(0.3 * torch.randn_like(parameter))
        model.save_pretrained(folder)
        assert json.loads((folder / "config.json").read_text())["model_type"] == self.kind
        return model.double().eval()


WINDOW = {"sliding_window": 5}
CASES = {
    "llama": Case("llama", "Llama", {"attention_bias": True, "mlp_bias": True}),
    "llama, linear": Case("llama", "Llama", {"rope_parameters": LINEAR}),
    "llama, yarn": Case("llama", "Llama", {"rope_parameters": YARN}),
    "mistral": Case("mistral", "Mistral", {"sliding_window": None, "head_dim": 12}),
    "mistral, window": Case("mistral", "Mistral", WINDOW),
    "qwen2": Case("qwen2", "Qwen2"),
    "qwen2, windows": Case(
        "qwen2", "Qwen2", {**WINDOW, "use_sliding_window": True, "max_window_layers": 1}
    ),
    "qwen3": Case("qwen3", "Qwen3", {"head_dim": 8}),
    "gemma": Case("gemma", "Gemma", {"head_dim": 12}),
    "gemma2": Case(
        "gemma2", "Gemma2",
        {
            **WINDOW, "head_dim": 12, "query_pre_attn_scalar": 20, "attn_logit_softcapping": 3.0,
            "final_logit_softcapping": 4.0,
        },
    ),
    "gemma3": Case(
        "gemma3_text", "Gemma3Text",
        {
            **WINDOW, "head_dim": 12, "query_pre_attn_scalar": 20, "num_hidden_layers": 3,
            "layer_types": ["sliding_attention", "sliding_attention", "full_attention"],
            "rope_parameters": {
                "sliding_attention": {"rope_type": "default", "rope_theta": 100.0},
                "full_attention": LINEAR,
            },
        },
    ),
    "phi3": Case("phi3", "Phi3", {"rms_norm_eps": 1e-5}),
    "phi3, longrope": Case(
        "phi3", "Phi3",
        {"rope_parameters": LONG, "tie_word_embeddings": True, "sliding_window": 60},
    ),
    "smollm3": Case(
        "smollm3", "SmolLM3", {"no_rope_layer_interval": 2, "tie_word_embeddings": True}
    ),
    "olmo2": Case("olmo2", "Olmo2"),
    "olmo3": Case(
        "olmo3", "Olmo3", {**WINDOW, "layer_types": ["sliding_attention", "full_attention"]}
    ),
    "stablelm": Case("stablelm", "StableLm", {"use_qkv_bias": True}),
    "stablelm, parallel": Case(
        "stablelm", "StableLm", {"use_parallel_residual": True, "partial_rotary_factor": 0.5}
    ),
    "phi": Case("phi", "Phi"),
    "gpt2": Case("gpt2", "GPT2", {}, GPT2),
}  # fmt: skip
PROMPT = [(7 * i + 3) % 61 for i in range(11)]


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
    model = ark.models.load(tmp_path, max_length=len(ids), chunk=4)
    assert model.compile(pick_target("cpu:2"), opt_level=0).generate(PROMPT, COUNT) == wanted

    whole = ark.models.load(tmp_path, max_length=len(ids), chunk=len(PROMPT))
    inputs: dict[str, Any] = {
        "ids": [PROMPT], "begin": 0, "last": len(PROMPT) - 1, "ends": [-1] * 8,
    }  # fmt: skip
    exact = whole.run("prefill", inputs, reference=True)["logits"][0]
    np.testing.assert_allclose(exact, logits, atol=ANGLES)

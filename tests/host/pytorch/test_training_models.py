"""Hugging Face models with random weights, trained by ``torch.compile(backend="ark")``."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")

from torch_training import assert_close, assert_trains

torch = pytest.importorskip("torch", reason="torch is not installed")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch", "gradients"),
]
SIZES = {
    "hidden_size": 16,
    "num_hidden_layers": 1,
    "num_attention_heads": 2,
    "intermediate_size": 24,
}
TEXT = {"vocab_size": 53, "max_position_embeddings": 16}
CLASSES = {"num_labels": 3, "problem_type": "single_label_classification"}
NO_DROPOUT = {"hidden_dropout_prob": 0, "attention_probs_dropout_prob": 0}
IDS = torch.tensor([[1, 5, 52, 7, 9, 0], [3, 8, 2, 4, 0, 0]])
MASK = torch.tensor([[1, 1, 1, 1, 1, 1], [1, 1, 1, 1, 0, 0]])
LABELS = torch.tensor([0, 2])


def bert() -> tuple[Any, dict[str, Any]]:
    config = transformers.BertConfig(**SIZES, **TEXT, **CLASSES, **NO_DROPOUT)
    inputs = {"input_ids": IDS, "attention_mask": MASK, "labels": LABELS}
    return transformers.BertForSequenceClassification(config), inputs


def gpt2() -> tuple[Any, dict[str, Any]]:
    config = transformers.GPT2Config(
        vocab_size=53, n_embd=16, n_layer=1, n_head=2, n_positions=16, resid_pdrop=0, embd_pdrop=0,
        attn_pdrop=0, use_cache=False, bos_token_id=0, eos_token_id=0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    model.loss_type = "ForCausalLM"  # without it, the model logs, which splits the graph
    return model, {"input_ids": IDS, "labels": IDS}


def llama() -> tuple[Any, dict[str, Any]]:
    config = transformers.LlamaConfig(**SIZES, **TEXT, num_key_value_heads=1, use_cache=False)
    return transformers.LlamaForCausalLM(config), {"input_ids": IDS, "labels": IDS}


def vit() -> tuple[Any, dict[str, Any]]:
    sizes = {"image_size": 8, "patch_size": 4, "num_channels": 3}
    config = transformers.ViTConfig(**SIZES, **sizes, **CLASSES, **NO_DROPOUT)
    inputs = {"pixel_values": torch.randn(2, 3, 8, 8), "labels": LABELS}
    return transformers.ViTForImageClassification(config), inputs


@pytest.mark.parametrize("build", [bert, gpt2, llama, vit])
def test_models_train_wholly_in_ark(build: Any, seen: Any, logged: Any) -> None:
    model, inputs = build()
    assert_trains(
        model.train(),
        [inputs] * 3,
        lambda model, batch: model(**batch).loss,
        lambda model: torch.optim.AdamW(model.parameters(), 1e-3),
    )
    assert logged() == []
    assert len(seen.programs) == 2


def make_adamw(model: Any) -> Any:
    return torch.optim.AdamW(model.parameters(), 1e-2)


@pytest.mark.parametrize("build", [bert, gpt2])
def test_a_step_in_one_program_follows_pytorch(build: Any) -> None:
    model, inputs = build()
    model.train()

    def loss_of(model: Any, batch: Any) -> Any:
        return model(**batch).loss

    batches = [{**inputs, "input_ids": torch.randint(53, IDS.shape)} for _ in range(20)]
    eager = copy.deepcopy(model)
    optimizer, wanted = make_adamw(eager), []
    for batch in batches:
        optimizer.zero_grad()
        wanted.append(loss_of(eager, batch))
        wanted[-1].backward()
        optimizer.step()
    step = {"optimizer": make_adamw(model), "target": "cpu:2"}
    with ark.training.from_torch(model, loss_of, inputs, **step) as trainer:
        losses = trainer.run(batches)
        trainer.load_into(model)
    np.testing.assert_allclose(losses, [float(loss.detach()) for loss in wanted], rtol=1e-5)
    with torch.no_grad():
        assert_close(loss_of(model.eval(), inputs), loss_of(eager.eval(), inputs))

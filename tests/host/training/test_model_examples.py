"""examples/fine_tune_minilm.py and examples/train_gpt2.py learn, and as PyTorch does."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

Pick = Callable[[str], str]
EXAMPLES = Path(__file__).parents[3] / "examples"
STEPS, RATE = 20, 1e-3


def load(name: str) -> Any:
    spec = importlib.util.spec_from_file_location(name, EXAMPLES / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # dataclasses look it up
    spec.loader.exec_module(module)
    return module


def fill(torch: Any, model: Any, weights: dict[str, Any]) -> None:
    """Replaces the weights of a module of transformers by those of ark."""
    tensors = {name: torch.from_numpy(np.array(array)) for name, array in weights.items()}
    missing, unknown = model.load_state_dict(tensors, strict=False)
    assert not unknown
    # The pooler has no part in the mean; the head of GPT-2 is its table of embeddings.
    assert all(name.startswith(("pooler", "lm_head")) for name in missing)


@pytest.mark.parametrize(
    ("name", "least"), [("fine_tune_minilm", 0.2), ("train_gpt2", 1.5)], ids=["minilm", "gpt2"]
)
def test_the_loss_falls(run_example: Callable[[str], str], name: str, least: float) -> None:
    last = run_example(name)
    first, mean = (float(part.split(": ")[1]) for part in last.split(", "))
    assert mean < first - least


def test_losses_of_fine_tuning_are_those_of_torch(pick_target: Pick) -> None:
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    example = load("fine_tune_minilm")
    sizes, batch = example.SMALL, 8
    data = example.tokenize(example.read_pairs(), example.encode_words, 16)
    program, loop, encoder = example.build(sizes, data, batch, RATE)
    weights = example.first_weights(encoder, sizes, None)
    bound = {"ids": data.ids, "lengths": data.lengths, **weights}
    choose = example.batches(data.pairs, batch)
    target = pick_target("cpu:1")
    with ark.training.Trainer(program, loop, choose, target=target, bind=bound) as trainer:
        got = trainer.run(STEPS)

    config = transformers.BertConfig(
        vocab_size=sizes.vocabulary, hidden_size=sizes.hidden, num_hidden_layers=sizes.layers,
        num_attention_heads=sizes.heads, intermediate_size=sizes.intermediate,
        max_position_embeddings=sizes.positions, layer_norm_eps=sizes.eps,
        hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0,
    )  # fmt: skip
    model = transformers.BertModel(config)
    fill(torch, model, weights)
    adam = torch.optim.AdamW(model.parameters(), RATE, weight_decay=0.01)
    expected: list[float] = []
    for step in range(STEPS):
        chosen = choose(step)["pairs"]
        rows = np.concatenate([chosen, chosen + data.pairs])
        mask = torch.from_numpy(np.arange(16) < data.lengths[rows, None])
        hidden = model(torch.from_numpy(data.ids[rows]).long(), mask.long()).last_hidden_state
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        first, second = torch.nn.functional.normalize(mean, dim=-1).chunk(2)
        loss = torch.nn.functional.cross_entropy(20 * first @ second.T, torch.arange(batch))
        adam.zero_grad()
        loss.backward()
        adam.step()
        expected.append(loss.item())
    assert np.abs(got - expected).max() <= 1e-5


def test_losses_of_gpt2_are_those_of_torch(pick_target: Pick) -> None:
    torch: Any = pytest.importorskip("torch")
    transformers: Any = pytest.importorskip("transformers")
    example = load("train_gpt2")
    sizes, schedule = example.Sizes(), example.Schedule(RATE, warmup=5, steps=STEPS)
    text = example.read_text(100_000)
    program, loop, decoder = example.build(sizes, len(text), schedule)
    weights = ark.training.initial_weights(dict(decoder.named_parameters()), sizes.layers)
    batches = ark.training.TokenBatches(len(text), sizes.batch, sizes.length)
    bound, target = {"text": text, **weights}, pick_target("cpu:1")
    with ark.training.Trainer(program, loop, batches, target=target, bind=bound) as trainer:
        got = trainer.run(STEPS)

    config = transformers.GPT2Config(
        vocab_size=sizes.vocabulary, n_embd=sizes.width, n_layer=sizes.layers, n_head=sizes.heads,
        n_positions=sizes.length, attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0,
    )  # fmt: skip
    model = transformers.GPT2LMHeadModel(config)
    fill(torch, model, weights)
    groups = [
        {"params": [p for p in model.parameters() if (p.ndim > 1) == matrices], "weight_decay": d}
        for matrices, d in ((True, 0.1), (False, 0.0))
    ]
    adam = torch.optim.AdamW(groups, RATE, betas=(0.9, 0.95))
    expected: list[float] = []
    for step in range(STEPS):
        indices = batches(step)["starts"][:, None] + np.arange(sizes.length + 1)
        rows = torch.from_numpy(text[indices]).long()
        logits = model(rows[:, :-1]).logits
        loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())
        adam.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for group in adam.param_groups:
            group["lr"] = rate_of(schedule, step)
        adam.step()
        expected.append(loss.item())
    assert np.abs(got - expected).max() <= 1e-5


def rate_of(schedule: Any, step: int) -> float:
    """Returns the rate of ``ark.optim.warmup_cosine``."""
    if step < schedule.warmup:
        return schedule.rate * (step + 1) / schedule.warmup
    share = (step - schedule.warmup) / (schedule.steps - schedule.warmup)
    return float(schedule.rate * 0.5 * (1 + np.cos(np.pi * share)))


def test_a_model_folder_and_a_tokenizer(tmp_path: Path) -> None:
    """``--folder`` takes sizes, weights and tokens of a model folder."""
    tokenizers: Any = pytest.importorskip("tokenizers")
    example = load("fine_tune_minilm")
    entries = {
        "model_type": "bert", "vocab_size": 256, "hidden_size": 16, "num_hidden_layers": 1,
        "num_attention_heads": 2, "intermediate_size": 24, "max_position_embeddings": 64,
    }  # fmt: skip
    (tmp_path / "pairs.tsv").write_text("a\tb\n")
    settings = {"steps": 1, "batch": 1, "length": 8, "target": "cpu:1"}
    config = ark.training.TrainingConfig.parse(
        {"model": entries, "data": {"pairs": ["pairs.tsv"]}, "train": settings},
        str(tmp_path / "train.json"),
    )
    ark.training.train(config, tmp_path / "model")
    words = tokenizers.models.WordLevel({"[UNK]": 0, "the": 1}, unk_token="[UNK]")
    tokenizer = tokenizers.Tokenizer(words)
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    tokenizer.save(str(tmp_path / "model" / "tokenizer.json"))
    sizes, encode = example.read_model(str(tmp_path / "model"), length=2)
    assert (sizes.hidden, encode("the end of")) == (16, [1, 0])
    weights = example.first_weights(None, sizes, str(tmp_path / "model"))
    assert weights["embeddings.word_embeddings.weight"].shape == (256, 16)

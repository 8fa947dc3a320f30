"""``ark train`` from a model folder, and of encoders on pairs of sentences, beside PyTorch."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.cli.main import main
from ark_mlir.models.encoder import EncoderConfig, build
from ark_mlir.runtime.arrays.safetensors import read_safetensors
from ark_mlir.training.pairs import PairBatches, read_pairs, tokenize_pairs

STEPS, RATE = 4, 5e-3
# A constant rate, and plain Adam, so that PyTorch has few lines.
TRAIN = {
    "steps": STEPS, "batch": 3, "length": 12, "learning_rate": RATE, "final_learning_rate": RATE,
    "weight_decay": 0.0, "clip": 0.0, "beta2": 0.999, "target": "cpu:1",
}  # fmt: skip
BERT = {
    "model_type": "bert", "vocab_size": 256, "hidden_size": 24, "num_hidden_layers": 2,
    "num_attention_heads": 3, "intermediate_size": 40, "max_position_embeddings": 16,
    "type_vocab_size": 2, "hidden_act": "gelu", "layer_norm_eps": 1e-12,
}  # fmt: skip
PAIRS = [(f"what is number {n}", f"{n} is one more than {n - 1}") for n in range(7)]


def write(folder: Path, model: Any, train: Any = None) -> str:
    (folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 5)
    (folder / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in PAIRS) + "\n")
    kind = model.get("model_type", "gpt2" if "gpt2" in str(model.get("folder")) else "bert")
    data = {"text": ["text.txt"]} if kind == "gpt2" else {"pairs": ["pairs.tsv"]}
    config = {"model": model, "data": data, "train": {**TRAIN, **(train or {})}}
    (folder / "train.json").write_text(json.dumps(config))
    return str(folder / "train.json")


def save(transformers: Any, torch: Any, kind: str, folder: Path) -> Any:
    """Saves a small random model of transformers, and returns it."""
    torch.manual_seed(0)
    # Dropout would draw other random numbers than ark.
    if kind == "gpt2":
        config = transformers.GPT2Config(
            vocab_size=300, n_embd=24, n_layer=2, n_head=3, n_positions=16,
            attn_pdrop=0.0, embd_pdrop=0.0, resid_pdrop=0.0, bos_token_id=0, eos_token_id=0,
        )  # fmt: skip
        model = transformers.GPT2LMHeadModel(config)
    else:
        entries = {**BERT, "hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
        entries.pop("model_type")
        model = transformers.BertModel(transformers.BertConfig(**entries))
    model.save_pretrained(folder / kind)
    return model


def decoder_loss(torch: Any, model: Any, config: ark.training.TrainingConfig) -> Any:
    text = ark.training.read_bytes(config.text)
    batches = ark.training.TokenBatches(len(text), config.batch, config.length)

    def loss(step: int) -> Any:
        starts = batches(step)["starts"]
        rows = torch.from_numpy(text[starts[:, None] + np.arange(config.length + 1)]).long()
        logits = model(rows[:, :-1]).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1), rows[:, 1:].flatten())

    return loss


def encoder_loss(torch: Any, model: Any, config: ark.training.TrainingConfig) -> Any:
    pairs = read_pairs(config.pairs)
    ids, lengths = tokenize_pairs(pairs, lambda text: list(text.encode()[:12]), config.length)
    batches = PairBatches(len(pairs), config.batch)

    def loss(step: int) -> Any:
        chosen = batches(step)["pairs"]
        rows = np.concatenate([chosen, chosen + len(pairs)])
        mask = torch.from_numpy(np.arange(config.length) < lengths[rows, None])
        hidden = model(torch.from_numpy(ids[rows]).long(), mask.long()).last_hidden_state
        mean = (hidden * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
        a, b = torch.nn.functional.normalize(mean, dim=-1).chunk(2)
        return torch.nn.functional.cross_entropy(20 * a @ b.T, torch.arange(len(chosen)))

    return loss


@pytest.mark.parametrize(
    ("kind", "make_loss"), [("gpt2", decoder_loss), ("bert", encoder_loss)], ids=["gpt2", "bert"]
)
def test_losses_of_fine_tuning_follow_pytorch(
    tmp_path: Path, kind: str, make_loss: Callable[..., Any]
) -> None:
    torch = pytest.importorskip("torch")
    transformers = pytest.importorskip("transformers")
    model = save(transformers, torch, kind, tmp_path)
    config = ark.training.read_config(write(tmp_path, {"folder": kind}))
    losses = ark.training.train(config, tmp_path / "out")
    adam = torch.optim.AdamW(model.parameters(), RATE, betas=(0.9, 0.999), weight_decay=0.0)
    loss_of = make_loss(torch, model, config)
    expected: list[float] = []
    for step in range(STEPS):
        loss = loss_of(step)
        adam.zero_grad()
        loss.backward()
        adam.step()
        expected.append(loss.item())
    np.testing.assert_allclose(losses, expected, rtol=0, atol=1e-5)
    assert len(set(expected)) == STEPS
    # The trained weights are in the folder, with the names of the first ones.
    trained = read_safetensors(tmp_path / "out" / "model.safetensors")
    first = read_safetensors(tmp_path / kind / "model.safetensors")
    weights = {name: tensor.detach().numpy() for name, tensor in model.state_dict().items()}
    assert set(trained) <= set(weights)
    for name, tensor in trained.items():
        # Adam gives a gradient near zero a full step, in the direction of its rounding error.
        assert np.median(np.abs(tensor - weights[name])) < 1e-6, name
        assert not np.array_equal(tensor, first[name]), name
    options: Any = {"length": 12} if kind == "bert" else {"max_length": 12}
    assert ark.models.load(tmp_path / "out", **options).parameters


_COMMON = {"vocab_size": 256, "num_attention_heads": 2, "max_position_embeddings": 16}
_SIZES = {**_COMMON, "hidden_size": 16, "num_hidden_layers": 2, "intermediate_size": 24}
ENCODERS: dict[str, dict[str, Any]] = {
    "bert": _SIZES,
    "roberta": {**_SIZES, "type_vocab_size": 1},
    "distilbert": {
        "vocab_size": 256, "dim": 16, "n_layers": 2, "n_heads": 2, "hidden_dim": 24,
        "max_position_embeddings": 16,
    },
    "modernbert": {**_SIZES, "local_attention": 4, "global_attn_every_n_layers": 2},
    "nomic_bert": _SIZES,
}  # fmt: skip


@pytest.mark.parametrize("kind", ENCODERS)
def test_the_encoder_is_that_of_inference(kind: str) -> None:
    entries = {"model_type": kind, **ENCODERS[kind]}
    train = {**TRAIN, "length": 8, "checkpoint": True}
    config = ark.training.TrainingConfig.parse(
        {"model": entries, "data": {"pairs": ["-"]}, "train": train}
    )
    sizes = config.model
    assert isinstance(sizes, EncoderConfig)
    rng = np.random.default_rng(0)
    ids = rng.integers(0, 50, (2, 8)).astype(np.int32)
    given = {"ids": ids, "mask": np.arange(8) < np.array([[8], [5]])}
    with ark.Program("train") as program:
        model = ark.training.TrainableEncoder(sizes, checkpoint=True)
        arguments = ark.input("ids", (2, 8), ark.int32), ark.input("mask", (2, 8), bool)
        ark.output("embedding", model(*arguments))
    theirs = build(sizes, batch=2, length=8)
    assert sorted(theirs.parameters) == sorted(program.parameters)
    weights = ark.training.initial_weights(dict(model.named_parameters()), layers=2, spread=0.5)
    mine = ark.reference.run(program, {**given, **weights})["embedding"]
    types = {"types": np.zeros((2, 8), np.int32)} if sizes.types else {}
    expected = ark.reference.run(theirs, {**given, **weights, **types})["embedding"]
    np.testing.assert_allclose(mine, expected, rtol=0, atol=1e-6)
    # Every weight has a gradient.
    assert set(ark.training.build_step(config, 9).weights) == set(weights)


def test_an_encoder_trains_from_random_weights(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Recomputation, dropout and a memory limit; the folder embeds sentences."""
    options = {"steps": 12, "checkpoint": True, "dropout": 0.05, "memory": "1MiB", "clip": 1.0}
    config = write(tmp_path, BERT, options)
    assert main(["train", config, "-o", str(tmp_path / "out")]) == 0
    assert "12 steps; loss" in capsys.readouterr().out
    model = ark.models.load(tmp_path / "out", length=12)
    assert isinstance(model, ark.models.EmbeddingModel)
    vectors = model.embed([[104, 105], [111]], reference=True)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=-1), 1.0, atol=1e-6)
    # The training can be resumed.
    resumed = ["train", config, "-o", str(tmp_path / "out"), "--resume", "--steps", "14"]
    assert main(resumed) == 0
    assert capsys.readouterr().out.startswith("2 steps; loss")


def test_a_folder_with_a_tokenizer(tmp_path: Path) -> None:
    """The tokens are those of the tokenizer, whose files the trained model has too."""
    tokenizers = pytest.importorskip("tokenizers")
    known = ["[UNK]", "what", "is", "number", "one", "than"]
    words = {word: number for number, word in enumerate(known)}
    tokenizer = tokenizers.Tokenizer(tokenizers.models.WordLevel(words, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
    first = ark.training.read_config(write(tmp_path, {**BERT, "vocab_size": 256}, {"steps": 1}))
    ark.training.train(first, tmp_path / "bert")
    tokenizer.save(str(tmp_path / "bert" / "tokenizer.json"))
    config = ark.training.read_config(write(tmp_path, {"folder": "bert"}, {"steps": 1}))
    assert config.has_tokenizer
    ark.training.train(config, tmp_path / "out")
    copied = (tmp_path / "out" / "tokenizer.json").read_bytes()
    assert copied == (tmp_path / "bert" / "tokenizer.json").read_bytes()
    tokenizer.add_tokens([f"w{n}" for n in range(300)])
    tokenizer.save(str(tmp_path / "bert" / "tokenizer.json"))
    (tmp_path / "pairs.tsv").write_text("what\tw299\n" * 4)
    with pytest.raises(ark.InvalidUsageError, match="has token 305, but the model has 256 tokens"):
        ark.training.train(config, tmp_path / "other")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("one\n", r"pairs.tsv:1: a line must have two sentences with a tab between them"),
        ("a\tb\na\tb\tc\n", r"pairs.tsv:2: a line must have two sentences"),
        ("a\t \n", r"pairs.tsv:1: a line must have two sentences"),
        ("\n", r"the files have no pair of sentences"),
        ("a\tb\n", r"1 pairs are fewer than the 3 of a batch"),
    ],
    ids=["no-tab", "two-tabs", "empty", "nothing", "few"],
)
def test_wrong_pairs(tmp_path: Path, content: str, message: str) -> None:
    config = ark.training.read_config(write(tmp_path, BERT))
    (tmp_path / "pairs.tsv").write_text(content)
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.training.train(config, tmp_path / "out")


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "latin.tsv").write_bytes(b"\xe4\t\xf6\n")
    with pytest.raises(ark.InvalidUsageError, match=r"latin.tsv: cannot be read: is not UTF-8"):
        read_pairs([tmp_path / "latin.tsv"])
    with pytest.raises(ark.InvalidUsageError, match=r"none.tsv: cannot be read: No such file"):
        read_pairs([tmp_path / "none.tsv"])


@pytest.mark.parametrize(
    ("model", "train", "message"),
    [
        ({"folder": "missing"}, {}, r"missing: the model folder does not exist"),
        ({"folder": "missing", "vocab_size": 3}, {}, r"'vocab_size'"),
        (BERT, {"length": 17}, r"length 17 exceeds the model's 16 positions"),
        (BERT, {"router_loss": 0.1}, r"the model has no experts"),
        ({**BERT, "vocab_size": 100}, {}, r"vocab_size 100 is less than 256"),
        ({**BERT, "model_type": "t5"}, {}, r"cannot train model_type 't5'; .*llama.*bert"),
    ],
    ids=["no-folder", "folder-and-sizes", "length", "router", "vocabulary", "type"],
)
def test_wrong_configurations(tmp_path: Path, model: Any, train: Any, message: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.training.read_config(write(tmp_path, model, train))


def test_an_encoder_needs_pairs(tmp_path: Path) -> None:
    entries = {"model": BERT, "data": {"text": ["a.txt"]}}
    (tmp_path / "train.json").write_text(json.dumps(entries))
    with pytest.raises(ark.InvalidUsageError, match="'pairs'"):
        ark.training.read_config(tmp_path / "train.json")


def test_a_batch_has_different_pairs() -> None:
    batches = PairBatches(10, 10, seed=random.Random(0).randrange(9))
    assert sorted(batches(3)["pairs"]) == list(range(10))
    np.testing.assert_array_equal(batches(3)["pairs"], batches(3)["pairs"])
    assert not np.array_equal(batches(3)["pairs"], batches(4)["pairs"])

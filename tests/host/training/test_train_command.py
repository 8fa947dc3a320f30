"""``ark train``: configurations, the model, and refusals. docs/how-to/training.md runs it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.cli.main import main
from ark_mlir.models.decoder import build_prefill
from ark_mlir.runtime.arrays.safetensors import write_safetensors

MODEL = {
    "vocab_size": 256, "hidden_size": 24, "num_hidden_layers": 1, "num_attention_heads": 4,
    "num_key_value_heads": 2, "head_dim": 6, "intermediate_size": 40,
    "max_position_embeddings": 32, "rms_norm_eps": 1e-5,
}  # fmt: skip
TRAIN = {"steps": 6, "batch": 2, "length": 8, "learning_rate": 0.01, "target": "cpu:1"}


def write(folder: Path, model: Any = None, train: Any = None) -> Path:
    (folder / "text.txt").write_text("the quick brown fox jumps over the lazy dog. " * 5)
    entries = {
        "model": {**MODEL, **(model or {})},
        "data": {"text": ["text.txt"]},
        "train": {**TRAIN, **(train or {})},
    }
    path = folder / "gpt.json"
    path.write_text(json.dumps(entries))
    return path


def test_the_decoder_is_that_of_inference(tmp_path: Path) -> None:
    """The names of the weights and the logits are those of the decoder in ``ark.models``."""
    settings = ark.training.read_config(write(tmp_path, {"model_type": "qwen3"}))
    ids = np.arange(2 * 8, dtype=np.int32).reshape(2, 8) * 7
    with ark.Program("logits") as program:
        model = ark.training.TrainableDecoder(settings.model)
        ark.output("logits", model(ark.input("ids", (2, 8), ark.int32))[:, -1])
    weights = ark.training.initial_weights(dict(model.named_parameters()), layers=1, spread=0.5)
    mine = ark.reference.run(program, {"ids": ids, **weights})["logits"]
    prefill = build_prefill(settings.model, batch=2, chunk=8, max_length=8, dtype=ark.fp32)
    assert sorted(prefill.parameters) == sorted(weights)
    given = {"ids": ids, "begin": 0, "last": 7, "ends": np.full(8, -1, np.int32), **weights}
    theirs = ark.reference.run(prefill, given)["logits"]
    np.testing.assert_allclose(mine, theirs, rtol=0, atol=1e-6)


def test_a_folder_that_holds_a_training(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = ["train", str(write(tmp_path)), "-o", str(tmp_path / "out")]
    assert main([*command, "--resume"]) == 1
    assert "has no training/states.safetensors to resume from" in capsys.readouterr().err
    states = tmp_path / "out" / "training" / "states.safetensors"
    states.parent.mkdir(parents=True)
    write_safetensors(states, {"loop.step": np.array(6, np.int32)})
    assert main(command) == 1
    assert "has the states of a training" in capsys.readouterr().err
    assert main([*command, "--resume"]) == 1
    assert "all 6 steps are done" in capsys.readouterr().err
    write_safetensors(states, {"other": np.array(6, np.int32)})
    assert main([*command, "--resume"]) == 1
    assert "is not a file of training states" in capsys.readouterr().err


def test_every_option_of_a_recipe(tmp_path: Path) -> None:
    """Half precision, dropout, recomputation and accumulation, in one program, interpreted."""
    options = {"dropout": 0.1, "checkpoint": True, "accumulate": 2, "warmup": 2, "dtype": "fp16"}
    config = ark.training.read_config(write(tmp_path, {"tie_word_embeddings": True}, options))
    recipe = ark.training.build_step(config, 100)
    weights = ark.training.initial_weights(recipe.weights, layers=1)
    corpus = np.arange(100, dtype=np.int32)
    starts = np.arange(2 * recipe.loop.steps, dtype=np.int32).reshape(-1, 2) % 90
    _, states = ark.reference.run(
        recipe.program,
        {"corpus": corpus, "starts": starts},
        weights,
        iterations=6,
        return_states=True,
    )
    losses = states["loop.losses"]
    assert np.isfinite(losses).all()
    assert (losses[:6] > 4).all()
    assert not losses[6:].any()
    assert int(states["adamw.step"]) == int(states["adamw_plain.step"]) == 3
    assert recipe.program.states["model.embed_tokens.weight"].dtype is ark.fp32
    for name, weight in weights.items():
        assert np.abs(states[name] - weight).max() > 0, name


@pytest.mark.parametrize(
    ("section", "entry", "value", "message"),
    [
        ("train", "step", 3, "train: unknown key 'step'"),
        ("train", "steps", 0, "train.steps: 0 is less than 1"),
        ("train", "dropout", 1.0, "train.dropout: 1.0 is not below 1"),
        ("train", "dtype", "fp8", "train.dtype: 'fp8' is not one of"),
        ("train", "length", 64, "length 64 exceeds the model's 32 positions"),
        ("train", "warmup", 6, "warmup 6 is not below steps 6"),
        ("model", "vocab_size", 100, "vocab_size 100 is less than 256"),
        ("model", "model_type", "t5", "cannot train model_type 't5'"),
        ("data", "text", [], "data.text: names no file"),
        ("data", "text", ["missing.txt"], "missing.txt: cannot be read"),
    ],
)
def test_wrong_entries(
    section: str, entry: str, value: Any, message: str, tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    path = write(tmp_path)
    entries = json.loads(path.read_text())
    entries[section][entry] = value
    path.write_text(json.dumps(entries))
    assert main(["train", str(path), "-o", str(tmp_path / "out")]) == 1
    error = capsys.readouterr().err
    assert message in error
    assert error.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_toml(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "gpt.toml"
    lines = "\n".join(f"{name} = {value}" for name, value in MODEL.items())
    path.write_text(
        f'[model]\n{lines}\n[data]\ntext = ["a.txt"]\n[train]\nlength = 9\nbeta2 = 0.95\n'
    )
    config = ark.training.read_config(path)
    assert (config.model.heads, config.beta2, config.text) == (4, 0.95, (tmp_path / "a.txt",))
    path.write_text("[model\n")
    assert main(["train", str(path), "-o", str(tmp_path / "out")]) == 1
    assert f"{path}: not valid TOML" in capsys.readouterr().err
    assert main(["train", str(tmp_path / "gpt.yaml"), "-o", str(tmp_path / "out")]) == 1
    assert "cannot be read" in capsys.readouterr().err


def test_files_after_a_loss_that_is_not_finite(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = write(tmp_path), tmp_path / "out"
    config = ark.training.read_config(path)
    program = ark.training.build_step(config, config.text[0].stat().st_size).program
    arrays = {name: np.zeros(a.shape, a.dtype.numpy) for name, a in program.states.items()}
    arrays["model.norm.weight"][3] = np.nan
    arrays["loop.step"] = np.array(4, np.int32)
    arrays["training.losses"] = np.zeros(4, np.float32)
    states = out / "training" / "states.safetensors"
    states.parent.mkdir(parents=True)
    write_safetensors(states, arrays)
    (out / "model.safetensors").write_bytes(b"the model of the last save")
    files = {path: path.read_bytes() for path in out.rglob("*") if path.is_file()}
    assert main(["train", str(path), "-o", str(out), "--resume", "--explain"]) == 1
    error = capsys.readouterr().err
    assert error.count("\n") == 1
    assert "the loss of step 4 is nan; the first value that is not finite comes from " in error
    assert "comes from state 'model.norm.weight'; " in error
    assert {path: path.read_bytes() for path in out.rglob("*") if path.is_file()} == files

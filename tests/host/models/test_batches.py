"""Prompts of unequal lengths in one batch have the tokens that each prompt has alone."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import read_bundle
from ark_mlir.cli.main import main

Pick = Callable[[str], str]

PROMPTS = [[(7 * i + 3) % 37 for i in range(11)], [5, 9], [30], [1, 20, 3, 8, 8, 2, 6]]
COUNT = 9
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz "


class Letters:
    """Stands in for a tokenizer: a token for each character."""

    def encode(self, text: str, special: bool = True) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def decode(self, ids: Any) -> str:
        return "".join(LETTERS[number] for number in ids)


def as_text(tokens: list[int]) -> str:
    return Letters().decode(tokens)


@pytest.fixture(scope="module")
def folder(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("batches") / "llama", "llama")


def load(folder: Path, **options: Any) -> Any:
    model: Any = ark.models.load(folder, max_length=24, chunk=4, **options)
    model.tokenizer = Letters()
    return model


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    """Returns a model of three rows, which four prompts do not fill."""
    return load(folder, batch=3).compile("cpu:2", opt_level=0)


@pytest.fixture(scope="module")
def alone(folder: Path) -> list[list[int]]:
    single = load(folder)
    return [single.generate(prompt, COUNT, reference=True, stop=()) for prompt in PROMPTS]


def test_tokens_are_those_of_each_prompt_alone(model: Any, alone: list[list[int]]) -> None:
    assert len({tuple(tokens) for tokens in alone}) == len(alone), "the answers differ"
    assert model.generate_batch(PROMPTS, COUNT, stop=()) == alone
    assert model.generate_batch(PROMPTS[::-1], COUNT, stop=()) == alone[::-1]
    assert [model.generate(prompt, COUNT, stop=()) for prompt in PROMPTS] == alone
    assert list(model.stream(PROMPTS[1], COUNT, stop=())) == alone[1]
    assert model.generate_batch([], COUNT) == []
    assert model.generate_batch(PROMPTS, 0) == [[], [], [], []]


def cut(tokens: list[int], ends: set[int]) -> list[int]:
    """Returns the tokens up to the first end."""
    found = [index for index, token in enumerate(tokens) if token in ends]
    return tokens[: found[0] + 1] if found else tokens


def test_rows_end_at_different_tokens(model: Any, alone: list[list[int]]) -> None:
    """A row that has ended waits for the others; a launch ends when all have ended."""
    for ends in ({alone[0][2]}, {alone[1][1], alone[3][4]}, {tokens[3] for tokens in alone}):
        expected = [cut(tokens, ends) for tokens in alone]
        assert model.generate_batch(PROMPTS, COUNT, stop=sorted(ends)) == expected
        assert model.timing.tokens == sum(len(tokens) - 1 for tokens in expected)


def test_stop_strings_of_each_row(model: Any, alone: list[list[int]]) -> None:
    texts, answers = [as_text(prompt) for prompt in PROMPTS], [as_text(each) for each in alone]
    stop = answers[0][2:4]
    expected = [text.partition(stop)[0] for text in answers]
    assert expected[0] == answers[0][:2]
    assert any(text == answer for text, answer in zip(expected, answers, strict=True))
    # Without stop tokens, only the text ends a row.
    assert model.generate_batch(texts, COUNT, stop=[stop]) == expected
    assert list(model.stream_batch(texts, COUNT, stop=stop)) == expected
    mixed = model.generate_batch([PROMPTS[0], texts[1]], COUNT, stop=[stop])
    assert mixed == [alone[0][:4], expected[1]]


def test_timing(model: Any) -> None:
    model.generate_batch(PROMPTS, COUNT, stop=())
    timing = model.timing
    assert (timing.sequences, timing.prompt, timing.tokens) == (4, 21, 4 * (COUNT - 1))
    assert str(timing).startswith("4 prompts: 21 tokens in ")
    assert str(timing).endswith(" tokens/s in total")


def test_samples_do_not_depend_on_the_batch(folder: Path) -> None:
    choice: Any = {"temperature": 1.5, "seed": 3, "top_k": 9, "stop": (), "reference": True}
    single, rows = load(folder, sampling=True), load(folder, sampling=True, batch=4)
    expected = [single.generate(prompt, 4, **choice) for prompt in PROMPTS]
    assert rows.generate_batch(PROMPTS, 4, **choice) == expected


def test_wrong_arguments(model: Any) -> None:
    for wrong, message in (
        ({"prompts": "abc"}, "must be a list of prompts, not one"),
        ({"prompts": [[1], []]}, r"prompts\[1\]: the prompt has no token"),
        ({"prompts": [[1], [2], [37]]}, r"prompts\[2\]: ids\[0\] has token 37"),
        ({"prompts": [[1], [2] * 20]}, r"prompts\[1\]: 20 tokens and 9 new ones exceed max_length"),
        ({"temperature": 1.0}, "needs sampling"),
    ):
        arguments = {"prompts": [[1]], "max_new_tokens": COUNT, **wrong}
        with pytest.raises(ark.InvalidUsageError, match=message):
            model.stream_batch(**arguments)


@pytest.mark.parametrize("name", ["gemma2", "gpt2", "gpt_oss", "deepseek_v2, lite"])
def test_other_decoders(name: str, tmp_path: Path) -> None:
    """Windows, soft caps, learned positions, sinks, latents and experts, in the interpreter."""
    pytest.importorskip("transformers", reason="transformers is not installed")
    from model_cases import DECODERS, MIXTURES

    {**DECODERS, **MIXTURES}[name].make(tmp_path)
    choice: Any = {"stop": (), "reference": True}
    single, rows = load(tmp_path), load(tmp_path, batch=3)
    expected = [single.generate(prompt, 3, **choice) for prompt in PROMPTS[:3]]
    assert rows.generate_batch(PROMPTS[:3], 3, **choice) == expected


def test_experts_and_windows_compiled(tiny: Any, tmp_path: Path, pick_target: Pick) -> None:
    window = {"sliding_window": 6}
    folder = tiny.write_model(tmp_path, "mixtral", tiny.weights("mixtral"), window)
    rows = load(folder, batch=3).compile(pick_target("cpu:2"))
    expected = [load(folder).generate(each, 4, reference=True, stop=()) for each in PROMPTS[:3]]
    assert rows.generate_batch(PROMPTS[:3], 4, stop=()) == expected


def test_rows_on_two_ranks(folder: Path, alone: list[list[int]]) -> None:
    rows = load(folder, batch=2, tensor_parallel=2).compile("cpu:1", opt_level=0)
    assert rows.generate_batch(PROMPTS, COUNT, stop=()) == alone


def test_from_bundles(
    model: Any, folder: Path, alone: list[list[int]], tmp_path: Path, capsys: Any,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    for name, executable in model.executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
        assert "padding" in {
            b.name for b in read_bundle(tmp_path / f"m.{name}.arkbin").manifest.inputs
        }
    loaded: Any = ark.models.load_compiled(folder, tmp_path / "m.arkbin")
    assert loaded.batch == 3
    assert loaded.generate_batch(PROMPTS, COUNT, stop=()) == alone

    monkeypatch.setattr("ark_mlir.text.Tokenizer", lambda folder: Letters())
    monkeypatch.setattr("ark_mlir.models.generation.Tokenizer", lambda folder: Letters())
    texts = [as_text(prompt) for prompt in PROMPTS]
    (tmp_path / "prompts.txt").write_text("\n".join(texts))
    command = ["generate", str(folder), "--bundle", str(tmp_path / "m.arkbin"), "--report"]
    command += ["--prompts", str(tmp_path / "prompts.txt"), "--max-new-tokens", str(COUNT)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert [json.loads(line) for line in captured.out.splitlines()] == [
        {"prompt": text, "text": as_text(tokens)} for text, tokens in zip(texts, alone, strict=True)
    ]
    assert captured.err.startswith("ark: 4 prompts: 21 tokens in")
    assert captured.err.count("\n") == 1


def test_from_bundles_without_padding(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ark_mlir.models.decoder._padding", lambda batch, padded: None)
    rows = load(folder, batch=2).compile("cpu", opt_level=0)
    for name, executable in rows.executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
    message = r"2 rows without the input `padding`.* compile the folder with --set batch=2"
    with pytest.raises(ark.InvalidUsageError, match=message):
        ark.models.load_compiled(folder, tmp_path / "m.arkbin")


def test_padding_does_not_reach_the_results(folder: Path) -> None:
    """Logits do not depend on the tokens and caches before a sequence begins."""
    rows = load(folder, batch=2)
    ends = np.full(8, -1, np.int32)
    inputs = {"ends": ends, "padding": np.array([0, 3], np.int32), "begin": 0, "last": 3}
    logits = [
        rows.run("prefill", {**inputs, "ids": np.array([[1, 2, 3, 4], [*noise, 7]], np.int32)},
                 reference=True)["logits"]
        for noise in ([0, 0, 0], [9, 30, 5])
    ]  # fmt: skip
    np.testing.assert_array_equal(*logits)

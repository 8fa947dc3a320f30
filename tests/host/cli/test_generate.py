"""`ark generate` passes its options on, prints the text, and reports errors."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Ark = Callable[..., Any]
Calls = list[dict[str, Any]]


def test_generate(ark: Ark, fake_model: list[Any]) -> None:
    result = ark("generate", "model", "--prompt-ids", "1,2,3", "--max-new-tokens", 4)
    assert (result.status, result.out) == (0, "6,6,6,6\n")
    assert fake_model[0].target is None, "the default is the compiler's"
    assert fake_model[0].options == {}
    plain = {"stop": None, "temperature": 0.0, "top_k": 0, "top_p": 1.0, "seed": 0}
    assert fake_model[0].choice == plain
    assert result.err == "", "stderr is not a terminal"


def test_generate_from_text(
    ark: Ark, fake_model: list[Any], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model/tokenizer.json").write_text("{}")
    result = ark("generate", "model", "--prompt", "a cat", "--max-new-tokens", 2)
    assert (result.status, result.out) == (0, "sits sits\n")
    assert fake_model[0].prompts == ["a cat"]


def test_generate_from_several_texts(
    ark: Ark, fake_model: list[Any], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model/tokenizer.json").write_text("{}")
    (tmp_path / "prompts.txt").write_text("a cat\n\ncat\n")
    result = ark("generate", "model", "--prompts", "prompts.txt", "--stop-text", "x", "--report")
    assert result.status == 0, result.err
    assert [json.loads(line) for line in result.out.splitlines()] == [
        {"prompt": "a cat", "text": "sits sits"}, {"prompt": "cat", "text": "sits sits"},
    ]  # fmt: skip
    assert result.err == "ark: 9 tokens/s\n"
    assert fake_model[0].options == {"batch": 2}
    assert fake_model[0].choice["stop"] == ["x"]
    (tmp_path / "prompts.txt").write_text("\n")
    assert "prompts.txt: has no prompt" in ark("generate", "model", "--prompts", "prompts.txt").err
    assert "no.txt: cannot be read" in ark("generate", "model", "--prompts", "no.txt").err


def test_the_batch_of_several_texts(
    ark: Ark, fake_model: list[Any], words: list[str], tmp_path: Path
) -> None:
    (tmp_path / "model/tokenizer.json").write_text("{}")
    (tmp_path / "prompts.txt").write_text("a\n" * 9)
    run = ("generate", "model", "--prompts", "prompts.txt")
    for extra, expected in (((), 8), (("--batch", 3), 3), (("--set", "batch=4"), 4)):
        assert ark(*run, *extra).status == 0
        assert fake_model[-1].options == {"batch": expected}
    for wrong, message in (
        ((*run, "--batch", 2, "--set", "batch=3"), "--batch and --set batch are both given"),
        ((*run, "--batch", 2, "--bundle", "m.arkbin"), "compile it with --set batch=2"),
        (("generate", "model", "--prompt", "a", "--batch", 2), "--batch needs the prompts of a"),
    ):
        result = ark(*wrong)
        assert (result.status, len(result.err.splitlines())) == (1, 1)
        assert message in result.err


@pytest.mark.parametrize(
    ("command", "name", "message"),
    [
        (("generate", "--prompt", "a"), "absent", "the model folder does not exist"),
        (("embed", "--text", "a"), "absent", "the model folder does not exist"),
        (("generate", "--prompt", "a"), "me/llama", "`hf download me/llama --local-dir FOLDER`"),
        (("generate", "--prompt", "a"), "empty", "has no config.json, so it is not a model folder"),
        (("generate", "--prompt", "a"), "m.arkbin", "pass the model folder, and the bundle with"),
        (("embed", "--text", "a"), "w.safetensors", "is a file: pass the model folder"),
    ],
)
def test_folders_without_a_model(
    ark: Ark, tmp_path: Path, command: tuple[str, ...], name: str, message: str
) -> None:
    (tmp_path / "empty").mkdir()
    (tmp_path / "w.safetensors").touch()
    result = ark(command[0], name, *command[1:])
    assert result.status == 1
    assert result.err.startswith(f"ark: error: {name}: ")
    assert message in result.err
    assert len(result.err.splitlines()) == 1


def test_generate_in_a_chat(
    ark: Ark, fake_model: list[Any], words: list[str], tmp_path: Path
) -> None:
    pytest.importorskip("jinja2", reason="chat templates need the package jinja2")
    (tmp_path / "model/tokenizer.json").write_text("{}")
    chat = ("generate", "model", "--chat", "--system", "s", "--prompt", "a cat")
    assert "the model has no chat template" in ark(*chat).err
    assert not fake_model
    (tmp_path / "model/chat_template.jinja").write_text("{{ messages }}")
    assert ark(*chat).out == "sits sits\n"
    messages = [{"role": "system", "content": "s"}, {"role": "user", "content": "a cat"}]
    assert fake_model[0].prompts == [messages]


def test_generate_from_bundles(ark: Ark, fake_model: list[Any]) -> None:
    run = ("generate", "model", "--bundle", "m.arkbin", "--prompt-ids", "1,2")
    result = ark(*run, "--temperature", 0.5)
    assert (result.status, result.out) == (0, ",".join("3" * 16) + "\n")
    assert fake_model[0].options == {"bundle": "m.arkbin"}
    assert not hasattr(fake_model[0], "target"), "it is compiled"
    result = ark(*run, "--set", "max_length=8")
    assert "--set max_length cannot be used with a bundle" in result.err


@pytest.mark.parametrize(
    ("more", "message"),
    [
        (("--prompt-ids", "1", "--chat"), "--chat needs a prompt as text"),
        (("--prompt-ids", "1", "--stop-text", "x"), "--stop-text needs a prompt as text"),
        (("--prompt", "a", "--system", "x"), "--system needs --chat"),
    ],
)
def test_generate_with_options_that_contradict(
    ark: Ark, fake_model: list[Any], more: tuple[str, ...], message: str
) -> None:
    result = ark("generate", "model", *more)
    assert (result.status, message in result.err) == (1, True)
    assert not fake_model


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "has no tokenizer.json, which text needs"),
        ("no", "is not a tokenizer: expected value"),
    ],
)
def test_generate_without_a_tokenizer(
    ark: Ark, fake_model: list[Any], words: list[str], tmp_path: Path,
    content: str | None, message: str,
) -> None:  # fmt: skip
    if content is not None:
        (tmp_path / "model/tokenizer.json").write_text(content)
    result = ark("generate", "model", "--prompt", "a cat")
    assert result.status == 1
    assert message in result.err
    assert not fake_model


def test_generate_without_the_package_tokenizers(
    ark: Ark, fake_model: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "tokenizers", None)
    result = ark("generate", "model", "--prompt", "a cat")
    assert result.status == 1
    assert "text needs the package tokenizers, which is not installed" in result.err


def test_generate_with_sampling(ark: Ark, fake_model: list[Any]) -> None:
    chance = ("--temperature", 0.7, "--top-k", 5, "--top-p", 0.9, "--seed", 3)
    result = ark("generate", "model", "--prompt-ids", "1", "--stop", "4,5", *chance, "--report")
    assert (result.status, result.err) == (0, "ark: 9 tokens/s\n")
    assert fake_model[0].options == {"sampling": True}
    choice = {"stop": [4, 5], "temperature": 0.7, "top_k": 5, "top_p": 0.9, "seed": 3}
    assert fake_model[0].choice == choice


def test_generate_with_settings(ark: Ark, fake_compiler: Calls, fake_model: list[Any]) -> None:
    settings = ("--set", "scheduler=list", "--set", "max_length=64")
    assert ark("generate", "model", "--prompt-ids", "1", *settings).status == 0
    assert fake_model[0].options == {"max_length": 64}
    assert fake_model[0].chosen == {"scheduler": "list"}


def test_generate_on_several_ranks(ark: Ark, fake_model: list[Any]) -> None:
    ranks = ("--tensor-parallel", 2, "--devices", "3,1", "--target", "cuda:sm_90a")
    result = ark("generate", "model", "--prompt-ids", "1", *ranks)
    assert result.status == 0, result.err
    assert fake_model[0].options == {"tensor_parallel": 2}
    assert (fake_model[0].target, fake_model[0].chosen) == ("cuda:sm_90a", {"devices": (3, 1)})


def test_generate_with_a_launch_for_each_rank(ark: Ark, fake_model: list[Any]) -> None:
    given = {"devices": (0, 0), "concurrent": True}
    generate = ("generate", "model", "--prompt-ids", "1", "--devices", "0,0", "--concurrent")
    result = ark(*generate, "--tensor-parallel", 2, "--target", "cuda:sm_90a")
    assert result.status == 0, result.err
    assert fake_model[0].chosen == given

    assert ark(*generate, "--bundle", "m.arkbin").status == 0
    assert fake_model[1].options == {"bundle": "m.arkbin", **given}


def test_a_gpu_that_is_named_twice(ark: Ark, fake_model: list[Any]) -> None:
    generate = ("generate", "model", "--prompt-ids", "1")
    result = ark(*generate, "--devices", "0,0")
    assert result.status == 1
    assert "--devices 0,0: a GPU is named twice; --concurrent runs" in result.err
    result = ark(*generate, "--concurrent")
    assert result.status == 1
    assert "--concurrent needs --devices" in result.err
    assert not fake_model


def test_the_number_of_ranks_is_given_once(ark: Ark, fake_model: list[Any]) -> None:
    ranks = ("--tensor-parallel", 2, "--set", "tensor_parallel=2")
    result = ark("generate", "model", "--prompt-ids", "1", *ranks)
    assert result.status == 1
    assert "--tensor-parallel and --set tensor_parallel are both given" in result.err
    assert not fake_model


@pytest.mark.parametrize(
    ("option", "value", "message"),
    [
        ("--temperature", "7", "expected a number from 0 to 2, got '7'"),
        ("--temperature", "-1", "expected a number from 0 to 2, got '-1'"),
        ("--temperature", "nan", "expected a number from 0 to 2, got 'nan'"),
        ("--temperature", "hot", "expected a number from 0 to 2, got 'hot'"),
        ("--stop-text", "", "expected a text, got an empty one"),
    ],
)
def test_choices_out_of_range(
    ark: Ark, fake_model: list[Any], option: str, value: str, message: str
) -> None:
    result = ark("generate", "model", "--prompt-ids", "1", f"{option}={value}")
    assert result.status == 2
    assert message in result.err


def test_sampling_options_without_temperature_raise(ark: Ark, fake_model: list[Any]) -> None:
    result = ark("generate", "model", "--prompt-ids", "1", "--top-k", 5, "--seed", 0)
    assert result.status == 1
    assert "--top-k, --seed: sampling needs --temperature" in result.err
    assert not fake_model


def test_prompts_that_are_no_options(ark: Ark, fake_model: list[Any]) -> None:
    result = ark("generate", "model", "hello world")
    assert (result.status, result.out) == (2, "")
    assert result.err == (
        "ark: error: 'hello world' is no option; a prompt is text, --prompt 'hello world', or ids; "
        "give one of --prompt TEXT, --prompt-ids 1,2,3 and --prompts FILE; `ark generate --help` "
        "shows the usage\n"
    )
    assert "there is no prompt; give one of" in ark("generate", "model").err
    assert ark("generate", "model").status == 2


def test_what_is_no_model_folder(ark: Ark, fake_model: list[Any], bundle: Path) -> None:
    """The folder is checked even if the prompt is token ids, which need no tokenizer."""
    result = ark("generate", bundle, "--prompt-ids", "1,2")
    assert (result.status, result.err) == (
        1, f"ark: error: {bundle}: is a bundle: pass the model folder, and the bundle with "
        "--bundle\n",
    )  # fmt: skip
    assert "`hf download me/llama" in ark("generate", "me/llama", "--prompt-ids", "1").err


def test_an_encoder_cannot_generate(ark: Ark, tmp_path: Path) -> None:
    """The error comes before the weights are read, which this folder lacks."""
    (tmp_path / "bert").mkdir()
    (tmp_path / "bert/config.json").write_text('{"model_type": "bert"}')
    result = ark("generate", "bert", "--prompt-ids", "1,2")
    assert result.status == 1
    assert result.err == (
        "ark: error: bert: this model is an encoder, which cannot generate text; use `ark embed`\n"
    )

"""Text in and out of models, streams, and models from bundles."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import types
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.cli.main import main

PROMPT = [(7 * i + 3) % 37 for i in range(11)]
TOKENS = [27, 13, 5, 5, 5, 5, 5, 5]
# The id of a character is its index. The tiny decoders have 37 tokens, too.
LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz "


class Letters:
    """Stands in for ``tokenizers.Tokenizer``: a token for each character."""

    limit: int | None = None

    @staticmethod
    def from_file(path: str) -> Letters:
        return Letters()

    def no_padding(self) -> None: ...

    def no_truncation(self) -> None:
        self.limit = None

    def enable_truncation(self, length: int) -> None:
        self.limit = length

    def encode(self, text: str, add_special_tokens: bool = True) -> Any:
        ids = [LETTERS.index(letter) for letter in text]
        return types.SimpleNamespace(ids=ids[: self.limit])

    def decode(self, ids: Sequence[int]) -> str:
        return "".join(LETTERS[number] for number in ids)


@pytest.fixture(scope="module")
def decoder_folder(tiny: Any, tmp_path_factory: Any) -> Path:
    folder = tiny.write_model(tmp_path_factory.mktemp("text") / "llama", "llama")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages[0].content }}")
    return folder


@pytest.fixture(autouse=True)
def letters(monkeypatch: pytest.MonkeyPatch) -> None:
    module: Any = types.ModuleType("tokenizers")
    module.Tokenizer = Letters
    monkeypatch.setitem(sys.modules, "tokenizers", module)


@pytest.fixture(scope="module")
def model(decoder_folder: Path) -> Any:
    return ark.models.load(decoder_folder, max_length=24, chunk=4).compile("cpu:2", opt_level=0)


TEXT = "".join(LETTERS[token] for token in PROMPT)
ANSWER = "".join(LETTERS[token] for token in TOKENS)


def test_text_in_text_out(model: Any) -> None:
    assert model.generate(PROMPT, 8) == TOKENS
    assert model.generate(TEXT, 8) == ANSWER
    assert model.generate(TEXT, 8, reference=True) == ANSWER
    assert model.generate(TEXT, 0) == ""
    assert model.encode(TEXT).tolist() == PROMPT


def test_stop_strings(model: Any) -> None:
    assert model.generate(TEXT, 8, stop=ANSWER[1:3]) == ANSWER[:1]
    assert model.generate(TEXT, 8, stop=[ANSWER[2], 13]) == ANSWER[:2]
    # Tokens include those of the stop string.
    assert model.generate(PROMPT, 8, stop=[ANSWER[1:3]]) == TOKENS[:3]
    assert model.generate(PROMPT, 8, stop="never") == TOKENS
    for empty in ("", ["a", ""]):
        with pytest.raises(ark.InvalidUsageError, match="stop has an empty text"):
            model.generate(TEXT, 8, stop=empty)


def test_a_stream_yields_what_generate_returns(model: Any) -> None:
    assert list(model.stream(PROMPT, 8)) == TOKENS
    assert (model.timing.prompt, model.timing.tokens) == (11, 7)
    assert list(model.stream(PROMPT, 8, stop=5)) == TOKENS[:3]
    assert list(model.stream(PROMPT, 8, reference=True)) == TOKENS
    assert list(model.stream(PROMPT, 0)) == []
    assert "".join(model.stream(TEXT, 8)) == ANSWER
    assert "".join(model.stream(TEXT, 8, stop=ANSWER[2])) == ANSWER[:2]


def test_samples_do_not_depend_on_launches(decoder_folder: Path) -> None:
    model = ark.models.load(decoder_folder, max_length=24, sampling=True)
    model.compile("cpu:2", opt_level=0)
    choice: Any = {"temperature": 1.5, "seed": 3, "top_k": 9}
    assert list(model.stream(PROMPT, 12, **choice)) == model.generate(PROMPT, 12, **choice)


def test_a_stream_can_be_left(model: Any) -> None:
    stream = model.stream(PROMPT, 8)
    assert next(stream) == TOKENS[0]
    with pytest.raises(ark.InvalidUsageError, match="a stream of this model is open"):
        model.generate(PROMPT, 8)
    with pytest.raises(ark.InvalidUsageError, match="a stream of this model is open"):
        next(model.stream(PROMPT, 8))
    stream.close()
    assert model.generate(PROMPT, 8) == TOKENS


def test_streams_of_several_threads_follow_one_another(model: Any) -> None:
    results: list[list[int]] = []

    def read(stream: Iterator[int]) -> None:
        results.append(list(stream))

    threads = [threading.Thread(target=read, args=(model.stream(PROMPT, 8),)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert results == [TOKENS] * 4


def test_arguments_are_checked_at_once(model: Any) -> None:
    for wrong, message in (
        ({"prompt": ""}, "the prompt has no token"),
        ({"prompt": [37]}, "has token 37, but the vocabulary has 37"),
        ({"max_new_tokens": 99}, "exceed max_length 24"),
        ({"stop": list(range(9))}, "stop has 9 tokens; the limit is 8"),
        ({"temperature": 1.0}, "needs sampling; load the model with sampling=True"),
        ({"temprature": 1.0}, "unknown option temprature; known are stop, temperature"),
    ):
        arguments: dict[str, Any] = {"prompt": PROMPT, "max_new_tokens": 4, **wrong}
        for method in (model.stream, model.generate):
            with pytest.raises(ark.InvalidUsageError, match=message):
                method(**arguments)


def test_conversations(model: Any) -> None:
    pytest.importorskip("jinja2", reason="jinja2 is not installed")
    messages = [{"role": "user", "content": TEXT}]
    assert model.generate(messages, 8) == ANSWER
    assert "".join(model.stream(messages, 8)) == ANSWER


def test_a_decoder_from_bundles(model: Any, decoder_folder: Path, tmp_path: Path) -> None:
    for name, executable in model.executables.items():
        executable.save(tmp_path / f"m.v1.{name}.arkbin")
    loaded: Any = ark.models.load_compiled(decoder_folder, tmp_path / "m.v1.arkbin")
    assert loaded.generate(PROMPT, 8) == TOKENS
    assert loaded.generate(TEXT, 8) == ANSWER
    assert (loaded.max_length, loaded.vocabulary, loaded.ends) == (24, 37, ())
    assert "prefill, decode" in repr(loaded)
    with pytest.raises(ark.InvalidUsageError, match="which are compiled already"):
        loaded.compile("cpu")
    with pytest.raises(ark.InvalidUsageError, match="which cannot be interpreted"):
        loaded.generate(PROMPT, 8, reference=True)
    with pytest.raises(ark.InvalidUsageError, match="compile the folder with --set sampling=true"):
        loaded.generate(PROMPT, 8, temperature=1.0)
    with pytest.raises(ark.InvalidUsageError, match=r"exceed max_length 24; compile the folder"):
        loaded.generate(PROMPT, 14)


def test_bundles_that_do_not_fit(
    model: Any, tiny: Any, decoder_folder: Path, tmp_path: Path
) -> None:
    with pytest.raises(ark.BundleError, match=r"none\.arkbin"):
        ark.models.load_compiled(decoder_folder, tmp_path / "none.arkbin")
    model.executables["decode"].save(tmp_path / "m.decode.arkbin")
    with pytest.raises(ark.BundleError, match=r"m\.prefill\.arkbin"):
        ark.models.load_compiled(decoder_folder, tmp_path / "m.arkbin")
    with pytest.raises(ark.InvalidUsageError, match="is not the program of an encoder"):
        ark.models.load_compiled(decoder_folder, tmp_path / "m.decode.arkbin")
    model.executables["prefill"].save(tmp_path / "m.prefill.arkbin")
    other = tiny.write_model(tmp_path / "qwen3", "qwen3")
    with pytest.raises(ark.BundleError, match=r"compiled from another model: .* llama.* qwen3"):
        ark.models.load_compiled(other, tmp_path / "m.arkbin")


def test_encoders_of_text(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "bert", "bert")
    (folder / "tokenizer.json").write_text("{}")
    model = ark.models.load(folder, batch=2, length=8).compile("cpu:2", opt_level=0)
    vectors = model.embed([[1, 5, 9, 2], [3]])
    np.testing.assert_array_equal(model.embed(["1592", "3"]), vectors)
    for wrong, message in (
        ("1592", "must be a list of texts"), (["1", [2]], "must be texts or rows of tokens"),
        (["1" * 9], "prompt 0 has 9 tokens, the program's limit is 8"),
    ):  # fmt: skip
        with pytest.raises(ark.InvalidUsageError, match=message):
            model.embed(wrong)
    model.executable("embed").save(tmp_path / "e.arkbin")
    loaded: Any = ark.models.load_compiled(folder, tmp_path / "e.arkbin")
    np.testing.assert_array_equal(loaded.embed(["1592", "3"]), vectors)
    assert loaded.embed([]).shape == (0, 16)


def test_the_files_of_sentence_transformers_choose_the_pooling(tiny: Any, tmp_path: Path) -> None:
    folder = tiny.write_model(tmp_path / "bert", "bert")
    first = ark.models.load(folder, length=8, pooling="cls", normalize=False)
    wanted = first.embed([[1, 2]], reference=True)
    (folder / "1_Pooling").mkdir()
    (folder / "1_Pooling/config.json").write_text('{"pooling_mode": "cls"}')
    modules = '[{"type": "a.Transformer"}, {"type": "a.Pooling", "path": "1_Pooling"}]'
    (folder / "modules.json").write_text(modules)
    chosen = ark.models.load(folder, length=8).embed([[1, 2]], reference=True)
    np.testing.assert_array_equal(chosen, wanted)


def test_bundles_need_no_compiler(model: Any, decoder_folder: Path, tmp_path: Path) -> None:
    """As on a machine that has only the runtime."""
    for name, executable in model.executables.items():
        executable.save(tmp_path / f"m.{name}.arkbin")
    script = (
        "import sys\n"
        "for name in ('_mlir_libs', 'ir', 'dialects', 'compiler', 'frontend'):\n"
        "    sys.modules['ark_mlir.' + name] = None\n"
        "from ark_mlir.cli import main\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    prompt = ",".join(map(str, PROMPT))
    result = subprocess.run(
        [
            sys.executable, "-c", script, "generate", decoder_folder, "--bundle",
            tmp_path / "m.arkbin", "--prompt-ids", prompt, "--max-new-tokens", "8", "--report",
        ],
        capture_output=True, text=True, check=False, timeout=100,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, ",".join(map(str, TOKENS)) + "\n")
    assert re.match(r"ark: prompt: 11 tokens in .* s; then .* tokens/s\n", result.stderr)


# -- the command line ------------------------------------------------------------------------------


def run_command(capsys: Any, *arguments: object) -> tuple[int, str, str]:
    status = main([str(argument) for argument in arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_embed_prints_vectors(tiny: Any, tmp_path: Path, capsys: Any) -> None:
    folder = tiny.write_model(tmp_path / "bert", "bert")
    (folder / "tokenizer.json").write_text("{}")
    options = ("--target", "cpu:2", "--set", "opt_level=0")
    texts = ("--text", "1592", "--text", "3")
    status, out, err = run_command(capsys, "embed", folder, *texts, *options)
    assert (status, err) == (0, "")
    lines = [json.loads(line) for line in out.splitlines()]
    assert [line["text"] for line in lines] == ["1592", "3"]
    model = ark.models.load(folder, batch=2, length=8)
    wanted = model.embed(["1592", "3"], reference=True)
    np.testing.assert_allclose([line["embedding"] for line in lines], wanted, atol=1e-5)

    # A text longer than the model's 12 positions is cut, which a warning says.
    (tmp_path / "texts.txt").write_text("1592\n\n" + "1" * 13 + "\n")
    output = tmp_path / "v.npy"
    command = ("embed", folder, "--texts", tmp_path / "texts.txt", "-o", output, *options)
    status, out, err = run_command(capsys, *command)
    assert (status, out) == (0, "")
    assert err == "ark: warning: text 2 has 13 tokens; only the first 12 count\n"
    np.testing.assert_allclose(np.load(output)[0], wanted[0], atol=1e-5)


def test_embed_with_wrong_options(decoder_folder: Path, tmp_path: Path, capsys: Any) -> None:
    for more, message in (
        (("--text", "1"), "this model is a decoder, which cannot embed text"),
        (("--texts", tmp_path / "none.txt"), "none.txt: cannot be read"),
        (("--text", "1", "--text", ""), "text 2 has no token, so that it has no vector; omit it"),
        (("--text", "1", "--prompt-name", "query"), "the model has no prompt 'query'; it has none"),
        (("--text", "1", "--bundle", "x", "--target", "cpu"), "cannot be used with a bundle"),
    ):
        status, out, err = run_command(capsys, "embed", decoder_folder, *more)
        assert (status, out, message in err) == (1, "", True), err


def test_serve_without_its_packages(
    decoder_folder: Path, capsys: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    status, _, err = run_command(capsys, "serve", decoder_folder)
    assert (status, "pip install 'ark-mlir[serve]'" in err) == (1, True)

"""Continuous batching generates the tokens that each prompt has alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from engine_requests import COUNTS, PROMPTS

import ark_mlir as ark
from ark_mlir import compiler
from ark_mlir.models import Engine

LETTERS = "0123456789abcdefghijklmnopqrstuvwxyz "
Pick = Callable[[str], str]
KINDS = ("llama", "qwen3", "mixtral", "qwen3_moe")


class Letters:
    """Stands in for a tokenizer: a token for each character."""

    def encode(self, text: str, special: bool = True) -> list[int]:
        return [LETTERS.index(letter) for letter in text]

    def decode(self, ids: Any) -> str:
        return "".join(LETTERS[number] for number in ids)


def load(folder: Path, **options: Any) -> Any:
    model: Any = ark.models.load(folder, max_length=24, chunk=4, **options)
    model.tokenizer = Letters()
    return model


@pytest.fixture(scope="module")
def folder(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("engine") / "llama", "llama")


@pytest.fixture(scope="module")
def alone(folder: Path) -> list[list[int]]:
    model = load(folder)
    return [
        model.generate(prompt, count, reference=True, stop=())
        for prompt, count in zip(PROMPTS, COUNTS, strict=True)
    ]


@pytest.fixture(scope="module")
def engine(folder: Path) -> Engine:
    return Engine(load(folder), slots=2, chunk=4).compile("cpu:2", opt_level=0)


def requests() -> list[tuple[list[int], int]]:
    return list(zip(PROMPTS, COUNTS, strict=True))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("slots", "chunk"), [(3, 4), (2, 1)])
def test_tokens_are_those_of_generate(
    kind: str, slots: int, chunk: int, tiny: Any, tmp_path: Path, pick_target: Pick
) -> None:
    target = pick_target("cpu:2")
    model = load(tiny.write_model(tmp_path / kind, kind)).compile(target, opt_level=0)
    engine = Engine(model, slots=slots, chunk=chunk).compile(target, opt_level=0)
    rows = engine.run(requests(), stop=())
    expected = [
        model.generate(prompt, count, stop=())
        for prompt, count in zip(PROMPTS, COUNTS, strict=True)
    ]
    assert [row.tokens for row in rows] == expected
    assert len({tuple(tokens) for tokens in expected}) > 1, "the answers differ"


@pytest.mark.parametrize(
    "name", ["gemma2", "gemma3", "gpt2", "gpt_oss", "deepseek_v2, lite", "deepseek_v3"]
)
def test_other_decoders(name: str, tmp_path: Path, pick_target: Pick) -> None:
    """Windows, soft caps, learned positions, sinks in partitions of keys, latents and experts.

    The windows have 5 keys, and the caches 48. The last prompt ends at the end of its cache.
    """
    pytest.importorskip("transformers", reason="transformers is not installed")
    from model_cases import DECODERS, MIXTURES

    {**DECODERS, **MIXTURES}[name].make(tmp_path)
    model: Any = ark.models.load(tmp_path, max_length=48, chunk=4)
    engine = Engine(model, slots=2, chunk=4).compile(pick_target("cpu:2"), opt_level=0)
    pairs = [*requests()[:3], ([(5 * i + 2) % 61 for i in range(43)], 5)]
    expected = [model.generate(*pair, reference=True, stop=()) for pair in pairs]
    assert [row.tokens for row in engine.run(pairs, stop=())] == expected
    assert len({tuple(tokens[:3]) for tokens in expected}) > 2, "the answers differ"


def test_the_table(engine: Engine, alone: list[list[int]]) -> None:
    first = engine.steps
    rows = engine.run(requests(), stop=())
    assert [row.tokens for row in rows] == alone
    assert [row.prompt for row in rows] == [len(prompt) for prompt in PROMPTS]
    assert {row.reason for row in rows} == {"length"}
    assert {row.text for row in rows} == {None}
    # Slot 0 reads eleven tokens in steps 0 to 2. Slot 1 has its next request in step 3, which reads
    # one token in each slot. Step 4 generates the last seven tokens of slot 0.
    assert [(row.slot, row.steps[0] - first, row.steps[1] - first) for row in rows] == [
        (0, 0, 4), (1, 0, 2), (1, 3, 8), (0, 5, 6), (0, 7, 10), (1, 9, 11),
    ]  # fmt: skip
    assert (engine.active, engine.waiting) == (0, 0)


def test_equal_requests_give_equal_tables(engine: Engine) -> None:
    first = engine.steps
    table = engine.run(requests(), stop=())
    second = engine.steps
    again = engine.run(requests(), stop=())
    for row, other in zip(table, again, strict=True):
        assert (row.tokens, row.slot) == (other.tokens, other.slot)
        assert [step - first for step in row.steps] == [step - second for step in other.steps]


def test_requests_that_come_later(engine: Engine, alone: list[list[int]]) -> None:
    """A request that comes in the middle of other sequences does not change their tokens."""
    numbers = [engine.submit(PROMPTS[i], COUNTS[i], stop=()) for i in (0, 2)]
    done = engine.step() + engine.step()
    assert done == []
    assert engine.active == 2
    numbers += [engine.submit(PROMPTS[i], COUNTS[i], stop=()) for i in (5, 3)]
    assert engine.waiting == 2
    rows = {row.number: row.tokens for row in engine.run()}
    assert rows == {number: alone[i] for number, i in zip(numbers, (0, 2, 5, 3), strict=True)}


def test_sequences_as_long_as_the_cache(folder: Path, engine: Engine) -> None:
    """The last tokens of a slot are decoded while another slot reads a prompt."""
    model = load(folder)
    pairs = [([3] * 4, 20), ([8] * 2, 18), ([5] * 23, 1), ([9] * 17, 7)]
    expected = [model.generate(prompt, n, reference=True, stop=()) for prompt, n in pairs]
    assert [row.tokens for row in engine.run(pairs, stop=())] == expected


def test_ends(engine: Engine, alone: list[list[int]]) -> None:
    end = alone[0][2]
    rows = engine.run(requests(), stop=end)
    for row, tokens in zip(rows, alone, strict=True):
        stopped = end in tokens
        assert row.tokens == (tokens[: tokens.index(end) + 1] if stopped else tokens)
        assert row.reason == ("stop" if stopped else "length")
    assert rows[0].reason == "stop"


def test_texts(engine: Engine, alone: list[list[int]]) -> None:
    letters = Letters()
    answer = letters.decode(alone[0])
    (row,) = engine.run([(letters.decode(PROMPTS[0]), COUNTS[0])], stop=[answer[2:4]])
    assert row.text == answer.partition(answer[2:4])[0]
    assert row.reason == "stop"


def test_no_new_tokens(engine: Engine, alone: list[list[int]]) -> None:
    rows = engine.run([(PROMPTS[0], 0), (PROMPTS[1], COUNTS[1])], stop=())
    assert [(row.tokens, row.slot) for row in rows] == [([], -1), (alone[1], 0)]
    assert engine.run() == []
    assert engine.step() == []


def test_wrong_requests(engine: Engine) -> None:
    """A request that is refused leaves no other of the same call behind."""
    for wrong, kind, message in (
        (([2] * 20, 9), ark.InvalidUsageError, "20 tokens and 9 new ones exceed max_length 24"),
        (([], 3), ark.InvalidUsageError, "the prompt has no token"),
        (([37], 3), ark.InvalidUsageError, "has token 37"),
    ):
        with pytest.raises(kind, match=rf"requests\[1\]: .*{message}"):
            engine.run([([1], 2), wrong])
        assert (engine.waiting, engine.active) == (0, 0)
    for pair in (([3],), [3, 4, 5], "a", 7):
        with pytest.raises(
            ark.InvalidUsageError, match=r"requests\[1\] must be a pair of a prompt"
        ):
            engine.run([([1], 2), pair])  # type: ignore[list-item]
        assert engine.waiting == 0
    with pytest.raises(ark.InvalidUsageError, match="needs sampling"):
        engine.submit([1], 2, temperature=1.0)
    with pytest.raises(ark.UnsupportedError, match="greedily"):
        engine.submit([1], 2, reference=True)


@pytest.mark.parametrize("error", [KeyboardInterrupt(), ValueError("no such letter")])
def test_an_interrupted_submission_leaves_no_request(
    error: BaseException, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(folder)
    engine = Engine(model, slots=2)
    engine.submit([1], 2)

    def fail(*_: Any) -> Any:
        raise error

    monkeypatch.setattr(model.tokenizer, "encode", fail)
    with pytest.raises(type(error)):
        engine.run([([1], 2), ("a", 2)])
    assert (engine.waiting, engine.submit([5], 2)) == (1, 1)


def test_errors_of_a_submission_keep_their_details(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load(folder)

    def fail(*_: Any) -> Any:
        raise ark.UnsupportedError("no", location="a.json", op="encode", notes=["retry"])

    monkeypatch.setattr(model.tokenizer, "encode", fail)
    with pytest.raises(ark.UnsupportedError) as caught:
        Engine(model, slots=2).run([("a", 2)])
    assert str(caught.value) == "a.json: encode: requests[0]: no\n  note: retry"


def test_wrong_engines(folder: Path, tmp_path: Path) -> None:
    model = load(folder)
    for options in ({"slots": 0}, {"chunk": 0}, {"slots": -1}):
        with pytest.raises(ark.InvalidUsageError, match="must be at least 1"):
            Engine(model, **options)
    engine = Engine(model, slots=2)
    engine.submit([1], 2)
    with pytest.raises(ark.InvalidUsageError, match="not compiled"):
        engine.step()
    sampling = Engine(load(folder, sampling=True), slots=2)
    with pytest.raises(ark.UnsupportedError, match="greedily"):
        sampling.submit([1], 2, temperature=1.0)
    with pytest.raises(ark.UnsupportedError, match="one rank"):
        Engine(load(folder, tensor_parallel=2))
    model.compile("cpu", opt_level=0)
    for name in ("prefill", "decode"):
        model.executable(name).save(tmp_path / f"m.{name}.arkbin")
    bundled: Any = ark.models.load_compiled(folder, tmp_path / "m.arkbin")
    with pytest.raises(ark.InvalidUsageError, match="comes from bundles"):
        Engine(bundled)


class Fails:
    """Stands in for ``Executable.run``: launch number `at` raises an error after its run."""

    def __init__(self, at: int) -> None:
        self.launches, self._at = 0, at
        self._run: Callable[..., Any] = ark.Executable.run

    def __get__(self, executable: Any, kind: type) -> Any:
        def run(*arguments: Any, **options: Any) -> Any:
            result = self._run(executable, *arguments, **options)
            self.launches += 1
            if self.launches == self._at:
                raise ark.DeviceError("the run failed")
            return result

        return run


# Both sequences begin in launch 1. Launch 2 generates the last tokens of sequence 0, and launch 3
# those of sequence 1.
@pytest.mark.parametrize("at", [1, 2, 3])
def test_a_failed_step_is_repeated(
    at: int, engine: Engine, alone: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The positions on the device have moved on, unlike those of the sequences."""
    order = (1, 4, 2)
    numbers = [
        engine.submit(PROMPTS[i], n, stop=()) for i, n in zip(order, (3, 0, 12), strict=True)
    ]
    with monkeypatch.context() as patched:
        launches = Fails(at)
        patched.setattr(ark.Executable, "run", launches)
        with pytest.raises(ark.DeviceError, match="the run failed"):
            engine.run()
        assert launches.launches == at
    rows = engine.run()
    assert [row.number for row in rows] == sorted(numbers)
    assert [row.tokens for row in rows] == [alone[1], [], alone[2]]
    assert engine.run() == []


def test_answers_before_an_error_are_returned_later(folder: Path) -> None:
    engine = Engine(load(folder), slots=2)
    numbers = [engine.submit([1], 0), engine.submit([2], 3, stop=())]
    for call in (engine.step, engine.run):
        with pytest.raises(ark.InvalidUsageError, match="not compiled"):
            call()
    rows = engine.compile("cpu", opt_level=0).run()
    assert [row.number for row in rows] == numbers
    assert [len(row.tokens) for row in rows] == [0, 3]


@pytest.mark.parametrize("steps", [1, 2, 4])
def test_a_compilation_while_sequences_are_decoded(
    steps: int, folder: Path, alone: list[list[int]]
) -> None:
    """The new programs read the tokens again: a part of a prompt, or new tokens, too."""
    engine = Engine(load(folder), slots=2, chunk=4, burst=2).compile("cpu", opt_level=0)
    for i in (0, 2):
        engine.submit(PROMPTS[i], COUNTS[i], stop=())
    for _ in range(steps):
        assert engine.step() == []
    rows = engine.compile("cpu:2", opt_level=0).run()
    assert [row.tokens for row in rows] == [alone[0], alone[2]]


@pytest.mark.parametrize("program", ["read", "step"])
def test_a_failed_compilation_keeps_sequences(
    program: str, folder: Path, alone: list[list[int]], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An engine runs no program of the earlier compilation, whose caches are not those of the
    new program."""
    engine = Engine(load(folder), slots=2, chunk=4, burst=2).compile("cpu", opt_level=0)
    engine.submit(PROMPTS[2], COUNTS[2], stop=())
    assert engine.step() == []
    compile_one = compiler.compile

    def fail(source: ark.Program, *arguments: Any, **options: Any) -> Any:
        if source.name == program:
            raise ark.CompileError("no such instruction")
        return compile_one(source, *arguments, **options)

    with monkeypatch.context() as patched:
        patched.setattr(compiler, "compile", fail)
        with pytest.raises(ark.CompileError, match="no such instruction"):
            engine.compile("cpu", opt_level=0)
    with pytest.raises(ark.InvalidUsageError, match="not compiled"):
        engine.step()
    (row,) = engine.compile("cpu", opt_level=0).run()
    assert row.tokens == alone[2]


def test_a_slot_beyond_the_cache_is_an_error_of_the_run(folder: Path) -> None:
    """The run itself checks positions: the error names the op and the sequence."""
    model = load(folder)
    program = model.slots.build_read(slots=3, tokens=1)
    with ark.compile(program, target="cpu:2", opt_level=0) as executable:
        executable.bind({name: model.parameters[name] for name in program.parameters})
        ids = np.zeros((3, 1), np.int32)
        with pytest.raises(ark.DataRangeError, match="sequence 2: index 24 is out of range"):
            executable.run(ids=ids, begin=np.array([0, 3, 24], np.int32))

"""An engine whose caches are in pages: tokens, shared prefixes, requests that wait for pages."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from engine_requests import COUNTS, PROMPTS

import ark_mlir as ark
from ark_mlir.models import Engine
from ark_mlir.models.pages import PagePool

PREFIX = [(5 * i + 1) % 37 for i in range(9)]
Pick = Callable[[str], str]


def requests() -> list[tuple[list[int], int]]:
    return list(zip(PROMPTS, COUNTS, strict=True))


def load(folder: Path) -> Any:
    return ark.models.load(folder, max_length=24, chunk=4)


@pytest.fixture(scope="module")
def folder(tiny: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tiny.write_model(tmp_path_factory.mktemp("pages") / "llama", "llama")


@pytest.fixture(scope="module")
def model(folder: Path) -> Any:
    return load(folder)


def alone(model: Any, pairs: list[tuple[list[int], int]]) -> list[list[int]]:
    return [model.generate(prompt, n, reference=True, stop=()) for prompt, n in pairs]


@pytest.mark.parametrize("kind", ["llama", "qwen3", "mixtral", "qwen3_moe"])
@pytest.mark.parametrize(("slots", "chunk", "size", "pages"), [(3, 4, 8, None), (2, 1, 2, 11)])
def test_tokens_are_those_of_generate(
    kind: str, slots: int, chunk: int, size: int, pages: int | None, tiny: Any, tmp_path: Path,
    pick_target: Pick,
) -> None:  # fmt: skip
    model = load(tiny.write_model(tmp_path / kind, kind))
    engine = Engine(model, slots=slots, chunk=chunk, page_size=size, pages=pages)
    rows = engine.compile(pick_target("cpu:2"), opt_level=0).run(requests(), stop=())
    expected = alone(model, requests())
    assert [row.tokens for row in rows] == expected
    assert len({tuple(tokens) for tokens in expected}) > 1, "the answers differ"


@pytest.mark.parametrize("name", ["gemma2", "gemma3", "gpt2", "gpt_oss", "deepseek_v2, lite"])
def test_other_decoders(name: str, tmp_path: Path, pick_target: Pick) -> None:
    """Windows, soft caps, learned positions, sinks in partitions of keys, and latents."""
    pytest.importorskip("transformers", reason="transformers is not installed")
    from model_cases import DECODERS, MIXTURES

    {**DECODERS, **MIXTURES}[name].make(tmp_path)
    model: Any = ark.models.load(tmp_path, max_length=48, chunk=4)
    engine = Engine(model, slots=2, chunk=4, page_size=8)
    pairs = [*requests()[:3], ([(5 * i + 2) % 61 for i in range(43)], 5)]
    rows = engine.compile(pick_target("cpu:2"), opt_level=0).run(pairs, stop=())
    assert [row.tokens for row in rows] == alone(model, pairs)


@pytest.fixture(scope="module")
def engine(model: Any) -> Engine:
    """Has two slots and five pages of four positions."""
    made = Engine(model, slots=2, chunk=2, page_size=4, pages=5)
    return made.compile("cpu:2", opt_level=0)


def test_a_shared_prefix_is_read_once(engine: Engine, model: Any) -> None:
    """The second request skips the launches that would read the two pages of the prefix."""
    pairs = [([*PREFIX, 7], 2), ([*PREFIX, 30], 2)]
    rows = [engine.run([pair], stop=())[0] for pair in pairs]
    assert [row.tokens for row in rows] == alone(model, pairs)
    # Ten tokens in parts of two need five launches, and one generates the last token.
    first, second = (row.steps[1] - row.steps[0] + 1 for row in rows)
    assert (first, second) == (6, 2)


def test_a_request_waits_for_the_prefix_of_another(engine: Engine, model: Any) -> None:
    pairs = [([*PREFIX[::-1], 7], 2), ([*PREFIX[::-1], 30], 2), ([8], 11)]
    engine.run([([8, 9, 10, 11], 16)], stop=())  # takes all pages, so that none has a prefix
    # The first two requests need three of the five pages each. The second waits until the first
    # has read one. Three launches then read six tokens.
    rows = engine.run(pairs, stop=())
    assert [row.tokens for row in rows] == alone(model, pairs)
    assert rows[1].steps[0] == rows[0].steps[0] + 2
    assert rows[1].steps[1] - rows[1].steps[0] == 3


def test_requests_wait_for_pages(engine: Engine, model: Any) -> None:
    pairs = [([1, 2, 3], 13), ([4], 7), ([5, 6], 6)]
    rows = engine.run(pairs, stop=())
    assert [row.tokens for row in rows] == alone(model, pairs)
    # The first request uses four pages; the second needs two, and waits although a slot is free.
    assert rows[1].steps[0] > rows[0].steps[1]
    assert rows[2].steps[0] == rows[1].steps[0]


def test_equal_requests_give_equal_tables(model: Any) -> None:
    def table() -> Any:
        engine = Engine(model, slots=2, chunk=2, page_size=4, pages=6).compile("cpu:2", opt_level=0)
        return engine.run(requests()[1:], stop=())

    assert table() == table()


def test_new_programs_read_the_tokens_again(model: Any) -> None:
    """Pages that two sequences share are filled again, and no request takes their old keys."""
    engine = Engine(model, slots=2, chunk=2, page_size=4).compile("cpu:2", opt_level=0)
    pairs = [([*PREFIX, 7], 6), ([*PREFIX, 30], 8), ([*PREFIX, 2], 3)]
    engine.submit(*pairs[0], stop=())
    for _ in range(5):
        engine.step()
    engine.submit(*pairs[1], stop=())
    engine.step()
    assert engine.active == 2
    engine.compile("cpu:1", opt_level=0)
    engine.submit(*pairs[2], stop=())
    assert [row.tokens for row in engine.run()] == alone(model, pairs)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"page_size": 5}, "page_size 5 does not divide max_length 24"),
        ({"page_size": 0}, "page_size"),
        ({"page_size": 8, "chunk": 3}, "chunk 3 does not divide page_size 8"),
        ({"page_size": 8, "chunk": 4, "pages": 0}, "pages"),
        ({"pages": 4}, "pages needs page_size"),
    ],
)
def test_wrong_arguments(arguments: dict[str, int], message: str, model: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=message):
        Engine(model, slots=2, **arguments)


def test_a_request_that_no_page_can_hold(engine: Engine) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"need 6 pages of 4 positions.*has 5"):
        engine.submit([1, 2], 22)
    assert engine.waiting == 0


def test_pages_in_use_are_not_taken() -> None:
    pool = PagePool(count=4, size=2)
    prompt = [1, 2, 3, 4, 5]
    first = pool.take(prompt, 6)
    assert first is not None
    assert first.numbers == [1, 2, 3]
    pool.publish(first, prompt, 3)
    assert pool.take([9], 4) is None, "one page is free"
    second = pool.take([1, 2, 9], 4)
    assert second is not None
    assert second.numbers == [1, 4]
    assert (second.shared, pool.free) == (2, 0)
    pool.release(first)
    assert pool.free == 2, "the second sequence uses page 1"
    pool.release(second)
    assert pool.free == 4
    # Page 1 keeps its tokens, and is taken last.
    third = pool.take([7], 8)
    assert third is not None
    assert third.numbers == [2, 3, 4, 1]
    pool.release(third)
    again = pool.take([1, 2, 9], 4)
    assert again is not None
    assert again.shared == 0


def test_pages_of_equal_prompts_are_joined() -> None:
    pool = PagePool(count=4, size=2)
    prompt = [1, 2, 3]
    first, second = pool.take(prompt, 4), pool.take(prompt, 4)
    assert first is not None
    assert second is not None
    pool.publish(first, prompt, 3)
    pool.publish(second, prompt, 3)
    assert (first.numbers, second.numbers, pool.free) == ([1, 2], [1, 4], 1)
    pool.release(first)
    pool.release(second)
    assert pool.free == 4

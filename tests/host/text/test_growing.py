"""Deltas of text that make up the whole text, for any division of characters into tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ark_mlir.text import GrowingText


def decode(ids: Sequence[int]) -> str:
    """Decodes bytes, as tokenizers of bytes do."""
    return bytes(ids).decode("utf-8", errors="replace")


def deltas(text: GrowingText, ids: Sequence[int]) -> list[str]:
    return [*(text.add(token) for token in ids), text.end()]


@given(st.text(max_size=40))
def test_pieces_make_up_the_text(whole: str) -> None:
    found = deltas(GrowingText(decode), whole.encode("utf-8", "ignore"))
    assert "".join(found) == whole.encode("utf-8", "ignore").decode()


@given(st.text("abc", max_size=20), st.lists(st.text("abc", min_size=1, max_size=4), max_size=3))
def test_text_ends_before_the_first_stop_string(whole: str, stops: list[str]) -> None:
    text = GrowingText(decode, stops)
    shown = "".join(deltas(text, whole.encode()))
    # The stop string that is complete first ends the text.
    ends = [whole.index(stop) + len(stop) for stop in stops if stop in whole]
    first = min(ends, default=len(whole))
    begins = [whole.index(stop, 0, first) for stop in stops if stop in whole[:first]]
    assert shown == whole[: min(begins, default=len(whole))]
    assert text.stopped == bool(ends)


def test_characters_are_whole() -> None:
    text = GrowingText(decode)
    assert [text.add(byte) for byte in "é€".encode()] == ["", "é", "", "", "€"]
    assert text.end() == ""


def test_broken_characters_come_at_the_end() -> None:
    text = GrowingText(decode)
    assert text.add(0xE2) == ""
    assert text.end() == "\ufffd"


def test_spaces_between_words_stay() -> None:
    """Some tokenizers remove the space of the first word only."""

    def words(ids: Sequence[int]) -> str:
        return " ".join(["one", "two", "three"][number] for number in ids)

    assert deltas(GrowingText(words), [0, 1, 2]) == ["one", " two", " three", ""]


@pytest.mark.parametrize("stops", [["  "], ["", "x"]])
def test_stop_strings_that_do_not_occur(stops: list[str]) -> None:
    assert "".join(deltas(GrowingText(decode, stops), b"a b c ")) == "a b c "


def test_nothing_follows_a_stop_string() -> None:
    text = GrowingText(decode, ["b"])
    assert deltas(text, b"abc") == ["a", "", "", ""]
    assert text.add(ord("d")) == text.end() == ""

"""JSON files: forms that only Python's parser accepts raise, and errors name the position."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest

from ark_mlir.errors import BundleError, InvalidUsageError
from ark_mlir.json_checks import Document, Node, parse_json

NET = Document("net.json", "net", InvalidUsageError)


def refused(text: bytes, read: Callable[[Node], object], message: str) -> str:
    with pytest.raises(InvalidUsageError) as caught:
        read(parse_json(text, NET))
    full = str(caught.value)
    assert full.startswith("net.json: net: ")
    assert re.search(message, full), full
    assert "\n" not in full
    assert len(full) < 1000
    return full


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (b"", "not valid JSON"),
        (b"\xff", "not valid JSON"),
        (b"\xef\xbb\xbf{}", "not valid JSON"),
        (b"{} {}", "not valid JSON"),
        (b'{"a": 1, "a": 2}', "key 'a' occurs twice"),
        (b'{"a\\nb": 1, "a\\nb": 2}', r"key 'a\\nb' occurs twice"),
        (b"NaN", "NaN is not a number"),
        (b"[-Infinity]", "-Infinity is not a number"),
        (b"1e999", "out of the range"),
        (b"[" * 100_000, "not valid JSON"),
        (b"9" * 5000, "not valid JSON"),
    ],
)
def test_invalid_texts_raise(text: bytes, message: str) -> None:
    refused(text, Node.mapping, message)


@pytest.mark.parametrize(
    ("text", "read", "message"),
    [
        (b"[]", Node.mapping, "net: expected an object, got an array$"),
        (b"{}", lambda n: n["a"]["b"], "net: key 'a' is missing$"),
        (b'{"a": {}}', lambda n: n["a"]["b"], "net: a: key 'b' is missing$"),
        (b'{"a": [1, null]}', lambda n: n["a"].each(Node.integer), r"net: a\[1\]: .*null$"),
        (b'{"a": true}', lambda n: n["a"].integer(), "net: a: expected an integer, got a boolean$"),
        (b'{"a": 1.0}', lambda n: n["a"].integer(), r"net: a: expected an integer, got 1\.0$"),
        (b'{"a": -1}', lambda n: n["a"].integer(), "net: a: -1 is less than 0$"),
        (b'{"a": 9}', lambda n: n["a"].integer(0, 8), r"net: a: 9 is not in \[0, 8\]$"),
        (b'{"a": -0.5}', lambda n: n["a"].number(0), r"net: a: -0\.5 is less than 0$"),
        (b'{"a": 1}', lambda n: n["a"].boolean(), "net: a: expected true or false$"),
        (b'{"a": "b"}', lambda n: n["a"].word(("c", "d")), "net: a: 'b' is not one of c, d$"),
        (b'{"a": "b\\n"}', lambda n: n["a"].text(), r"net: a: 'b\\n' has characters"),
        (b'{"a": 1}', lambda n: n.keys(frozenset({"b"})), "net: key 'b' is missing$"),
        (b'{"a": 1}', lambda n: n.keys(frozenset()), "net: unknown key 'a'$"),
        (b'{"\\n": 1}', Node.names, r"'\\n' has characters"),
    ],
)
def test_invalid_values_raise(text: bytes, read: Callable[[Node], object], message: str) -> None:
    refused(text, read, message)


def test_keys_of_a_file_do_not_change_the_layout_of_a_message() -> None:
    full = refused(b'{"a\\nb": 1}', lambda n: n["a\nb"].text(), r"net: 'a\\nb': expected a string")
    assert full.count(":") == 3
    refused(b'{"%s": 1}' % (b"k" * 5000), lambda n: n["k" * 5000].text(), "…: expected a string")
    refused(b"{}", lambda n: n["k" * 5000], "is missing")


def test_a_document_chooses_the_error_and_its_prefix() -> None:
    with pytest.raises(BundleError) as caught:
        parse_json(b"{}", Document("net.arkbin", "", BundleError))["a"]
    assert str(caught.value) == "net.arkbin: key 'a' is missing"

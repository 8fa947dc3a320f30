"""Any bytes in a file give a bundle or a BundleError, and no other error."""

from __future__ import annotations

import contextlib
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ark_mlir.bundle import Bundle, read_bundle, write_bundle
from ark_mlir.errors import BundleError
from ark_mlir.testing.toy import add_program

QUIET = settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
PINNED = "135b36322f0634917fd7ce3a85119e251a8e1f06551cb37650d3fea439d9caa0"
MANIFEST, SECTIONS = add_program().parts()


@pytest.fixture(scope="module")
def good(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    path = tmp_path_factory.mktemp("fuzz") / "good.arkbin"
    write_bundle(path, MANIFEST, SECTIONS)
    return path.read_bytes()


def accepted(data: bytes, path: Path) -> bool:
    path.write_bytes(data)
    with contextlib.suppress(BundleError):
        read_bundle(path)
        return True
    return False


@QUIET
@given(position=st.integers(0, 1 << 30), bit=st.integers(0, 7))
def test_no_flipped_bit_goes_unnoticed(
    good: bytes, tmp_path: Path, position: int, bit: int
) -> None:
    data = bytearray(good)
    data[position % len(data)] ^= 1 << bit
    assert not accepted(bytes(data), tmp_path / "flipped")


@QUIET
@given(
    st.lists(st.tuples(st.integers(0, 1 << 30), st.binary(max_size=40), st.integers(0, 40))),
    st.integers(0, 1 << 30),
)
def test_spliced_and_cut(
    good: bytes, tmp_path: Path, splices: list[tuple[int, bytes, int]], cut: int
) -> None:
    data = bytearray(good)
    for position, content, removed in splices:
        start = position % (len(data) + 1)
        data[start : start + removed] = content
    result = bytes(data[: cut % (len(data) + 1)])
    assert accepted(result, tmp_path / "spliced") == (result == good)


@QUIET
@given(position=st.integers(0, 1 << 30), content=st.binary(min_size=1, max_size=8))
def test_altered_tables_with_right_hashes(position: int, content: bytes) -> None:
    """The checks of tables alone: all indices of accepted tables are in range."""
    names = ["instructions", "lanes", "tasks", "operands", "timeline"]
    name = names[position % len(names)]
    data = bytearray(SECTIONS[name])
    start = position // len(names) % len(data)
    data[start : start + len(content)] = content[: len(data) - start]
    try:
        bundle = Bundle.from_parts(MANIFEST, SECTIONS | {name: bytes(data)})
    except BundleError:
        return
    tables, sizes = bundle.tables, [512, 512, 512, 512, 512]
    assert all(0 <= slot < 5 and 0 <= off < sizes[slot] for slot, off in tables.operands.tolist())
    assert all(0 <= row[1] < 2 for row in tables.instructions.tolist())


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


def all_paths(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    keys: Any = ()
    if isinstance(value, (dict, list)):
        keys = value if isinstance(value, dict) else range(len(value))
    return [path] + [inner for key in keys for inner in all_paths(value[key], (*path, key))]


PATHS = all_paths(MANIFEST)[1:]


@QUIET
@given(path=st.sampled_from(PATHS), value=JSON)
def test_any_value_at_any_path_of_the_manifest(path: tuple[Any, ...], value: Any) -> None:
    manifest = json.loads(json.dumps(MANIFEST))
    inner = manifest
    for key in path[:-1]:
        inner = inner[key]
    inner[path[-1]] = value
    try:
        bundle = Bundle.from_parts(manifest, SECTIONS)
    except BundleError:
        return
    # An accepted bundle is written such that reading it again gives the same bundle.
    again = Bundle.from_parts(json.loads(json.dumps(bundle.manifest.as_json())), SECTIONS)
    assert again.manifest == bundle.manifest


def test_every_truncation_is_refused(good: bytes, tmp_path: Path) -> None:
    for size in range(0, len(good), 97):
        assert not accepted(good[:size], tmp_path / "cut")


def test_bytes_are_pinned(good: bytes) -> None:
    """A changed hash means another file for the same program: increase the format version."""
    text = json.dumps(MANIFEST["target"])  # the section depends on the machine
    if '"x86_64"' not in text:
        pytest.skip("the pinned bytes are those of an x86_64 machine")
    assert hashlib.sha256(good).hexdigest() == PINNED

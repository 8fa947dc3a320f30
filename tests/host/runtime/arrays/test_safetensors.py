"""safetensors files: files of the library are read in place; malformed files raise."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from ark_mlir.errors import InvalidUsageError
from ark_mlir.runtime.arrays.safetensors import read_safetensors


def encoded(header: Any, data: bytes) -> bytes:
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return len(text).to_bytes(8, "little") + text + data


GOOD = {
    "a": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]},
    "b": {"dtype": "BF16", "shape": [], "data_offsets": [8, 10]},
    "__metadata__": {"format": "pt"},
}
DATA = np.array([1, 2], np.float32).tobytes() + np.array(3, ml_dtypes.bfloat16).tobytes()


def refused(tmp_path: Path, content: bytes, message: str = ".") -> None:
    path = tmp_path / "bad.safetensors"
    path.write_bytes(content)
    with pytest.raises(InvalidUsageError, match=message) as caught:
        read_safetensors(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 500


def test_reading(tmp_path: Path) -> None:
    path = tmp_path / "a.safetensors"
    path.write_bytes(encoded(GOOD, DATA))
    tensors = read_safetensors(path)
    assert tensors["a"].tolist() == [1, 2]
    assert tensors["b"] == ml_dtypes.bfloat16(3)
    assert not tensors["a"].flags.writeable
    assert sorted(tensors) == ["a", "b"]


def test_files_of_the_library_are_read(tmp_path: Path) -> None:
    library = pytest.importorskip("safetensors.numpy", reason="safetensors is not installed")
    arrays = {
        "f": np.random.default_rng(0).standard_normal((3, 5)).astype(np.float32),
        "d": np.ones(3),
        "i": np.arange(4),
        "t": np.array([True, False]),
        "none": np.zeros((0, 3), np.float32),
    }
    library.save_file(arrays, tmp_path / "a.safetensors")
    for name, array in read_safetensors(tmp_path / "a.safetensors").items():
        assert array.dtype == arrays[name].dtype
        assert np.array_equal(array, arrays[name])


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ([], "expected an object"),
        (b"{", "JSON"),
        (b'{"a": {}, "a": {}}', "twice"),
        ({**GOOD, "a": {**GOOD["a"], "dtype": "F31"}}, "is not one of"),
        ({**GOOD, "a": {**GOOD["a"], "shape": [3]}}, "do not take 8 bytes"),
        ({**GOOD, "a": {**GOOD["a"], "shape": [-2]}}, "shape"),
        ({**GOOD, "a": {**GOOD["a"], "shape": [2.0]}}, "shape"),
        ({**GOOD, "a": {**GOOD["a"], "shape": [2**62, 8]}}, "shape"),
        ({**GOOD, "a": {**GOOD["a"], "shape": [2**47 - 1] * 1_000_000}}, "rank 1000000"),
        ({**GOOD, "a": {**GOOD["a"], "data_offsets": [0, 2**60]}}, "data_offsets"),
        ({**GOOD, "a": {**GOOD["a"], "data_offsets": [8, 0]}}, "begin and end"),
        ({**GOOD, "a": {**GOOD["a"], "data_offsets": [0]}}, "begin and end"),
        ({**GOOD, "a": {**GOOD["a"], "data_offsets": [-8, 0]}}, "data_offsets"),
        ({**GOOD, "a": {**GOOD["a"], "data_offsets": [2, 10]}}, "begins at 2"),
        ({**GOOD, "a": {**GOOD["a"], "evil": 1}}, "unknown key"),
        ({**GOOD, "x\ny" * 9000: {"evil": 1}}, r"'x\\nyx.*: key 'data_offsets' is missing"),
        ({"b": GOOD["b"]}, "begins at 8"),
        ({"a": GOOD["a"]}, "take 8 bytes of 10"),
    ],
)
def test_headers(tmp_path: Path, header: Any, message: str) -> None:
    refused(tmp_path, encoded(header, DATA), message)


def test_lengths(tmp_path: Path) -> None:
    good = encoded(GOOD, DATA)
    for size in (0, 4, 8, 20, len(good) - 1):
        refused(tmp_path, good[:size])
    refused(tmp_path, good + b"\0", "of 11")
    refused(tmp_path, (2**63).to_bytes(8, "little") + good[8:], "truncated")


def test_no_file(tmp_path: Path) -> None:
    for name in ("missing", "."):
        with pytest.raises(InvalidUsageError, match="cannot be read"):
            read_safetensors(tmp_path / name)


@settings(
    max_examples=300,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.integers(0, 1 << 20), st.binary(min_size=1, max_size=10), st.integers(0, 10))
def test_any_bytes(tmp_path: Path, position: int, content: bytes, removed: int) -> None:
    data = bytearray(encoded(GOOD, DATA))
    start = position % len(data)
    data[start : start + removed] = content
    path = tmp_path / "any.safetensors"
    path.write_bytes(data)
    try:
        tensors = read_safetensors(path)
    except InvalidUsageError:
        return
    assert sum(array.nbytes for array in tensors.values()) <= len(data)

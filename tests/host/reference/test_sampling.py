"""Random bits are compared with the known answers of Philox, and thresholds with sorting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import ark_mlir as ark
from ark_mlir.reference.sampling import philox, philox_block

Interpret = Callable[..., Any]

# Counter, key and result of the test vectors that the authors publish (Random123, kat_vectors).
KNOWN = [
    ("00000000 00000000 00000000 00000000", "00000000 00000000",
     "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
    ("ffffffff ffffffff ffffffff ffffffff", "ffffffff ffffffff",
     "408f276d 41c83b0e a20bc7c6 6d5451fd"),
    ("243f6a88 85a308d3 13198a2e 03707344", "a4093822 299f31d0",
     "d16cfe09 94fdcceb 5001e420 24126ea1"),
]  # fmt: skip


def words(text: str) -> list[Any]:
    return [np.uint64(int(word, 16)) for word in text.split()]


@pytest.mark.parametrize(("counter", "key", "result"), KNOWN)
def test_known_answers(counter: str, key: str, result: str) -> None:
    assert philox_block(words(counter), words(key)) == words(result)


def test_a_stream_consists_of_the_words_of_its_blocks() -> None:
    index, counter, seed = 4 * (5 + 2**33) + np.arange(8), 2**32 + 7, -3
    stream = philox(index, np.int64(counter), np.int64(seed))
    key = words("fffffffd ffffffff")
    expected = [word for block in (5, 6) for word in philox_block(words(f"{block:x} 2 7 1"), key)]
    assert stream.tolist() == expected


def test_bits_are_uniform() -> None:
    bits = philox(np.arange(100_000), np.int64(3), np.int64(1)).astype(np.float64) / 2**32
    assert abs(bits.mean() - 0.5) < 0.005
    assert abs(np.corrcoef(bits[:-1], bits[1:])[0, 1]) < 0.01
    assert len(np.unique(bits)) > 99_990


def kept(row: Any, k: int, p: float) -> Any:
    """Returns the elements that top-k and then top-p keep, computed by sorting."""
    order = np.argsort(-row, kind="stable")
    count = min(k, row.size) if k > 0 else row.size
    least = row[order[count - 1]]
    order = order[row[order] >= least]
    if p < 1:
        sums = np.cumsum(row[order])
        least = row[order[np.argmax((sums >= p * sums[-1]) & (sums > 0))]]
    return row >= least


rows = hnp.arrays(
    np.float32, st.tuples(st.integers(1, 3), st.integers(1, 9)), elements=st.floats(0, 9, width=32)
)


@given(x=rows, k=st.integers(-1, 10), p=st.floats(0, 1.5, width=16))
@settings(max_examples=60)
def test_thresholds(interpret: Interpret, x: Any, k: int, p: float) -> None:
    def build(t: ark.Tensor) -> ark.Tensor:
        limits = ark.constant(k, ark.int32), ark.constant(p, ark.fp32)
        return ark.cast(t >= ark.top_threshold(t, *limits), ark.int32)

    expected = np.stack([kept(row.astype(np.float64), k, p) for row in x])
    if x.sum() > 0:
        np.testing.assert_array_equal(interpret(build, x), expected)


def test_thresholds_of_negative_numbers_raise(interpret: Interpret) -> None:
    def build(t: ark.Tensor) -> ark.Tensor:
        return ark.top_threshold(t, ark.constant(1, ark.int32), ark.constant(1.0, ark.fp32))

    with pytest.raises(ark.InvalidUsageError, match="has a negative element"):
        interpret(build, np.array([1.0, -1.0], np.float32))

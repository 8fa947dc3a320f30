"""The random number generator Philox, and the threshold of top-k and nucleus sampling."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import numpy as np

from ..dtypes import uint32
from .bounded import UNIT, Array
from .interpreter import Machine, handles
from .values import Value, fail, result_type, uncertain

__all__ = ["philox", "philox_block"]

_MULTIPLIERS = np.uint64(0xD2511F53), np.uint64(0xCD9E8D57)
_WEYL = np.uint64(0x9E3779B9), np.uint64(0xBB67AE85)
_LOW, _HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


def philox_block(words: list[Array], keys: list[Array]) -> list[Array]:
    """Returns the four random words of Philox4x32-10 for four words of counter and two of key.

    All words are uint64 below 2^32. Salmon, Moraes, Dror and Shaw define the generator (SC '11).
    """
    for _ in range(10):
        first, second = words[0] * _MULTIPLIERS[0], words[2] * _MULTIPLIERS[1]
        words = [
            (second >> _HALF) ^ words[1] ^ keys[0], second & _LOW,
            (first >> _HALF) ^ words[3] ^ keys[1], first & _LOW,
        ]  # fmt: skip
        keys = [(key + step) & _LOW for key, step in zip(keys, _WEYL, strict=True)]
    return words


def philox(index: Array, counter: Array, seed: Array) -> Array:
    """Returns word ``index % 4`` of Philox4x32-10's block ``(index / 4, counter)`` for key `seed`.

    Operands are int64 of shapes that broadcast; the result is uint32.

    Example:
        >>> [hex(word) for word in philox(np.arange(2), np.int64(0), np.int64(0))]
        ['0x6627e8d5', '0xe169c58d']
    """
    index, counter, seed = (
        np.asarray(a, np.int64).astype(np.uint64) for a in np.broadcast_arrays(index, counter, seed)
    )
    block = index >> np.uint64(2)
    words = philox_block(
        [block & _LOW, block >> _HALF, counter & _LOW, counter >> _HALF],
        [seed & _LOW, seed >> _HALF],
    )
    which = (index & np.uint64(3)).astype(np.int64)
    return np.choose(which, words).astype(np.uint32)


@handles("philox")
def bits(op: Any, machine: Machine) -> Value:
    """Interprets philox."""
    operands = [machine.read(value) for value in (op.index, op.counter, op.seed)]
    data = philox(*(value.data for value in operands))
    return Value(data, uint32, uncertain(operands, result_type(op)[0]))


@handles("top_threshold")
def top_threshold(op: Any, machine: Machine) -> Value:
    """Returns the threshold of each row; its error is the distance to other elements that rounding
    may select."""
    x, k, p = (machine.read(value) for value in (op.operand, op.k, op.p))
    if (x.data < 0).any():
        raise fail(op, "the operand has a negative element")
    rows = x.data.reshape(-1, x.shape[-1])
    wanted = min(int(k.data), rows.shape[1]) if k.data > 0 else rows.shape[1]
    share = float(p.data)
    data = np.array([_least(row, wanted, share, 0.0) for row in rows])
    shape = result_type(op)[0]
    if x.error is None or p.error is None:
        return Value(data.reshape(shape), x.dtype)
    passed = x.error.reshape(rows.shape)
    # The error of a sum: one rounding per term, and the errors of the terms and of the share.
    doubt = (
        2 * rows.shape[1] * UNIT * rows.sum(1) + 2 * passed.sum(1) + float(p.error) * rows.sum(1)
    )
    error = passed.max(1)
    for sign in (-1, 1):
        other = [
            _least(row, wanted, share, sign * slack) for row, slack in zip(rows, doubt, strict=True)
        ]
        error = np.maximum(error, passed.max(1) + np.abs(np.array(other) - data))
    return Value(data.reshape(shape), x.dtype, error.reshape(shape))


def _least(row: Array, k: int, p: float, slack: float) -> float:
    """Returns the least element that is kept in a row, if `slack` is added to the sum to reach."""
    ordered = -np.sort(-row)
    least = ordered[k - 1]
    kept = ordered[ordered >= least]
    if p >= 1:
        return float(least)
    sums = np.cumsum(kept)
    enough = (sums >= p * sums[-1] + slack) & (sums > 0)
    return float(kept[int(np.argmax(enough))] if enough.any() else least)

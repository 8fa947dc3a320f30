"""Ops that sample tokens: random bits, and the filters top-k and top-p."""

from __future__ import annotations

from ...dialects import ark as dialect
from ..operands import as_tensor
from ..tensor import Tensor
from .common import emit

__all__ = ["philox", "top_threshold"]


def philox(index: Tensor, counter: Tensor, seed: Tensor, name: str | None = None) -> Tensor:
    """Random bits by place, from the counter-based generator Philox4x32-10.

    Args:
        index: which bits of the stream, int64; counts from zero.
        counter: which stream under this seed, such as the number of a step; int64.
        seed: the key; int64.

    The shapes broadcast. Gives uint32: word ``index % 4`` of the block that the generator makes
    of the 128-bit counter ``(index / 4, counter)`` under the 64-bit key ``seed``, low words
    first. There is no state: equal operands give equal bits, on every target.

    Example:
        >>> step, seed = (ark.scalar(name, ark.int64) for name in ("step", "seed"))
        >>> bits = ark.philox(ark.arange(1000, dtype=ark.int64), step, seed)
        >>> bits.shape, bits.dtype
        ((1000,), ark.uint32)
    """
    operands = {"index": index, "counter": counter, "seed": seed}
    tensors = {key: as_tensor(value, "philox", key) for key, value in operands.items()}
    return emit("philox", dialect.PhiloxOp, name, **tensors)


def top_threshold(x: Tensor, k: Tensor, p: Tensor, name: str | None = None) -> Tensor:
    """The least number that top-k and then top-p keep of every row along the last dimension.

    Args:
        x: fp32 from zero on, such as probabilities, ``[..., n]``; a sum other than one will do.
        k: how many of the largest to keep, an int32 scalar; all where it is not positive.
        p: share of the sum of the k largest, an fp32 scalar. The smallest set of the largest
            elements is kept whose sum reaches that share: at least one, and all k from ``p = 1``
            on.

    Returns ``[..., 1]``. Elements equal to the threshold are kept: ``x >= top_threshold(x, k, p)``.

    Example:
        >>> k, p = ark.input("k", (), ark.int32), ark.input("p", ())
        >>> probabilities = ark.softmax(x, axis=-1)
        >>> kept = probabilities >= ark.top_threshold(probabilities, k, p)
    """
    operands = {"operand": x, "k": k, "p": p}
    tensors = {key: as_tensor(value, "top_threshold", key) for key, value in operands.items()}
    return emit("top_threshold", dialect.TopThresholdOp, name, **tensors)

"""Ops for sampling: a random number generator, and the threshold of top-k and nucleus sampling."""

from __future__ import annotations

from ...dialects import ark as dialect
from ..operands import as_tensor
from ..tensor import Tensor
from .common import emit

__all__ = ["philox", "top_threshold"]


def philox(index: Tensor, counter: Tensor, seed: Tensor, name: str | None = None) -> Tensor:
    """Returns 32 random bits per element, from the counter-based generator Philox4x32-10.

    Args:
        index: position in the random stream, from zero on; int64.
        counter: number of the stream, such as the number of a step; int64.
        seed: the generator's key; int64.

    The three shapes broadcast. An element of the result, which is uint32, is word ``index % 4`` of
    the block that the generator computes from the 128-bit counter ``(index / 4, counter)`` and the
    64-bit key ``seed``; the low words come first. The generator has no state: equal operands give
    equal bits on every target. Salmon, Moraes, Dror and Shaw define it (SC '11). Raises
    InvalidUsageError if an operand is not int64 or shapes do not broadcast.

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
    """Returns the threshold of top-k and nucleus (top-p) sampling for each row of `x`.

    Top-k keeps the `k` largest elements of a row. Of these, nucleus sampling keeps the smallest
    set of largest elements whose sum is at least `p` times the sum of the `k` largest; the set has
    at least one element. The threshold is the least of these elements:
    ``x >= top_threshold(x, k, p)`` selects them, and all elements equal to the least.

    Args:
        x: fp32 ``[..., n]``, not negative, such as probabilities. Rows need not sum to one.
        k: an int32 scalar. A number that is not positive keeps all elements.
        p: an fp32 scalar. From 1.0 on, all `k` elements are kept.

    The result is fp32 ``[..., 1]``. Top-k sampling is that of Fan, Lewis and Dauphin (2018),
    nucleus sampling that of Holtzman et al. (2020). Raises InvalidUsageError if shapes or dtypes do
    not fit.

    Example:
        >>> k, p = ark.input("k", (), ark.int32), ark.input("p", ())
        >>> probabilities = ark.softmax(x, axis=-1)
        >>> kept = probabilities >= ark.top_threshold(probabilities, k, p)
    """
    tensors = {
        "operand": as_tensor(x, "top_threshold", "x"),
        "k": as_tensor(k, "top_threshold", "k"),
        "p": as_tensor(p, "top_threshold", "p"),
    }
    return emit("top_threshold", dialect.TopThresholdOp, name, **tensors)

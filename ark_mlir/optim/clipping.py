"""Clipping of gradients."""

from __future__ import annotations

from collections.abc import Sequence

from .. import frontend as ark
from ..frontend import Tensor
from .checks import as_floats, as_number, invalid, widened

__all__ = ["clip_by_global_norm"]


def clip_by_global_norm(
    gradients: Sequence[Tensor], max_norm: float, all_ranks: bool = False
) -> tuple[list[Tensor], Tensor]:
    """Scales gradients so that their global norm is at most `max_norm`.

    The global norm is the root of the sum of the squares of all elements of all gradients. Returns
    the scaled gradients, of the dtypes of `gradients`, and the global norm before the scaling, an
    fp32 scalar. As in PyTorch, the divisor is the norm plus 1e-6. If an element is NaN or infinite,
    all results are NaN or zero.

    Args:
        gradients: tensors of floats, of any shapes.
        max_norm: a positive number.
        all_ranks: True for a model whose weights are divided among the ranks, such as a pipeline:
            the norm is that of the gradients of all ranks.

    Raises InvalidUsageError if `gradients` is not a list of tensors of floats, `max_norm` is not
    positive and finite, `all_ranks` is not a bool, or the program has no ranks and `all_ranks` is
    True.

    Example:
        >>> slopes, norm = ark.optim.clip_by_global_norm([a, b], 1.0)
    """
    op = "ark.optim.clip_by_global_norm"
    slopes = as_floats(gradients, "gradients", op)
    limit = as_number(max_norm, "max_norm", op)
    if limit == 0:
        raise invalid("max_norm must be positive, not 0", op)
    if not isinstance(all_ranks, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"all_ranks must be True or False, not {all_ranks!r}", op)
    squares = [ark.reduce_sum(widened(s) * widened(s), keepdims=False) for s in slopes]
    total = squares[0]
    for square in squares[1:]:
        total = total + square
    norm = ark.sqrt(ark.all_reduce(total) if all_ranks else total)
    factor = ark.minimum(limit / (norm + 1e-6), 1.0)
    return [_scaled(slope, factor) for slope in slopes], norm


def _scaled(slope: Tensor, factor: Tensor) -> Tensor:
    result = widened(slope) * factor
    return result if result.dtype == slope.dtype else ark.cast(result, slope.dtype)

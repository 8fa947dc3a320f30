"""Cross-entropy and dropout, which have one rule each for their derivatives."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import math

import numpy as np

from ...dtypes import bool_, fp32, int64, uint32
from ..derivatives import GroupStep, attach, frozen
from ..operands import as_tensor, constant_tensor
from ..shapes import as_int, invalid
from ..tensor import Tensor
from .conditions import equal, greater_equal, not_equal, where
from .elementwise import add, cast, div, exp, log, mul, sub
from .indexing import as_indices, gather
from .reductions import reduce_max, reduce_sum
from .sampling import philox
from .views import identity, reshape

__all__ = ["cross_entropy", "dropout"]


def cross_entropy(
    logits: Tensor, labels: Tensor, ignore_index: int = -100, name: str | None = None
) -> Tensor:
    """Returns the mean of ``-log(softmax(logits)[label])`` over all rows, as an fp32 scalar.

    Args:
        logits: ``[..., V]`` of floats, one element for each of V classes.
        labels: integers ``[...]``, the class of each row.
        ignore_index: rows with this label do not count. If all rows have it, the result is NaN.

    The loss and its derivative are computed in fp32. Raises InvalidUsageError if `logits` are not
    floats, `labels` are not integers, shapes do not fit, or there are no classes. A run raises
    DataRangeError if a label is neither in ``[0, V)`` nor `ignore_index`.

    Example:
        >>> labels = ark.input("labels", (4,), ark.int32)
        >>> ark.cross_entropy(x, labels).shape  # x: (4, 64)
        ()
    """
    op = "ark.cross_entropy"
    scores = as_tensor(logits, "cross_entropy", "logits")
    classes = as_tensor(labels, "cross_entropy", "labels")
    ignored = as_int(ignore_index, "ignore_index", op)
    if not scores.dtype.is_float:
        raise invalid(f"logits must have a float dtype, not {scores.dtype}", op)
    if not classes.dtype.is_integer or classes.dtype is bool_:
        raise invalid(f"labels must have an integer dtype, not {classes.dtype}", op)
    if not scores.ndim or classes.shape != scores.shape[:-1] or not scores.shape[-1]:
        raise invalid(
            f"labels of shape {list(classes.shape)} do not fit logits of shape "
            f"{list(scores.shape)}; labels have the shape of logits without the last dimension, "
            "which is not empty",
            op,
        )
    rows, width = math.prod(classes.shape), scores.shape[-1]
    flat = reshape(scores, (rows, width))
    given = reshape(as_indices(classes, "cross_entropy"), (rows, 1))
    kept = _counting(given, ignored)
    # The table maps each class to itself. A run reports the look-up of a label that is not a class.
    table = constant_tensor(np.arange(width, dtype=given.dtype.numpy), given.dtype)
    label = gather(
        table, given if kept is None else where(kept, given, 0), 0, name or "cross_entropy"
    )
    greatest, total = _largest_and_sum(flat)
    losses = sub(log(total), sub(_wide(_elements(flat, label)), greatest))
    if kept is None:
        count = constant_tensor(np.array(rows, np.float32), fp32)
    else:
        losses = where(kept, losses, 0)
        count = reduce_sum(cast(kept, fp32), keepdims=False)
    loss = div(reduce_sum(losses, keepdims=False), count, name=name or "cross_entropy")

    def rule(step: GroupStep) -> list[Tensor | None]:
        source, label, number, *masks = step.inputs
        (g,) = step.cotangents
        assert g is not None
        # The exponential is computed again here, so that no tensor of the size of the logits is
        # kept for it.
        greatest, total = _largest_and_sum(source)
        probability = exp(sub(_wide(source), greatest + log(total)))
        slope = probability - cast(equal(label, table), fp32)
        scale = div(g, number)
        result = mul(slope, where(masks[0], scale, 0) if masks else scale)
        result = result if result.dtype is source.dtype else cast(result, source.dtype)
        return [result, *[None] * (len(step.inputs) - 1)]

    masks = [] if kept is None else [kept]
    attach(name or "cross_entropy", [flat, label, count, *masks], [loss], rule)
    return loss


def _counting(labels: Tensor, ignored: int) -> Tensor | None:
    """Returns a bool tensor that is true for the rows that count.

    None means that all rows count: the dtype of the labels does not hold the ignored value.
    """
    low, high = labels.dtype.integer_range
    return not_equal(labels, ignored) if low <= ignored <= high else None


def _wide(x: Tensor) -> Tensor:
    return x if x.dtype is fp32 else cast(x, fp32)


def _largest_and_sum(logits: Tensor) -> tuple[Tensor, Tensor]:
    """Returns, in fp32, the maximum of each row and the row's sum of exponentials relative to it.

    Args:
        logits: ``[R, V]``. Both results have the shape ``[R, 1]``.
    """
    x = _wide(logits)
    greatest = reduce_max(x, 1)
    return greatest, reduce_sum(exp(sub(x, greatest)), 1)


def _elements(matrix: Tensor, columns: Tensor) -> Tensor:
    """Returns one element of each row of `matrix` ``[R, V]``, at `columns` ``[R, 1]``."""
    rows, width = matrix.shape
    dtype = columns.dtype if matrix.size <= columns.dtype.integer_range[1] else int64
    first = np.arange(0, matrix.size, width, dtype=dtype.numpy).reshape(rows, 1)
    position = add(constant_tensor(first, dtype), cast(columns, dtype))
    return gather(reshape(matrix, (matrix.size,)), position, 0)


def dropout(
    x: Tensor,
    p: float,
    seed: Tensor | int,
    counter: Tensor | int = 0,
    name: str | None = None,
) -> Tensor:
    """Sets each element of `x` to zero with probability `p`, and divides the others by ``1 - p``.

    Args:
        x: a tensor of fp32, fp16 or bf16, of any shape; the result has its shape and dtype.
        p: a probability, in [0, 1]. With zero, the result is `x`.
        seed: an integer or an integer scalar. Use another seed for each layer: layers with equal
            seeds drop the same elements.
        counter: an integer or an integer scalar, such as a state that counts the steps. Each value
            drops other elements.

    Srivastava et al. (2014) describe dropout. The random bits are those of :func:`philox`: equal
    seeds and counters drop the same elements on every target. ``ark.gradients`` computes the bits
    again, so that no mask is kept. Raises InvalidUsageError if `x` has another dtype, `p` is not a
    probability, or `seed` or `counter` is not an integer.

    Example:
        >>> step = ark.state("step", (), ark.int64)
        >>> y = ark.dropout(x, 0.1, seed=7, counter=step)
    """
    op = "ark.dropout"
    source = as_tensor(x, "dropout")
    if isinstance(p, bool) or not isinstance(p, (int, float)) or not 0 <= p <= 1:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"p must be a number in [0, 1], not {p!r}", op)
    if not source.dtype.is_float:
        raise invalid(f"x must have a float dtype, not {source.dtype}", op)
    key, stream = _number(seed, "seed", op), _number(counter, "counter", op)
    if p == 0:
        return identity(source, name=name)
    result = _dropped(source, float(p), frozen(key), frozen(stream), name)

    def rule(step: GroupStep) -> list[Tensor | None]:
        (g,) = step.cotangents
        assert g is not None
        # The dependence on the cotangent keeps the compiler from merging the two computations of
        # the bits, which would be kept from the forward to the backward pass.
        again = identity(step.inputs[1], deps=[g])
        return [_dropped(g, float(p), again, step.inputs[2], None), None, None]

    attach(name or "dropout", [source, key, stream], [result], rule)
    return result


def _number(value: Tensor | int, label: str, op: str) -> Tensor:
    if not isinstance(value, Tensor):
        return constant_tensor(np.array(as_int(value, label, op), np.int64), int64)
    if not value.dtype.is_integer or value.dtype is bool_ or value.size != 1:
        raise invalid(
            f"{label} must be an integer scalar, not {value.dtype}{list(value.shape)}", op
        )
    scalar = value if value.ndim == 0 else reshape(value, ())
    return scalar if scalar.dtype is int64 else cast(scalar, int64)


def _dropped(x: Tensor, p: float, seed: Tensor, counter: Tensor, name: str | None) -> Tensor:
    limit = min(round(p * 2**32), 2**32 - 1)
    bits = philox(_numbers(x.shape), counter, seed)
    kept = greater_equal(bits, constant_tensor(np.array(limit, np.uint32), uint32))
    return where(kept, mul(x, 1 / (1 - p) if p < 1 else 0.0), 0, name=name or "dropout")


def _numbers(shape: tuple[int, ...]) -> Tensor:
    """Returns the index of each element in row-major order, as a sum of two small constants."""
    width = shape[-1] if shape else 1
    rows = np.arange(math.prod(shape[:-1]), dtype=np.int64) * width
    first = constant_tensor(rows.reshape((*shape[:-1], 1) if shape else ()), int64)
    return first + constant_tensor(np.arange(width, dtype=np.int64), int64) if shape else first

"""Reads by index and writes into states."""

from __future__ import annotations

from collections.abc import Sequence

from ...dialects import ark as dialect
from ...dtypes import int32, int64, uint32
from ..builder import check_tensors
from ..operands import as_tensor
from ..program import current
from ..shapes import as_axis, as_int, invalid
from ..tensor import Tensor
from .common import emit
from .elementwise import cast

__all__ = ["embedding", "gather", "update"]

# In ``static_offsets``: the offset is an operand (MLIR's ShapedType::kDynamic).
_DYNAMIC = -(2**63)


def _as_indices(value: object, op: str) -> Tensor:
    """Integers of any dtype, as one that the dialect takes and that holds them all."""
    indices = as_tensor(value, op, "indices")
    if not indices.dtype.is_integer or indices.dtype in (int32, int64):
        return indices
    return cast(indices, int64 if indices.dtype is uint32 else int32)


def embedding(indices: Tensor, weight: Tensor, name: str | None = None) -> Tensor:
    """Rows of a table: ``weight[indices]``.

    Args:
        indices: integers, of any shape.
        weight: ``[rows, D]``.

    The result has the shape of `indices` followed by D. An index outside of the table is
    an error that the run reports.

    Example:
        >>> tokens = ark.input("tokens", (8,), ark.int32)
        >>> table = ark.parameter("table", (1000, 64))
        >>> ark.embedding(tokens, table).shape
        (8, 64)
    """
    table = as_tensor(weight, "embedding", "weight")
    rows = _as_indices(indices, "embedding")
    return emit("embedding", dialect.EmbeddingOp, name, indices=rows, weight=table)


def gather(x: Tensor, indices: Tensor, axis: int, name: str | None = None) -> Tensor:
    """Slices of `x` along one dimension, by index, as ``numpy.take``.

    Args:
        indices: integers, of any shape, which takes the place of the dimension.

    An index outside of the dimension is an error that the run reports.

    Example:
        >>> table = ark.parameter("table", (512, 64))
        >>> position = ark.scalar("position", max=511)
        >>> ark.gather(table, position, axis=0).shape
        (64,)
    """
    source = as_tensor(x, "gather")
    positions = _as_indices(indices, "gather")
    number = as_axis(axis, source.ndim, "ark.gather")
    return emit("gather", dialect.GatherOp, name, source=source, indices=positions, axis=number)


def update(
    state: Tensor, value: Tensor, offsets: Sequence[int | Tensor], name: str | None = None
) -> Tensor:
    """Writes `value` into a slice of `state`, in place, and returns the updated tensor.

    Args:
        state: made by ``ark.state``, or the result of an update.
        value: of the state's rank and dtype.
        offsets: for every dimension where the slice starts: an int, or a scalar tensor.

    Every op that is made later and reads the state, through any of its tensors, sees the write.
    What an op made before, a view such as ``cache[:]`` included, keeps the values that it read.
    Raises InvalidUsageError where `state` is no state (a view of one is none), and where the slice
    does not fit and the offset is known; where it is not known, the run raises it.

    Example:
        >>> cache = ark.state("keys", (1, 8, 512, 64))
        >>> key = ark.input("key", (1, 8, 1, 64))
        >>> position = ark.scalar("position", max=511)
        >>> before = cache[:]                                # without the key
        >>> ark.update(cache, key, (0, 0, position, 0)).shape
        (1, 8, 512, 64)
    """
    target = as_tensor(state, "update", "state")
    source = as_tensor(value, "update", "value")
    if target.state is None:
        raise invalid(f"{target.name!r} is not a state", "ark.update")
    if isinstance(offsets, Tensor) or not isinstance(offsets, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid("offsets must be a list of integers and scalar tensors", "ark.update")
    dynamic = [o for o in offsets if isinstance(o, Tensor)]
    static = [
        _DYNAMIC if isinstance(o, Tensor) else as_int(o, "offset", "ark.update") for o in offsets
    ]
    program = current("ark.update")
    check_tensors(program, "ark.update", (target,))
    program.sign()  # the verifier looks up whether the argument is a state
    result = emit(
        "update",
        dialect.UpdateOp,
        name,
        state=target,
        value=source,
        offsets=dynamic,
        static_offsets=static,
    )
    program.set_state(target.state, result.value)
    return Tensor(program, result.value, name or target.name, target.state)

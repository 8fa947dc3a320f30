"""Ops that read by index, and ``update``, which writes to a state."""

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

# An entry of ``static_offsets`` whose offset is an operand (MLIR's ShapedType::kDynamic).
_DYNAMIC = -(2**63)


def as_indices(value: object, op: str, label: str = "indices") -> Tensor:
    """Returns indices of any integer dtype as int32 or int64, the dtypes that the dialect takes.

    Raises InvalidUsageError, with the name `label`, if `value` is not a tensor of integers.
    """
    indices = as_tensor(value, op, label)
    if not indices.dtype.is_integer:
        raise invalid(f"{label} must have an integer dtype, not {indices.dtype}", f"ark.{op}")
    if indices.dtype in (int32, int64):
        return indices
    return cast(indices, int64 if indices.dtype is uint32 else int32)


def embedding(indices: Tensor, weight: Tensor, name: str | None = None) -> Tensor:
    """Returns rows of a table: ``weight[indices]``.

    Args:
        indices: integers, of any shape.
        weight: ``[rows, D]``, of any dtype.

    The result has the shape of `indices` followed by D. Raises InvalidUsageError if `indices` is
    not a tensor of integers or `weight` is not a matrix. A run raises DataRangeError if an index is
    negative or not less than ``rows``.

    Example:
        >>> tokens = ark.input("tokens", (8,), ark.int32)
        >>> table = ark.parameter("table", (1000, 64))
        >>> ark.embedding(tokens, table).shape
        (8, 64)
    """
    table = as_tensor(weight, "embedding", "weight")
    rows = as_indices(indices, "embedding")
    return emit("embedding", dialect.EmbeddingOp, name, indices=rows, weight=table)


def gather(x: Tensor, indices: Tensor, axis: int, name: str | None = None) -> Tensor:
    """Returns the slices of `x` along dimension `axis` that `indices` names, as ``numpy.take``.

    Args:
        x: a tensor of any dtype.
        indices: integers, of any shape, which replaces the dimension in the result's shape.
        axis: the dimension; a negative one counts from the end.

    Raises InvalidUsageError if `indices` is not a tensor of integers or `x` lacks `axis`. A run
    raises DataRangeError if an index is negative or not less than the extent.

    Example:
        >>> table = ark.parameter("table", (512, 64))
        >>> position = ark.scalar("position", max=511)
        >>> ark.gather(table, position, axis=0).shape
        (64,)
    """
    source = as_tensor(x, "gather")
    positions = as_indices(indices, "gather")
    number = as_axis(axis, source.ndim, "ark.gather")
    return emit("gather", dialect.GatherOp, name, source=source, indices=positions, axis=number)


def update(
    state: Tensor,
    value: Tensor,
    offsets: Sequence[int | Tensor],
    name: str | None = None,
    page_table: Tensor | None = None,
) -> Tensor:
    """Writes `value` to a slice of `state`, in place, and returns the state's tensor.

    Args:
        state: a result of ``ark.state`` or ``ark.update``; a view of a state is not accepted.
        value: a tensor of the state's rank and dtype; its shape is that of the slice.
        offsets: the first index of the slice in each dimension: an int, or an integer tensor, which
            is a scalar or has one index for each sequence. Sequences are the entries of the first
            dimension of `value`. Indices for each sequence in the first dimension are the rows of
            `state` that the sequences write; otherwise sequence i writes row i, plus the offset.
        page_table: int32 ``[B, P]``, the pages of each sequence, for a `state`
            ``[pages, heads, page_size, D]``. The offset of dimension 2 is then a tensor of one
            position for each sequence, and the first offset is 0: position i is row
            ``i % page_size`` of page ``page_table[b, i // page_size]``.

    Ops that follow and read the state, through any of its tensors, read the new values. The result
    of an earlier op, including a view such as ``cache[:]``, keeps the old ones. Raises
    InvalidUsageError if `state` is not a state, ranks or dtypes differ, or the slice at static
    offsets does not fit. A run raises DataRangeError if the slice at run-time offsets does not fit;
    such a slice is not written. The same holds for a page that the state does not have, a position
    beyond the page table, and a slice that crosses the end of its page. If two sequences write one
    element, it has the value of the later sequence.

    Example:
        >>> cache = ark.state("keys", (1, 8, 512, 64))
        >>> key = ark.input("key", (1, 8, 1, 64))
        >>> position = ark.scalar("position", max=511)
        >>> before = cache[:]                                # not changed by the update
        >>> ark.update(cache, key, (0, 0, position, 0)).shape
        (1, 8, 512, 64)
        >>> caches = ark.state("all_keys", (4, 8, 512, 64))  # of four sequences
        >>> positions = ark.input("positions", (4,), ark.int32)
        >>> keys = ark.input("new_keys", (4, 8, 1, 64))
        >>> ark.update(caches, keys, (0, 0, positions, 0)).shape
        (4, 8, 512, 64)
        >>> pool = ark.state("pool", (100, 8, 16, 64))       # 100 pages of 16 positions
        >>> table = ark.input("table", (4, 32), ark.int32)
        >>> ark.update(pool, keys, (0, 0, positions, 0), page_table=table).shape
        (100, 8, 16, 64)
    """
    target = as_tensor(state, "update", "state")
    source = as_tensor(value, "update", "value")
    if target.state is None:
        raise invalid(
            f"state must be a result of ark.state or ark.update, which {target.name!r} is not",
            "ark.update",
        )
    if isinstance(offsets, Tensor) or not isinstance(offsets, Sequence):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(
            f"offsets must be a list of integers and tensors, not {offsets!r}", "ark.update"
        )
    if page_table is not None:
        # Imported here, since pages are gathered by an op of this module.
        from .paging import page_offsets

        offsets = page_offsets(target, source, offsets, page_table, name or target.name or "cache")
    dynamic = [o for o in offsets if isinstance(o, Tensor)]
    static = [
        _DYNAMIC if isinstance(o, Tensor) else as_int(o, "offset", "ark.update") for o in offsets
    ]
    program = current("ark.update")
    check_tensors(program, "ark.update", (target,))
    program.sign()  # the op's verifier reads the kind of the argument from the signature
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

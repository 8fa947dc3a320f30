"""Collectives, and point-to-point communication between the ranks of a program."""

from __future__ import annotations

from typing import TYPE_CHECKING

from ... import ir
from ...dialects import ark as dialect
from ..builder import append
from ..operands import as_tensor
from ..program import current
from ..shapes import as_axis, as_dtype, as_int, as_shape, invalid
from ..tensor import Tensor
from .common import Enum, emit

if TYPE_CHECKING:
    from ...typing import DTypeLike, Reduction, Shape

__all__ = [
    "all_gather", "all_reduce", "all_to_all", "broadcast", "recv", "reduce_scatter", "send"
]  # fmt: skip


def _world(op: str) -> int:
    program = current(f"ark.{op}")
    if program.world_size is None:
        raise invalid(
            f"program {program.name!r} has no ranks; pass rank= and world_size= to ark.Program",
            f"ark.{op}",
        )
    return program.world_size


def _reduction(kind: str, op: str) -> Enum:
    if kind not in ("sum", "max", "min"):
        raise invalid(f'op must be "sum", "max" or "min", not {kind!r}', f"ark.{op}")
    return Enum("reduction", kind)


def _peer(rank: int, op: str, label: str) -> int:
    number, world = as_int(rank, label, f"ark.{op}"), _world(op)
    if not 0 <= number < world:
        raise invalid(f"{label} {number} is not one of {world} ranks", f"ark.{op}")
    return number


def all_reduce(x: Tensor, op: Reduction = "sum", name: str | None = None) -> Tensor:
    """Returns the elementwise reduction of `x` over all ranks, the same on every rank.

    Args:
        x: floats or integers, but not 8-bit floats; every rank passes the same shape and dtype,
            which the result has as well.
        op: ``"sum"``, ``"max"`` or ``"min"``.

    Raises InvalidUsageError if `op` is another word, the dtype of `x` is bool or an 8-bit float
    type, or the program has no ``rank`` and ``world_size``.

    Example:
        >>> ark.all_reduce(x).shape               # x: (4, 64) on every rank
        (4, 64)
    """
    world = _world("all_reduce")
    source = as_tensor(x, "all_reduce")
    kind = _reduction(op, "all_reduce")
    return emit(
        "all_reduce", dialect.AllReduceOp, name, operand=source, kind=kind, world_size=world
    )


def all_gather(x: Tensor, axis: int, name: str | None = None) -> Tensor:
    """Returns the tensors of all ranks, concatenated along dimension `axis` in order of rank.

    Every rank passes an `x` of the same shape and dtype; the extent of `axis` in the result is
    ``world_size`` times larger. Raises InvalidUsageError if `x` lacks `axis`, or the program has no
    ``rank`` and ``world_size``.

    Example:
        >>> ark.all_gather(x, axis=-1).shape      # x: (4, 64) on each of 2 ranks
        (4, 128)
    """
    world = _world("all_gather")
    source = as_tensor(x, "all_gather")
    number = as_axis(axis, source.ndim, "ark.all_gather")
    return emit(
        "all_gather", dialect.AllGatherOp, name, operand=source, axis=number, world_size=world
    )


def reduce_scatter(x: Tensor, axis: int, op: Reduction = "sum", name: str | None = None) -> Tensor:
    """Returns one slice of the elementwise reduction of `x` over all ranks.

    The reduction is split along dimension `axis` into ``world_size`` slices of equal extent; rank r
    gets slice r.

    Args:
        x: floats or integers, but not 8-bit floats; every rank passes the same shape and dtype.
        axis: the dimension; a negative one counts from the end. Its extent must be a multiple of
            ``world_size``.
        op: ``"sum"``, ``"max"`` or ``"min"``.

    Raises InvalidUsageError if `op` is another word, `x` lacks `axis`, the extent is not such a
    multiple, the dtype of `x` is bool or an 8-bit float type, or the program has no ``rank`` and
    ``world_size``.

    Example:
        >>> ark.reduce_scatter(x, axis=0).shape   # x: (4, 64) on each of 2 ranks
        (2, 64)
    """
    world = _world("reduce_scatter")
    source = as_tensor(x, "reduce_scatter")
    return emit(
        "reduce_scatter",
        dialect.ReduceScatterOp,
        name,
        operand=source,
        kind=_reduction(op, "reduce_scatter"),
        axis=as_axis(axis, source.ndim, "ark.reduce_scatter"),
        world_size=world,
    )


def all_to_all(x: Tensor, axis: int, name: str | None = None) -> Tensor:
    """Sends slice r of `x` along dimension `axis` to rank r, for all ranks r.

    Returns the slices that this rank receives, concatenated along `axis` in order of rank, in the
    shape and dtype of `x`. All slices have equal extents. Raises InvalidUsageError if `x` lacks
    `axis`, its extent is not a multiple of ``world_size``, or the program has no ``rank`` and
    ``world_size``.

    Example:
        >>> y = ark.all_to_all(x, axis=0)
    """
    world = _world("all_to_all")
    source = as_tensor(x, "all_to_all")
    number = as_axis(axis, source.ndim, "ark.all_to_all")
    return emit(
        "all_to_all", dialect.AllToAllOp, name, operand=source, axis=number, world_size=world
    )


def broadcast(x: Tensor, root: int, name: str | None = None) -> Tensor:
    """Returns the tensor `x` of rank `root`, on every rank.

    `x` may have any dtype. Raises InvalidUsageError if `root` is not a rank, or the program has no
    ``rank`` and ``world_size``. To expand dimensions, use ``ark.broadcast_to``.

    Example:
        >>> y = ark.broadcast(x, root=0)
    """
    world = _world("broadcast")
    source = as_tensor(x, "broadcast")
    rank = _peer(root, "broadcast", "root")
    return emit("broadcast", dialect.BroadcastOp, name, operand=source, root=rank, world_size=world)


def send(x: Tensor, dst: int, tag: int = 0, name: str | None = None) -> Tensor:
    """Sends `x` to rank `dst`, which receives it with ``ark.recv``.

    Returns `x`. An op that reads the result runs after the transfer. Raises InvalidUsageError if
    `dst` is not a rank, or the program has no ``rank`` and ``world_size``.

    Args:
        x: a tensor of any shape and dtype.
        dst: the rank that receives.
        tag: an integer that pairs this call with one call of ``ark.recv``.

    Example:
        >>> sent = ark.send(x, dst=1, tag=0)
    """
    source = as_tensor(x, "send")
    peer, label = _peer(dst, "send", "dst"), as_int(tag, "tag", "ark.send")
    return emit("send", dialect.SendOp, name, operand=source, peer=peer, tag=label)


def recv(shape: Shape, dtype: DTypeLike, src: int, tag: int = 0, name: str | None = None) -> Tensor:
    """Returns the tensor that rank `src` sends with ``ark.send`` under the same `tag`.

    Args:
        shape, dtype: shape and dtype of the tensor that `src` sends.
        src: the rank that sends.
        tag: the integer that the call of ``ark.send`` passes.

    Raises InvalidUsageError if `src` is not a rank, an extent is negative, the dtype is unknown, or
    the program has no ``rank`` and ``world_size``.

    Example:
        >>> x = ark.recv((4, 64), ark.bf16, src=0, tag=0)
    """
    program = current("ark.recv")
    extents, kind = tuple(as_shape(shape, "ark.recv")), as_dtype(dtype, "ark.recv")
    peer, label = _peer(src, "recv", "src"), as_int(tag, "tag", "ark.recv")

    def build(*, loc: ir.Location, ip: ir.InsertionPoint) -> dialect.RecvOp:
        result = program.tensor_type(extents, kind)
        return dialect.RecvOp(result, peer, label, loc=loc, ip=ip)

    return Tensor(program, append(build, "recv", (), name), name or "recv")

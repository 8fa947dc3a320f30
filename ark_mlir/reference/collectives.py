"""Collectives, send and recv."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import queue
from typing import Any

import numpy as np

from ..errors import InvalidUsageError
from .bounded import Array, Bounded
from .communicator import TIMEOUT, Endpoint
from .interpreter import Machine, handles
from .values import Value, fail


def _rank(op: Any, machine: Machine) -> Endpoint:
    if machine.rank is None:
        raise fail(op, "needs the programs of all ranks: pass lists of programs and inputs")
    return machine.rank


def _combined(op: Any, values: list[Value]) -> Value | Bounded:
    kind = str(op.kind)
    first = values[0]
    if "sum" in kind and first.dtype.is_float:
        stacked = first.bounded.view(lambda _: np.stack([v.data for v in values]))
        if stacked.error is not None:
            stacked = Bounded(stacked.value, np.stack([v.bounded.slack for v in values]))
        return stacked.sum((0,)).view(lambda a: a[0])
    function = np.add if "sum" in kind else np.maximum if "max" in kind else np.minimum
    data: Array = first.data
    for other in values[1:]:
        data = np.asarray(function(data, other.data))
    errors = [v.error for v in values if v.error is not None]
    return first.with_data(data, np.max(errors, axis=0) if errors else None)


@handles("all_reduce")
def all_reduce(op: Any, machine: Machine) -> Value | Bounded:
    """Returns the reduction over all ranks."""
    values = _rank(op, machine).exchange(op, machine.read(op.operand))
    return _combined(op, values)


@handles("reduce_scatter")
def reduce_scatter(op: Any, machine: Machine) -> Value | Bounded:
    """Returns this rank's part of the reduction over all ranks."""
    rank = _rank(op, machine)
    combined = _combined(op, rank.exchange(op, machine.read(op.operand)))
    return combined.view(lambda a: _part(a, rank, op.axis.value))


def _part(array: Array, rank: Endpoint, axis: int) -> Array:
    return np.split(array, rank.communicator.size, axis)[rank.number]


def _joined(values: list[Value], axis: int) -> Value:
    errors = [v.error for v in values if v.error is not None]
    data = np.concatenate([v.data for v in values], axis)
    return values[0].with_data(data, np.concatenate(errors, axis) if errors else None)


@handles("all_gather")
def all_gather(op: Any, machine: Machine) -> Value:
    """Returns the tensors of all ranks, concatenated in order of rank."""
    return _joined(_rank(op, machine).exchange(op, machine.read(op.operand)), op.axis.value)


@handles("all_to_all")
def all_to_all(op: Any, machine: Machine) -> Value:
    """Returns the parts for this rank of all ranks, concatenated in order of rank."""
    rank, axis = _rank(op, machine), op.axis.value
    values = rank.exchange(op, machine.read(op.operand))
    return _joined([v.view(lambda a: _part(a, rank, axis)) for v in values], axis)


@handles("broadcast")
def broadcast(op: Any, machine: Machine) -> Value:
    """Returns the root's tensor."""
    return _rank(op, machine).exchange(op, machine.read(op.operand))[op.root.value]


@handles("send")
def send(op: Any, machine: Machine) -> Value:
    """Puts the tensor into the peer's mailbox, without waiting."""
    rank, value = _rank(op, machine), machine.read(op.operand)
    rank.communicator.mailbox(rank.number, op.peer.value, op.tag.value).put(value)
    return value


@handles("recv")
def recv(op: Any, machine: Machine) -> Value:
    """Waits for the peer's tensor and returns it."""
    rank = _rank(op, machine)
    box = rank.communicator.mailbox(op.peer.value, rank.number, op.tag.value)
    for _ in range(int(TIMEOUT * 10)):
        try:
            return box.get(timeout=0.1)
        except queue.Empty:
            if rank.communicator.barrier.broken:
                break
    raise InvalidUsageError(
        f"rank {rank.number} waits in ark.recv for rank {op.peer.value}, which calls no "
        f"ark.send with tag {op.tag.value}"
    )

"""Arguments and results of a program: ``ark.input`` and its siblings, ``ark.output``."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal

from ..dtypes import fp32, int32, int64
from .builder import check_tensors
from .locations import user_frames
from .module import constructing
from .operands import as_tensor
from .program import Argument, Output, current
from .shapes import as_dtype, as_int, as_ints, as_name, as_shape, invalid
from .tensor import Tensor

if TYPE_CHECKING:
    from ..typing import DTypeLike, Shape

# As docs/bundle.md has it; no machine's memory comes near.
_MAX_BYTES = 1 << 47

__all__ = ["input", "output", "parameter", "placeholder", "scalar", "state", "stop_when", "tensor"]


def input(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """A tensor that is bound at every run.

    Args:
        name: the keyword to bind by; unique among the program's arguments.
        shape: static extents.
        dtype: element type.

    Raises InvalidUsageError on a name in use, extents that are no counts, an unknown dtype.

    Example:
        >>> x = ark.input("x", (4, 64), ark.bf16)
    """
    return _argument("input", name, shape, dtype)


def placeholder(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """Another name of :func:`input`, with its arguments and errors.

    Example:
        >>> x = ark.placeholder("x", (4, 64), ark.fp32)
    """
    return _argument("input", name, shape, dtype)


def parameter(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """A tensor that is bound once, such as a weight. Arguments and errors as :func:`input`.

    A parameter made while an ``ark.Module`` is constructed gets the module's path in
    front of its name, unless the name has a dot.

    Example:
        >>> w = ark.parameter("w", (256, 64), ark.bf16)
    """
    return _argument("parameter", name, shape, dtype)


def state(name: str, shape: Shape, dtype: DTypeLike = fp32, init: float = 0) -> Tensor:
    """A tensor that lives on the device between runs; ``ark.update`` writes to it.

    The tensor that this returns, and what ``ark.update`` returns, are the state itself: an op reads
    the values that the state has when the op is made, after all updates before it. An output that
    is the state itself has the values at the end of the iteration. The result of an op, a view of
    the state (``s[:]``, ``ark.slice``, ``ark.reshape``, ``ark.identity``, ...) included, keeps the
    values of that moment: later updates do not change it.

    Args:
        init: value of every element before the first run and after ``reset``.

    Other arguments and errors as :func:`input`.

    Example:
        >>> cache = ark.state("cache", (8, 512, 64), ark.bf16)
        >>> before = cache[:]                                # keeps these values
        >>> updated = ark.update(cache, ark.ones((8, 1, 64), ark.bf16), (0, 511, 0))
        >>> changed = ark.output("changed", ark.not_equal(cache, before))
    """
    if isinstance(init, bool) or not isinstance(init, (int, float)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise invalid(f"init must be a number, not {init!r}", "ark.state")
    kind = as_dtype(dtype, "ark.state")
    if not kind.is_float and (not math.isfinite(init) or init != int(init)):
        raise invalid(f"init {init!r} is not a value of {kind}", "ark.state")
    if not kind.is_float and not kind.integer_range[0] <= init <= kind.integer_range[1]:
        raise invalid(f"init {init!r} does not fit into {kind}", "ark.state")
    return _argument("state", name, shape, dtype, init=init)


def tensor(
    shape: Shape,
    dtype: DTypeLike = fp32,
    strides: Shape | None = None,
    offsets: Shape | None = None,
    padded_shape: Shape | None = None,
    rank: int = -1,
    name: str | None = None,
) -> Tensor:
    """A part of a padded buffer that is bound at every run; alone, without padding, an input.

    Args:
        shape: extents of the part.
        strides: extents of the buffer; by default `shape`. As in ARK, they count elements along
            each dimension, and not the distance between two.
        offsets: where the part begins; by default in the first element.
        padded_shape: extents from `offsets` on that must lie in the buffer; by default `shape`.
            Nothing is ever written to what lies around the part.
        rank: whose memory it is: -1 or the program's own. What another rank has comes by
            ``ark.recv``.
        name: the keyword to bind an array of extents `strides` by; by default "tensor", or
            "tensor_1", "tensor_2", ... where that is taken.

    No data moves: ops read through the view. A buffer that stays on the device and is written is
    an ``ark.state``. Raises InvalidUsageError where the part or its padding is not inside.

    Example:
        >>> x = ark.tensor((3, 5), ark.fp16, strides=(4, 8), offsets=(0, 2), name="x")
    """
    program = current("ark.tensor")
    if rank not in (-1, 0 if program.rank is None else program.rank):
        raise invalid(f"is on rank {rank}; what another rank has comes by ark.recv", "ark.tensor")
    extents = as_shape(shape, "ark.tensor")
    whole = extents if strides is None else as_shape(strides, "ark.tensor")
    starts = [0] * len(extents) if offsets is None else as_ints(offsets, "offsets", "ark.tensor")
    padded = extents if padded_shape is None else as_shape(padded_shape, "ark.tensor")
    if not len(extents) == len(whole) == len(starts) == len(padded):
        raise invalid("shape, strides, offsets and padded_shape differ in rank", "ark.tensor")
    for extent, total, start, room in zip(extents, whole, starts, padded, strict=True):
        if not (start >= 0 and extent <= room and start + room <= total):
            raise invalid(
                f"shape {extents} at offsets {starts}, padded to {padded}, is not inside of a "
                f"buffer of {whole}",
                "ark.tensor",
            )
    label = program.free_name("tensor") if name is None else name
    buffer = _argument("input", label, whole, dtype, op="ark.tensor")
    if extents == whole:
        return buffer
    return buffer[tuple(slice(b, b + e) for b, e in zip(starts, extents, strict=True))]


def stop_when(flag: Tensor) -> None:
    """Ends a launch of several iterations after the one that leaves `flag` other than zero.

    Args:
        flag: a state of one int32, which the program updates. What it holds when the
            launch begins does not matter: at least one iteration runs.

    Raises InvalidUsageError on anything else, and on a second flag.

    Example:
        >>> done = ark.state("done", (), ark.int32)
        >>> ended = ark.less(ark.reduce_max(x, axis=(0, 1), keepdims=False), 1e-3)
        >>> done = ark.update(done, ark.cast(ended, ark.int32), ())
        >>> ark.stop_when(done)
    """
    program = current("ark.stop_when")
    value = as_tensor(flag, "stop_when", "flag")
    check_tensors(program, "ark.stop_when", (value,))
    if value.state is None or math.prod(value.shape) != 1 or value.dtype != int32:
        raise invalid(f"{value.name!r} is no state of one int32", "ark.stop_when")
    program.set_stop(value.state)


def scalar(name: str, dtype: DTypeLike = int32, max: int | None = None) -> Tensor:
    """A run-time integer of rank zero, such as the position of a token.

    Args:
        dtype: int32 or int64.
        max: the largest value that a run may pass; values start at zero.

    Raises InvalidUsageError on another dtype, a name in use, or a `max` that is negative or does
    not fit into the dtype.

    Example:
        >>> position = ark.scalar("position", max=511)
    """
    kind = as_dtype(dtype, "ark.scalar")
    if kind not in (int32, int64):
        raise invalid(f"a scalar is int32 or int64, not {dtype!r}", "ark.scalar")
    bound = None if max is None else as_int(max, "max", "ark.scalar")
    if bound is not None and not 0 <= bound <= kind.integer_range[1]:
        raise invalid(f"max {bound} is not a value of {dtype} from zero on", "ark.scalar")
    return _argument("scalar", name, (), dtype, max=bound)


def _argument(
    kind: Literal["input", "parameter", "state", "scalar"],
    name: str,
    shape: Shape,
    dtype: DTypeLike,
    *,
    init: float = 0,
    max: int | None = None,
    op: str | None = None,
) -> Tensor:
    op = op or f"ark.{kind}"
    program = current(op)
    argument = Argument(
        kind,
        as_name(name, "an argument's name"),
        tuple(as_shape(shape, op)),
        as_dtype(dtype, op),
        str(user_frames(0)[0]),
        init,
        max,
    )
    if (size := math.prod(argument.shape) * argument.dtype.itemsize) > _MAX_BYTES:
        raise invalid(f"shape {argument.shape} takes {size} bytes; the limit is {_MAX_BYTES}", op)
    # Modules of one class use one name each; their paths tell them apart at the end.
    repeat = kind in ("parameter", "state") and constructing()
    value = program.add_argument(argument, may_repeat=repeat)
    tensor = Tensor(program, value, name, argument if kind == "state" else None)
    tensor.argument = argument
    return tensor


def output(name: str, tensor: Tensor) -> Tensor:
    """Makes `tensor` a result of the program, under a name; returns it.

    Raises InvalidUsageError on a name in use or a tensor of another program.

    Example:
        >>> y = ark.output("y", ark.relu(x))
    """
    program = current("ark.output")
    value = as_tensor(tensor, "output", "an output")
    check_tensors(program, "ark.output", (value,))
    location = str(user_frames(0)[0])
    label = as_name(name, "an output's name")
    program.add_output(Output(label, value.shape, value.dtype, location), value)
    return value

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

# The limit of a buffer in docs/bundle.md, which exceeds the memory of any machine.
_MAX_BYTES = 1 << 47

__all__ = ["input", "output", "parameter", "placeholder", "scalar", "state", "stop_when", "tensor"]


def input(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """Declares an input, which is bound at every run, and returns its tensor.

    Args:
        name: the keyword of ``Executable.run``; unique among the program's arguments.
        shape: static extents, none negative.
        dtype: element type.

    Raises InvalidUsageError outside of a program, and if the name is taken, an extent is not a
    natural number, the tensor is larger than 128 TiB, or the dtype is unknown.

    Example:
        >>> x = ark.input("x", (4, 64), ark.bf16)
    """
    return _argument("input", name, shape, dtype)


def placeholder(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """Declares an input and returns its tensor: another name of :func:`input`, as in ARK.

    The tensor has the static extents `shape` and the element type `dtype`. Raises
    InvalidUsageError outside of a program, and if the name is taken, an extent is not a natural
    number, the tensor is larger than 128 TiB, or the dtype is unknown.

    Example:
        >>> x = ark.placeholder("x", (4, 64), ark.fp32)
    """
    return _argument("input", name, shape, dtype)


def parameter(name: str, shape: Shape, dtype: DTypeLike = fp32) -> Tensor:
    """Declares a parameter, which is bound once, such as a weight, and returns its tensor.

    Args:
        name: the name for ``Executable.bind``, unique among the program's arguments. If an
            ``ark.Module`` creates the parameter in its constructor, the name is prefixed with the
            module's path, unless it contains a dot.
        shape: static extents, none negative.
        dtype: element type.

    Raises InvalidUsageError outside of a program, and if the name is taken, an extent is not a
    natural number, the tensor is larger than 128 TiB, or the dtype is unknown.

    Example:
        >>> w = ark.parameter("w", (256, 64), ark.bf16)
    """
    return _argument("parameter", name, shape, dtype)


def state(name: str, shape: Shape, dtype: DTypeLike = fp32, init: float = 0) -> Tensor:
    """Declares a state, which stays on the device between runs, and returns its tensor.

    ``ark.update`` writes to a state. The tensor that ``ark.state`` returns and the tensors that
    ``ark.update`` returns all denote the state itself: an op that takes one reads the values after
    all updates that precede the op. An output that denotes the state has the values at the end of
    the iteration. The result of any other op, including a view of the state (``s[:]``,
    ``ark.slice``, ``ark.reshape``, ``ark.identity``, ...), is not changed by later updates.

    Args:
        name: the key in ``Executable.states``; unique among the program's arguments.
        shape: static extents, none negative.
        dtype: element type.
        init: value of every element before the first run and after ``reset``.

    Raises InvalidUsageError outside of a program, and if the name is taken, an extent is not a
    natural number, the tensor is larger than 128 TiB, the dtype is unknown, `init` is not a number,
    or an integer dtype or bool cannot hold it.

    Example:
        >>> cache = ark.state("cache", (8, 512, 64), ark.bf16)
        >>> before = cache[:]                                # not changed by the update
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
    """Declares an input and returns a view of a box of it; for programs written for ARK.

    Args:
        shape: extents of the view.
        dtype: element type.
        strides: extents of the whole input; by default `shape`. As in ARK, `strides` are extents
            and not distances between elements.
        offsets: index of the view's first element in the input; by default zeros.
        padded_shape: extents of the view with its padding, which begins at `offsets` and must lie
            in the input; by default `shape`. No op writes to the padding.
        rank: -1 or the rank of the program. ``ark.recv`` receives tensors of other ranks.
        name: the keyword of ``Executable.run``, which takes an array of shape `strides`; by
            default the first of "tensor", "tensor_1", "tensor_2", ... that is free.

    The view copies no data. Use ``ark.state`` for a buffer that the program writes. Raises
    InvalidUsageError if the view with its padding does not lie in the input, `rank` is another
    rank, or :func:`input` rejects the name, `strides` or the dtype.

    Example:
        >>> x = ark.tensor((3, 5), ark.fp16, strides=(4, 8), offsets=(0, 2), name="x")
    """
    program = current("ark.tensor")
    if rank not in (-1, 0 if program.rank is None else program.rank):
        raise invalid(
            f"rank must be -1 or {0 if program.rank is None else program.rank}, the rank of the "
            f"program, not {rank}; ark.recv receives tensors of other ranks",
            "ark.tensor",
        )
    extents = as_shape(shape, "ark.tensor")
    whole = extents if strides is None else as_shape(strides, "ark.tensor")
    starts = [0] * len(extents) if offsets is None else as_ints(offsets, "offsets", "ark.tensor")
    padded = extents if padded_shape is None else as_shape(padded_shape, "ark.tensor")
    if not len(extents) == len(whole) == len(starts) == len(padded):
        raise invalid(
            f"shape {extents}, strides {whole}, offsets {starts} and padded_shape {padded} must "
            "have one length",
            "ark.tensor",
        )
    for extent, total, start, room in zip(extents, whole, starts, padded, strict=True):
        if not (start >= 0 and extent <= room and start + room <= total):
            raise invalid(
                f"shape {extents} at offsets {starts}, padded to {padded}, does not lie in a "
                f"buffer of shape {whole}",
                "ark.tensor",
            )
    label = program.free_name("tensor") if name is None else name
    buffer = _argument("input", label, whole, dtype, op="ark.tensor")
    if extents == whole:
        return buffer
    return buffer[tuple(slice(b, b + e) for b, e in zip(starts, extents, strict=True))]


def stop_when(flag: Tensor) -> None:
    """Ends a launch of several iterations after the first iteration that sets `flag` nonzero.

    Args:
        flag: an int32 state with one element, which the program updates. A launch runs at least
            one iteration, whatever value `flag` has before it.

    Raises InvalidUsageError if `flag` is not such a state, or the program has another flag. The
    end of the ``with`` block raises it if the program never updates `flag`.

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
        raise invalid(
            f"flag must be an int32 state with one element, not {value!r}; ark.state declares one",
            "ark.stop_when",
        )
    program.set_stop(value.state)


def scalar(name: str, dtype: DTypeLike = int32, max: int | None = None) -> Tensor:
    """Declares an integer that is passed at every run, such as the position of a token.

    Returns a tensor of shape ``()``.

    Args:
        name: the keyword of ``Executable.run``; unique among the program's arguments.
        dtype: int32 or int64.
        max: the largest value that a run may pass; the least is then zero. None allows every value
            of the dtype.

    Raises InvalidUsageError if the dtype is neither of the two, the name is taken, or `max` is
    negative or does not fit into the dtype.

    Example:
        >>> position = ark.scalar("position", max=511)
    """
    kind = as_dtype(dtype, "ark.scalar")
    if kind not in (int32, int64):
        raise invalid(f"dtype must be int32 or int64, not {kind}", "ark.scalar")
    bound = None if max is None else as_int(max, "max", "ark.scalar")
    if bound is not None and not 0 <= bound <= kind.integer_range[1]:
        raise invalid(f"max {bound} is not in [0, {kind.integer_range[1]}]", "ark.scalar")
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
        raise invalid(
            f"shape {list(argument.shape)} of {argument.dtype} takes {size} bytes; the limit is "
            f"{_MAX_BYTES}",
            op,
        )
    # Two modules of one class declare equal names. The paths of the modules, which make the names
    # unique, are known only when the modules have been assigned to attributes.
    repeat = kind in ("parameter", "state") and constructing()
    value = program.add_argument(argument, may_repeat=repeat)
    tensor = Tensor(program, value, name, argument if kind == "state" else None)
    tensor.argument = argument
    return tensor


def output(name: str, tensor: Tensor) -> Tensor:
    """Makes `tensor` a result of the program and returns it.

    Args:
        name: the key of the result in the dict that ``Executable.run`` returns.
        tensor: a tensor of the program, of any shape and dtype.

    Raises InvalidUsageError if the name is taken or the tensor belongs to another program.

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

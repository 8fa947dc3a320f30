"""Footprints: the regions of the operands of a task that each vCTA accesses."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import dtypes
from ..json_checks import Node
from .format import MAX_BYTES, MAX_RANK

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..dtypes import DType

ACCESSES = ("read", "write", "update")

Expression = int | str | tuple[str, "Expression", "Expression"]
"""An integer, a grid index such as ``"d0"``, or an operator with two expressions."""

_MAX_DEPTH = 32
# Largest factor and divisor: the product with a grid index fits into 64 bits.
_MAX_FACTOR = 1 << 40
_MAX_INDEX = 1 << 31
# Expressions that are not linear are evaluated for every vCTA of the grid, up to this number of
# vCTAs.
_MAX_VCTAS = 1 << 22
# Limit of the steps for the expressions of one file, which take about a second to evaluate. An
# operator takes one step per element of its result, and a constant number of steps for the call.
# A decode step of 16 layers takes 5,376 steps.
_MAX_STEPS = 1 << 26
_STEPS_OF_OPERATOR = 256
_DTYPES = {dtype.name: dtype for dtype in dtypes.ALL}


@dataclass(frozen=True)
class Operand:
    """The layout of one operand of a body, and the region of it that each vCTA accesses.

    Element ``(i, j, …)`` is at byte ``(i * strides[0] + j * strides[1] + …) * itemsize`` from
    element 0. A vCTA accesses ``sizes`` elements from ``offsets`` on, clipped to ``shape``.

    Attributes:
        access: ``read``, ``write``, or ``update``, which keeps the elements that the body does not
            overwrite.
        dtype: element type.
        shape: extents of the layout.
        strides: distance between neighbours in each dimension, in elements.
        begin: byte offset of element 0 from the first byte of the value.
        alignment: the byte offset of element 0 is a multiple of this number.
        offsets: first element in each dimension, as an expression of the grid indices ``d0``,
            ``d1``, …
        sizes: extents of the region.

    Example:
        >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
        >>> x, w, y = manifest.footprint(manifest.tasks[0])
        >>> x.access, x.shape, x.strides, x.span
        ('read', (4, 64), (64, 1), 1024)
    """

    access: str
    dtype: DType
    shape: tuple[int, ...]
    strides: tuple[int, ...]
    begin: int
    alignment: int
    offsets: tuple[Expression, ...]
    sizes: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Returns True if vCTAs write to the operand."""
        return self.access != "read"

    @property
    def span(self) -> int:
        """Bytes from element 0 to the end of the last element; 0 if there are no elements."""
        if 0 in self.shape:
            return 0
        steps = zip(self.shape, self.strides, strict=True)
        last = sum((extent - 1) * stride for extent, stride in steps)
        return (last + 1) * self.dtype.itemsize

    def as_json(self) -> dict[str, Any]:
        """Returns the JSON object of an operand in a manifest.

        The object lacks the values that a dense layout implies.

        Example:
            >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
            >>> x, w, y = manifest.footprint(manifest.tasks[0])
            >>> sorted(x.as_json())
            ['access', 'dtype', 'offsets', 'shape', 'sizes']
        """
        result: dict[str, Any] = {
            "access": self.access,
            "dtype": self.dtype.name,
            "shape": list(self.shape),
        }
        if self.strides != dense_strides(self.shape):
            result["strides"] = list(self.strides)
        if self.begin:
            result["begin"] = self.begin
        if self.alignment != self.dtype.itemsize:
            result["alignment"] = self.alignment
        result["offsets"] = [_plain(offset) for offset in self.offsets]
        result["sizes"] = list(self.sizes)
        return result


Footprint = tuple[Operand, ...]
"""The operands of a task, with the regions that its vCTAs access."""


def dense_strides(shape: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the strides of a row-major layout without gaps, in elements.

    Example:
        >>> dense_strides((2, 3, 4))
        (12, 4, 1)
    """
    return tuple(math.prod(shape[dim + 1 :]) for dim in range(len(shape)))


def _plain(expression: Expression) -> Any:
    if isinstance(expression, tuple):
        symbol, left, right = expression
        return [symbol, _plain(left), _plain(right)]
    return expression


# -- parsing -------------------------------------------------------------------------------------

_REQUIRED = frozenset({"access", "dtype", "shape", "offsets", "sizes"})
_OPTIONAL = frozenset({"strides", "begin", "alignment"})


def parse_footprint(node: Node) -> Footprint:
    """Returns the footprint of one entry of a body's ``footprints``.

    Raises BundleError if a key is missing or a value is out of range.
    """
    return node.each(parse_operand)


def parse_operand(node: Node) -> Operand:
    """Returns one operand of a footprint.

    Raises BundleError if a key is missing or a value is out of range.
    """
    node.keys(_REQUIRED, _OPTIONAL)
    shape = node["shape"].each(lambda item: item.integer(0, MAX_BYTES))
    if len(shape) > MAX_RANK:
        raise node["shape"].error(f"rank {len(shape)}; the limit is {MAX_RANK}")
    if math.prod(shape) > MAX_BYTES:
        raise node["shape"].error(f"{math.prod(shape)} elements; the limit is {MAX_BYTES}")
    dtype = _DTYPES[node["dtype"].word(tuple(_DTYPES))]
    operand = Operand(
        access=node["access"].word(ACCESSES),
        dtype=dtype,
        shape=shape,
        strides=_integers(node["strides"], len(shape), 0) if "strides" in node
        else dense_strides(shape),
        begin=node["begin"].integer(0, MAX_BYTES) if "begin" in node else 0,
        alignment=_alignment(node["alignment"]) if "alignment" in node else dtype.itemsize,
        offsets=node["offsets"].each(_expression),
        sizes=_integers(node["sizes"], len(shape), 1),
    )  # fmt: skip
    if len(operand.offsets) != len(shape):
        raise node["offsets"].error(f"{len(operand.offsets)} offsets for {len(shape)} dimensions")
    if operand.span > MAX_BYTES:
        raise node.error(f"spans {operand.span} bytes; the limit is {MAX_BYTES}")
    return operand


def _integers(node: Node, count: int, low: int) -> tuple[int, ...]:
    numbers = node.each(lambda item: item.integer(low, MAX_BYTES))
    if len(numbers) != count:
        raise node.error(f"{len(numbers)} numbers for {count} dimensions")
    return numbers


def _alignment(node: Node) -> int:
    value = node.integer(1, 4096)
    if value & (value - 1):
        raise node.error(f"{value} is not a power of two")
    return value


def _expression(node: Node, depth: int = 0) -> Expression:
    value = node.value
    if isinstance(value, list):
        parts = list(node.items())
        if len(parts) != 3 or depth == _MAX_DEPTH:
            raise node.error("expected an operator and two expressions, not too deeply nested")
        symbol = parts[0].word(tuple(_OPERATORS))
        left, right = _expression(parts[1], depth + 1), _expression(parts[2], depth + 1)
        if symbol != "+" and not isinstance(right, int):
            raise parts[2].error(f"{symbol} needs a number on its right")
        if symbol != "+":
            parts[2].integer(-_MAX_FACTOR if symbol == "*" else 1, _MAX_FACTOR)
        return (symbol, left, right)
    if isinstance(value, str):
        if value[:1] != "d" or not value[1:].isascii() or not value[1:].isdigit():
            raise node.error("expected a grid index such as d0")
        dim = int(value[1:]) if len(value) < 4 else MAX_RANK
        if dim >= MAX_RANK or value != f"d{dim}":
            raise node.error("expected a grid index such as d0")
        return value
    return node.integer(-MAX_BYTES, MAX_BYTES)


# -- regions -------------------------------------------------------------------------------------

_OPERATORS: dict[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "*": lambda a, b: a * b,
    "mod": lambda a, b: a % b,
    "floordiv": lambda a, b: a // b,
    "ceildiv": lambda a, b: -(-a // b),
}


class Steps:
    """The budget for evaluating the expressions of one file.

    Attributes:
        left: remaining steps, as `_MAX_STEPS` counts them.
    """

    def __init__(self) -> None:
        self.left = _MAX_STEPS

    def take(self, count: int) -> bool:
        """Takes `count` steps from the budget; returns False if fewer are left."""
        self.left -= count
        return self.left >= 0


def find_problem(footprint: Footprint, grid: tuple[int, ...], steps: Steps) -> str | None:
    """Returns the reason why the regions of a footprint do not fit a grid, or None if they fit.

    The region of every vCTA has to begin inside the layout.

    Args:
        footprint: the operands.
        grid: extents of the task's grid.
        steps: the budget of the file, which the check reduces.

    Example:
        >>> row = Operand("read", dtypes.fp32, (8,), (1,), 0, 4, (("*", "d0", 4),), (4,))
        >>> find_problem((row,), (2,), Steps()), find_problem((row,), (3,), Steps())
        (None, 'the region of operand 0 leaves its 8 elements in dimension 0')
    """
    for number, operand in enumerate(footprint):
        for dim, (offset, extent) in enumerate(zip(operand.offsets, operand.shape, strict=True)):
            if any(int(name[1:]) >= len(grid) for name in _names(offset)):
                return f"the region of operand {number} uses grid indices that the task lacks"
            if not steps.take(_count_steps(offset, grid)):
                return (
                    f"the offsets of this file's regions take more than {_MAX_STEPS} steps to check"
                )
            bounds = _bounds(offset, grid)
            if bounds is None or bounds[0] < 0 or bounds[1] >= max(extent, 1):
                return (
                    f"the region of operand {number} leaves its {extent} elements "
                    f"in dimension {dim}"
                )
    return None


def _names(expression: Expression) -> Iterator[str]:
    """Yields the grid indices that an expression uses."""
    if isinstance(expression, str):
        yield expression
    elif isinstance(expression, tuple):
        yield from _names(expression[1])
        yield from _names(expression[2])


def _count_steps(offset: Expression, grid: tuple[int, ...]) -> int:
    """Returns an upper bound of the steps that `_bounds` takes."""
    operators = _count_operators(offset)
    if _linear(offset) is not None:
        return operators * _STEPS_OF_OPERATOR
    vctas = math.prod(grid[int(name[1:])] for name in set(_names(offset)))
    # `_bounds` does not evaluate more vCTAs than the limit.
    return operators * (_STEPS_OF_OPERATOR + (vctas if vctas <= _MAX_VCTAS else 0))


def _count_operators(expression: Expression) -> int:
    if isinstance(expression, tuple):
        return 1 + _count_operators(expression[1]) + _count_operators(expression[2])
    return 0


def _bounds(offset: Expression, grid: tuple[int, ...]) -> tuple[int, int] | None:
    """Returns the least and the greatest value over a grid.

    Returns None if the values cannot be computed within the limits.
    """
    linear = _linear(offset)
    if linear is not None:
        low = high = linear.pop("", 0)
        for name, factor in linear.items():
            reach = factor * (grid[int(name[1:])] - 1)
            low, high = low + min(reach, 0), high + max(reach, 0)
        return low, high
    names = sorted(set(_names(offset)))
    extents = [grid[int(name[1:])] for name in names]
    # Every intermediate result of an expression has to fit into 64 bits.
    if math.prod(extents) > _MAX_VCTAS or _magnitude(offset) >= 1 << 62:
        return None
    values = dict(zip(names, np.ix_(*(np.arange(e) for e in extents)), strict=True))
    result = np.asarray(_evaluate(offset, values))
    return int(result.min()), int(result.max())


def _linear(expression: Expression) -> dict[str, int] | None:
    """Returns the factors of the grid indices, with the constant under the key ``""``.

    Returns None if the expression is not linear.
    """
    if isinstance(expression, int):
        return {"": expression}
    if isinstance(expression, str):
        return {expression: 1}
    symbol, first, second = expression
    left, right = _linear(first), _linear(second)
    if left is None or right is None or symbol not in ("+", "*"):
        return None
    if symbol == "*":
        return {name: factor * right[""] for name, factor in left.items()}
    return {name: left.get(name, 0) + right.get(name, 0) for name in {**left, **right}}


def _magnitude(expression: Expression) -> int:
    """Returns a bound of the absolute values of an expression and its parts."""
    if isinstance(expression, int):
        return abs(expression)
    if isinstance(expression, str):
        return _MAX_INDEX
    symbol, left, right = expression
    first, second = _magnitude(left), _magnitude(right)
    return first * second if symbol == "*" else first + second


def region_starts(operand: Operand, grid: tuple[int, ...]) -> NDArray[np.int64]:
    """Returns the first element of each vCTA's region, int64 ``[vctas, dimensions]``.

    Example:
        >>> row = Operand("read", dtypes.fp32, (8,), (1,), 0, 4, (("*", "d0", 4),), (4,))
        >>> region_starts(row, (2,)).tolist()
        [[0], [4]]
    """
    count = math.prod(grid)
    values = {f"d{dim}": indices.ravel() for dim, indices in enumerate(np.indices(grid, np.int64))}
    starts = np.zeros((count, len(operand.offsets)), np.int64)
    for dim, offset in enumerate(operand.offsets):
        starts[:, dim] = _evaluate(offset, values)
    return starts


def _evaluate(expression: Expression, values: dict[str, Any]) -> Any:
    if isinstance(expression, int):
        return expression
    if isinstance(expression, str):
        return values[expression]
    symbol, left, right = expression
    return _OPERATORS[symbol](_evaluate(left, values), _evaluate(right, values))

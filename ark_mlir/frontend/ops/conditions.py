"""Comparisons, logical ops and the selection by a condition, which broadcast as numpy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...dialects import ark as dialect
from ...dtypes import bool_
from ..operands import as_operand, as_pair, default_dtype
from ..tensor import Tensor
from .common import Enum, emit
from .elementwise import cast

if TYPE_CHECKING:
    from ...typing import Operand

__all__ = [
    "equal", "greater", "greater_equal", "less", "less_equal", "logical_and", "logical_not",
    "logical_or", "not_equal", "where",
]  # fmt: skip


def _truth(value: object, op: str) -> Tensor:
    """Returns `value` as a tensor of bools: an element is true unless it is zero."""
    if not isinstance(value, Tensor):
        value = as_operand(value, default_dtype(value), op)
    return value if value.dtype is bool_ else cast(value, bool_)


def logical_not(x: Tensor, name: str | None = None) -> Tensor:
    """Returns a bool tensor of the shape of `x`: true where an element of `x` is false or zero.

    `x` is a tensor, a number or an array, of any dtype. Raises InvalidUsageError if `x` is another
    object or a tensor of another program.

    Example:
        >>> kept = ark.logical_not(ark.equal(x, 0))
    """
    return emit("logical_not", dialect.LogicalNotOp, name, operand=_truth(x, "logical_not"))


def _logical(op: str, op_class: Any, a: object, b: object, name: str | None) -> Tensor:
    return emit(op, op_class, name, lhs=_truth(a, op), rhs=_truth(b, op))


def logical_and(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns a bool tensor: true where `a` and `b` are both true (numbers: not zero).

    The operands broadcast and may have different dtypes. Raises InvalidUsageError if their shapes
    do not broadcast.

    Example:
        >>> inside = ark.logical_and(a > 0, a < b)
    """
    return _logical("logical_and", dialect.LogicalAndOp, a, b, name)


def logical_or(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns a bool tensor: true where `a` or `b` is true (numbers: not zero).

    The operands broadcast and may have different dtypes. Raises InvalidUsageError if their shapes
    do not broadcast.

    Example:
        >>> outside = ark.logical_or(a < 0, a > b)
    """
    return _logical("logical_or", dialect.LogicalOrOp, a, b, name)


def _compare(predicate: str, op: str, a: object, b: object, name: str | None) -> Tensor:
    lhs, rhs = as_pair(a, b, op)
    relation = Enum("predicate", predicate)
    return emit("compare", dialect.CompareOp, name or op, predicate=relation, lhs=lhs, rhs=rhs)


def equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a == b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.equal(a, b)
    """
    return _compare("eq", "equal", a, b, name)


def not_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a != b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.not_equal(a, b)
    """
    return _compare("ne", "not_equal", a, b, name)


def less(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a < b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.less(a, b)
    """
    return _compare("lt", "less", a, b, name)


def less_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a <= b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.less_equal(a, b)
    """
    return _compare("le", "less_equal", a, b, name)


def greater(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a > b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.greater(a, b)
    """
    return _compare("gt", "greater", a, b, name)


def greater_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a >= b``, elementwise, as a bool tensor.

    `a` and `b` have one dtype, and their shapes broadcast. A number, or an array of float64, is
    converted to the dtype of the other operand. Raises InvalidUsageError if dtypes differ, shapes
    do not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> mask = ark.greater_equal(a, b)
    """
    return _compare("ge", "greater_equal", a, b, name)


def where(c: Tensor, a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns the element of `a` where `c` is true (a number: not zero), else that of `b`.

    Args:
        c: the condition, a tensor, number or array of any dtype.
        a, b: tensors of one dtype, which is that of the result. A number, or an array of float64,
            is converted to the dtype of the other operand.

    The three shapes broadcast. Raises InvalidUsageError if they do not, if the dtypes of `a` and
    `b` differ, or if an integer dtype cannot hold a number.

    Example:
        >>> masked = ark.where(ark.greater(a, b), a, -1e9)
    """
    lhs, rhs = as_pair(a, b, "where")
    condition = _truth(c, "where")
    return emit("where", dialect.WhereOp, name, condition=condition, lhs=lhs, rhs=rhs)

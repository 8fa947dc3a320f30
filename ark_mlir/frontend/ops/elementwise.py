"""Ops on one element each, with numpy's broadcasting."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...dialects import ark as dialect
from ...dtypes import bool_
from ..operands import as_operand, as_pair, as_tensor, default_dtype
from ..shapes import as_dtype, invalid
from ..tensor import Tensor
from .common import Enum, emit

if TYPE_CHECKING:
    from ...typing import DTypeLike, Operand

__all__ = [
    "abs", "add", "cast", "copy", "cos", "div", "equal", "erf", "exp", "gelu", "greater",
    "greater_equal", "less", "less_equal", "log", "logical_and", "logical_not", "logical_or",
    "maximum", "minimum", "mul", "neg", "not_equal", "pow", "reciprocal", "relu", "rsqrt",
    "sigmoid", "silu", "sin", "sqrt", "sub", "tanh", "where",
]  # fmt: skip


def _unary(op: str, op_class: Any, x: Tensor, name: str | None) -> Tensor:
    return emit(op, op_class, name, operand=as_tensor(x, op))


def abs(x: Tensor, name: str | None = None) -> Tensor:
    """Absolute value of numbers. The least signed integer stays unchanged.

    Example:
        >>> y = ark.abs(x)
    """
    return _unary("abs", dialect.AbsOp, x, name)


def neg(x: Tensor, name: str | None = None) -> Tensor:
    """Negation of numbers; integers wrap.

    Example:
        >>> y = ark.neg(x)
    """
    return _unary("neg", dialect.NegOp, x, name)


def exp(x: Tensor, name: str | None = None) -> Tensor:
    """Exponential of floats.

    Example:
        >>> y = ark.exp(x)
    """
    return _unary("exp", dialect.ExpOp, x, name)


def log(x: Tensor, name: str | None = None) -> Tensor:
    """Natural logarithm of floats.

    Example:
        >>> y = ark.log(x)
    """
    return _unary("log", dialect.LogOp, x, name)


def sqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Square root of floats.

    Example:
        >>> y = ark.sqrt(x)
    """
    return _unary("sqrt", dialect.SqrtOp, x, name)


def rsqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Reciprocal of the square root of floats.

    Example:
        >>> y = ark.rsqrt(x)
    """
    return _unary("rsqrt", dialect.RsqrtOp, x, name)


def reciprocal(x: Tensor, name: str | None = None) -> Tensor:
    """Reciprocal of floats.

    Example:
        >>> y = ark.reciprocal(x)
    """
    return _unary("reciprocal", dialect.ReciprocalOp, x, name)


def sin(x: Tensor, name: str | None = None) -> Tensor:
    """Sine of floats, in radians.

    Example:
        >>> y = ark.sin(x)
    """
    return _unary("sin", dialect.SinOp, x, name)


def cos(x: Tensor, name: str | None = None) -> Tensor:
    """Cosine of floats, in radians.

    Example:
        >>> y = ark.cos(x)
    """
    return _unary("cos", dialect.CosOp, x, name)


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Hyperbolic tangent of floats.

    Example:
        >>> y = ark.tanh(x)
    """
    return _unary("tanh", dialect.TanhOp, x, name)


def erf(x: Tensor, name: str | None = None) -> Tensor:
    """Error function of floats.

    Example:
        >>> y = ark.erf(x)
    """
    return _unary("erf", dialect.ErfOp, x, name)


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """Maximum of numbers with zero.

    Example:
        >>> y = ark.relu(x)
    """
    return _unary("relu", dialect.ReluOp, x, name)


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """``1 / (1 + exp(-x))`` of floats.

    Example:
        >>> y = ark.sigmoid(x)
    """
    return _unary("sigmoid", dialect.SigmoidOp, x, name)


def silu(x: Tensor, name: str | None = None) -> Tensor:
    """``x * sigmoid(x)`` of floats.

    Example:
        >>> y = ark.silu(x)
    """
    return _unary("silu", dialect.SiluOp, x, name)


def copy(x: Tensor, name: str | None = None) -> Tensor:
    """The same values in a buffer of their own, for any dtype.

    Example:
        >>> y = ark.copy(x)
    """
    return _unary("copy", dialect.CopyOp, x, name)


def logical_not(x: Tensor, name: str | None = None) -> Tensor:
    """Returns True for each element that is false or zero.

    Example:
        >>> kept = ark.logical_not(ark.equal(x, 0))
    """
    return emit("logical_not", dialect.LogicalNotOp, name, operand=_truth(x, "logical_not"))


def gelu(
    x: Tensor, approximate: Literal["tanh", "none"] = "tanh", name: str | None = None
) -> Tensor:
    """Gaussian error linear unit of floats: ``x * Phi(x)``.

    Args:
        approximate: ``"tanh"`` for the usual approximation, ``"none"`` for the exact form.

    Example:
        >>> y = ark.gelu(x, approximate="none")
    """
    if approximate not in ("tanh", "none"):
        raise invalid(f'approximate must be "tanh" or "none", not {approximate!r}', "ark.gelu")
    form = Enum("approximation", approximate)
    return emit("gelu", dialect.GeluOp, name, operand=as_tensor(x, "gelu"), approximate=form)


def cast(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """`x` converted to another dtype.

    Float to integer truncates toward zero and saturates, integer to narrower integer
    wraps, anything to bool is ``x != 0``. Raises InvalidUsageError if `dtype` is unknown.

    Example:
        >>> y = ark.cast(x, ark.bf16)
    """
    source = as_tensor(x, "cast")
    return emit("cast", dialect.CastOp, name, operand=source, dtype=as_dtype(dtype, "ark.cast"))


def _binary(op: str, op_class: Any, a: object, b: object, name: str | None) -> Tensor:
    lhs, rhs = as_pair(a, b, op)
    if lhs.dtype is bool_ and rhs.dtype is bool_ and op in _OF_BOOLS:
        op_class = _OF_BOOLS[op]
    return emit(op, op_class, name, lhs=lhs, rhs=rhs)


# What arithmetic on truth values is, as numpy has it.
_OF_BOOLS: dict[str, Any] = {
    "add": dialect.LogicalOrOp,
    "maximum": dialect.LogicalOrOp,
    "mul": dialect.LogicalAndOp,
    "minimum": dialect.LogicalAndOp,
}


def _truth(value: object, op: str) -> Tensor:
    """An operand as bools: a number is true unless it is zero."""
    if not isinstance(value, Tensor):
        value = as_operand(value, default_dtype(value), op)
    return value if value.dtype is bool_ else cast(value, bool_)


def _logical(op: str, op_class: Any, a: object, b: object, name: str | None) -> Tensor:
    return emit(op, op_class, name, lhs=_truth(a, op), rhs=_truth(b, op))


def add(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Sum. As all binary ops: tensors of one dtype whose shapes broadcast; one of the two
    may be a number or an array. Integers wrap; of bools it is :func:`logical_or`.

    Raises InvalidUsageError if dtypes differ, shapes do not broadcast, or a number or an array
    does not fit into the tensor's dtype.

    Example:
        >>> y = ark.add(a, b)
    """
    return _binary("add", dialect.AddOp, a, b, name)


def sub(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Difference; operands and errors as :func:`add`.

    Example:
        >>> y = ark.sub(a, b)
    """
    return _binary("sub", dialect.SubOp, a, b, name)


def mul(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Product; operands and errors as :func:`add`. Of bools it is :func:`logical_and`.

    Example:
        >>> y = ark.mul(a, b)
    """
    return _binary("mul", dialect.MulOp, a, b, name)


def div(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Quotient; operands and errors as :func:`add`. Integers truncate toward zero.

    Example:
        >>> y = ark.div(a, b)
    """
    return _binary("div", dialect.DivOp, a, b, name)


def maximum(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """The greater one, NaN if either is; operands and errors as :func:`add`.

    Example:
        >>> y = ark.maximum(a, b)
    """
    return _binary("maximum", dialect.MaximumOp, a, b, name)


def minimum(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """The lesser one, NaN if either is; operands and errors as :func:`add`.

    Example:
        >>> y = ark.minimum(a, b)
    """
    return _binary("minimum", dialect.MinimumOp, a, b, name)


def pow(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a`` to the power ``b``; operands and errors as :func:`add`.

    Integers wrap. A negative integer exponent gives ``1 / a**|b|`` truncated toward zero, which
    is zero unless ``a`` is 1 or -1; zero for ``a == 0``.

    Example:
        >>> y = ark.pow(a, b)
    """
    return _binary("pow", dialect.PowOp, a, b, name)


def logical_and(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns True for each pair of elements that are both true or not zero; operands broadcast,
    and need not have one dtype. Raises InvalidUsageError if shapes do not broadcast.

    Example:
        >>> inside = ark.logical_and(a > 0, a < b)
    """
    return _logical("logical_and", dialect.LogicalAndOp, a, b, name)


def logical_or(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns True for each pair of elements of which one is true or not zero; operands and
    errors as :func:`logical_and`.

    Example:
        >>> outside = ark.logical_or(a < 0, a > b)
    """
    return _logical("logical_or", dialect.LogicalOrOp, a, b, name)


def _compare(predicate: str, op: str, a: object, b: object, name: str | None) -> Tensor:
    lhs, rhs = as_pair(a, b, op)
    relation = Enum("predicate", predicate)
    return emit("compare", dialect.CompareOp, name or op, predicate=relation, lhs=lhs, rhs=rhs)


def equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a == b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.equal(a, b)
    """
    return _compare("eq", "equal", a, b, name)


def not_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a != b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.not_equal(a, b)
    """
    return _compare("ne", "not_equal", a, b, name)


def less(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a < b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.less(a, b)
    """
    return _compare("lt", "less", a, b, name)


def less_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a <= b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.less_equal(a, b)
    """
    return _compare("le", "less_equal", a, b, name)


def greater(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a > b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.greater(a, b)
    """
    return _compare("gt", "greater", a, b, name)


def greater_equal(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """``a >= b`` as a bool tensor; operands and errors as :func:`add`.

    Example:
        >>> mask = ark.greater_equal(a, b)
    """
    return _compare("ge", "greater_equal", a, b, name)


def where(c: Tensor, a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """`a` where `c` is true, or a number that is not zero, else `b`; the three broadcast.

    `a` and `b`, and errors, as of :func:`add`; the condition may have any dtype.

    Example:
        >>> masked = ark.where(ark.greater(a, b), a, -1e9)
    """
    lhs, rhs = as_pair(a, b, "where")
    condition = _truth(c, "where")
    return emit("where", dialect.WhereOp, name, condition=condition, lhs=lhs, rhs=rhs)

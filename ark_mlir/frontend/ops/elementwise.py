"""Elementwise ops, which broadcast their operands as numpy does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from ...dialects import ark as dialect
from ...dtypes import bool_
from ..operands import as_pair, as_tensor
from ..shapes import as_dtype, invalid
from ..tensor import Tensor
from .common import Enum, emit

if TYPE_CHECKING:
    from ...typing import DTypeLike, Operand

__all__ = [
    "abs", "add", "cast", "copy", "cos", "div", "erf", "exp", "gelu", "log", "maximum", "minimum",
    "mul", "neg", "pow", "reciprocal", "relu", "rsqrt", "sigmoid", "silu", "sin", "sqrt", "sub",
    "tanh",
]  # fmt: skip


def _unary(op: str, op_class: Any, x: Tensor, name: str | None) -> Tensor:
    return emit(op, op_class, name, operand=as_tensor(x, op))


def abs(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the absolute value of each element of `x`, in the shape and dtype of `x`.

    The absolute value of the least signed integer is that integer. Raises InvalidUsageError if `x`
    is not a tensor, belongs to another program, or has the dtype bool or an 8-bit float type.

    Example:
        >>> y = ark.abs(x)
    """
    return _unary("abs", dialect.AbsOp, x, name)


def neg(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``-x``, elementwise, in the shape and dtype of `x`. Integers wrap.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has the dtype
    bool or an 8-bit float type.

    Example:
        >>> y = ark.neg(x)
    """
    return _unary("neg", dialect.NegOp, x, name)


def exp(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``e**x``, elementwise, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.exp(x)
    """
    return _unary("exp", dialect.ExpOp, x, name)


def log(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the natural logarithm of each element of `x`, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.log(x)
    """
    return _unary("log", dialect.LogOp, x, name)


def sqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the square root of each element of `x`, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.sqrt(x)
    """
    return _unary("sqrt", dialect.SqrtOp, x, name)


def rsqrt(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``1 / sqrt(x)``, elementwise, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.rsqrt(x)
    """
    return _unary("rsqrt", dialect.RsqrtOp, x, name)


def reciprocal(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``1 / x``, elementwise, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.reciprocal(x)
    """
    return _unary("reciprocal", dialect.ReciprocalOp, x, name)


def sin(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the sine of each element of `x`, an angle in radians, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.sin(x)
    """
    return _unary("sin", dialect.SinOp, x, name)


def cos(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the cosine of each element of `x`, an angle in radians.

    The result has the shape and dtype of `x`. Raises InvalidUsageError if `x` is not a tensor,
    belongs to another program, or has a dtype other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.cos(x)
    """
    return _unary("cos", dialect.CosOp, x, name)


def tanh(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the hyperbolic tangent of each element of `x`, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.tanh(x)
    """
    return _unary("tanh", dialect.TanhOp, x, name)


def erf(x: Tensor, name: str | None = None) -> Tensor:
    """Returns the error function of each element of `x`, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.erf(x)
    """
    return _unary("erf", dialect.ErfOp, x, name)


def relu(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``max(x, 0)``, elementwise, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has the dtype
    bool or an 8-bit float type.

    Example:
        >>> y = ark.relu(x)
    """
    return _unary("relu", dialect.ReluOp, x, name)


def sigmoid(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``1 / (1 + exp(-x))``, elementwise, in the shape and dtype of `x`.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.sigmoid(x)
    """
    return _unary("sigmoid", dialect.SigmoidOp, x, name)


def silu(x: Tensor, name: str | None = None) -> Tensor:
    """Returns ``x * sigmoid(x)``, elementwise, in the shape and dtype of `x`; also named swish.

    Raises InvalidUsageError if `x` is not a tensor, belongs to another program, or has a dtype
    other than fp32, fp16 and bf16.

    Example:
        >>> y = ark.silu(x)
    """
    return _unary("silu", dialect.SiluOp, x, name)


def copy(x: Tensor, name: str | None = None) -> Tensor:
    """Copies `x`, of any shape and dtype, to a separate buffer and returns the copy.

    Raises InvalidUsageError if `x` is not a tensor or belongs to another program.

    Example:
        >>> y = ark.copy(x)
    """
    return _unary("copy", dialect.CopyOp, x, name)


def gelu(
    x: Tensor, approximate: Literal["tanh", "none"] = "tanh", name: str | None = None
) -> Tensor:
    """Returns the Gaussian error linear unit ``x * Phi(x)``, elementwise.

    Args:
        x: a tensor of fp32, fp16 or bf16, of any shape.
        approximate: ``"tanh"`` for the approximation with tanh, ``"none"`` for the exact form.

    The result has the shape and dtype of `x`. The function and its approximation are those of
    Hendrycks and Gimpel (2016). Raises InvalidUsageError if `x` is not a tensor, belongs to another
    program, or has another dtype, or if `approximate` is neither of the two words.

    Example:
        >>> y = ark.gelu(x, approximate="none")
    """
    if approximate not in ("tanh", "none"):
        raise invalid(f'approximate must be "tanh" or "none", not {approximate!r}', "ark.gelu")
    form = Enum("approximation", approximate)
    return emit("gelu", dialect.GeluOp, name, operand=as_tensor(x, "gelu"), approximate=form)


def cast(x: Tensor, dtype: DTypeLike, name: str | None = None) -> Tensor:
    """Returns the elements of `x`, converted to the dtype `dtype`, in the shape of `x`.

    A conversion from float to integer truncates toward zero and saturates. A conversion to a
    narrower integer wraps. A conversion to bool is ``x != 0``. Raises InvalidUsageError if `x` is
    not a tensor or belongs to another program, or if `dtype` is unknown.

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


# Sums, products and extrema of bools are logical ops, as in numpy.
_OF_BOOLS: dict[str, Any] = {
    "add": dialect.LogicalOrOp,
    "maximum": dialect.LogicalOrOp,
    "mul": dialect.LogicalAndOp,
    "minimum": dialect.LogicalAndOp,
}


def add(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a + b``, elementwise. Integers wrap. For bools, this is :func:`logical_or`.

    Args:
        a, b: tensors of one dtype, which is that of the result; their shapes broadcast. A number,
            or an array of float64, is converted to the dtype of the other operand; other arrays
            keep their dtype.

    Raises InvalidUsageError if dtypes differ or are 8-bit float types, shapes do not broadcast, or
    an integer dtype cannot hold a number. A number beyond the range of a float dtype becomes
    infinite.

    Example:
        >>> y = ark.add(a, b)
    """
    return _binary("add", dialect.AddOp, a, b, name)


def sub(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a - b``, elementwise. Integers wrap.

    `a` and `b` have one dtype, which is that of the result; their shapes broadcast. A number, or an
    array of float64, is converted to the dtype of the other operand. Raises InvalidUsageError if
    dtypes differ, are bool or are 8-bit float types, shapes do not broadcast, or an integer dtype
    cannot hold a number.

    Example:
        >>> y = ark.sub(a, b)
    """
    return _binary("sub", dialect.SubOp, a, b, name)


def mul(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a * b``, elementwise. Integers wrap. For bools, this is :func:`logical_and`.

    `a` and `b` have one dtype, which is that of the result; their shapes broadcast. A number, or an
    array of float64, is converted to the dtype of the other operand. Raises InvalidUsageError if
    dtypes differ or are 8-bit float types, shapes do not broadcast, or an integer dtype cannot hold
    a number.

    Example:
        >>> y = ark.mul(a, b)
    """
    return _binary("mul", dialect.MulOp, a, b, name)


def div(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a / b``, elementwise.

    A quotient of integers is truncated toward zero; a division of an integer by zero gives zero.

    `a` and `b` have one dtype, which is that of the result; their shapes broadcast. A number, or an
    array of float64, is converted to the dtype of the other operand. Raises InvalidUsageError if
    dtypes differ, are bool or are 8-bit float types, shapes do not broadcast, or an integer dtype
    cannot hold a number.

    Example:
        >>> y = ark.div(a, b)
    """
    return _binary("div", dialect.DivOp, a, b, name)


def maximum(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns the greater of `a` and `b`, elementwise; NaN if either is NaN.

    For bools, this is :func:`logical_or`. `a` and `b` have one dtype, which is that of the
    result; their shapes broadcast. A number, or an array of float64, is converted to the dtype of
    the other operand. Raises InvalidUsageError if dtypes differ or are 8-bit float types, shapes do
    not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> y = ark.maximum(a, b)
    """
    return _binary("maximum", dialect.MaximumOp, a, b, name)


def minimum(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns the lesser of `a` and `b`, elementwise; NaN if either is NaN.

    For bools, this is :func:`logical_and`. `a` and `b` have one dtype, which is that of the
    result; their shapes broadcast. A number, or an array of float64, is converted to the dtype of
    the other operand. Raises InvalidUsageError if dtypes differ or are 8-bit float types, shapes do
    not broadcast, or an integer dtype cannot hold a number.

    Example:
        >>> y = ark.minimum(a, b)
    """
    return _binary("minimum", dialect.MinimumOp, a, b, name)


def pow(a: Operand, b: Operand, name: str | None = None) -> Tensor:
    """Returns ``a**b``, elementwise. Integers wrap.

    For a negative integer exponent, the result is ``1 / a**|b|`` truncated toward zero: 1 or -1 if
    ``a`` is 1 or -1, else 0, also for ``a == 0``.

    `a` and `b` have one dtype, which is that of the result; their shapes broadcast. A number, or an
    array of float64, is converted to the dtype of the other operand. Raises InvalidUsageError if
    dtypes differ, are bool or are 8-bit float types, shapes do not broadcast, or an integer dtype
    cannot hold a number.

    Example:
        >>> y = ark.pow(a, b)
    """
    return _binary("pow", dialect.PowOp, a, b, name)

"""The rules of elementwise ops and of tensors that an op creates."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import sympy
import torch
from torch.utils import _pytree as pytree

from ..axes import Refusal, axis_of_expression, axis_of_size
from ..padding import Padder, Value, rule
from .shared import broadcast, has_symbols

_aten: Any = torch.ops.aten


# Each element of the result depends only on the elements of the operands at its position.
_POINTWISE = (
    "abs", "acos", "acosh", "add", "alias", "asin", "asinh", "atan", "atan2", "atanh",
    "bitwise_and", "bitwise_not", "bitwise_or", "bitwise_xor", "ceil", "clamp", "clamp_max",
    "clamp_min", "clone", "contiguous", "copysign", "cos", "cosh", "detach", "elu", "eq", "erf",
    "erfinv", "exp", "exp2", "expm1", "floor", "full_like", "ge", "gelu", "gt", "hardsigmoid",
    "hardswish", "hardtanh", "hypot", "isinf", "isnan", "le", "leaky_relu", "lift_fresh_copy",
    "log", "log10", "log1p", "log2", "logical_and", "logical_not", "logical_or", "logical_xor",
    "lt", "masked_fill", "maximum", "minimum", "mul", "ne", "neg", "ones_like", "pow", "reciprocal",
    "relu", "round", "rsqrt", "rsub", "sigmoid", "sign", "signbit", "silu", "sin", "sinh",
    "softplus", "sqrt", "square", "sub", "tan", "tanh", "to", "trunc", "where", "zeros_like",
    "_to_copy",
)  # fmt: skip


@rule(*_POINTWISE)
def pointwise(padder: Padder, target: Any, *args: Any, **kwargs: Any) -> Value:
    values = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Value)]
    axes = broadcast(value.axes for value in values)
    if any(isinstance(leaf, sympy.Basic) for leaf in args) and "Scalar" in str(target):
        target = target.overloadpacket.Tensor  # the number is a tensor now
    numbers = [padder.number(a) if isinstance(a, sympy.Basic) else a for a in args]
    return Value(target(*padder.plain(numbers), **padder.plain(kwargs)), axes)


@rule("div", "floor_divide", "remainder", "fmod")
def quotient(padder: Padder, target: Any, a: Any, b: Any, **kwargs: Any) -> Value:
    # Integers beyond the data may be zero, by which integers cannot be divided.
    if isinstance(b, Value) and not b.fixed and not b.tensor.dtype.is_floating_point:
        b = Value(padder.masked(b, range(len(b.axes)), 1), b.axes)
    return pointwise(padder, target, a, b, **kwargs)


@rule("arange")
def arange(padder: Padder, target: Any, *bounds: Any, **kwargs: Any) -> Value:
    start, end, step = (0, *bounds, 1)[-3:] if len(bounds) == 1 else (*bounds, 1)[:3]
    if step != 1:
        raise Refusal("a range with a step")
    axis = axis_of_expression(sympy.expand(expression_of(end) - expression_of(start)))
    options = {name: kwargs[name] for name in ("dtype", "device") if name in kwargs}
    options.setdefault("dtype", padder.described.dtype)
    numbers = torch.arange(padder.sizes.of(axis), **options)
    begin = padder.number(start)
    if isinstance(begin, torch.Tensor) or begin != 0:
        numbers = numbers + begin
    return Value(numbers, (axis,))


def expression_of(bound: Any) -> Any:
    """Returns a bound as an expression; raises Refusal if it is not an integer."""
    value = sympy.sympify(bound)
    if isinstance(bound, float) or not (value.is_Integer or value.free_symbols):
        raise Refusal(f"the bound {bound}")
    return value


@rule("empty_permuted")
def empty(padder: Padder, target: Any, *_: Any, **kwargs: Any) -> Value:
    axes = tuple(axis_of_size(size) for size in padder.described.shape)
    options = {name: kwargs[name] for name in ("dtype", "device") if name in kwargs}
    return Value(torch.zeros(padder.sizes.shape(axes), **options), axes)


@rule("full", "zeros", "ones", "empty", "new_full", "new_zeros", "new_ones", "new_empty")
def full(padder: Padder, target: Any, *args: Any, **kwargs: Any) -> Value:
    axes = tuple(axis_of_size(size) for size in padder.described.shape)
    after = 2 if "new_" in str(target) else 1
    if any(has_symbols(a) for a in args[after:] if isinstance(a, sympy.Basic)):
        raise Refusal("a tensor filled with a size")
    values = (*padder.plain(args[: after - 1]), padder.sizes.shape(axes))
    return Value(target(*values, *padder.plain(args[after:]), **kwargs), axes)


@rule("scalar_tensor")
def scalar_tensor(padder: Padder, target: Any, value: Any, **kwargs: Any) -> Value:
    number = padder.number(value)
    return Value(_aten._to_copy.default(number, dtype=padder.described.dtype), ())

"""A graph with dynamic sizes, computed on padded tensors.

The graph is traced again with each dynamic size replaced by the size of its bucket. The lengths of
the data are tensors of rank zero, which are known at run time. Elements beyond a length may have
any value, also NaN. No rule lets these elements change an element within the length. A reduction
over a dynamic axis, a product or an attention first replaces them by a value that has no effect
(zero, minus infinity), and an index that may lie beyond a length is replaced by zero. An op without
a rule raises Refusal, unless all its operands have fixed sizes.
"""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUntypedBaseClass=false

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import sympy
import torch
from torch.utils import _pytree as pytree

from .axes import (
    Axes,
    Axis,
    Dynamic,
    Refusal,
    Sizes,
    axis_of_expression,
    axis_of_size,
    expression,
    is_fixed,
    size_of,
)
from .recording import Walker

__all__ = ["Padder", "Rule", "Value", "rule"]

Rule: TypeAlias = Callable[..., Any]
_RULES: dict[str, Rule] = {}


@dataclass(frozen=True)
class Described:
    """Torch's description of a tensor: the sizes as expressions of sympy, and the dtype."""

    shape: tuple[Any, ...]
    dtype: torch.dtype


@dataclass(frozen=True)
class Value:
    """A padded tensor and its axes."""

    tensor: torch.Tensor
    axes: Axes

    @property
    def fixed(self) -> bool:
        """True if no axis is dynamic."""
        return all(map(is_fixed, self.axes))


def rule(*names: str) -> Callable[[Rule], Rule]:
    """Returns a decorator that adds the rule of ATen ops, with or without their overload.

    The rules are in ``padding_rules``, which must be imported.

    A rule takes the Padder, the op, and the op's arguments: Values for tensors, and expressions of
    sympy for sizes. The rule returns a Value, or a tuple with None for results that nothing may
    use.
    """

    def enter(function: Rule) -> Rule:
        for name in names:
            assert name not in _RULES, f"{name} has two rules"
            _RULES[name] = function
        return function

    return enter


def _find(target: Any) -> Rule | None:
    packet, _, overload = str(target).removeprefix("aten.").partition(".")
    return _RULES.get(f"{packet}.{overload}", _RULES.get(packet))


class Padder(Walker):
    """Computes a graph on padded tensors.

    Args:
        module: the graph of ATen ops, with symbols in the shapes of its metadata.
        sizes: the padded size of each symbol.
        lengths: the length of each symbol's data, as an int64 tensor of rank zero.
        same: a symbol for each symbol that is equal to it, in all calls of the padded graph.

    ``run`` takes the padded tensors; symbols among the graph's arguments may have any value. It
    returns the padded results. Afterwards, `results` has the axes of each result, None for results
    that are no tensors.
    """

    def __init__(
        self,
        module: torch.fx.GraphModule,
        sizes: Sizes,
        lengths: Mapping[Any, torch.Tensor],
        same: Mapping[Any, Any] | None = None,
    ) -> None:
        super().__init__(module)
        self._same = dict(same or {})
        self.sizes = sizes
        self.results: list[Axes | None] = []
        self._lengths = lengths

    @property
    def described(self) -> Any:
        """Torch's description of the result of the current op, or a tuple of them."""
        return self._describe(self.node.meta.get("val"))

    def _describe(self, value: Any) -> Any:
        if isinstance(value, (list, tuple)):
            return tuple(map(self._describe, value))
        if isinstance(value, torch.Tensor):
            return Described(tuple(map(self._size, value.shape)), value.dtype)
        return self._size(value) if isinstance(value, torch.SymInt) else value

    def _size(self, size: Any) -> Any:
        return expression(size).subs(self._same)

    # -- the interpreter ---------------------------------------------------------------------

    def placeholder(self, target: Any, args: Any, kwargs: Any) -> Any:
        given = super().placeholder(target, args, kwargs)
        described = self.described
        if not isinstance(described, Described):
            return expression(described)
        return Value(given, tuple(axis_of_size(size) for size in described.shape))

    def get_attr(self, target: Any, args: Any, kwargs: Any) -> Any:
        given = super().get_attr(target, args, kwargs)
        if not isinstance(given, torch.Tensor):
            return given
        return Value(given, tuple(axis_of_size(size) for size in given.shape))

    def output(self, target: Any, args: Any, kwargs: Any) -> Any:
        del target, kwargs
        values = args[0] if isinstance(args[0], (list, tuple)) else [args[0]]
        (given,) = self.node.args
        nodes = given if isinstance(given, (list, tuple)) else [given]
        for node, value in zip(nodes, values, strict=True):
            _check_padded(node, value)
        self.results = [v.axes if isinstance(v, Value) else None for v in values]
        return [v.tensor for v in values if isinstance(v, Value)]

    def call_function(self, target: Any, args: Any, kwargs: Any) -> Any:
        described = self.described
        if target is operator.getitem:
            return args[0][args[1]]
        if described is None and any(isinstance(leaf, Value) for leaf in pytree.tree_leaves(args)):
            raise Refusal(f"{target}, which has no result")
        if not _has_tensors(described):
            return expression(described) if isinstance(described, (int, sympy.Basic)) else None
        for operand in self.node.all_input_nodes:
            _check_padded(operand, self.env[operand])
        if self._is_fixed(args, kwargs):
            result = target(*self.plain(args), **self.plain(kwargs))
            return self._checked(_with_axes(result, self._fixed_axes(described)), described)
        found = _find(target)
        if found is None:
            raise Refusal(f"{target} of sizes that change")
        try:
            inspect.signature(found).bind(self, target, *args, **kwargs)
        except TypeError as error:
            raise Refusal(f"{target}: {error}") from None
        return self._checked(found(self, target, *args, **kwargs), described)

    def _is_fixed(self, args: Any, kwargs: Any) -> bool:
        leaves = pytree.tree_leaves((args, kwargs))
        return all(
            leaf.fixed
            if isinstance(leaf, Value)
            else not isinstance(leaf, sympy.Basic) or not leaf.free_symbols
            for leaf in leaves
        )

    def _fixed_axes(self, described: Any) -> Any:
        if isinstance(described, tuple):
            return [self._fixed_axes(item) for item in described]
        if not isinstance(described, Described):
            return None
        return tuple(axis_of_size(size) for size in described.shape)

    def _checked(self, result: Any, described: Any) -> Any:
        """Returns a result; raises Refusal if it is not the padded form of torch's result."""
        if isinstance(result, (list, tuple)):
            return tuple(self._checked(r, d) for r, d in zip(result, described, strict=True))
        if result is None:
            return None
        shape = tuple(result.tensor.shape)
        same = len(result.axes) == len(described.shape) and all(
            sympy.expand(size_of(axis) - expression(size)) == 0
            for axis, size in zip(result.axes, described.shape, strict=True)
        )
        if not same or list(shape) != self.sizes.shape(result.axes):
            raise Refusal(f"{self.node.target}: {list(described.shape)} became {list(shape)}")
        if result.tensor.dtype != described.dtype:
            raise Refusal(f"{self.node.target}: {described.dtype} became {result.tensor.dtype}")
        return result

    # -- for rules ---------------------------------------------------------------------------

    def plain(self, arguments: Any) -> Any:
        """Returns arguments with tensors for Values, and padded sizes for sizes."""
        return pytree.tree_map(self._plain, arguments)

    def _plain(self, item: Any) -> Any:
        if isinstance(item, Value):
            return item.tensor
        return self.extent(item) if isinstance(item, sympy.Basic) else item

    def extent(self, size: Any) -> int:
        """Returns the padded extent of a size that a shape has."""
        return self.sizes.of(axis_of_expression(sympy.sympify(size)))

    def length(self, factor: Dynamic) -> torch.Tensor:
        """Returns the number of indices of a dynamic size that have data."""
        return self._lengths[factor.symbol] + factor.offset

    def number(self, size: Any) -> Any:
        """Returns the value of an expression at run time: an int, or a tensor of rank zero."""
        value = sympy.sympify(size)
        if value.is_Integer:
            return int(value)
        if value.is_Symbol and value in self._lengths:
            return self._lengths[value]
        if isinstance(value, (sympy.Add, sympy.Mul)):
            join = operator.add if isinstance(value, sympy.Add) else operator.mul
            operands = [self.number(operand) for operand in value.args]
            total = operands[0]
            for operand in operands[1:]:
                total = join(total, operand)
            return total
        raise Refusal(f"the number {value}")

    def has_data(self, value: Value, dims: Sequence[int]) -> torch.Tensor | None:
        """Returns a mask that is true where the indices along `dims` have data.

        The mask broadcasts to the tensor of `value`. Returns None if all indices have data.
        """
        mask: torch.Tensor | None = None
        rank = len(value.axes)
        for dim in dims:
            found = self._along(value.axes[dim], value.tensor.device)
            if found is None:
                continue
            shape = [1] * rank
            shape[dim] = found.shape[0]
            found = torch.ops.aten.view.default(found, shape)
            mask = found if mask is None else torch.ops.aten.logical_and.default(mask, found)
        return mask

    def _along(self, axis: Axis, device: torch.device) -> torch.Tensor | None:
        mask: torch.Tensor | None = None
        inner = 1
        total = self.sizes.of(axis)
        for factor in reversed(axis):
            extent = self.sizes.of_factor(factor)
            if isinstance(factor, Dynamic):
                positions = torch.arange(total, device=device)
                if inner > 1:
                    positions = torch.ops.aten.div.Tensor_mode(
                        positions, inner, rounding_mode="floor"
                    )
                if inner * extent < total:
                    positions = torch.ops.aten.remainder.Scalar(positions, extent)
                found = torch.ops.aten.lt.Tensor(positions, self.length(factor))
                mask = found if mask is None else torch.ops.aten.logical_and.default(mask, found)
            inner *= extent
        return mask

    def masked(self, value: Value, dims: Sequence[int], fill: float | bool) -> torch.Tensor:
        """Returns the tensor of `value` with `fill` where an index along `dims` has no data."""
        mask = self.has_data(value, [dim % max(1, len(value.axes)) for dim in dims])
        if mask is None:
            return value.tensor
        # torch.full would be a constant of the dtype; a number keeps the dtype of the tensor.
        other = torch.full((), fill, dtype=value.tensor.dtype, device=value.tensor.device)
        return torch.ops.aten.where.self(mask, value.tensor, other)


def _check_padded(node: Any, value: Any) -> None:
    """Raises Refusal if the rule of an op returned None, for a result that it cannot pad."""
    if value is None and node is not None:
        raise Refusal(f"the result {node} of an op whose rule does not pad all results")


def _has_tensors(described: Any) -> bool:
    return any(isinstance(leaf, Described) for leaf in pytree.tree_leaves(described))


def _with_axes(result: Any, axes: Any) -> Any:
    if isinstance(result, (list, tuple)):
        return tuple(_with_axes(r, a) for r, a in zip(result, axes, strict=True))
    return Value(result, axes) if isinstance(result, torch.Tensor) else None

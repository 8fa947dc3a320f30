"""The interpreter's tensors."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .. import ir
from ..dtypes import DType, from_mlir
from ..errors import InvalidUsageError
from ..mlir.locations import describe
from .bounded import Array, Bounded

__all__ = ["Value", "fail", "integer_sum", "result_type", "uncertain"]


@dataclass(frozen=True)
class Value:
    """A tensor of the interpreter.

    Attributes:
        data: float64 for the float types, else an array of the dtype.
        dtype: the element type in the program.
        error: bound of the error of each element, None if bounds are not tracked. The bound of an
            integer or bool is infinite if rounding may change it.
        state: the name of the state that the tensor denotes, or None.
        bits: the elements in the dtype's numpy type if their bits are known, else None: the
            conversion to float64 loses the payload of a NaN.
    """

    data: Array
    dtype: DType
    error: Array | None = None
    state: str | None = None
    bits: Array | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extents."""
        return self.data.shape

    @property
    def bounded(self) -> Bounded:
        """Returns the tensor as a Bounded, for arithmetic."""
        return Bounded(self.data, self.error)

    def with_data(self, data: Array, error: Array | None) -> Value:
        """Returns a tensor with other data of the same dtype."""
        return replace(self, data=data, error=error, state=None, bits=None)

    def view(self, function: Callable[[Array], Array]) -> Value:
        """Applies `function`, which only moves elements, to data, error and bits."""
        error = None if self.error is None else function(self.error)
        bits = None if self.bits is None else function(self.bits)
        return replace(self.with_data(function(self.data), error), bits=bits)


def result_type(op: Any) -> tuple[tuple[int, ...], DType]:
    """Returns shape and dtype of an op's result."""
    tensor = ir.ShapedType(op.operation.results[0].type)
    return tuple(tensor.shape), from_mlir(str(tensor.element_type))


def fail(op: Any, message: str) -> InvalidUsageError:
    """Returns an error of an op, with the op's location."""
    operation = op.operation
    return InvalidUsageError(message, location=describe(operation.location), op=str(operation.name))


def integer_sum(x: Value, function: Callable[[Array], Array]) -> Value:
    """Returns ``function(x)``, each element of which is a sum of elements, and wraps.

    The error is that of the terms, and infinite if an uncertain sum may wrap.
    """
    total = function(x.data)
    if x.error is None:
        return x.with_data(total, None)
    error = function(x.error)
    most = function(np.abs(x.data.astype(np.float64))) + error
    wraps = (error > 0) & (most > x.dtype.integer_range[1])
    return x.with_data(total, np.where(wraps, np.inf, error))


def uncertain(values: Iterable[Value], shape: tuple[int, ...]) -> Array | None:
    """Returns the error of a discontinuous op: infinity if an operand has an error, else zero."""
    errors = [v.error for v in values if v.error is not None]
    if not errors:
        return None
    doubt = np.zeros(shape, np.float64)
    for error in errors:
        doubt = np.where(error > 0, np.inf, doubt)
    return doubt

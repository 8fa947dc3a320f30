"""``ark.Tensor``: a value of a program under construction, with Python's operators."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NoReturn, cast

from .. import ir
from ..dtypes import DType
from ..errors import InvalidUsageError
from ..spellings import NUMPY_FUNCTIONS, TORCH_FUNCTIONS
from .program import Argument, Program, dtype_of, shape_of
from .shapes import invalid, refuse_torch_arguments

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ..typing import Axes, DTypeLike, Index, Operand, Shape

__all__ = ["Tensor"]


def _ops() -> Any:
    # Imported late: the modules of the ops import this module.
    from . import ops

    return ops


class Tensor:
    """A value of a program. Functions such as ``ark.input`` and every op return tensors.

    Supports ``+ - * / @ **``, unary ``-``, ``abs``, comparisons, ``& | ~`` as logical ops, and
    numpy's basic indexing with static bounds. ``a @ b`` of integers has their dtype, so that a
    product of two tensors of int8 wraps at 8 bits; ``ark.matmul(a, b, out_dtype=ark.int32)`` does
    not. One operand may be a number, which takes the
    tensor's dtype, or a numpy array. The methods ``sum``, ``mean``, ``reshape`` and others are
    numpy's. Universal functions of numpy that ark has as an op, such as ``np.exp(x)`` and
    ``np.add(array, x)``, add that op. A tensor has no value while the program is under
    construction: its use as a bool, int, float or numpy array, or as an argument of another
    function of numpy, raises InvalidUsageError.

    Example:
        >>> w = ark.parameter("w", (8, 256))
        >>> ((2 * x + 1)[..., :8] @ w).shape  # x: (4, 64)
        (4, 256)
        >>> np.exp(x).T.sum(axis=0).shape
        (4,)
    """

    def __init__(
        self, program: Program, value: ir.Value, name: str, state: Argument | None = None
    ) -> None:
        self._program = program
        self._value = value
        self._name = name
        self._state = state
        self._body = program.body
        self._shape = shape_of(value)
        self._dtype = dtype_of(value)
        self.argument: Argument | None = None

    @property
    def shape(self) -> tuple[int, ...]:
        """Returns the extents, which are static."""
        return self._shape

    @property
    def dtype(self) -> DType:
        """Returns the element type."""
        return self._dtype

    @property
    def name(self) -> str:
        """Returns the name of the argument, or of the op that created the tensor."""
        return self.argument.name if self.argument is not None else self._name

    @property
    def ndim(self) -> int:
        """Returns the number of dimensions."""
        return len(self._shape)

    @property
    def size(self) -> int:
        """Returns the number of elements."""
        return math.prod(self._shape)

    @property
    def program(self) -> Program:
        """Returns the program to which the tensor belongs."""
        return self._program

    @property
    def body(self) -> ir.Block | None:
        """Returns the body of the custom op that computes the tensor, or None."""
        return self._body

    @property
    def state(self) -> Argument | None:
        """Returns the state that the tensor denotes, or None."""
        return self._state

    @property
    def value(self) -> ir.Value:
        """Returns the ``ir.Value``; for a state, the value after its last update."""
        if self._state is not None:
            return self._program.state_value(self._state, self._value)
        return self._value

    def __repr__(self) -> str:
        return f"<ark.Tensor {self.name!r} {self._dtype}{list(self._shape)}>"

    # ---------------------------------------------------------------- numpy's methods

    @property
    def T(self) -> Tensor:
        """Returns the tensor with its dimensions in reverse order, as numpy does.

        Example:
            >>> x.T.shape  # x: (4, 64)
            (64, 4)
        """
        return _ops().transpose(self)

    def reshape(self, *shape: Shape) -> Tensor:
        """Returns the elements under another shape: ``x.reshape(2, -1)`` or ``x.reshape((2, -1))``.

        Raises InvalidUsageError as :func:`ark_mlir.reshape` does.

        Example:
            >>> x.reshape(2, -1).shape  # x: (4, 64)
            (2, 128)
        """
        return _ops().reshape(self, shape[0] if len(shape) == 1 else shape)

    def transpose(self, *perm: Shape) -> Tensor:
        """Returns the tensor with its dimensions permuted, or reversed without arguments.

        Raises InvalidUsageError as :func:`ark_mlir.transpose` does.

        Example:
            >>> x.transpose(1, 0).shape  # x: (4, 64)
            (64, 4)
        """
        if not perm:
            return _ops().transpose(self)
        return _ops().transpose(self, perm[0] if len(perm) == 1 else perm)

    def astype(self, dtype: DTypeLike) -> Tensor:
        """Returns the elements converted to another dtype, as :func:`ark_mlir.cast` does.

        Raises InvalidUsageError if `dtype` is unknown.

        Example:
            >>> x.astype(ark.bf16).dtype
            ark.bf16
        """
        return _ops().cast(self, dtype)

    def sum(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        """Returns the sum over the dimensions `axis`; None reduces all dimensions.

        `keepdims` is False by default, as in numpy. Dtypes and errors are those of
        :func:`ark_mlir.reduce_sum`.

        Example:
            >>> x.sum(axis=1).shape  # x: (4, 64)
            (4,)
        """
        return _ops().reduce_sum(self, axis, keepdims)

    def mean(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        """Returns the mean over the dimensions `axis`; None reduces all dimensions.

        `keepdims` is False by default, as in numpy. Dtypes and errors are those of
        :func:`ark_mlir.reduce_mean`.

        Example:
            >>> centred = x - x.mean(axis=-1, keepdims=True)
        """
        return _ops().reduce_mean(self, axis, keepdims)

    def max(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        """Returns the maximum over the dimensions `axis`; None reduces all dimensions.

        `keepdims` is False by default, as in numpy. The dtype is that of the tensor; errors are
        those of :func:`ark_mlir.reduce_max`.

        Example:
            >>> x.max().shape
            ()
        """
        return _ops().reduce_max(self, axis, keepdims)

    def min(self, axis: Axes | None = None, keepdims: bool = False) -> Tensor:
        """Returns the minimum over the dimensions `axis`; None reduces all dimensions.

        `keepdims` is False by default, as in numpy. The dtype is that of the tensor; errors are
        those of :func:`ark_mlir.reduce_min`.

        Example:
            >>> x.min(axis=(0, 1), keepdims=True).shape
            (1, 1)
        """
        return _ops().reduce_min(self, axis, keepdims)

    # ---------------------------------------------------------------- arithmetic

    def __add__(self, other: Operand) -> Tensor:
        return _ops().add(self, other)

    def __radd__(self, other: Operand) -> Tensor:
        return _ops().add(other, self)

    def __sub__(self, other: Operand) -> Tensor:
        return _ops().sub(self, other)

    def __rsub__(self, other: Operand) -> Tensor:
        return _ops().sub(other, self)

    def __mul__(self, other: Operand) -> Tensor:
        return _ops().mul(self, other)

    def __rmul__(self, other: Operand) -> Tensor:
        return _ops().mul(other, self)

    def __truediv__(self, other: Operand) -> Tensor:
        return _ops().div(self, other)

    def __rtruediv__(self, other: Operand) -> Tensor:
        return _ops().div(other, self)

    def __pow__(self, other: Operand) -> Tensor:
        return _ops().pow(self, other)

    def __rpow__(self, other: Operand) -> Tensor:
        return _ops().pow(other, self)

    def __matmul__(self, other: Tensor) -> Tensor:
        return _ops().matmul(self, other)

    def __rmatmul__(self, other: NDArray[Any]) -> Tensor:
        return _ops().matmul(other, self)

    def __neg__(self) -> Tensor:
        return _ops().neg(self)

    def __abs__(self) -> Tensor:
        return _ops().abs(self)

    def __and__(self, other: Operand) -> Tensor:
        return _ops().logical_and(self, other)

    def __or__(self, other: Operand) -> Tensor:
        return _ops().logical_or(self, other)

    __rand__ = __and__
    __ror__ = __or__

    def __invert__(self) -> Tensor:
        return _ops().logical_not(self)

    # ---------------------------------------------------------------- comparisons

    def __eq__(self, other: Operand) -> Tensor:  # type: ignore[override]
        return _ops().equal(self, other)

    def __ne__(self, other: Operand) -> Tensor:  # type: ignore[override]
        return _ops().not_equal(self, other)

    def __lt__(self, other: Operand) -> Tensor:
        return _ops().less(self, other)

    def __le__(self, other: Operand) -> Tensor:
        return _ops().less_equal(self, other)

    def __gt__(self, other: Operand) -> Tensor:
        return _ops().greater(self, other)

    def __ge__(self, other: Operand) -> Tensor:
        return _ops().greater_equal(self, other)

    # __eq__ returns a tensor, so that only the identity can be hashed.
    __hash__ = object.__hash__

    # ---------------------------------------------------------------- container

    def __getitem__(self, index: Index) -> Tensor:
        return _ops().getitem(self, index)

    def __len__(self) -> int:
        if not self._shape:
            raise TypeError(f"tensor {self.name!r} of rank zero has no length")
        return self._shape[0]

    def __iter__(self) -> Iterator[Tensor]:
        return (self[i] for i in range(len(self)))

    def __bool__(self) -> NoReturn:
        raise invalid(
            f"tensor {self.name!r} has no value while the program is built; "
            "use ark.where, ark.logical_and and the like instead of if, and, or, not"
        )

    def __float__(self) -> NoReturn:
        raise self._without_value()

    def __int__(self) -> NoReturn:
        raise self._without_value()

    def _without_value(self) -> InvalidUsageError:
        return invalid(
            f"tensor {self.name!r} has no value while the program is built; ark.output makes it a "
            "result of Executable.run"
        )

    # ---------------------------------------------------------------- numpy's functions

    def __array__(self, dtype: np.dtype[Any] | None = None, copy: bool | None = None) -> NoReturn:
        raise self._without_value()

    def __array_ufunc__(
        self, function: np.ufunc, method: str, *operands: object, **options: object
    ) -> Tensor:
        # numpy calls this for `array + tensor`, too.
        name = str(cast("Any", function).__name__)
        op = _UFUNCS.get(name)
        if op is None or method != "__call__" or options:
            raise invalid(_refused(f"numpy.{name}", op or name))
        return getattr(_ops(), op)(*operands)

    def __array_function__(
        self, function: Any, types: object, operands: object, options: object
    ) -> NoReturn:
        name = str(function.__name__)
        raise invalid(_refused(f"numpy.{name}", NUMPY_FUNCTIONS.get(name, name)))

    # ---------------------------------------------------------------- PyTorch's functions

    @classmethod
    def __torch_function__(
        cls, function: Any, types: object, operands: object = (), options: object = None
    ) -> NoReturn:
        # The methods of PyTorch's operators have names such as __add__.
        name = str(function.__name__).strip("_")
        raise invalid(_refused(f"torch.{name}", TORCH_FUNCTIONS.get(name, name)))

    if not TYPE_CHECKING:  # with these methods, a type checker would accept wrong programs
        sum, mean, max, min = map(refuse_torch_arguments, (sum, mean, max, min))

        def __mod__(self, other: object) -> NoReturn:
            raise invalid("there is no operator %; use x - ark.floor(x / y) * y", "ark.Tensor")

        def __floordiv__(self, other: object) -> NoReturn:
            raise invalid("there is no operator //; use ark.floor(x / y)", "ark.Tensor")

        __rmod__, __rfloordiv__ = __mod__, __floordiv__

        def __setitem__(self, index: object, value: object) -> NoReturn:
            raise invalid(
                "a tensor is a value, to which nothing can be assigned; use ark.where or "
                "ark.concat, or ark.update for a state",
                "ark.Tensor",
            )

        def __getattr__(self, name: str) -> NoReturn:
            op = _ATTRIBUTES.get(name, name)
            hint = ""
            if op in _METHODS:
                hint = f"; use x.{op}(...)"
            elif op in _ops().__all__:
                hint = f"; use ark.{op}(x, ...)"
            raise AttributeError(f"ark.Tensor has no attribute {name!r}{hint}")


# Universal functions of numpy, and the ops with the same meaning.
_UFUNCS = {
    **{
        name: name
        for name in (
            "add", "cos", "equal", "exp", "floor", "greater", "greater_equal", "less",
            "less_equal", "log", "logical_and", "logical_not", "logical_or", "matmul", "maximum",
            "minimum", "not_equal", "reciprocal", "sign", "sin", "sqrt", "tanh",
        )
    },
    "absolute": "abs", "divide": "div", "multiply": "mul", "negative": "neg", "power": "pow",
    "subtract": "sub",
}  # fmt: skip

# Methods of tensors of PyTorch and of arrays of numpy, and the methods and ops like them.
_METHODS = ("astype", "max", "mean", "min", "reshape", "sum", "transpose")
_ATTRIBUTES = {
    **TORCH_FUNCTIONS,
    **{name: "astype" for name in ("double", "float", "half", "int", "long", "to", "type")},
    "flatten": "reshape", "ravel": "reshape", "repeat": "broadcast_to", "swapaxes": "transpose",
    "expand": "broadcast_to", "view": "reshape",
    "max": "max", "mean": "mean", "min": "min", "permute": "transpose", "sum": "sum",
}  # fmt: skip


def _refused(function: str, op: str) -> str:
    """Returns the message for a function of numpy or PyTorch that takes no tensor of a program."""
    hint = f"; use ark.{op}" if op in _ops().__all__ else ""
    return f"{function} takes arrays, and not tensors of a program{hint}"

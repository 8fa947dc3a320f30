"""The function with which all ops of the frontend create an op of the dialect."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any, NamedTuple

from ... import ir
from ...dtypes import DType
from ..builder import append
from ..program import current
from ..tensor import Tensor

__all__ = ["Enum", "emit"]


class Enum(NamedTuple):
    """An enum attribute of the dialect, such as ``Enum("predicate", "lt")``."""

    attribute: str
    value: str


def emit(op: str, op_class: Any, name: str | None, **arguments: Any) -> Tensor:
    """Appends ``ark.<op>`` to the program and returns its result.

    Args:
        op_class: the class that is generated from the op's definition.
        arguments: arguments of its constructor: tensors, lists of tensors, and attributes as
            Python values, DTypes or Enums. None omits an optional argument.
    """
    tensors = tuple(t for value in arguments.values() for t in _tensors(value))

    def build(**context: Any) -> Any:
        converted = {key: _convert(value) for key, value in arguments.items()}
        return op_class(**converted, **context)

    value = append(build, op, tensors, name)
    return Tensor(current(f"ark.{op}"), value, name or op)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, list):
        return [item for item in value if isinstance(item, Tensor)]
    return []


def _convert(value: Any) -> Any:
    # Attributes can be created only in the op's context, which is current here.
    if isinstance(value, Tensor):
        return value.value
    if isinstance(value, list) and any(isinstance(item, Tensor) for item in value):
        return [item.value for item in value]
    if isinstance(value, Enum):
        return ir.Attribute.parse(f"#ark<{value.attribute} {value.value}>")
    if isinstance(value, DType):
        return ir.TypeAttr.get(ir.Type.parse(value.mlir))
    return value

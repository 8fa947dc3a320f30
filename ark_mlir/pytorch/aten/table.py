"""The table of ATen ops and their counterparts in ark: functions, filled by the modules beside it.

A function is called as the ATen op would be, with what is known of the result in front:
ark tensors in place of torch's, DTypes in place of torch's dtypes, and constants known before
the run as numbers or numpy arrays. It adds ops to the program being built, and returns a tensor,
or a tuple where the op has several results. What it cannot express it refuses with
``unsupported``. Nothing here imports torch.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ...dtypes import DType
from ...errors import UnsupportedError

__all__ = ["Out", "Unavailable", "aten", "find", "is_view", "names", "unsupported"]

# Where memory lies and in which order is no matter of the program.
_IGNORED = ("device", "generator", "layout", "memory_format", "non_blocking", "pin_memory")

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
_TABLE: dict[str, Handler] = {}
_VIEWS: set[str] = set()


@dataclass(frozen=True)
class Out:
    """Shape and dtype that torch has for one result of a node."""

    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Unavailable:
    """A result that ark does not compute; an error only where something uses it."""

    reason: str


def unsupported(reason: str) -> UnsupportedError:
    """Returns the error for arguments of an ATen op that ark has no counterpart for."""
    return UnsupportedError(reason)


def aten(*overloads: str, view: bool = False) -> Callable[[_H], _H]:
    """Enters a function into the table under names such as ``add.Tensor``.

    `view` says that the result is elements of the operand in another order, so that torch
    need not touch them.
    """

    def enter(handler: _H) -> _H:
        for overload in overloads:
            name = f"aten.{overload}"
            assert name not in _TABLE, f"{name} is in the table twice"
            _TABLE[name] = handler
            _VIEWS.update([name] if view else [])
        return handler

    return enter


def names() -> list[str]:
    """All ops of the table, such as ``aten.add.Tensor``, sorted."""
    return sorted(_TABLE)


def is_view(op: str) -> bool:
    """Returns True if an ATen op is a view, which costs torch nothing."""
    return op in _VIEWS


def find(op: str) -> Handler:
    """The function for an ATen op; raises UnsupportedError where there is none."""
    if op not in _TABLE:
        raise unsupported("ark has no such op")
    handler = _TABLE[op]

    def call(out: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in kwargs.items() if name not in _IGNORED}
        try:
            inspect.signature(handler).bind(out, *args, **given)
        except TypeError as error:
            raise unsupported(f"arguments that ark does not know: {error}") from None
        return handler(out, *args, **given)

    return call

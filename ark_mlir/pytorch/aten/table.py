"""The table of handlers of ATen ops, which the other modules of this folder fill.

The first argument of a handler is torch's description of the result. The others are those of the
ATen op: ark tensors for torch's tensors, DTypes for torch's dtypes, and numbers or numpy arrays for
constants. A handler adds ops to the program under construction and returns a tensor, or a tuple if
the op has several results. It raises ``unsupported`` if ark cannot express the op. This module does
not import torch.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from ... import frontend as ark
from ...dtypes import DType
from ...errors import UnsupportedError

__all__ = [
    "NO_DROPOUT", "RANDOM", "Deferred", "Noise", "Out", "Unavailable", "aten", "find", "is_view",
    "names", "unsupported",
]  # fmt: skip

# Ops that draw random numbers; in a program that counts steps, they get a Noise as `noise`.
RANDOM = (
    "aten.dropout.default", "aten.native_dropout.default",
    "aten.scaled_dot_product_attention.default",
)  # fmt: skip

# Arguments about the device and layout of memory, which do not affect a program.
_IGNORED = ("device", "generator", "layout", "memory_format", "non_blocking", "pin_memory")

# The reasons why ops are not in the table. Other ops are only missing.
_REASONS = {
    "aten.bernoulli.p": "random numbers are those of PyTorch's generator",
    "aten.bincount.default": "the length of the result depends on the data; "
    "torch.nn.functional.one_hot(x, n).sum(0) has length n",
}

# The reason why dropout is not translated in programs that count no steps.
NO_DROPOUT = "dropout draws numbers of PyTorch's generator; module.eval() switches it off"

Handler = Callable[..., Any]
_H = TypeVar("_H", bound=Handler)
_TABLE: dict[str, Handler] = {}
_VIEWS: set[str] = set()


@dataclass(frozen=True)
class Out:
    """Torch's shape and dtype of a result of a node."""

    shape: tuple[int, ...]
    dtype: DType


@dataclass(frozen=True)
class Unavailable:
    """A result that ark does not compute; its use is an error."""

    reason: str


@dataclass(frozen=True)
class Deferred:
    """A result that ark computes only if another node reads it."""

    make: Callable[[], Any]


@dataclass(frozen=True)
class Noise:
    """The source of the random numbers of an op: its seed, and the count of steps."""

    seed: int
    counter: Any

    def drop(self, x: Any, p: float) -> Any:
        """Returns the dropout of a tensor."""
        return ark.dropout(x, p, self.seed, self.counter)


def unsupported(reason: str) -> UnsupportedError:
    """Returns the error for an ATen op, or arguments of it, that ark cannot express."""
    return UnsupportedError(reason)


def aten(*overloads: str, view: bool = False, namespace: str = "aten") -> Callable[[_H], _H]:
    """Returns a decorator that adds a handler to the table under names such as ``add.Tensor``.

    `view` is True if the op is a view in torch, which moves no data. `namespace` is the library of
    the op in ``torch.ops``.
    """

    def enter(handler: _H) -> _H:
        for overload in overloads:
            name = f"{namespace}.{overload}"
            assert name not in _TABLE, f"{name} is in the table twice"
            _TABLE[name] = handler
            _VIEWS.update([name] if view else [])
        return handler

    return enter


def names() -> list[str]:
    """Returns the names of all ops of the table, such as ``aten.add.Tensor``, sorted."""
    return sorted(_TABLE)


def is_view(op: str) -> bool:
    """Returns True if an ATen op is a view in torch, which moves no data."""
    return op in _VIEWS


@functools.cache
def _signature(handler: Handler) -> inspect.Signature:
    return inspect.signature(handler)


def find(op: str) -> Handler:
    """Returns the handler of an ATen op; raises UnsupportedError if there is none."""
    if op not in _TABLE:
        raise unsupported(_REASONS.get(op, "ark has no such op"))
    handler = _TABLE[op]

    def call(out: object, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in kwargs.items() if name not in _IGNORED}
        try:
            _signature(handler).bind(out, *args, **given)
        except TypeError as error:
            raise unsupported(f"unknown arguments: {error}") from None
        return handler(out, *args, **given)

    return call

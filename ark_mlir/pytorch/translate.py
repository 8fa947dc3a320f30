"""Translation of an FX graph of ATen ops to ops of the program under construction.

This module does not import torch: it uses only the attributes of nodes (``op``, ``target``,
``args``, ``kwargs``, ``meta``).
"""

# The stubs of numpy leave the elements of arrays unknown, and nodes are torch's.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import functools
import operator
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from .. import frontend as ark
from ..dtypes import DType, as_dtype
from ..errors import ArkError, InvalidUsageError, UnsupportedError
from ..frontend.locations import Frame, placed
from ..frontend.program import current
from ..interruption import checkpoint
from .aten import (
    AS_STRIDED,
    RANDOM,
    Deferred,
    Layout,
    Noise,
    Out,
    Unavailable,
    find,
    unsupported,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import TorchDType

__all__ = ["Node", "Problem", "Translation", "describe", "gives_tensors", "out_of", "refusal"]

Node: TypeAlias = Any

_TRACE_LINE = re.compile(r'^ *File "(.+)", line (\d+)', re.M)
_CALLERS = 3
_DTYPE = "elements of "
_DTYPE_REMEDIES = {"float64": "; convert tensors by x.float(), and modules by module.float()"}


@dataclass(frozen=True)
class Problem:
    """A node that ark cannot express: its ATen op, its name, its Python line, and the reason."""

    op: str
    node: str
    location: str | None
    reason: str


class Translation:
    """Translates nodes, one by one, into the program whose ``with`` block is running.

    Args:
        constants: constant arrays by node.
        internal: the folder of torch, whose lines are no locations of ops.
        counter: the number of the step, from which dropout takes its random numbers, or None.

    A node that cannot be translated is recorded in ``problems`` and replaced by new inputs, so that
    one pass finds all problems.
    """

    def __init__(
        self,
        constants: Mapping[Node, NDArray[Any]],
        internal: str = "",
        counter: ark.Tensor | None = None,
    ) -> None:
        self.problems: dict[Node, Problem] = {}
        self._constants = constants
        self._internal = internal
        self._counter = counter
        self._draws = 0
        self._values: dict[Node, Any] = {}

    def set(self, node: Node, value: object) -> None:
        """Sets the value of a node."""
        self._values[node] = value

    def stand_in(self, node: Node) -> None:
        """Replaces a node by new inputs of the program."""
        self._values[node] = self._unknown(node)

    def location(self, node: Node) -> str | None:
        """Returns the Python line of a node, or None."""
        frames = self._frames(node)
        return str(frames[0]) if frames else None

    def tensor(self, node: Node) -> ark.Tensor:
        """Returns the tensor of a node; raises UnsupportedError if the node has no tensor."""
        value = self._value(node)
        return value if isinstance(value, ark.Tensor) else ark.constant(value, out_of(node).dtype)

    def add(self, node: Node) -> None:
        """Translates a node that calls an op; ignores nodes without tensors as results."""
        checkpoint()
        if node in self._constants or not gives_tensors(node):
            return
        frames = self._frames(node)
        program = current("from_torch")
        with placed(frames), program.scope(_module_of(node)):
            try:
                self._values[node] = self._call(node)
            except ArkError as error:
                location = str(frames[0]) if frames else None
                self.problems[node] = Problem(str(node.target), node.name, location, _reason(error))
                self._values[node] = self._unknown(node)

    def _call(self, node: Node) -> Any:
        if node.target is operator.getitem:
            source, index = node.args
            return self._value(source)[index]
        handler = find(str(node.target))
        out = out_of(node)
        args = [self._argument(a) for a in node.args]
        kwargs = {name: self._argument(a) for name, a in node.kwargs.items()}
        if str(node.target) == AS_STRIDED:  # tensors of ark have no strides
            kwargs["source"] = _layout(node.args[0].meta["val"])
        if str(node.target) in RANDOM and self._counter is not None:
            self._draws += 1
            kwargs["noise"] = Noise(self._draws, self._counter)
        result = _checked(handler(out, args, kwargs), out)
        if isinstance(result, tuple):
            _check_available(node, result)
        return result

    def _argument(self, value: Any) -> Any:
        if _is_node(value):
            return self._value(value)
        if isinstance(value, (list, tuple)):
            return [self._argument(item) for item in value]
        if type(value).__module__ == "torch" and type(value).__name__ == "dtype":
            return _dtype(value)
        return value

    def _value(self, node: Node) -> Any:
        if node not in self._values:
            if node not in self._constants:
                raise unsupported(
                    f"{node.name!r} ({node.target}) is a number known at run time only"
                )
            self._values[node] = _constant(self._constants[node])
        value = self._values[node]
        if isinstance(value, Unavailable):
            raise unsupported(value.reason)
        if isinstance(value, Deferred):
            value = self._values[node] = _checked(value.make(), out_of(node))
        return value

    def _unknown(self, node: Node) -> Any:
        try:
            out = out_of(node)
        except UnsupportedError as error:
            return Unavailable(error.message)
        if isinstance(out, Out):
            return _input(f"{node.name}", out)
        return tuple(
            _input(f"{node.name}.{i}", result) if isinstance(result, Out) else result
            for i, result in enumerate(out)
        )

    def _frames(self, node: Node) -> list[Frame]:
        """Returns the user's line that created a node, and its callers."""
        return list(_frames_of(node.meta.get("stack_trace") or "", self._internal))


@functools.lru_cache(4096)  # the ops of one line, and of equal layers, have equal texts
def _frames_of(trace: str, internal: str) -> tuple[Frame, ...]:
    frames = [Frame(file, int(line), 0) for file, line in reversed(_TRACE_LINE.findall(trace))]
    callers = [frame for frame in frames if not (internal and frame.file.startswith(internal))]
    return tuple((callers or frames)[: 1 + _CALLERS])


def _check_available(node: Node, results: tuple[Any, ...]) -> None:
    """Raises UnsupportedError if a later node reads a result that ark does not compute."""
    for user in getattr(node, "users", ()):
        if user.target is operator.getitem and user.users:
            result = results[user.args[1]]
            if isinstance(result, Unavailable):
                raise unsupported(result.reason)


def _layout(value: Any) -> Layout:
    """Returns the layout in memory of torch's tensor."""
    return Layout(tuple(value.stride()), value.storage_offset())


def _input(name: str, out: Out) -> ark.Tensor:
    return ark.input(f"unknown {name}", out.shape, out.dtype)


def _constant(array: NDArray[Any]) -> Any:
    """Returns the operand for a constant.

    Constants of rank zero and of float64 take the dtype of the other operand.
    """
    if array.ndim == 0:
        return array.item()
    return array if array.dtype == np.float64 else ark.constant(array)


def _is_node(value: object) -> bool:
    return hasattr(value, "op") and hasattr(value, "target")


def _module_of(node: Node) -> str:
    """Returns the path of the module whose ``forward`` created the node."""
    stack = node.meta.get("nn_module_stack") or {}
    path = next(reversed(stack.values()), ("",))[0] if stack else ""
    return str(path)


def _reason(error: ArkError) -> str:
    return f"{error.op}: {error.message}" if error.op else error.message


def gives_tensors(node: Node) -> bool:
    """Returns True if all results of a node are tensors; some of several results may be None."""
    value = node.meta.get("val")
    if not isinstance(value, (list, tuple)):
        return hasattr(value, "dtype")
    # A gradient that a graph does not request is None.
    found = [result for result in value if result is not None]
    return all(hasattr(result, "dtype") for result in found) and bool(found or not value)


def out_of(node: Node) -> Any:
    """Returns torch's description of a node's result: an Out, or a tuple of Outs and Unavailables.

    Raises UnsupportedError if ark has no such tensors.
    """
    value = node.meta.get("val")
    if isinstance(value, (list, tuple)):
        return tuple(_out_or_unavailable(item) for item in value)
    return _out(value)


def _out_or_unavailable(value: object) -> Out | Unavailable:
    try:
        return _out(value)
    except UnsupportedError as error:
        return Unavailable(error.message)


def _out(value: Any) -> Out:
    if not hasattr(value, "shape") or not hasattr(value, "dtype"):
        raise unsupported("a result that is not a tensor")
    if str(getattr(value, "layout", "torch.strided")) != "torch.strided":
        raise unsupported(f"tensors of layout {value.layout}")
    shape = tuple(value.shape)
    if not all(isinstance(extent, int) for extent in shape):
        raise unsupported(f"shape {list(shape)} is known only at run time")
    return Out(shape, _dtype(value.dtype))


def _dtype(value: TorchDType) -> DType:
    try:
        return as_dtype(value)
    except InvalidUsageError:
        name = str(value).removeprefix("torch.")
        remedy = _DTYPE_REMEDIES.get(name, "")
        raise unsupported(f"{_DTYPE}{name}, which ark does not have{remedy}") from None


def _checked(result: Any, out: Any) -> Any:
    """Returns `result`; raises UnsupportedError if its shape or dtype is not that of torch."""
    if isinstance(out, tuple):
        pairs = zip(result, out, strict=True)
        return tuple(_checked(r, o) if isinstance(o, Out) else r for r, o in pairs)
    if isinstance(result, (Deferred, Unavailable)):
        return result
    if (result.shape, result.dtype) != (out.shape, out.dtype):
        raise unsupported(
            f"the result is {result.dtype}{list(result.shape)} in ark, "
            f"{out.dtype}{list(out.shape)} in torch"
        )
    return result


_REMEDY = 'torch.compile(module, backend="ark") leaves such ops to PyTorch'


def refusal(name: str, problems: Iterable[Problem]) -> UnsupportedError:
    """Returns one error for all nodes that ark cannot express, with the remedy."""
    problems = list(problems)
    lines = describe(problems)
    if len(lines) == 1:
        location = problems[0].location
        line = lines[0].removeprefix(f"{location}: ")
        return UnsupportedError(
            f"{name!r} has an unsupported op: {line}; {_REMEDY}", location=location
        )
    return UnsupportedError(f"{name!r} has {len(lines)} unsupported ops; {_REMEDY}", notes=lines)


def describe(problems: Iterable[Problem]) -> list[str]:
    """Returns a line for each op and reason, with the first node and the number of others.

    Ops on elements of a dtype that ark does not have share one line for the dtype.
    """
    groups: dict[tuple[str, str], list[Problem]] = {}
    for problem in problems:
        op = "" if problem.reason.startswith(_DTYPE) else problem.op
        groups.setdefault((op, problem.reason), []).append(problem)
    return [_line(*group) for group in groups.values()]


def _line(first: Problem, *others: Problem) -> str:
    location = f"{first.location}: " if first.location else ""
    more = f" and {len(others)} more" if others else ""
    op = first.op if all(other.op == first.op for other in others) else "several ops"
    return f"{location}{op}: {first.reason} (node {first.node!r}{more})"

"""The call of ``torch.export``: its arguments, and its errors as errors of ark."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import importlib
import inspect
import logging
import os
import re
import traceback
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from unittest import mock

from ..errors import ArkError, InvalidUsageError, UnsupportedError
from .library import folder

__all__ = ["check_call", "export", "one_error", "tracing_error", "whole_stacks", "without_cache"]

_UNKNOWN_TYPE = re.compile(r"Found <class '(.+?)'> in output, which is not a known type")
# These loggers repeat the traceback of an error that is raised as well, or print its graph.
_REPEAT_ERRORS = ("torch._subclasses.fake_tensor", "torch.fx.experimental.symbolic_shapes")


def without_cache(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the keyword arguments for tracing a module.

    Models of transformers return a cache of keys and values, which is not a tensor, unless they are
    called with ``use_cache=False``. A value that the caller chose stays.
    """
    signature = inspect.signature(module.forward)
    takes_any = any(p.kind is p.VAR_KEYWORD for p in signature.parameters.values())
    configured = getattr(getattr(module, "config", None), "use_cache", None) is not None
    if "use_cache" not in signature.parameters and not (takes_any and configured):
        return dict(kwargs)
    try:
        given = signature.bind_partial(*args, **kwargs).arguments
    except TypeError:  # `check_call` raises the error
        return dict(kwargs)
    return dict(kwargs) if "use_cache" in given else {**kwargs, "use_cache": False}


def check_call(module: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    """Raises InvalidUsageError if the arguments do not fit the signature of ``forward``."""
    signature = inspect.signature(module.forward)
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        names = ", ".join(signature.parameters)
        raise InvalidUsageError(
            f"the example inputs do not fit {type(module).__name__}.forward({names}): {error}"
        ) from None


def export(
    torch: Any,
    module: Any,
    args: tuple[Any, ...],
    kwargs: Mapping[str, Any],
    name: str | None = None,
) -> Any:
    """Returns ``torch.export.export`` of a module; its errors become errors of ark.

    The errors call the module `name`, by default the name of its class.
    """
    args, given = _told_apart(torch, (args, dict(kwargs)))
    try:
        with torch.no_grad(), one_error(), whole_stacks():
            return torch.export.export(module, args, given)
    except Exception as error:
        raise tracing_error(name or type(module).__name__, error, folder(torch)) from error


def _told_apart(torch: Any, arguments: Any) -> Any:
    """Returns arguments in which no tensor occurs twice.

    If two inputs are one tensor in the example, such as tokens that are also labels, torch.export
    assumes that they are one input in all calls.
    """
    known: set[int] = set()

    def copied(value: Any) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        if id(value) in known:
            return value.clone()
        known.add(id(value))
        return value

    return torch.utils._pytree.tree_map(copied, arguments)


@contextmanager
def one_error() -> Generator[None]:
    """Returns a context in which torch raises errors, and does not write them to its log."""
    loggers = [logging.getLogger(name) for name in _REPEAT_ERRORS]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL)
    # This module prints the graph up to the error.
    tracer = importlib.import_module("torch.export._trace")
    try:
        with mock.patch.object(tracer, "print", create=True):
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


@contextmanager
def whole_stacks() -> Generator[None]:
    """Returns a context in which torch records all lines that lead to an op.

    By default, torch records only the lines of functions that are named ``forward``, and not of the
    functions that they call.
    """
    tracer: Any = importlib.import_module("torch.fx.experimental.proxy_tensor").PythonKeyTracer
    name = "_filter_traceback_frames"
    if not hasattr(tracer, name):  # before torch 2.9
        yield
        return

    def from_forward(self: object, frames: traceback.StackSummary) -> traceback.StackSummary:
        del self
        names = [frame.name for frame in frames]
        first = names.index("forward") if "forward" in names else len(names)
        return traceback.StackSummary.from_list(frames[first:])

    with mock.patch.object(tracer, name, from_forward):
        yield


def tracing_error(name: str, error: Exception, internal: str) -> ArkError:
    """Returns the error of ark for an error of ``torch.export``.

    Args:
        name: the name of the module that was traced.
        error: the error that torch raised.
        internal: the folder of torch, whose lines are no locations.
    """
    if isinstance(error, ArkError):
        return error
    location = _last_line(error, internal)
    reason = str(error).strip().partition("\n")[0].rstrip(".")
    if found := _UNKNOWN_TYPE.search(reason):
        kind = found[1].rpartition(".")[2]
        return UnsupportedError(
            f"{name!r} returns a {kind}, and torch.export knows tensors, numbers, tuples, lists "
            "and dicts only; for a model of transformers, pass use_cache=False"
        )
    if _depends_on_data(error):
        return UnsupportedError(
            f"torch.export cannot trace {name!r}: the Python code depends on the values of a "
            "tensor, as `if x.sum() > 0` does; use torch.where, or torch.compile(module, "
            'backend="ark"), which divides the module there',
            location=location,
        )
    if isinstance(error, _unsupported_errors()):
        return UnsupportedError(f"torch.export cannot trace {name!r}: {reason}", location=location)
    return InvalidUsageError(
        f"{name!r} fails for the example inputs: {type(error).__name__}: {reason}",
        location=location,
    )


def _depends_on_data(error: Exception) -> bool:
    """Returns True if torch.export needs a value that is known only at run time."""
    shapes = importlib.import_module("torch.fx.experimental.symbolic_shapes")
    return isinstance(error, shapes.GuardOnDataDependentSymNode)


def _unsupported_errors() -> tuple[type[Exception], ...]:
    """Returns the exceptions that torch raises for modules that it cannot trace."""
    dynamo = importlib.import_module("torch._dynamo.exc")
    fake = importlib.import_module("torch._subclasses.fake_tensor")
    return (
        dynamo.TorchDynamoException,
        fake.UnsupportedFakeTensorException,
        NotImplementedError,
    )


def _last_line(error: BaseException, internal: str) -> str | None:
    """Returns the innermost line of an error's traceback outside of torch and this folder."""
    ours = os.path.dirname(os.path.abspath(__file__))
    frames = traceback.extract_tb(error.__traceback__)
    # Torch generates code, whose lines have names such as <string>.
    callers = [f for f in frames if not f.filename.startswith((internal, ours, "<"))]
    return f"{callers[-1].filename}:{callers[-1].lineno}" if callers else None

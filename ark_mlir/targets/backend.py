"""The interface of a backend for the compiler, and the machines that names stand for."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol, cast

from .. import ir
from ..errors import InvalidUsageError
from .target import Target, look_up

_BACKENDS = ("cpu", "cuda", "hip")


@dataclass(frozen=True)
class Code:
    """A kernel's binary.

    Attributes:
        image: the bytes of the bundle's section `kernel`.
        arch: ``x86_64``, ``sm_90a`` …
        features: instruction-set features beyond the arch's base, by LLVM's names.
        statistics: figures of the code, for reports.
        assembler: what made the image of a GPU's assembly; empty where nothing needs to be said.
    """

    image: bytes
    arch: str
    features: tuple[str, ...]
    statistics: Mapping[str, int] = field(default_factory=dict[str, int])
    assembler: str = ""


class Backend(Protocol):
    """A family of machines."""

    def detect(self) -> Target:
        """The machine present; raises UnsupportedError where there is none."""
        ...

    def target_options(self, cpu: str) -> dict[str, str]:
        """Options of the pipeline that depend on the processor to compile for."""
        ...

    def fingerprint(self, cpu: str) -> str:
        """Returns all that `emit` depends on besides the module and its options: processor and
        tools."""
        ...

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """The binary of a module at the stage `target`, without its ``ark.kernel``.

        With `line_info` it says of GPU code which op and which line of Python that is of.
        """
        ...


def backend_of(name: str) -> Backend:
    """The backend of that name; raises InvalidUsageError when there is none.

    Example:
        >>> backend_of("cpu").detect().backend
        'cpu'
    """
    if name not in _BACKENDS:
        raise InvalidUsageError(f"no such backend: {name!r}; there are {', '.join(_BACKENDS)}")
    module = importlib.import_module(f".{name}", __package__)
    return cast("Callable[[], Backend]", module.make_backend)()


def resolve(target: str | Target) -> Target:
    """The machine that a target's name stands for.

    Args:
        target: ``cpu``, ``cpu:N``, ``cuda`` (the GPU present), ``cuda:sm_90a``, ``hip:gfx942``,
            the text of an ``#ark.target``, or a Target, which is returned as it is.

    Raises:
        InvalidUsageError: the name is not known.
        UnsupportedError: ``cuda`` or ``hip`` without a GPU present.

    Example:
        >>> resolve("cpu:4").sms
        4
    """
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError(f"target {target!r}: expected a name, such as 'cpu:4'")
    if not target.strip():
        # Such as a variable of a script that is not set; to a pass it would be no option at all.
        raise InvalidUsageError("the target is empty: expected a name, such as 'cuda:sm_90a'")
    if target in ("cuda", "hip"):
        return backend_of(target).detect()
    return look_up(target)

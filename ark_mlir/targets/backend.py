"""The interface between the compiler and a backend, and the resolution of names of targets."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from .. import ir
from ..backends import backend_info, is_backend
from ..errors import InvalidUsageError
from .target import Target, look_up


@dataclass(frozen=True)
class Code:
    """A kernel's binary.

    Attributes:
        image: the bytes of the bundle's section `kernel`.
        arch: the architecture, such as ``x86_64`` or ``sm_90a``.
        features: instruction-set features beyond the architecture's baseline, by LLVM's names.
        statistics: figures of the code, such as registers and spilled bytes, for reports.
        assembler: the name of the assembler of GPU code; empty if there is no choice.
    """

    image: bytes
    arch: str
    features: tuple[str, ...]
    statistics: Mapping[str, int] = field(default_factory=dict[str, int])
    assembler: str = ""


class Backend(Protocol):
    """A family of machines."""

    def detect(self, device: int = 0) -> Target:
        """Returns a device of this machine as a target; raises UnsupportedError if there is none.

        `device` is the number of a GPU.
        """
        ...

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns the options of the pipeline that depend on the processor."""
        ...

    def fingerprint(self, cpu: str) -> str:
        """Returns a text that identifies the processor and the tools on which the code depends."""
        ...

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Returns the binary of a module at the stage `target`, without its ``ark.kernel``.

        With `line_info`, GPU code has line information: the op and the Python line of each
        instruction. Raises CompileError if a tool fails, UnsupportedError if one is missing.
        """
        ...


def backend_of(name: str) -> Backend:
    """Returns the backend `name`; raises InvalidUsageError if there is none.

    Example:
        >>> backend_of("cpu").detect().backend
        'cpu'
    """
    return backend_info(name).make_code_generator()


def resolve(target: str | Target) -> Target:
    """Returns the target with a name.

    Args:
        target: ``cpu``, ``cpu:N`` (N workers), ``cuda`` or ``hip`` (the first GPU of this machine),
            ``cuda:sm_90a``, ``hip:gfx942``, the text of an ``#ark.target``, or a Target, which is
            returned unchanged.

    Raises:
        InvalidUsageError: the name is unknown.
        UnsupportedError: the name is a backend for GPUs, and this machine has no such GPU.

    Example:
        >>> resolve("cpu:4").sms
        4
    """
    if isinstance(target, Target):
        return target
    if not isinstance(target, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidUsageError(f"target {target!r}: expected a name, such as 'cpu:4'")
    if not target.strip():
        # A script may pass an unset variable. The pass would ignore an empty option.
        raise InvalidUsageError("the target is empty: expected a name, such as 'cuda:sm_90a'")
    if is_backend(target):
        return backend_of(target).detect()
    return look_up(target)

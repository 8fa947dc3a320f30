"""A typed table of the environment variables that ark reads.

Code calls ``knobs.DUMP_DIR.get()`` instead of reading ``os.environ``. Each call reads the variable
again, so that a test or a user can change it at any time:

    >>> with scope(ARK_TIMEOUT="2.5"):
    ...     TIMEOUT.get()
    2.5
"""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from .errors import InvalidUsageError

__all__ = [
    "ASSEMBLER",
    "CACHE",
    "CACHE_DIR",
    "CACHE_SIZE",
    "DUMP_DIR",
    "LOCAL_RANK",
    "LOCAL_WORLD_SIZE",
    "LOG_LEVEL",
    "MASTER_ADDR",
    "MASTER_PORT",
    "MPI_LOCAL_RANK",
    "MPI_LOCAL_SIZE",
    "OMPI_LOCAL_RANK",
    "OMPI_LOCAL_SIZE",
    "OMPI_RANK",
    "OMPI_SIZE",
    "PMIX_NAMESPACE",
    "PMIX_RANK",
    "PMI_RANK",
    "PMI_SIZE",
    "RANK",
    "SECRET_FILE",
    "TARGET",
    "TIMEOUT",
    "TOOL_TIMEOUT",
    "TORCH_RESTARTS",
    "TORCH_RUN_ID",
    "TRUSTED_KEYS",
    "WORLD_SIZE",
    "XDG_CACHE_HOME",
    "Knob",
    "registry",
    "scope",
]

T = TypeVar("T")

_REGISTRY: dict[str, Knob[Any]] = {}


@dataclass(frozen=True)
class Knob(Generic[T]):
    """An environment variable: its name, its default, the parser of its text, and its help text.

    Example:
        >>> TARGET.variable, TARGET.default, TARGET.help
        ('ARK_TARGET', 'cpu', 'default target of ark.compile')
    """

    variable: str
    default: T
    parse: Callable[[str], T]
    help: str

    def __post_init__(self) -> None:
        _REGISTRY[self.variable] = self

    def get(self) -> T:
        """Returns the current value, the default if the variable is unset or empty.

        Raises InvalidUsageError if the text cannot be parsed.
        """
        value = self.override()
        return self.default if value is None else value

    def override(self) -> T | None:
        """Returns the value of the environment, None if the variable is unset or empty.

        Raises InvalidUsageError if the text cannot be parsed.
        """
        text = os.environ.get(self.variable)
        if not text:
            return None
        try:
            return self.parse(text)
        except ValueError as error:
            raise InvalidUsageError(
                f"{text!r} is not a value of {self.variable}: {error}"
            ) from None

    @property
    def is_set(self) -> bool:
        """Returns True if the environment overrides the default."""
        return bool(os.environ.get(self.variable))


def registry() -> dict[str, Knob[Any]]:
    """Returns all knobs by the names of their variables, sorted.

    Example:
        >>> "ARK_TIMEOUT" in registry()
        True
    """
    return dict(sorted(_REGISTRY.items()))


@contextmanager
def scope(**variables: str | None) -> Generator[None, None, None]:
    """Sets environment variables for the duration of a ``with`` block.

    Args:
        **variables: the text of each variable, or None to unset the variable.

    Raises InvalidUsageError if ark has no variable of such a name.

    Example:
        >>> with scope(ARK_TARGET="cpu:2"):
        ...     TARGET.get()
        'cpu:2'
    """
    unknown = sorted(set(variables) - set(_REGISTRY))
    if unknown:
        raise InvalidUsageError(
            f"no such variable: {', '.join(unknown)}; ark.knobs.registry() has the variables of ark"
        )
    saved = {name: os.environ.get(name) for name in variables}
    try:
        _apply(variables)
        yield
    finally:
        _apply(saved)


def _apply(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _optional_text(text: str) -> str | None:
    return text


def _positive_float(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not value > 0:
        raise ValueError("expected a positive number")
    return value


def _count(text: str) -> int:
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise ValueError("expected an integer that is not negative")
    return value


def _switch(text: str) -> bool:
    values = {"0": False, "false": False, "off": False, "1": True, "true": True, "on": True}
    if text.lower() not in values:
        raise ValueError("expected 0 or 1")
    return values[text.lower()]


def _size(text: str) -> int:
    factor = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}.get(text[-1:].upper())
    return _count(text) if factor is None else _count(text[:-1]) * factor


def _level(text: str) -> str:
    levels = ("debug", "info", "warning", "error")
    if text.lower() not in levels:
        raise ValueError(f"expected one of {', '.join(levels)}")
    return text.lower()


def _assembler(text: str) -> str:
    names = ("auto", "ptxas", "nvjitlink", "driver")
    if text.lower() not in names:
        raise ValueError(f"expected one of {', '.join(names)}")
    return text.lower()


def _launched(variable: str, help: str) -> Knob[int | None]:
    """Returns the knob of a number that a launcher of processes sets in each process."""
    return Knob(variable, None, _count, help)


TARGET: Knob[str] = Knob("ARK_TARGET", "cpu", str, "default target of ark.compile")
DUMP_DIR: Knob[str | None] = Knob(
    "ARK_DUMP_DIR", None, _optional_text, "folder for the IR after every stage (NN-<stage>.mlir)"
)
ASSEMBLER: Knob[str] = Knob(
    "ARK_ASSEMBLER",
    "auto",
    _assembler,
    "assembler of PTX: ptxas, nvjitlink, or driver (when the bundle is loaded); "
    "auto takes the first that is installed",
)
CACHE: Knob[bool] = Knob("ARK_CACHE", True, _switch, "cache of compiled programs: 1 on, 0 off")
CACHE_DIR: Knob[str | None] = Knob(
    "ARK_CACHE_DIR",
    None,
    _optional_text,
    "folder of the cache of compiled programs; when unset, ark in XDG_CACHE_HOME",
)
CACHE_SIZE: Knob[int] = Knob(
    "ARK_CACHE_SIZE", 1 << 30, _size, "size limit of the cache in bytes: 500M, 2G …"
)
XDG_CACHE_HOME: Knob[str | None] = Knob(
    "XDG_CACHE_HOME", None, _optional_text, "the user's cache folder; ~/.cache when unset"
)
TRUSTED_KEYS: Knob[str | None] = Knob(
    "ARK_TRUSTED_KEYS",
    None,
    _optional_text,
    "file or folder of public keys (PEM or base64); when set, a bundle is loaded only if one of "
    "the keys signed it",
)
SECRET_FILE: Knob[str | None] = Knob(
    "ARK_SECRET_FILE",
    None,
    _optional_text,
    "file with the secret of a job whose ranks connect over TCP; only its owner may read the file",
)
TIMEOUT: Knob[float] = Knob(
    "ARK_TIMEOUT", 10.0, _positive_float, "seconds after which a wait is reported as a hang"
)
TOOL_TIMEOUT: Knob[float] = Knob(
    "ARK_TOOL_TIMEOUT",
    600.0,
    _positive_float,
    "seconds after which a linker, an assembler or a parser of MLIR is killed",
)
# Variables that launchers set, for `ark.distributed`.
RANK = _launched("RANK", "this process's rank (torchrun)")
WORLD_SIZE = _launched("WORLD_SIZE", "number of ranks (torchrun)")
LOCAL_RANK = _launched("LOCAL_RANK", "the rank on this host (torchrun)")
LOCAL_WORLD_SIZE = _launched("LOCAL_WORLD_SIZE", "number of ranks on this host (torchrun)")
OMPI_RANK = _launched("OMPI_COMM_WORLD_RANK", "this process's rank (Open MPI)")
OMPI_SIZE = _launched("OMPI_COMM_WORLD_SIZE", "number of ranks (Open MPI)")
OMPI_LOCAL_RANK = _launched("OMPI_COMM_WORLD_LOCAL_RANK", "the rank on this host (Open MPI)")
OMPI_LOCAL_SIZE = _launched("OMPI_COMM_WORLD_LOCAL_SIZE", "number of ranks on this host (Open MPI)")
PMI_RANK = _launched("PMI_RANK", "this process's rank (MPICH, Intel MPI)")
PMI_SIZE = _launched("PMI_SIZE", "number of ranks (MPICH, Intel MPI)")
MPI_LOCAL_RANK = _launched("MPI_LOCALRANKID", "the rank on this host (MPICH, Intel MPI)")
MPI_LOCAL_SIZE = _launched("MPI_LOCALNRANKS", "number of ranks on this host (MPICH, Intel MPI)")
PMIX_RANK = _launched("PMIX_RANK", "this process's rank (Open MPI, PMIx)")
PMIX_NAMESPACE: Knob[str | None] = Knob(
    "PMIX_NAMESPACE", None, _optional_text, "identifies the job (Open MPI)"
)
MASTER_ADDR: Knob[str | None] = Knob(
    "MASTER_ADDR", None, _optional_text, "with MASTER_PORT, identifies the job (torchrun)"
)
MASTER_PORT: Knob[str | None] = Knob(
    "MASTER_PORT", None, _optional_text, "with MASTER_ADDR, identifies the job (torchrun)"
)
TORCH_RUN_ID: Knob[str | None] = Knob(
    "TORCHELASTIC_RUN_ID", None, _optional_text, "identifies the job (torchrun)"
)
TORCH_RESTARTS: Knob[str | None] = Knob(
    "TORCHELASTIC_RESTART_COUNT", None, _optional_text, "number of restarts of the job (torchrun)"
)
LOG_LEVEL: Knob[str] = Knob(
    "ARK_LOG_LEVEL", "warning", _level, "level of log messages: debug, info, warning or error"
)

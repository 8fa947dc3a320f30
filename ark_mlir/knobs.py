"""Every environment variable that ark reads, in one typed table.

Code reads ``knobs.DUMP_DIR.get()`` and never ``os.environ``; a variable is read at each
use, so that a test or a user can change it at any time:

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
    "TARGET",
    "THREADS",
    "TIMEOUT",
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
    """One variable: its name, the value when unset, how text becomes a value, what it does.

    Example:
        >>> TARGET.variable, TARGET.default, TARGET.help
        ('ARK_TARGET', 'cpu', 'target of ark.compile where none is given')
    """

    variable: str
    default: T
    parse: Callable[[str], T]
    help: str

    def __post_init__(self) -> None:
        _REGISTRY[self.variable] = self

    def get(self) -> T:
        """The value now; raises InvalidUsageError when the text makes no sense."""
        text = os.environ.get(self.variable)
        if text is None or text == "":
            return self.default
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
    """All knobs by variable name, sorted.

    Example:
        >>> "ARK_TIMEOUT" in registry()
        True
    """
    return dict(sorted(_REGISTRY.items()))


@contextmanager
def scope(**variables: str | None) -> Generator[None, None, None]:
    """Sets variables (None unsets) for the duration of a ``with`` block.

    Raises InvalidUsageError on a name that no knob has, which catches misspellings.

    Example:
        >>> with scope(ARK_TARGET="cpu:2"):
        ...     TARGET.get()
        'cpu:2'
    """
    unknown = sorted(set(variables) - set(_REGISTRY))
    if unknown:
        raise InvalidUsageError(f"no such variable: {', '.join(unknown)}")
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
    value = float(text)
    if not value > 0:
        raise ValueError("must be a positive number")
    return value


def _count(text: str) -> int:
    value = int(text)
    if value < 0:
        raise ValueError("must not be negative")
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
    """A number that a launcher sets in each process that it starts."""
    return Knob(variable, None, _count, help)


TARGET: Knob[str] = Knob("ARK_TARGET", "cpu", str, "target of ark.compile where none is given")
DUMP_DIR: Knob[str | None] = Knob(
    "ARK_DUMP_DIR", None, _optional_text, "folder for the IR after every stage (NN-<stage>.mlir)"
)
ASSEMBLER: Knob[str] = Knob(
    "ARK_ASSEMBLER",
    "auto",
    _assembler,
    "what makes a cubin of PTX: ptxas, nvjitlink, or driver (when the bundle is loaded); "
    "auto takes the first that is there",
)
CACHE: Knob[bool] = Knob("ARK_CACHE", True, _switch, "whether compiled programs are kept: 0 or 1")
CACHE_DIR: Knob[str | None] = Knob(
    "ARK_CACHE_DIR",
    None,
    _optional_text,
    "folder for compiled programs; ark in the user's folder for caches when unset",
)
CACHE_SIZE: Knob[int] = Knob(
    "ARK_CACHE_SIZE", 1 << 30, _size, "bytes of compiled programs to keep: 500M, 2G …"
)
XDG_CACHE_HOME: Knob[str | None] = Knob(
    "XDG_CACHE_HOME", None, _optional_text, "the user's folder for caches; ~/.cache when unset"
)
TRUSTED_KEYS: Knob[str | None] = Knob(
    "ARK_TRUSTED_KEYS",
    None,
    _optional_text,
    "file or folder of public keys (PEM or base64); when set, only bundles that one of them "
    "signed are loaded",
)
TIMEOUT: Knob[float] = Knob(
    "ARK_TIMEOUT", 10.0, _positive_float, "seconds that a wait may last before it is a hang"
)
THREADS: Knob[int] = Knob(
    "ARK_THREADS", 0, _count, "worker threads of the cpu target; 0 takes one per core"
)
# What launchers set; `ark.distributed` reads them.
RANK = _launched("RANK", "this process's rank (torchrun)")
WORLD_SIZE = _launched("WORLD_SIZE", "how many ranks there are (torchrun)")
LOCAL_RANK = _launched("LOCAL_RANK", "the rank on this host (torchrun)")
LOCAL_WORLD_SIZE = _launched("LOCAL_WORLD_SIZE", "how many ranks this host has (torchrun)")
OMPI_RANK = _launched("OMPI_COMM_WORLD_RANK", "this process's rank (Open MPI)")
OMPI_SIZE = _launched("OMPI_COMM_WORLD_SIZE", "how many ranks there are (Open MPI)")
OMPI_LOCAL_RANK = _launched("OMPI_COMM_WORLD_LOCAL_RANK", "the rank on this host (Open MPI)")
OMPI_LOCAL_SIZE = _launched("OMPI_COMM_WORLD_LOCAL_SIZE", "how many ranks this host has (Open MPI)")
PMI_RANK = _launched("PMI_RANK", "this process's rank (MPICH, Intel MPI)")
PMI_SIZE = _launched("PMI_SIZE", "how many ranks there are (MPICH, Intel MPI)")
MPI_LOCAL_RANK = _launched("MPI_LOCALRANKID", "the rank on this host (MPICH, Intel MPI)")
MPI_LOCAL_SIZE = _launched("MPI_LOCALNRANKS", "how many ranks this host has (MPICH, Intel MPI)")
PMIX_RANK = _launched("PMIX_RANK", "this process's rank (Open MPI, PMIx)")
PMIX_NAMESPACE: Knob[str | None] = Knob(
    "PMIX_NAMESPACE", None, _optional_text, "tells one job from another (Open MPI)"
)
MASTER_ADDR: Knob[str | None] = Knob(
    "MASTER_ADDR", None, _optional_text, "with MASTER_PORT, tells one job from another (torchrun)"
)
MASTER_PORT: Knob[str | None] = Knob(
    "MASTER_PORT", None, _optional_text, "with MASTER_ADDR, tells one job from another (torchrun)"
)
TORCH_RUN_ID: Knob[str | None] = Knob(
    "TORCHELASTIC_RUN_ID", None, _optional_text, "tells one job from another (torchrun)"
)
TORCH_RESTARTS: Knob[str | None] = Knob(
    "TORCHELASTIC_RESTART_COUNT", None, _optional_text, "tells a job from its restart (torchrun)"
)
LOG_LEVEL: Knob[str] = Knob("ARK_LOG_LEVEL", "warning", _level, "debug, info, warning or error")

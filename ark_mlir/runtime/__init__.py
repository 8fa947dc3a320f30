"""Running bundles: numpy and this package are all it needs, neither MLIR nor a compiler.

>>> import ark_mlir as ark
>>> exe = ark.load("mlp.arkbin").bind("mlp.safetensors")
>>> exe.run(x=x)["y"].shape
(4, 256)
"""

from __future__ import annotations

import importlib
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..bundle import Bundle, read_bundle
from ..errors import UnprovenWarning, UnsupportedError
from .driver import Driver, Fault, Launch, Memory, Outcome, Stop
from .drivers import DriverTable
from .executable import Executable, Resident
from .ranks.meeting import Rank
from .ranks.membership import current
from .ranks.world import ResidentWorld, World, make_executable
from .report import Report

if TYPE_CHECKING:
    from ..typing import Path

__all__ = [
    "Driver",
    "DriverTable",
    "Executable",
    "Fault",
    "Launch",
    "Memory",
    "Outcome",
    "Rank",
    "Report",
    "Resident",
    "ResidentWorld",
    "Stop",
    "World",
    "load",
]


def load(
    path: Path,
    drivers: DriverTable | None = None,
    *,
    verify: bool = False,
    devices: Sequence[int] | None = None,
) -> Executable:
    """The program in a ``.arkbin`` file, ready to have its parameters bound.

    The file is checked in full first, and no code of it is run but, later, the kernel. A kernel is
    native code: load what comes from whom you trust (docs/security.md). Where ``ARK_TRUSTED_KEYS``
    is set, one of these keys must have signed the file. Warns with
    :class:`ark_mlir.UnprovenWarning` where the compiler did not prove the schedule.

    Args:
        path: the file.
        drivers: how a backend's driver is made; tests pass their own.
        devices: for programs for cuda, the numbers of the GPUs to run on: one GPU for each rank,
            or one for all of them. None takes the first GPUs.
        verify: prove the schedule from the tables in the file, as ``ark check`` does; for files
            that were not made here. It needs the compiler, which has proven what it made.

    Raises:
        BundleError: the file is missing, truncated, altered, made for another machine, or not
            signed by a trusted key.
        InvalidUsageError: `path` is none, or `devices` do not fit the program.
        UnsupportedError: this runtime has no driver for the bundle's backend; or `verify` is
            asked for, and the compiler is not installed.
        VerificationError: the proof fails.

    In a process that is one rank (:func:`ark_mlir.distributed.init`), a program of several ranks
    is loaded by all of them together, and each gets its part.

    Example:
        >>> exe = ark.load("mlp.arkbin")
    """
    bundle = read_bundle(path)
    if verify:
        _prove(bundle)
    elif not bundle.manifest.proven:
        warnings.warn(
            f"{bundle.where}: the schedule was not proven when the program was compiled; "
            "a wrong one hangs or gives wrong numbers (ark check proves it)",
            UnprovenWarning,
            stacklevel=2,
        )
    member = current()
    if member is not None and bundle.manifest.ranks > 1:
        return member.load(bundle).prepare()
    return make_executable(bundle, drivers, devices).prepare()


def _prove(bundle: Bundle) -> None:
    """Raises VerificationError where the tables cannot be proven."""
    try:
        # On request alone: the runtime works without the compiler.
        compiler = importlib.import_module("ark_mlir.compiler.table_proof")
    except ImportError as error:
        raise UnsupportedError(
            f"verify=True needs the compiler, and only the runtime is installed here: {error}"
        ) from None
    compiler.prove(bundle)

"""Running bundles: numpy and this package are all it needs, neither MLIR nor a compiler.

>>> import ark_mlir as ark
>>> exe = ark.load("mlp.arkbin").bind("mlp.safetensors")
>>> exe.run(x=x)["y"].shape
(4, 256)
"""

from __future__ import annotations

import os

from ..bundle import read_bundle
from .driver import Driver, Fault, Launch, Memory, Outcome, Stop
from .drivers import DRIVERS, DriverTable
from .executable import Executable, Resident
from .meeting import Rank
from .membership import current
from .report import Report
from .world import ResidentWorld, World, make_executable

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


def load(path: str | os.PathLike[str], drivers: DriverTable = DRIVERS) -> Executable:
    """The program in a ``.arkbin`` file, ready to have its parameters bound.

    The file is checked in full first, and no code of it is run but, later, the kernel. A kernel is
    native code: load what comes from whom you trust (docs/security.md). Where ``ARK_TRUSTED_KEYS``
    is set, one of these keys must have signed the file.

    Args:
        path: the file.
        drivers: how a backend's driver is made; tests pass their own.

    Raises:
        BundleError: the file is missing, truncated, altered, made for another machine, or not
            signed by a trusted key.
        InvalidUsageError: `path` is none.
        UnsupportedError: this runtime has no driver for the bundle's backend.

    In a process that is one rank (:func:`ark_mlir.distributed.init`), a program of several ranks
    is loaded by all of them together, and each gets its part.

    Example:
        >>> exe = ark.load("mlp.arkbin")
    """
    bundle = read_bundle(path)
    member = current()
    if member is not None and bundle.manifest.ranks > 1:
        return member.load(bundle).prepare()
    return make_executable(bundle, drivers).prepare()

"""The runtime: loads and runs bundles; it needs NumPy, and neither MLIR nor a compiler.

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
from ..devices import ONE_PROCESS
from ..errors import InvalidUsageError, UnprovenWarning, UnsupportedError
from .diagnosis.profile import Profile, TaskProfile
from .diagnosis.report import Report
from .diagnosis.roofline import Roofline, RooflinePoint
from .drivers.interface import Driver, Fault, Launch, Memory, Outcome, Stop
from .drivers.table import DriverTable
from .executable import Executable
from .ranks.membership import current
from .ranks.rank import Rank
from .ranks.world import ResidentWorld, World, make_executable
from .resident import Resident

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
    "Profile",
    "Rank",
    "Report",
    "Resident",
    "ResidentWorld",
    "Roofline",
    "RooflinePoint",
    "Stop",
    "TaskProfile",
    "World",
    "load",
]


def load(
    path: Path,
    drivers: DriverTable | None = None,
    *,
    verify: bool = False,
    devices: Sequence[int] | None = None,
    concurrent: bool = False,
) -> Executable:
    """Loads the program in a ``.arkbin`` file; the result is ready for `bind` and `run`.

    The file is checked in full before its kernel is loaded. A kernel is native code: load only
    files from sources that you trust (docs/security.md). If ``ARK_TRUSTED_KEYS`` is set, one of
    these keys must have signed the file. Warns with :class:`ark_mlir.UnprovenWarning` if the
    file states that its schedule was not proven. Without a signature, anyone can make a file that
    claims a proof: `verify` proves it.

    In a process that is one rank (:func:`ark_mlir.distributed.init`), the load of a program of
    several ranks is a collective call: all ranks make it, and each gets the executable of its rank.

    Args:
        path: the file.
        drivers: functions that create the driver of each backend; tests pass their own.
        verify: proves the schedule from the tables in the file, as ``ark check`` does. Use it for
            files of unknown origin. The proof needs the compiler.
        devices: ordinals of the GPUs for a program for cuda: one GPU for each rank, or one GPU for
            all ranks; the ordinal of one GPU for a program for hip. None takes the first GPUs of
            the machine. In a process that is one rank, `devices` has the GPU of this rank, or the
            GPUs of all ranks, and None takes the GPU whose ordinal is the local rank.
        concurrent: `devices` may name a GPU for several ranks, as ``[0, 0]``: each rank has a
            launch of its own, and the launches run at once. The program must be compiled for a
            part of the GPU. Without `concurrent`, a GPU that is named twice is an error.

    Raises:
        BundleError: the file is missing, truncated, altered, made for another machine, or not
            signed by a trusted key.
        InvalidUsageError: `path` is not a path, or `devices` do not fit the program.
        UnsupportedError: this runtime has no driver for the bundle's backend; or `verify` is True,
            and the compiler is not installed.
        VerificationError: the proof fails.

    Example:
        >>> exe = ark.load("mlp.arkbin")
    """
    bundle = read_bundle(path)
    if verify:
        _prove(bundle)
    elif not bundle.manifest.proven:
        warnings.warn(
            f"{bundle.where}: the schedule was not proven when the program was compiled; "
            "a wrong schedule hangs or computes wrong values (`ark check` proves the schedule)",
            UnprovenWarning,
            stacklevel=2,
        )
    member = current()
    if member is not None and bundle.manifest.ranks > 1:
        if concurrent:
            raise InvalidUsageError(ONE_PROCESS)
        return member.load(bundle, devices).prepare()
    return make_executable(bundle, drivers, devices, concurrent).prepare()


def _prove(bundle: Bundle) -> None:
    """Raises VerificationError if the tables cannot be proven."""
    try:
        # Imported only here, since the runtime works without the compiler.
        compiler = importlib.import_module("ark_mlir.compiler.table_proof")
    except ImportError as error:
        raise UnsupportedError(
            f"verify=True needs the compiler, and only the runtime is installed here: {error}"
        ) from None
    compiler.prove(bundle)

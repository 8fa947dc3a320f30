"""The selection of the driver for a bundle, by the backend of the bundle."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

from ...backends import backend_info, backend_names
from ...devices import check_devices
from ...errors import InvalidUsageError, UnsupportedError

if TYPE_CHECKING:
    from ...bundle import Bundle, Manifest
    from .interface import Driver

DriverTable = Mapping[str, "Callable[[], Driver]"]
"""For each backend, by its name, a function that creates its driver."""


def all_drivers() -> DriverTable:
    """Returns functions that create the driver of each backend, for the first GPU."""
    return {name: backend_info(name).make_driver for name in backend_names()}


def drivers_for(
    bundle: Bundle, devices: Sequence[int] | None = None, *, concurrent: bool = False
) -> DriverTable:
    """Returns functions that create the driver of each backend; drivers of GPUs use `devices`.

    Args:
        bundle: the program.
        devices: ordinals of GPUs: one for all ranks, or one for each rank. None takes one GPU for
            each rank, from the first GPU on, or the first GPU for all ranks if the program was
            compiled for one GPU.
        concurrent: True if `devices` may name a GPU for several ranks.

    Raises InvalidUsageError if the program cannot run on this number of devices.
    """
    manifest = bundle.manifest
    info = backend_info(manifest.target.backend)
    if not info.selects_devices:
        if devices is not None:
            raise InvalidUsageError(reason_against_devices(devices, info.name))
        return all_drivers()
    if devices is None:
        devices = range(1 if manifest.shares_device else manifest.ranks)
    numbers = check_devices(devices, concurrent=concurrent)
    if len(numbers) not in (1, manifest.ranks):
        raise InvalidUsageError(
            f"devices={list(numbers)}: {manifest.program!r} has {_ranks_and_devices(manifest)}"
        )
    return {**all_drivers(), info.name: partial(info.make_driver, numbers)}


def _ranks_and_devices(manifest: Manifest) -> str:
    """Returns the number of ranks of a program, and the numbers of GPUs that they may run on."""
    if manifest.ranks == 1:
        return "1 rank, which runs on 1 GPU"
    return f"{manifest.ranks} ranks, which run on 1 GPU or on {manifest.ranks} GPUs"


def reason_against_devices(devices: Sequence[int], backend: str) -> str:
    """Returns the message of the error for `devices` of a program that cannot select them."""
    able = [name for name in backend_names() if backend_info(name).selects_devices]
    return (
        f"devices={list(devices)} cannot be used with a program for {backend}, only with programs "
        f"for {' and '.join(able)}"
    )


def make_driver(bundle: Bundle, table: DriverTable | None = None) -> Driver:
    """Returns a new driver for the backend of a bundle; its kernel is not loaded yet.

    `table` has the functions that create drivers; None takes those of all backends. Raises
    UnsupportedError, which names the bundle, if there is no driver for the backend or the machine
    lacks a requirement of the driver.
    """
    target = bundle.manifest.target
    table = all_drivers() if table is None else table
    factory = table.get(target.backend)
    if factory is None:
        raise UnsupportedError(
            f"the bundle is for {target.backend} ({target.arch}); "
            f"this runtime runs bundles for {', '.join(sorted(table))}",
            location=bundle.where,
        )
    try:
        return factory()
    except UnsupportedError as error:
        error.location = error.location or bundle.where
        raise

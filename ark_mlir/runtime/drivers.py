"""Drivers for the backends of bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from ..devices import check_devices
from ..errors import InvalidUsageError, UnsupportedError

if TYPE_CHECKING:
    from ..bundle import Bundle
    from .driver import Driver

DriverTable = Mapping[str, "Callable[[], Driver]"]


def _cpu() -> Driver:
    from .cpu.driver import CpuDriver

    return CpuDriver()


def _cuda() -> Driver:
    from .cuda.driver import CudaDriver

    return CudaDriver()


def _hip() -> Driver:
    from .hip import make_driver

    return make_driver()


# Each driver is imported on use, so that a machine needs only the libraries of its own backends.
DRIVERS: DriverTable = {"cpu": _cpu, "cuda": _cuda, "hip": _hip}


def drivers_for(bundle: Bundle, devices: Sequence[int] | None = None) -> DriverTable:
    """Returns the drivers of all backends, those of GPUs for some devices.

    Args:
        bundle: the program.
        devices: numbers of GPUs: one for all ranks, or one for each rank. None takes one GPU for
            each rank, from the first one on, unless the program was compiled for one GPU.

    Raises InvalidUsageError if the program cannot run on so many devices.
    """
    manifest = bundle.manifest
    if manifest.target.backend != "cuda":
        if devices is not None:
            raise InvalidUsageError(
                f"devices={list(devices)} for a program for {manifest.target.backend}: only "
                "programs for cuda run on a GPU of choice"
            )
        return DRIVERS
    if devices is None:
        devices = range(1 if manifest.shares_device else manifest.ranks)
    numbers = check_devices(devices)
    if len(numbers) not in (1, manifest.ranks):
        raise InvalidUsageError(
            f"devices={list(numbers)}: {manifest.program!r} has {manifest.ranks} ranks, which run "
            f"on one GPU or on {manifest.ranks}"
        )
    return {**DRIVERS, "cuda": lambda: _cuda_on(numbers)}


def _cuda_on(devices: Sequence[int]) -> Driver:
    from .cuda.api import CudaApi
    from .cuda.driver import CudaDriver
    from .cuda.peers import USE_ONE
    from .cuda.world import CudaWorldDriver

    try:
        apis = [CudaApi(ordinal=number) for number in devices]
    except UnsupportedError as error:
        if len(devices) > 1:
            error.notes += (USE_ONE,)
        raise
    return CudaDriver(apis[0]) if len(apis) == 1 else CudaWorldDriver(apis)


def make_driver(bundle: Bundle, table: DriverTable = DRIVERS) -> Driver:
    """Returns a new driver for the backend of a bundle; its kernel is not loaded yet.

    Raises UnsupportedError, which names the bundle, if there is no driver for the backend or the
    machine lacks a requirement of the driver.
    """
    target = bundle.manifest.target
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

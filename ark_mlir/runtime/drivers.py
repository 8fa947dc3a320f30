"""Drivers for the backends of bundles."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING

from ..errors import UnsupportedError

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

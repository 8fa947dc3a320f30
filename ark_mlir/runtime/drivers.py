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


# Made on use: a machine needs the libraries only of the backends that it runs.
DRIVERS: DriverTable = {"cpu": _cpu, "cuda": _cuda, "hip": _hip}


def make_driver(bundle: Bundle, table: DriverTable = DRIVERS) -> Driver:
    """The driver for a bundle's backend, not yet loaded.

    Raises UnsupportedError, which names the bundle, where there is none or the machine lacks what
    it needs.
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

"""The backends: the facts that the package needs about each one, and the modules that implement it.

Adding a backend is one call of :func:`register` (docs/extending.md). The modules are imported on
use, so that a machine needs only the libraries of the backends that it uses.
"""

from __future__ import annotations

import importlib
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from .errors import InvalidUsageError

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

    from .runtime.drivers.interface import Driver
    from .runtime.gpu.api import GpuApi
    from .targets import Backend

__all__ = ["BackendInfo", "backend_info", "backend_names", "is_backend", "register", "registered"]


@dataclass(frozen=True)
class BackendInfo:
    """A backend. Functions are named by ``module:function``.

    Attributes:
        name: the name in ``#ark.target`` and in bundles.
        example: a target for which any machine can compile.
        code_generator: a function without arguments that returns the
            :class:`ark_mlir.targets.Backend`.
        gpu_api: the class whose instances, for the `ordinal` of a GPU, are the API of the vendor's
            driver; empty if the machines are no GPUs.
        driver: a function that takes the numbers of the GPUs, or None, and returns the
            :class:`ark_mlir.runtime.Driver`.
        readiness: a function without arguments that returns the
            :class:`ark_mlir.cli.readiness.Readiness` of this machine; empty if ``ark doctor`` and
            ``ark env`` skip the backend.
        is_gpu: True if the machines are GPUs, whose targets may end in numbers of GPUs.
        has_task_packets: True if kernels exchange task packets.
        has_ranks: True if programs of several ranks can be compiled.
        links_domains: True if the ranks of a program can have several domains, between which a
            network library copies.
        selects_devices: True if the caller selects the GPUs that run a program.
        process_memory: the memory that the processes of several ranks share: that of the host or
            of the GPUs; empty if a process cannot be one rank.
        notifies_start: True if kernels report that they have begun, with ``ark_notify_start``.
        wait_seconds: the default time limit of a kernel's waits, in seconds; None means the
            default of ``ARK_TIMEOUT``.

    Example:
        >>> backend_info("cuda").has_task_packets
        True
    """

    name: str
    example: str
    code_generator: str
    driver: str
    readiness: str = ""
    gpu_api: str = ""
    is_gpu: bool = True
    has_task_packets: bool = False
    has_ranks: bool = False
    links_domains: bool = False
    selects_devices: bool = False
    process_memory: Literal["", "host", "gpu"] = ""
    notifies_start: bool = False
    wait_seconds: float | None = None

    def make_code_generator(self) -> Backend:
        """Returns the code generator."""
        return _import(self.code_generator)()

    def make_driver(self, devices: Sequence[int] | None = None) -> Driver:
        """Returns a driver for GPUs with these numbers, or for the first ones.

        Raises UnsupportedError if this machine lacks a requirement of the driver.
        """
        return _import(self.driver)(devices)

    def make_gpu_api(self, ordinal: int = 0) -> GpuApi:
        """Returns the API of the vendor's driver on a GPU.

        Raises UnsupportedError if this machine lacks the GPU or a requirement of the API.
        """
        return _import(self.gpu_api)(ordinal=ordinal)

    def find_readiness(self) -> Any:
        """Returns the abilities of this machine, or None if the backend does not know them."""
        return _import(self.readiness)() if self.readiness else None


def _import(name: str) -> Callable[..., Any]:
    module, _, function = name.partition(":")
    return getattr(importlib.import_module(module), function)


_REGISTRY: dict[str, BackendInfo] = {}


def register(info: BackendInfo) -> None:
    """Adds a backend, or replaces the backend of the same name."""
    _REGISTRY[info.name] = info


@contextmanager
def registered(info: BackendInfo) -> Generator[None]:
    """Adds a backend for the duration of a ``with`` block, for tests."""
    before = dict(_REGISTRY)
    register(info)
    try:
        yield
    finally:
        _REGISTRY.clear()
        _REGISTRY.update(before)


def backend_names() -> tuple[str, ...]:
    """Returns the names of all backends.

    Example:
        >>> backend_names()
        ('cpu', 'cuda', 'hip')
    """
    return tuple(_REGISTRY)


def is_backend(name: object) -> bool:
    """Returns True if `name` is the name of a backend, without an architecture.

    Example:
        >>> is_backend("cuda"), is_backend("cuda:sm_90a")
        (True, False)
    """
    return name in _REGISTRY


def backend_info(name: str) -> BackendInfo:
    """Returns the backend `name`; raises InvalidUsageError if there is none.

    Example:
        >>> backend_info("cpu").process_memory
        'host'
    """
    if name not in _REGISTRY:
        raise InvalidUsageError(f"no such backend: {name!r}; there are {', '.join(_REGISTRY)}")
    return _REGISTRY[name]


register(
    BackendInfo(
        name="cpu",
        example="cpu",
        code_generator="ark_mlir.targets.cpu:make_backend",
        driver="ark_mlir.runtime.cpu.driver:make_driver",
        readiness="ark_mlir.cli.readiness:find_cpu",
        is_gpu=False,
        has_ranks=True,
        links_domains=True,
        process_memory="host",
    )
)
register(
    BackendInfo(
        name="cuda",
        example="cuda:sm_90a",
        code_generator="ark_mlir.targets.cuda:make_backend",
        driver="ark_mlir.runtime.cuda.devices:make_driver",
        readiness="ark_mlir.cli.readiness:find_cuda",
        gpu_api="ark_mlir.runtime.cuda.api:CudaApi",
        has_task_packets=True,
        has_ranks=True,
        links_domains=True,
        selects_devices=True,
        process_memory="gpu",
        notifies_start=True,
        # All lanes of a GPU run at once: no lane waits until another lane starts.
        wait_seconds=2.0,
    )
)
register(
    BackendInfo(
        name="hip",
        example="hip:gfx942",
        code_generator="ark_mlir.targets.hip:make_backend",
        driver="ark_mlir.runtime.hip.devices:make_driver",
        readiness="ark_mlir.cli.readiness:find_hip",
        gpu_api="ark_mlir.runtime.hip.api:HipApi",
        has_task_packets=True,
        has_ranks=True,
        selects_devices=True,
        process_memory="gpu",
        notifies_start=True,
    )
)

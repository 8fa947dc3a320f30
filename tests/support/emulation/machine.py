"""A GPU whose kernels are emulated: memory, modules and launches."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from ark_mlir.testing.fake_cuda import FakeCuda, Operation

from .lower import Site

if TYPE_CHECKING:
    from collections.abc import Mapping

    from ark_mlir.runtime.cpu.image import Image
    from ark_mlir.testing.fake_cuda.devices import Device
    from ark_mlir.testing.fake_cuda.memory import Block

_INVALID_VALUE = 1
# Memory that was freed, or that was not written yet.
_UNDEFINED = 0xFF
_CAPABILITIES = {
    "sm_80": (8, 0), "sm_86": (8, 6), "sm_89": (8, 9), "sm_90a": (9, 0), "sm_100a": (10, 0)
}  # fmt: skip
# Bytes of shared memory of a CTA: the maximum after an opt-in, and the default limit.
_SHARED_MEMORY = {
    "sm_80": 166912, "sm_86": 101376, "sm_89": 101376, "sm_90a": 232448, "sm_100a": 232448
}  # fmt: skip
_STATIC_LIMIT = 49152
_ASKED = "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"


class _Keeper:
    """Frees memory of the GPU with the last reference to it."""

    def __init__(self, library: Any, address: int) -> None:
        weakref.finalize(self, library.simt_free, address).atexit = False


@dataclass
class Behaviour:
    """The options of an emulation.

    Attributes:
        seed: determines the order in which threads take turns, and when stores become visible.
        mutations: what is wrong with an instruction on purpose, by the instruction's number.
        executed: the instructions that launches have executed so far.
    """

    seed: int = 0
    mutations: Mapping[int, int] = field(default_factory=dict[int, int])
    executed: set[int] = field(default_factory=set[int])


@dataclass(frozen=True)
class Shape:
    """A launch: CTAs, threads of each, and bytes of shared memory of each."""

    ctas: int
    threads: int
    shared_memory: int


def address_of(image: Image, name: str) -> int:
    """Returns the address of a function or variable of an image."""
    address = ctypes.cast(image.function(name), ctypes.c_void_p).value
    assert address
    return address


@dataclass
class Kernel:
    """A kernel that can be launched.

    Attributes:
        image: what holds its code.
        address: of its function.
        sites: its instructions.
        device: the GPU that holds it.
    """

    image: Image
    address: int
    sites: list[Site]
    device: Device | None = None

    def launch(self, library: Any, context: int, shape: Shape, behaviour: Behaviour) -> str:
        """Runs the kernel; returns the error that ended it, or None."""
        count = max(len(self.sites), 1)
        mutations, executed = (ctypes.c_uint8 * count)(), (ctypes.c_uint8 * count)()
        for site, mutation in behaviour.mutations.items():
            mutations[site] = mutation
        library.simt_set_variables(
            address_of(self.image, "simt_variables"),
            ctypes.c_int32.from_address(address_of(self.image, "simt_num_variables")).value,
        )
        failed = library.simt_launch(
            self.address,
            context,
            shape.ctas,
            shape.threads,
            shape.shared_memory,
            behaviour.seed,
            mutations,
            executed,
        )
        behaviour.executed.update(site for site in range(len(self.sites)) if executed[site])
        return self._describe(library.simt_get_failure().decode()) if failed else ""

    def _describe(self, failure: str) -> str:
        before, mark, number = failure.partition(" [site ")
        if not mark:
            return failure
        site = self.sites[int(number.rstrip("]"))]
        place = f" of {site.place}" if site.place else ""
        return f"{before} ({site.name} at line {site.line + 1} of the kernel{place})"


class EmulatedCuda(FakeCuda):
    """One GPU that runs kernels of :mod:`emulation.lower`.

    Args:
        library: of :func:`~emulation.host_code.load_library`.
        arch: its architecture.
        sms: how many CTAs fit.
        sites: the instructions of the kernel that is loaded.
        behaviour: how it runs.

    Attributes:
        failure: what threads did that those of a GPU must not; empty if nothing.
    """

    def __init__(
        self, library: Any, arch: str, sms: int, sites: list[Site], behaviour: Behaviour
    ) -> None:
        super().__init__(sms=sms, capability=_CAPABILITIES[arch])
        self._library = library
        self._sites = sites
        self._behaviour = behaviour
        self._most_shared = _SHARED_MEMORY[arch]
        self._asked = _STATIC_LIMIT
        self._shape = Shape(0, 0, 0)
        self.failure = ""

    # -- memory ------------------------------------------------------------------------------

    def _provide(self, nbytes: int, device: Device | None) -> tuple[int, Any]:
        address: int | None = self._library.simt_allocate(nbytes, device is None)
        if address is None:
            return 0, None
        ctypes.memset(address, _UNDEFINED, nbytes)
        return address, _Keeper(self._library, address)

    def _spoil(self, block: Block) -> None:
        self._library.simt_write(block.address, bytes([_UNDEFINED]) * block.nbytes, block.nbytes)

    def _write(self, target: int, source: int | bytes, nbytes: int) -> None:
        self._library.simt_write(target, source, nbytes)

    def _read(self, target: int, source: int, nbytes: int) -> None:
        self._library.simt_read(target, source, nbytes)

    # -- launches ----------------------------------------------------------------------------

    def _cuDeviceGetAttribute(self, key: Any, device: int) -> int:
        if key.name == _ASKED:
            return self._most_shared
        return super()._cuDeviceGetAttribute(key, device)

    def _cuFuncSetAttribute(self, function: object, key: object, value: int) -> tuple[int]:
        del function, key
        if value > self._most_shared:
            return (_INVALID_VALUE,)
        self._asked = max(value, _STATIC_LIMIT)
        return (0,)

    def _cuModuleGetFunction(self, module: Image, name: bytes) -> Any:
        address = address_of(module, name.decode())
        return Kernel(module, address, self._sites, self._current())

    def _cuLaunchKernelEx(
        self, config: Any, function: Any, parameters: int, extra: int
    ) -> tuple[int]:
        if config.sharedMemBytes > self._asked:
            return (_INVALID_VALUE,)
        self._shape = Shape(config.gridDimX, config.blockDimX, config.sharedMemBytes)
        return super()._cuLaunchKernelEx(config, function, parameters, extra)

    def _launch(self, device: Device, lanes: int, function: Any, context: int) -> Operation:
        threads: list[threading.Thread] = []
        shape = self._shape
        assert shape.ctas == lanes
        device.running += 1

        def walk() -> None:
            failure = function.launch(self._library, context, shape, self._behaviour)
            self.failure = self.failure or failure

        def run() -> bool:
            if not threads:
                threads.append(threading.Thread(target=walk))
                threads[0].start()
            if threads[0].is_alive():
                # The thread of the kernel does not need the interpreter.
                time.sleep(0.0002)
                return False
            device.running -= 1
            return True

        return run

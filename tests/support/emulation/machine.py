"""A GPU whose kernels are emulated: memory, modules and launches."""

from __future__ import annotations

import ctypes
import threading
import time
import weakref
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip, Operation

from .amd import WARP_SIZE
from .lower import Site

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from ark_mlir.runtime.cpu.image import Image
    from ark_mlir.targets import Target
    from ark_mlir.testing.fake_gpu.devices import Device
    from ark_mlir.testing.fake_gpu.memory import Block

_INVALID_VALUE = 1
# Fills memory that was freed or not yet written.
_UNDEFINED = 0xFF
_CAPABILITIES = {
    "sm_80": (8, 0), "sm_86": (8, 6), "sm_89": (8, 9), "sm_90a": (9, 0), "sm_100a": (10, 0)
}  # fmt: skip
# Bytes of shared memory of a CTA: the maximum after an opt-in, and the default limit.
_SHARED_MEMORY = {
    "sm_80": 166912, "sm_86": 101376, "sm_89": 101376, "sm_90a": 232448, "sm_100a": 232448,
    "gfx90a": 65536, "gfx942": 65536, "gfx950": 163840,
}  # fmt: skip
_STATIC_LIMIT = 49152
_OPT_IN_LIMIT = "CU_DEVICE_ATTRIBUTE_MAX_SHARED_MEMORY_PER_BLOCK_OPTIN"


class _Keeper:
    """Frees an address when the last reference to the object ends."""

    def __init__(self, free: Any, address: int) -> None:
        weakref.finalize(self, free, address).atexit = False


@dataclass
class Behaviour:
    """The options of an emulation.

    Attributes:
        seed: determines the order in which threads take turns, and when stores become visible.
        mutations: the planted mistakes, by the number of the instruction.
        executed: the instructions that launches have executed so far.
    """

    seed: int = 0
    mutations: Mapping[int, int] = field(default_factory=dict[int, int])
    executed: set[int] = field(default_factory=set[int])


@dataclass(frozen=True)
class Shape:
    """The shape of a launch: CTAs, threads per CTA, bytes of shared memory per CTA, and threads
    per warp."""

    ctas: int
    threads: int
    shared_memory: int
    warp_size: int = 32


def address_of(image: Image, name: str) -> int:
    """Returns the address of a function or variable of an image."""
    address = ctypes.cast(image.function(name), ctypes.c_void_p).value
    assert address
    return address


@dataclass
class Kernel:
    """A kernel that can be launched.

    Attributes:
        image: the shared object with its code.
        address: the address of its function.
        sites: its instructions.
        device: the GPU that holds it.
    """

    image: Image
    address: int
    sites: list[Site]
    device: Device | None = None


class Part(NamedTuple):
    """A kernel that runs with others: its GPU, and the address of its context."""

    kernel: Kernel
    context: int
    shape: Shape
    device: int = 0


class _Part(ctypes.Structure):
    """``Part`` of state.h."""

    _fields_ = [
        ("kernel", ctypes.c_void_p),
        ("context", ctypes.c_void_p),
        ("ctas", ctypes.c_int64),
        ("device", ctypes.c_int64),
    ]


def launch(library: Any, parts: Sequence[Part], behaviour: Behaviour) -> str:
    """Runs kernels concurrently; returns the error that ended them, or an empty string.

    The kernels have the same instructions.
    """
    sites = parts[0].kernel.sites
    count = max(len(sites), 1)
    mutations, executed = (ctypes.c_uint8 * count)(), (ctypes.c_uint8 * count)()
    for site, mutation in behaviour.mutations.items():
        mutations[site] = mutation
    library.simt_clear_variables()
    for part in parts:
        image = part.kernel.image
        library.simt_add_variables(
            address_of(image, "simt_variables"),
            ctypes.c_int32.from_address(address_of(image, "simt_num_variables")).value,
        )
    launched = [
        _Part(part.kernel.address, part.context, part.shape.ctas, part.device) for part in parts
    ]
    failed = library.simt_launch(
        (_Part * len(launched))(*launched),
        len(launched),
        parts[0].shape.threads,
        parts[0].shape.warp_size,
        max(part.shape.shared_memory for part in parts),
        behaviour.seed,
        mutations,
        executed,
    )
    behaviour.executed.update(site for site in range(len(sites)) if executed[site])
    return _describe(sites, library.simt_get_failure().decode()) if failed else ""


def _describe(sites: list[Site], failure: str) -> str:
    before, mark, number = failure.partition(" [site ")
    if not mark:
        return failure
    site = sites[int(number.rstrip("]"))]
    origin = f" of {site.origin}" if site.origin else ""
    return f"{before} ({site.name} at line {site.line + 1} of the kernel{origin})"


class _Together:
    """Launches that run concurrently."""

    def __init__(self, count: int) -> None:
        self.count = count
        self.parts: list[Part] = []
        self.thread: threading.Thread | None = None


class EmulatedCuda(FakeCuda):
    """GPUs that run kernels of :mod:`emulation.lower`.

    Several launches begin together, as soon as all of them are queued.

    Args:
        library: the result of :func:`~emulation.host_code.load_library`.
        arch: the architecture.
        sms: the number of CTAs that fit on a GPU.
        sites: the instructions of the kernel that is loaded.
        behaviour: the options of the emulation.
        devices: the number of GPUs.
        launches: the number of launches that begin together; None means one on each GPU.

    Attributes:
        gap: the distance of reserved addresses from earlier addresses, in bytes; may be set.
        failure: the rule of a GPU that threads broke, or an empty string.
    """

    def __init__(
        self,
        library: Any,
        arch: str,
        sms: int,
        sites: list[Site],
        behaviour: Behaviour,
        devices: int = 1,
        launches: int | None = None,
    ) -> None:
        super().__init__(sms=sms, capability=_CAPABILITIES.get(arch, (0, 0)), devices=devices)
        if not library.simt_set_devices(devices):
            raise ValueError(f"the emulator has fewer than {devices} GPUs")
        self._library = library
        self._sites = sites
        self._behaviour = behaviour
        self._most_shared = _SHARED_MEMORY[arch]
        self._asked = _STATIC_LIMIT
        self._shape = Shape(0, 0, 0)
        self._together = _Together(devices if launches is None else launches)
        self.gap = 0
        self.failure = ""

    # -- memory ------------------------------------------------------------------------------

    def lend(self, nbytes: int) -> Any:
        """Returns bytes of the first GPU that nobody but the caller uses, as an array of ctypes."""
        address, keeper = self._provide(nbytes, self.devices[0])
        assert address
        lent: Any = (ctypes.c_uint8 * nbytes).from_address(address)
        lent.keeper = keeper  # frees the memory after the last reference
        return lent

    def _provide(self, nbytes: int, device: Device | None) -> tuple[int, Any]:
        self._library.simt_set_devices(len(self.devices))
        home = 0 if device is None else device.ordinal
        address: int | None = self._library.simt_allocate(nbytes, device is None, home)
        if address is None:
            return 0, None
        ctypes.memset(address, _UNDEFINED, nbytes)
        return address, _Keeper(self._library.simt_free, address)

    def _reserve(self, nbytes: int) -> tuple[int, Any]:
        address: int | None = self._library.simt_reserve(nbytes, self.gap)
        assert address
        return address, _Keeper(self._library.simt_release, address)

    def _note_map(self, block: Block) -> None:
        self._library.simt_set_devices(len(self.devices))
        mapped = self._library.simt_map(block.address, block.nbytes, block.charged.ordinal)
        assert mapped
        ctypes.memset(block.address, _UNDEFINED, block.nbytes)

    def _note_access(self, block: Block) -> None:
        bits = sum(1 << device.ordinal for device in block.devices or ())
        self._library.simt_set_access(block.address, bits)

    def _note_unmap(self, block: Block) -> None:
        self._library.simt_free(block.address)

    def _spoil(self, block: Block) -> None:
        self._library.simt_write(block.address, bytes([_UNDEFINED]) * block.nbytes, block.nbytes)

    def _write(self, target: int, source: int | bytes, nbytes: int) -> None:
        self._library.simt_write(target, source, nbytes)

    def _read(self, target: int, source: int, nbytes: int) -> None:
        self._library.simt_read(target, source, nbytes)

    # -- launches ----------------------------------------------------------------------------

    def _cuDeviceGetAttribute(self, key: Any, device: int) -> int:
        if key.name == _OPT_IN_LIMIT:
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
        part = Part(function, context, self._shape, device.ordinal)
        assert part.shape.ctas == lanes
        joined: list[_Together] = []
        device.running += 1

        def run() -> bool:
            if not joined:
                joined.append(self._join(part))
            thread = joined[0].thread
            if thread is None:
                return False
            if thread.is_alive():
                # The thread that runs the kernel releases the GIL.
                time.sleep(0.0002)
                return False
            device.running -= 1
            return True

        return run

    def _join(self, part: Part) -> _Together:
        """Adds a launch to those that begin together, and starts them if it is the last one."""
        together = self._together
        together.parts.append(part)
        if len(together.parts) == together.count:
            self._together = _Together(together.count)
            parts = sorted(together.parts, key=lambda each: each.device)
            together.thread = threading.Thread(target=self._walk, args=(parts,))
            together.thread.start()
        return together

    def _walk(self, parts: Sequence[Part]) -> None:
        # CTAs of a launch that is not cooperative wait until others have ended.
        waits = self.busy and not self.starts_together
        self._library.simt_set_room(self.sms - self.busy if waits else 0)
        failure = launch(self._library, parts, self._behaviour)
        self.failure = self.failure or failure


class EmulatedHip(EmulatedCuda, FakeHip):
    """An AMD GPU that runs kernels of :mod:`emulation.amd`.

    Args:
        target: the machine, which states the number of CTAs and the shared memory of a CTA.
        others: the arguments of :class:`EmulatedCuda` without `arch` and `sms`.
    """

    def __init__(self, library: Any, target: Target, *others: Any) -> None:
        super().__init__(library, target.arch, target.sms, *others)
        self._arch = target.arch
        self._memory_of_cta = target.shared_memory

    def _cuLaunchKernelEx(self, *arguments: Any) -> tuple[int]:  # type: ignore[override]
        lanes, threads = arguments[1], arguments[4]
        self._shape = Shape(lanes, threads, self._memory_of_cta, WARP_SIZE)
        return super(EmulatedCuda, self)._cuLaunchKernelEx(*arguments)

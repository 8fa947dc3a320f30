"""The cuda driver: one CTA per lane, all of them resident, in one cooperative launch."""

from __future__ import annotations

import ctypes
import time
import weakref
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import numpy as np

from ..errors import DeviceError, UnsupportedError
from . import abi
from .abi import Abort, ArkContext
from .cuda_api import CudaApi, CudaMemory
from .driver import Fault, Launch, Outcome, Stop

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Bundle

_WARP = 32
# A waiting host first spins, since most runs are short, then sleeps between looks.
_SPIN_SECONDS = 0.002
_SLEEP_SECONDS = 0.0005
# What the lanes may take to notice an abort; they look in every wait and before every iteration.
_GRACE_SECONDS = 10.0
_WORDS = {"report": abi.REPORT_WORDS, "status": abi.STATUS_WORDS}
_TABLES = ("instructions", "lanes", "tasks", "operands")


class _Kernel:
    """A loaded kernel and what belongs to it: arena, semaphores, records, tables."""

    def __init__(self, api: CudaApi, bundle: Bundle) -> None:
        self.api = api
        self.bundle = bundle
        self.lanes = len(bundle.tables.lanes)
        self.threads = bundle.manifest.target.warps * _WARP
        self._resources = ExitStack()
        try:
            self._load()
            self._allocate()
        except BaseException:
            self.free()
            raise

    def _load(self) -> None:
        image = bytes(self.bundle.sections["kernel"])
        module = self.api.call("cuModuleLoadData", image)
        self._resources.callback(self.api.call, "cuModuleUnload", module)
        entry = self.bundle.manifest.entry.encode()
        self.function = self.api.call("cuModuleGetFunction", module, entry)
        self.shared_memory = self._take_shared_memory()
        self._check_residency()

    def _allocate(self) -> None:
        manifest, instructions = self.bundle.manifest, self.bundle.tables.instructions
        semaphores = max(len(manifest.semaphores), 1)
        self.arena = self._memory(manifest.arena)
        self.semaphores = self._memory(semaphores * abi.SEMAPHORE_STRIDE)
        self.records = {name: self._memory(8 * words) for name, words in _WORDS.items()}
        self.codes = self._memory(4 * self.lanes)
        self.buffers = self._memory(8 * (1 + len(manifest.buffers)))
        self.context = self._memory(ctypes.sizeof(ArkContext))
        self.trace = self._memory(16 * len(instructions) * manifest.traced)
        self.tables: dict[str, CudaMemory] = {}
        for name in _TABLES:
            table = np.frombuffer(self.bundle.sections[name], np.uint8)
            self.tables[name] = self._memory(table.nbytes)
            self.tables[name].upload(table)

    def _memory(self, nbytes: int) -> CudaMemory:
        memory = CudaMemory(self.api, nbytes)
        self._resources.callback(memory.free)
        return memory

    def _take_shared_memory(self) -> int:
        """What the kernel uses; the rest of an SM's memory is its L1 cache."""
        wanted = self.bundle.manifest.target.shared_memory
        most = self.api.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN")
        if wanted > most:
            raise UnsupportedError(
                f"the program needs {wanted} bytes of shared memory; a CTA of this GPU has {most}",
                location=self.bundle.where,
            )
        key = self.api.driver.CUfunction_attribute.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.api.call("cuFuncSetAttribute", self.function, key, wanted)
        return wanted

    def _check_residency(self) -> None:
        """Lanes wait for each other, so that all CTAs must be on the device at once."""
        each = self.api.call(
            "cuOccupancyMaxActiveBlocksPerMultiprocessor",
            self.function, self.threads, self.shared_memory,
        )  # fmt: skip
        room = each * self.api.attribute("MULTIPROCESSOR_COUNT")
        if self.lanes > room:
            raise UnsupportedError(
                f"the program has {self.lanes} lanes; this GPU holds {room} of its CTAs at once",
                location=self.bundle.where,
            )

    def free(self) -> None:
        """Gives all of it back."""
        self._resources.close()

    def write_context(self, launch: Launch, epoch: int) -> None:
        """What the lanes of one launch are given."""
        slots = np.array([self.arena.address, *launch.addresses], np.uint64)
        self.buffers.upload(slots)
        for memory in (*self.records.values(), self.codes, self.trace):
            memory.fill(0)
        context = ArkContext(
            buffers=self.buffers.address,
            semaphores=self.semaphores.address,
            report=self.records["report"].address,
            epoch=epoch,
            iterations=launch.iterations,
            timeout_ns=launch.timeout_ns,
            trace=self.trace.address if launch.trace else None,
            status=self.records["status"].address,
            codes=self.codes.address,
            **{name: table.address for name, table in self.tables.items()},
        )
        self.context.upload(np.frombuffer(bytes(context), np.uint8))

    def record(self, name: str) -> list[int]:
        """The words of a record."""
        return self.records[name].read(np.dtype(np.int64), (_WORDS[name],)).tolist()

    def counters(self) -> NDArray[np.uint64]:
        """The semaphores, ``[S]``."""
        count = len(self.bundle.manifest.semaphores)
        words = abi.SEMAPHORE_STRIDE // 8
        lines: NDArray[np.uint64]
        lines = self.semaphores.read(np.dtype(np.uint64), (max(count, 1), words))
        return np.array(lines[:count, 0])


class CudaDriver:
    """Runs a bundle for `cuda` on the first GPU; see :class:`ark_mlir.runtime.driver.Driver`."""

    def __init__(self, api: CudaApi | None = None) -> None:
        self.epoch = 0
        self._api = CudaApi() if api is None else api
        self._kernel: _Kernel | None = None
        self._launch: Launch | None = None
        self._dirty = False
        self._handed_out: weakref.WeakSet[CudaMemory] = weakref.WeakSet()
        self._resources = ExitStack()
        try:
            # PyTorch and others use the primary context, too: memory can be shared with them.
            self._context = self._acquire(
                "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease", self._api.device
            )
            self._enter()
            # The one for kernels; the other tells a kernel that runs to end.
            self._stream, self._side = self._make_stream(), self._make_stream()
        except BaseException:
            self._resources.close()
            raise

    def _acquire(self, take: str, give: str, argument: object) -> Any:
        result = self._api.call(take, argument)
        self._resources.callback(self._api.call, give, argument)
        return result

    def _make_stream(self) -> Any:
        flag = self._api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING
        stream = self._api.call("cuStreamCreate", flag)
        self._resources.callback(self._api.call, "cuStreamDestroy", stream)
        return stream

    def _enter(self) -> None:
        """Makes the context that of this thread."""
        self._api.call("cuCtxSetCurrent", self._context)

    def load(self, bundle: Bundle) -> None:
        """See :meth:`Driver.load`."""
        self._enter()
        _check_architecture(self._api, bundle)
        self._kernel = _Kernel(self._api, bundle)

    def allocate(self, nbytes: int, alignment: int) -> CudaMemory:
        """See :meth:`Driver.allocate`: memory of a GPU is aligned to 256 bytes."""
        del alignment
        self._enter()
        memory = CudaMemory(self._api, nbytes)
        self._handed_out.add(memory)
        return memory

    def adopt(self, array: NDArray[Any], alignment: int) -> int | None:
        """See :meth:`Driver.adopt`: arrays of the host are copied."""
        del array, alignment
        return None

    def launch(self, launch: Launch) -> None:
        """See :meth:`Driver.launch`."""
        kernel = self._loaded()
        self._enter()
        if self._dirty:
            kernel.semaphores.fill(0)
            self.epoch = 0
        # From here until a good end, whatever happens leaves counters that mean nothing.
        self._dirty = True
        kernel.write_context(launch, self.epoch)
        self._launch = launch
        self._api.call(
            "cuLaunchCooperativeKernel", kernel.function, kernel.lanes, 1, 1, kernel.threads, 1, 1,
            kernel.shared_memory, self._stream, ((kernel.context.address,), (ctypes.c_void_p,)),
        )  # fmt: skip

    def wait(self) -> Outcome:
        """See :meth:`Driver.wait`."""
        if self._launch is None:
            raise DeviceError("nothing was launched")
        self._enter()
        try:
            self._join()
        except BaseException:
            self._interrupt()
            raise
        return self._finish(self._loaded(), self._launch)

    def hold(self) -> None:
        """See :meth:`Driver.hold`: kernels for `cuda` are launched for every run."""

    def release(self) -> None:
        """See :meth:`Driver.release`."""

    def close(self) -> None:
        """See :meth:`Driver.close`."""
        with self._resources:
            try:
                self._enter()
                if self._launch is not None:
                    self._interrupt()
            finally:
                self._free()

    def _free(self) -> None:
        for memory in self._handed_out:
            memory.free()
        if self._kernel is not None:
            self._kernel.free()
            self._kernel = None

    def _loaded(self) -> _Kernel:
        if self._kernel is None:
            raise DeviceError("no program is loaded")
        return self._kernel

    def _join(self, seconds: float = float("inf")) -> None:
        start = time.monotonic()
        while not self._api.is_done(self._stream):
            waited = time.monotonic() - start
            if waited > seconds:
                raise DeviceError("the kernel does not end")
            if waited > _SPIN_SECONDS:
                time.sleep(_SLEEP_SECONDS)

    def _finish(self, kernel: _Kernel, launch: Launch) -> Outcome:
        self._launch = None
        codes = kernel.codes.read(np.dtype(np.int32), (kernel.lanes,))
        trace = None
        if launch.trace:
            trace = kernel.trace.read(np.dtype(np.int64), (kernel.trace.nbytes // 16, 2))
        report = kernel.record("report")
        outcome = Outcome(
            tuple(codes.tolist()),
            Stop(*report[:6]),
            Fault(*kernel.record("status")),
            kernel.counters(),
            self.epoch,
            report[6] or launch.iterations,
            trace,
        )
        if outcome.good:
            self.epoch = (self.epoch + outcome.iterations) % (1 << 64)
            self._dirty = False
        return outcome

    def _interrupt(self) -> None:
        """Ends the run that is under way, as far as it lets itself be ended in time."""
        self._launch = None
        code = np.array([Abort.HOST], np.uint64)
        report = self._loaded().records["report"]
        self._api.call(
            "cuMemcpyHtoDAsync", report.address, code.ctypes.data, code.nbytes, self._side
        )
        self._join(_GRACE_SECONDS)


def _check_architecture(api: CudaApi, bundle: Bundle) -> None:
    """A cubin runs on its own major version, from its minor version on; `a` on none but its own."""
    arch = bundle.manifest.target.arch
    major, minor = (api.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    number = int(arch.removeprefix("sm_").rstrip("af"))
    same = number == 10 * major + minor
    newer = not arch.endswith("a") and number // 10 == major and number % 10 <= minor
    if not (same or newer):
        raise UnsupportedError(
            f"the bundle is for {arch}; this GPU is sm_{major}{minor}", location=bundle.where
        )

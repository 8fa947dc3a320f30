"""Programs for NVIDIA and AMD GPUs, run on the host, thread by thread.

Results equal those of the kernel's code on a GPU, except for the order in which tensor cores add
and for the error of approximate instructions. Memory is as weak as PTX allows, in the ways that
docs/reliability.md lists. A seed determines the order of threads and stores. Time is not modelled.
The emulator needs clang++-22 and llvm-dis-22, as the build of ark does, and for AMD GPUs opt-22 and
mlir-translate-22.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any
from unittest import mock

import numpy as np

from ark_mlir.compiler import compile as compile_program
from ark_mlir.runtime import Driver, Executable, World
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.gpu.api import GpuApi
from ark_mlir.runtime.gpu.driver import GpuDriver
from ark_mlir.runtime.gpu.world import GpuWorldDriver
from ark_mlir.runtime.hip.api import HipApi
from ark_mlir.targets import hip, resolve
from ark_mlir.targets.cuda import use_toolchain

from .amd import HipToolchain
from .gpus import emulated_gpus
from .host_code import build_library, load_library, missing_tools
from .kernels import Outcome, TextKernel
from .lower import Site
from .machine import Behaviour, EmulatedCuda, EmulatedHip, Shape
from .toolchain import HostToolchain

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from numpy.typing import NDArray

    from ark_mlir.frontend import Program

__all__ = [
    "Behaviour",
    "Emulation",
    "Outcome",
    "Shape",
    "Site",
    "TextKernel",
    "build_library",
    "emulated_gpus",
    "missing_tools",
]


@contextmanager
def _emulated_code(
    backend: str, library: Path, folder: Path, races: bool, ranks: int
) -> Generator[HostToolchain | HipToolchain]:
    """Compiles kernels to host code in a block."""
    if backend == "hip":
        # A packet of ranks may be one word that all threads of a wave load.
        amd = HipToolchain(library, folder, races, keeps_votes=ranks > 1)
        with mock.patch.object(type(hip.make_backend()), "emit", amd.emit):
            yield amd
        return
    toolchain = HostToolchain(library, folder, races)
    with use_toolchain(toolchain):
        yield toolchain


class Emulation:
    """A program that runs as on a GPU, or programs of several ranks.

    Args:
        program: the program to compile, or a list with the program of each rank.
        library: the result of :func:`build_library`.
        folder: for files of the host's compiler.
        arch: sm_80, sm_90a or sm_100a, or gfx90a, gfx942 or gfx950.
        sms: the number of SMs, for each rank.
        warps: the number of warps of a CTA; by default that of the architecture.
        seed: determines the order in which threads run and stores become visible.
        races: True to look for accesses to shared memory that nothing orders, which takes time.
        devices: the number of GPUs: one, or one for each rank.
        concurrent: True if each of the ranks has a launch of its own on one GPU.
        options: options of :func:`ark_mlir.compile`.

    Attributes:
        text: the kernel in LLVM's IR.
        sites: its instructions.
        executable: the program, ready to run.
        executed: the instructions that it has executed since it was loaded.
    """

    def __init__(
        self,
        program: Program | Sequence[Program],
        library: Path,
        folder: Path,
        arch: str = "sm_90a",
        sms: int = 4,
        warps: int | None = None,
        seed: int = 0,
        races: bool = True,
        devices: int = 1,
        concurrent: bool = False,
        **options: Any,
    ) -> None:
        backend = "hip" if arch.startswith("gfx") else "cuda"
        known = resolve(f"{backend}:{arch}")
        ranks = len(program) if isinstance(program, Sequence) else 1
        # Ranks that share a GPU share its SMs.
        self._sms = sms * ranks // devices
        self._target = target = replace(known, sms=self._sms, warps=warps or known.warps)
        self._ordinals = [0] * ranks if concurrent else list(range(devices))
        with _emulated_code(backend, library, folder, races, ranks) as toolchain:
            compiled = compile_program(
                program,
                target,
                cache=False,
                devices=self._ordinals,
                concurrent=concurrent,
                **options,
            )
        self.text = toolchain.text
        self.sites = toolchain.lowered.sites
        self.bundle = compiled.bundle
        self._library = load_library(library)
        self._arch, self._devices = arch, devices
        self.load(seed)

    def load(self, seed: int, mutations: Mapping[int, int] | None = None) -> None:
        """Loads the program again, on new GPUs, with some instructions mutated."""
        behaviour = Behaviour(seed, mutations or {})
        self.executed = behaviour.executed
        options = self.sites, behaviour, self._devices, len(self._ordinals)
        backend = self._target.backend
        if backend == "hip":
            self._cuda = EmulatedHip(self._library, self._target, *options)
        else:
            self._cuda = EmulatedCuda(self._library, self._arch, self._sms, *options)
        kind = World if self.bundle.manifest.ranks > 1 else Executable
        self.executable: Any = kind(self.bundle, {backend: self._make_driver})

    def _make_apis(self) -> list[GpuApi]:
        """Returns the API of the vendor's driver on the GPU of each launch."""
        api = HipApi if self._target.backend == "hip" else CudaApi
        return [api(self._cuda, ordinal) for ordinal in self._ordinals]

    def _make_driver(self) -> Driver:
        apis = self._make_apis()
        return GpuDriver(apis[0]) if len(apis) == 1 else GpuWorldDriver(apis)

    def occupy(self, sms: int) -> None:
        """Occupies SMs: later launches on an AMD GPU begin CTAs on them when others have ended."""
        self._cuda.busy = sms

    def run(self, arrays: Any, **options: Any) -> Any:
        """Returns the outputs by name, for several ranks as a list. Raises RuntimeError if threads
        break a rule of the GPU."""
        try:
            return self.executable.run(arrays, **options)
        finally:
            self.check()

    def on_device(self, array: NDArray[Any]) -> NDArray[Any]:
        """Returns a copy of an array in memory of the first GPU, where kernels may access it."""
        lent: NDArray[Any] = np.ndarray(array.shape, array.dtype, self._cuda.lend(array.nbytes))
        lent[...] = array
        return lent

    def check(self) -> None:
        """Raises RuntimeError if threads broke a rule of the GPU."""
        if self._cuda.failure:
            raise RuntimeError(self._cuda.failure)

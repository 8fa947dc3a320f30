"""Programs for NVIDIA GPUs, run on the host: every thread of a kernel, and what it does.

Numbers are those of the kernel's code, up to the order in which tensor cores add and to what
approximations are off by. Time is not, and neither is the order in which a GPU's memory shows what
was written. Needs clang++-22 and llvm-dis-22, which whoever builds ark has.
"""

from __future__ import annotations

import ctypes
import shutil
import subprocess
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast
from unittest import mock

from ... import ir
from ...compiler import compile as compile_program
from ...dialects import gpu
from ...passmanager import PassManager
from ...runtime import Executable
from ...runtime.abi import ArkContext
from ...runtime.cuda import CudaDriver
from ...runtime.cuda_api import CudaApi
from ...targets import cuda, resolve
from ...targets.cuda_assembler import Assembled
from ...targets.cuda_math import define_functions
from ..fake_cuda import FakeCuda
from .lower import compile_kernel

if TYPE_CHECKING:
    from collections.abc import Generator, Mapping
    from pathlib import Path

    from ...frontend import Program
    from ...runtime.image import Image

TOOLS = ("clang++-22", "llvm-dis-22")
_CAPABILITIES = {"sm_80": (8, 0), "sm_90a": (9, 0), "sm_100a": (10, 0)}


def missing_tools() -> list[str]:
    """What this machine lacks for an emulation."""
    return [tool for tool in TOOLS if shutil.which(tool) is None]


class EmulatedCuda(FakeCuda):
    """One GPU whose kernels are those of :class:`Emulation`.

    Args:
        arch: its architecture.
        sms: how many CTAs fit.

    Attributes:
        failure: what threads did that those of a GPU must not; empty if nothing.
    """

    def __init__(self, arch: str, sms: int) -> None:
        super().__init__(sms=sms, capability=_CAPABILITIES[arch])
        self.failure = ""

    def _cuModuleGetFunction(self, module: Image, name: bytes) -> Any:
        kernel = module.function(f"emulated_{name.decode()}")
        take_failure = module.function("simt_take_failure")
        take_failure.argtypes, take_failure.restype = [], ctypes.c_char_p

        def walk(context: int, lane: int) -> int:
            if kernel(context, lane):
                self.failure = self.failure or take_failure().decode()
            codes = ArkContext.from_address(context).codes
            return ctypes.c_int32.from_address(codes + 4 * lane).value

        return walk


class Emulation:
    """A program that runs as on a GPU.

    Args:
        program: what to compile.
        folder: for the host's compiler; what does not change is made there once.
        arch: sm_80, sm_90a or sm_100a.
        sms: of how many SMs.
        options: of :func:`ark_mlir.compile`.

    Attributes:
        text: the kernel in LLVM's IR.
        executable: the program, ready to run.
    """

    def __init__(
        self, program: Program, folder: Path, arch: str = "sm_90a", sms: int = 4, **options: Any
    ) -> None:
        target = replace(resolve(f"cuda:{arch}"), sms=sms)
        with _instead_of_ptxas(folder, target.warps * 32) as texts:
            compiled = compile_program(program, target, cache=False, line_info=False, **options)
        (self.text,) = texts
        self._cuda = EmulatedCuda(arch, sms)
        drivers = {"cuda": lambda: CudaDriver(CudaApi(self._cuda))}
        self.executable = Executable(compiled.bundle, drivers)

    def run(self, arrays: Mapping[str, Any], **options: Any) -> Any:
        """Outputs by name; raises RuntimeError where threads do what a GPU's must not."""
        try:
            return self.executable.run(dict(arrays), **options)
        finally:
            if self._cuda.failure:
                raise RuntimeError(self._cuda.failure)


@dataclass(frozen=True)
class _HostCompiler:
    """Takes the place of an assembler of PTX."""

    threads: int
    folder: Path
    name: str = "host"

    def fingerprint(self) -> str:
        """Nothing made by it is kept."""
        return ""

    def assemble(self, ptx: str, arch: str, opt_level: int) -> Assembled:
        """The host's code of LLVM's IR."""
        del arch, opt_level
        return Assembled(compile_kernel(ptx, self.threads, self.folder), 0, 0)


@contextmanager
def _instead_of_ptxas(folder: Path, threads: int) -> Generator[list[str]]:
    texts: list[str] = []

    def to_llvm(module: ir.Operation) -> str:
        texts.append(_to_llvm(module, folder))
        return texts[-1]

    compiler = _HostCompiler(threads, folder)
    with (
        mock.patch.object(cuda, "choose_assembler", return_value=compiler),
        mock.patch.object(cuda, "_to_ptx", to_llvm),
    ):
        yield texts


def _to_llvm(module: ir.Operation, folder: Path) -> str:
    """What LLVM makes PTX of, optimised."""
    define_functions(_find(module, "gpu.module"))
    with module.context:
        manager = PassManager.parse("builtin.module(gpu-module-to-binary{format=llvm})")
    manager.run(module)  # pyright: ignore[reportUnknownMemberType]
    objects = ir.ArrayAttr(_find(module, "gpu.binary").attributes["objects"])
    code: bytes = cast("Any", gpu).ObjectAttr(objects[0]).object
    source = folder / "kernel.bc"
    source.write_bytes(code)
    command = ["llvm-dis-22", str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _find(module: ir.Operation, name: str) -> ir.Operation:
    return next(op.operation for op in module.regions[0].blocks[0] if op.operation.name == name)

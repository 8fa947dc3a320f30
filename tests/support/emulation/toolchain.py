"""The toolchain that compiles kernels for NVIDIA GPUs to host code."""

from __future__ import annotations

import subprocess
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, cast

from ark_mlir import ir
from ark_mlir.dialects import gpu
from ark_mlir.passmanager import PassManager
from ark_mlir.targets.cuda_assembler import Assembled
from ark_mlir.targets.cuda_math import define_functions
from ark_mlir.targets.gpu_module import find_op

from .host_code import compile_kernel
from .lower import Lowered, lower

if TYPE_CHECKING:
    from pathlib import Path

    from ark_mlir.targets.cuda_lines import SourceLine


@dataclass
class HostToolchain:
    """Compiles a kernel to host code instead of a cubin."""

    library: Path
    folder: Path
    races: bool
    text: str = ""
    lowered: Lowered = field(default_factory=Lowered)
    name: str = "host"

    def fingerprint(self) -> str:
        """Excludes the results of this assembler from the cache."""
        return ""

    def make(
        self, module: ir.Operation, arch: str, opt_level: int, lines: list[SourceLine] | None
    ) -> Assembled:
        """Returns the host code of a module of LLVM IR."""
        del arch, opt_level
        self.text = _to_llvm(module, self.folder)
        self.lowered = lower(self.text, lines or (), self.races)
        return Assembled(compile_kernel(self.lowered, self.library, self.folder), 0, 0)


def _to_llvm(module: ir.Operation, folder: Path) -> str:
    """Returns the optimised IR from which LLVM makes PTX."""
    define_functions(find_op(module, "gpu.module"))
    with module.context:
        manager = PassManager.parse("builtin.module(gpu-module-to-binary{format=llvm})")
    manager.run(module)  # pyright: ignore[reportUnknownMemberType]
    objects = ir.ArrayAttr(find_op(module, "gpu.binary").attributes["objects"])
    code: bytes = cast("Any", gpu).ObjectAttr(objects[0]).object
    source = folder / "kernel.bc"
    source.write_bytes(code)
    command = ["llvm-dis-22", str(source), "-o", "-"]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout

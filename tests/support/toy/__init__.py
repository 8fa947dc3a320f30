"""A toy GPU, added by the steps of docs/extending.md; this package is step 4, the Python code.

The GPU is a thread of the host for each SM, with the threads of the CTA as fibers (gpu.cpp). Steps
2 and 3 are tests/lib/ToyKernel.mlir and tests/lib/ToyBackend.cpp, which only ``ark-opt`` of the
build has. :func:`lower` hence runs the stages in ``ark-opt``; :func:`ark_mlir.compile` takes its
result and makes the binary.
"""

from __future__ import annotations

import platform
import shutil
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ark_opt import find_ark_opt

from ark_mlir import ir
from ark_mlir._mlir_libs import _ark  # noqa: TID251 - code generation is the extension's
from ark_mlir.backends import BackendInfo
from ark_mlir.errors import UnsupportedError
from ark_mlir.runtime.cpu.driver import CpuDriver
from ark_mlir.runtime.cpu.kernel import Kernel
from ark_mlir.targets import Code, Target
from ark_mlir.targets.gpu_module import take_gpu_module

if TYPE_CHECKING:
    from ark_mlir.bundle import Bundle

_HERE = Path(__file__).parent
_ROOT = _HERE.parents[2]
TOOLS = ("clang++-22",)

# Step 1 of the guide: the facts.
TARGET = Target(
    backend="toy",
    arch="t1",
    sms=2,
    warps=2,
    shared_memory=65536,
    bandwidth=10,
    flops=100,
    handoff=700,
    barrier=1200,
    overhead=250,
    gpu='#ark.gpu<warp_size = 16, scopes = #ark.scopes<device = "agent">>',
)

INFO = BackendInfo(
    name="toy",
    example="toy:t1",
    code_generator="toy:make_code_generator",
    driver="toy:make_driver",
    wait_seconds=20.0,
)


def missing_tools() -> list[str]:
    """Returns the tools that the toy GPU needs and this machine lacks."""
    found = {"ark-opt": find_ark_opt(), **{tool: shutil.which(tool) for tool in TOOLS}}
    return [tool for tool, path in found.items() if path is None]


def lower(text: str) -> str:
    """Returns the module of a program at the stage ``target``, for the toy GPU.

    Raises subprocess.CalledProcessError if the compiler fails.
    """
    command = [str(find_ark_opt()), "-", f"--ark-target={TARGET.mlir}", "--ark-compile-to=target"]
    done = subprocess.run(
        [*command, "--mlir-print-debuginfo"], input=text, capture_output=True, text=True, check=True
    )
    return done.stdout


class _CodeGenerator:
    """Makes shared objects for the host; see :class:`ark_mlir.targets.Backend`."""

    def detect(self, device: int = 0) -> Target:
        """Returns the toy GPU, of which every machine has one."""
        if device:
            raise UnsupportedError("this machine has one toy GPU")
        return TARGET

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns no options."""
        del cpu
        return {}

    def fingerprint(self, cpu: str) -> str:
        """Returns the sources of the toy GPU."""
        del cpu
        return (_HERE / "gpu.cpp").read_text()

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Returns a shared object with the kernel and the instructions of the toy GPU."""
        del cpu, line_info
        target = Target.parse(str(module.attributes["ark.target"]))
        code = _ark.translate_to_object(
            _take_kernel(module), triple=_ark.host_triple(), opt_level=opt_level
        )
        with tempfile.TemporaryDirectory() as folder:
            kernel, image = Path(folder, "kernel.o"), Path(folder, "kernel.so")
            kernel.write_bytes(code)
            flags = ["-std=c++17", "-O1", "-fPIC", "-shared", "-Wl,-z,defs"]
            flags += [f"-I{_ROOT}", f"-DTOY_WARPS={target.warps}"]
            subprocess.run(
                [*TOOLS, *flags, str(_HERE / "gpu.cpp"), str(kernel), "-o", str(image)],
                check=True,
            )
            return Code(image.read_bytes(), platform.machine(), ())


def _take_kernel(module: ir.Operation) -> ir.Module:
    """Moves the ops of the ``gpu.module`` to a new module, and names the entry ``toy_kernel``."""
    result = take_gpu_module(module)
    for op in result.body:
        if str(op.operation.attributes["sym_name"]) == '"ark_kernel"':
            op.operation.attributes["sym_name"] = ir.StringAttr.get("toy_kernel", module.context)
    return result


class _Driver(CpuDriver):
    """Runs each CTA in a thread, as the driver for processors runs each lane."""

    def load(self, bundle: Bundle) -> None:
        """Loads the image, which is linked with the C++ library."""
        self._kernel = Kernel(bundle, self._lanes_here(bundle), self._take)


def make_code_generator() -> _CodeGenerator:
    """Returns the code generator."""
    return _CodeGenerator()


def make_driver(devices: Sequence[int] | None = None) -> _Driver:
    """Returns the driver."""
    del devices
    return _Driver()

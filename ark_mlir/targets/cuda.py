"""The cuda backend, which translates a ``gpu.module`` to a cubin or PTX, and detects the GPU."""

from __future__ import annotations

import functools
import importlib
import logging
import re
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, Protocol, cast

from .. import ir
from ..dialects import gpu
from ..errors import InvalidUsageError, UnsupportedError
from ..passmanager import PassManager
from ..pins import NCCL_VERSION
from .backend import Backend, Code
from .cubin import empty_section
from .cuda_assembler import Assembled, choose_assembler
from .cuda_lines import SourceLine, name_lines, take_line_table
from .cuda_math import define_functions
from .cuda_network import needs_network, network_library
from .cuda_toolkit import Toolkit, find_libdevice
from .fingerprints import hash_files
from .gpu_module import find_op
from .target import Target, look_up

_LOG = logging.getLogger("ark.compiler")

# With line information, assemblers add the PTX to the cubin. Profilers do not need the PTX, which
# is most of the file.
_SOURCE = b".nv_debug_ptx_txt"
# A function that the PTX declares but does not define.
_EXTERNAL = re.compile(r"^\.extern \.func +(?:\(.*\) )?([\w$]+)", re.MULTILINE)
# Functions that NVIDIA's driver defines.
_OF_DRIVER = frozenset({"__assertfail"})


def detect(device: int = 0) -> Target:
    """Returns the GPU with a CUDA ordinal as a target; raises UnsupportedError if there is none."""
    try:
        driver: Any = importlib.import_module("cuda.bindings.driver")
    except ImportError:
        raise UnsupportedError(
            "target 'cuda' needs cuda-python, which is not installed, to detect the GPU: "
            "pip install 'ark-mlir[cuda12]', or name an architecture, such as cuda:sm_90a"
        ) from None
    try:
        _call(driver.cuInit(0))
        handle = _call(driver.cuDeviceGet(device))
        attribute = driver.CUdevice_attribute
        major, minor, sms = (
            int(_call(driver.cuDeviceGetAttribute(getattr(attribute, name), handle)))
            for name in (
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR",
                "CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR",
                "CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT",
            )
        )
    except RuntimeError as error:
        raise UnsupportedError(
            f"target 'cuda' needs a GPU, and this machine has none ({error}); "
            "name an architecture, such as cuda:sm_90a"
        ) from None
    return replace(_look_up_capability(major, minor), sms=sms)


def _look_up_capability(major: int, minor: int) -> Target:
    """Returns the target with a compute capability.

    Prefers the target with architecture-specific features (suffix ``a``). Raises InvalidUsageError
    if ark knows neither target.
    """
    name = f"cuda:sm_{major}{minor}"
    try:
        return look_up(f"{name}a")
    except InvalidUsageError:
        return look_up(name)


def _call(result: tuple[Any, ...]) -> Any:
    code = result[0]
    if int(code):
        raise RuntimeError(getattr(code, "name", str(code)))
    return result[1] if len(result) > 1 else None


class _Cuda:
    """The backend; see :class:`ark_mlir.targets.Backend` for its methods."""

    def detect(self, device: int = 0) -> Target:
        """Returns the GPU with a CUDA ordinal as a target."""
        return detect(device)

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns no options: the processor of the host does not matter."""
        del cpu
        return {}

    def fingerprint(self, cpu: str) -> str:
        """Returns the identities of the toolchain and the device libraries."""
        del cpu
        toolchain = _choose_toolchain()
        libraries = f"{_library_hash(find_libdevice())} NCCL {NCCL_VERSION}"
        return f"{toolchain.name} {toolchain.fingerprint()} {libraries}"

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Returns a cubin for one architecture, or PTX for NVIDIA's driver."""
        del cpu
        toolchain = _choose_toolchain()  # first, since it raises if there is no assembler
        target = Target.parse(str(module.attributes["ark.target"]))
        lines: list[SourceLine] | None = None
        if line_info:
            _run(module, "gpu.module(ark-build-line-table)")
            lines = take_line_table(find_op(module, "gpu.module"))
        assembled = toolchain.make(module, target.arch, opt_level, lines)
        if assembled.registers is None or assembled.spill_bytes is None:
            _LOG.info("the bundle has PTX, which NVIDIA's driver compiles at every load")
            return Code(assembled.image, target.arch, (), assembler=toolchain.name)
        figures = {"registers": assembled.registers, "spill_bytes": assembled.spill_bytes}
        image = empty_section(assembled.image, _SOURCE)
        return Code(image, target.arch, (), figures, toolchain.name)


class Toolchain(Protocol):
    """A way to generate a kernel's image; the bundle names it as its assembler."""

    @property
    def name(self) -> str: ...

    def fingerprint(self) -> str:
        """Returns a text that identifies the tools on which the image depends."""
        ...

    def make(
        self, module: ir.Operation, arch: str, opt_level: int, lines: list[SourceLine] | None
    ) -> Assembled:
        """Returns the image of the module's ``gpu.module``.

        Args:
            module: the module, whose ``gpu.module`` is replaced by a ``gpu.binary``.
            arch: the architecture, such as ``sm_90a``.
            opt_level: from 0 to 3.
            lines: entries of the line table; None if the module has no debug locations.
        """
        ...


class _PtxToolchain:
    """The toolchain that makes PTX, which an assembler, or NVIDIA's driver at load, compiles."""

    def __init__(self) -> None:
        self._assembler = choose_assembler()
        self.name = self._assembler.name

    def fingerprint(self) -> str:
        """Returns the identity of the assembler."""
        return self._assembler.fingerprint()

    def make(
        self, module: ir.Operation, arch: str, opt_level: int, lines: list[SourceLine] | None
    ) -> Assembled:
        """Returns a cubin, or PTX."""
        ptx = _to_ptx(module)
        if lines is not None:
            ptx = name_lines(ptx, lines)
        return self._assembler.assemble(ptx, arch, opt_level)


_TOOLCHAIN: ContextVar[Toolchain | None] = ContextVar("toolchain", default=None)


@contextmanager
def use_toolchain(toolchain: Toolchain) -> Generator[None]:
    """Uses `toolchain` for all programs for NVIDIA GPUs that the block compiles."""
    token = _TOOLCHAIN.set(toolchain)
    try:
        yield
    finally:
        _TOOLCHAIN.reset(token)


def _choose_toolchain() -> Toolchain:
    return _TOOLCHAIN.get() or _PtxToolchain()


@functools.cache
def _library_hash(toolkit: Toolkit | None) -> str:
    return "" if toolkit is None else hash_files(sorted(toolkit.libdevice.iterdir()))


def _run(module: ir.Operation, passes: str) -> None:
    with module.context:
        manager = PassManager.parse(f"builtin.module({passes})")
    manager.run(module)  # pyright: ignore[reportUnknownMemberType]


def _to_ptx(module: ir.Operation) -> str:
    """Returns the PTX of the module's ``gpu.module``, which is replaced by a ``gpu.binary``."""
    toolkit = find_libdevice()
    gpu_module = find_op(module, "gpu.module")
    options = ["format=isa"]
    if toolkit is None:
        define_functions(gpu_module)
    else:
        options.append(f"toolkit='{toolkit.root}'")
    with ExitStack() as files:
        if needs_network(gpu_module):
            library = files.enter_context(network_library(gpu_module))
            options.append(f"l='{library}'")
        _run(module, f"gpu-module-to-binary{{{' '.join(options)}}}")
    objects = ir.ArrayAttr(find_op(module, "gpu.binary").attributes["objects"])
    code: bytes = cast("Any", gpu).ObjectAttr(objects[0]).object
    ptx = code.decode().rstrip("\0")
    if missing := sorted(set(_EXTERNAL.findall(ptx)) - _OF_DRIVER):
        raise UnsupportedError(
            f"the program needs {', '.join(missing)} of NVIDIA's device library, which is not "
            "installed: install the package nvidia-cuda-nvcc, or set CUDA_HOME"
        )
    return ptx


def make_backend() -> Backend:
    """Returns the backend."""
    return _Cuda()

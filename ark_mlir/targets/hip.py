"""The hip backend: a gpu.module becomes a code object; which AMD GPU is present."""

from __future__ import annotations

import importlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from .. import ir
from .._mlir_libs import _ark  # noqa: TID251 - code generation is the extension's
from ..errors import CompileError, UnsupportedError
from .backend import Backend, Code
from .code_object import read_resources
from .fingerprints import hash_files
from .linker import find_linker, link
from .target import Target, look_up

_TRIPLE = "amdgcn-amd-amdhsa"


def _detect() -> Target:
    try:
        hip: Any = importlib.import_module("hip.hip")
    except ImportError:
        raise UnsupportedError(
            "target 'hip' asks for the GPU present, and hip-python is not installed; "
            "name an architecture, such as hip:gfx942"
        ) from None
    properties = hip.hipDeviceProp_t()
    (code,) = hip.hipGetDeviceProperties(properties, 0)
    if int(code):
        raise UnsupportedError(
            f"target 'hip' asks for the GPU present, and there is none ({code}); "
            "name an architecture, such as hip:gfx942"
        )
    arch = properties.gcnArchName.decode("ascii", "replace").split(":", 1)[0]
    return replace(look_up(f"hip:{arch}"), sms=int(properties.multiProcessorCount))


class _Hip:
    """See :class:`ark_mlir.targets.Backend`."""

    def detect(self) -> Target:
        """The first GPU of this machine."""
        return _detect()

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns no options: the processor of the host does not matter."""
        del cpu
        return {}

    def fingerprint(self, cpu: str) -> str:
        """The linker; code generation is the compiler's own."""
        del cpu
        return hash_files([Path(find_linker())])

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """A code object for one architecture, without lines."""
        del cpu, line_info
        target = Target.parse(str(module.attributes["ark.target"]))
        code = _ark.translate_to_object(
            _take_code(module), triple=_TRIPLE, cpu=target.arch, opt_level=opt_level
        )
        image = link(code, "--no-undefined")
        return Code(image, target.arch, (), read_resources(image))


def _take_code(module: ir.Operation) -> ir.Module:
    """Takes the contents of the module's gpu.module, as a module of its own."""
    for op in module.regions[0].blocks[0]:
        if op.operation.name == "gpu.module":
            result = ir.Module.create(op.location)
            for inner in list(op.regions[0].blocks[0]):
                inner.operation.detach_from_parent()
                result.body.append(inner)
            return result
    raise CompileError("the module holds no gpu.module")


def make_backend() -> Backend:
    """The backend."""
    return _Hip()

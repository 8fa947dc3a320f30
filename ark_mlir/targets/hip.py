"""The hip backend, which translates a ``gpu.module`` to a code object, and detects the GPU."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from .. import ir
from .._mlir_libs import _ark  # noqa: TID251 - code generation is the extension's
from ..errors import UnsupportedError
from .backend import Backend, Code
from .code_object import read_resources
from .fingerprints import hash_files
from .gpu_module import take_gpu_module
from .linker import find_linker, link
from .target import Target, look_up

_TRIPLE = "amdgcn-amd-amdhsa"


_NAME_ONE = "name an architecture, such as hip:gfx942"


def _detect(device: int) -> Target:
    from ..runtime.hip.library import architecture_of, find_library, plain_message

    try:
        hip = find_library()
    except UnsupportedError as error:
        raise UnsupportedError(
            "target 'hip' needs hip-python, which is not installed or too old, to detect the GPU; "
            f"{_NAME_ONE}",
            notes=error.notes,
        ) from None
    try:
        code, properties = hip.hipGetDeviceProperties(device)
    except RuntimeError as error:  # the package is installed, ROCm is not
        raise UnsupportedError(
            f"target 'hip' needs a GPU: {plain_message(error)}; {_NAME_ONE}"
        ) from None
    if int(code):
        raise UnsupportedError(
            f"target 'hip' needs a GPU, and this machine has none ({code}); {_NAME_ONE}"
        )
    arch = architecture_of(properties)
    return replace(look_up(f"hip:{arch}"), sms=int(properties.multiProcessorCount))


class _Hip:
    """The backend; see :class:`ark_mlir.targets.Backend` for its methods."""

    def detect(self, device: int = 0) -> Target:
        """Returns the GPU with a number of HIP as a target."""
        return _detect(device)

    def target_options(self, cpu: str) -> dict[str, str]:
        """Returns no options: the processor of the host does not matter."""
        del cpu
        return {}

    def fingerprint(self, cpu: str) -> str:
        """Returns the identity of the linker, the only tool outside of the compiler."""
        del cpu
        return hash_files([Path(find_linker())])

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Returns a code object for one architecture, without line information."""
        del cpu, line_info
        target = Target.parse(str(module.attributes["ark.target"]))
        code = _ark.translate_to_object(
            take_gpu_module(module), triple=_TRIPLE, cpu=target.arch, opt_level=opt_level
        )
        image = link(code, "--no-undefined")
        return Code(image, target.arch, (), read_resources(image))


def make_backend() -> Backend:
    """Returns the backend."""
    return _Hip()

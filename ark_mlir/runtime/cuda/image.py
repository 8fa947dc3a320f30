"""The image of a kernel on a GPU: a cubin, or PTX that NVIDIA's driver assembles."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from ...errors import BundleError, DeviceError, UnsupportedError

if TYPE_CHECKING:
    from ...bundle import Bundle
    from .api import CudaApi

_ELF = b"\x7fELF"
_VERSION = re.compile(rb"^\.version (\d+)\.(\d+)", re.MULTILINE)
# Versions of PTX, each with the first version of CUDA, and of NVIDIA's driver, with this version.
_DRIVERS = {
    (8, 0): (12, 0, 525),
    (8, 1): (12, 1, 530),
    (8, 2): (12, 2, 535),
    (8, 3): (12, 3, 545),
    (8, 4): (12, 4, 550),
    (8, 5): (12, 5, 555),
    (8, 6): (12, 7, 565),
    (8, 7): (12, 8, 570),
}
_LOG_BYTES = 4096
_MOST_NOTES = 8
# The limit for a call in which NVIDIA's driver compiles PTX, which may take minutes.
_ASSEMBLING_SECONDS = 600.0


class CudaImage:
    """A loaded module.

    Args:
        api: the API of NVIDIA's driver.
        bundle: the program.

    Raises UnsupportedError if the image needs another GPU or another driver, DeviceError if
    NVIDIA's driver rejects it, and BundleError if it is neither a cubin nor PTX.
    """

    def __init__(self, api: CudaApi, bundle: Bundle) -> None:
        self._api = api
        # NVIDIA's driver may load lazily, and then reports errors when a function is requested.
        self._log = bytearray(_LOG_BYTES)
        image = bytes(bundle.sections["kernel"])
        is_cubin = image.startswith(_ELF)
        _check_architecture(api, bundle, is_cubin)
        if is_cubin:
            self._module: Any = api.take("cuModuleLoadData", "cuModuleUnload", image)
        else:
            _check_version(api, image, bundle.where)
            self._module = self._assemble(image)
        self._unload = api.own(self, "cuModuleUnload", self._module)

    def _assemble(self, ptx: bytes) -> Any:
        option = self._api.driver.CUjit_option
        options = {
            option.CU_JIT_ERROR_LOG_BUFFER: self._log,
            option.CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES: _LOG_BYTES,
        }
        return self._explained(
            "cuModuleLoadDataEx", "cuModuleUnload", ptx.rstrip(b"\0") + b"\0",
            len(options), list(options), list(options.values()), seconds=_ASSEMBLING_SECONDS,
        )  # fmt: skip

    def function(self, name: str) -> Any:
        """Returns the handle of a kernel in the module."""
        return self._explained("cuModuleGetFunction", None, self._module, name.encode())

    def _explained(
        self, name: str, release: str | None, *arguments: object, seconds: float | None = None
    ) -> Any:
        try:
            return self._api.take(name, release, *arguments, seconds=seconds)
        except DeviceError as error:
            log = self._log.split(b"\0", 1)[0].decode(errors="replace").strip().splitlines()
            error.notes += tuple(log[:_MOST_NOTES])
            raise

    def free(self) -> None:
        """Unloads the image."""
        self._unload()


def _check_architecture(api: CudaApi, bundle: Bundle, is_cubin: bool) -> None:
    """Raises UnsupportedError if the code cannot run on this GPU.

    A cubin runs on GPUs with the same major version and the same or a later minor version. PTX runs
    on all later GPUs. Architecture-specific code (`a`) runs only on that exact architecture.
    """
    arch = bundle.manifest.target.arch
    major, minor = (api.attribute(f"COMPUTE_CAPABILITY_{part}") for part in ("MAJOR", "MINOR"))
    number, device = int(arch.removeprefix("sm_").rstrip("af")), 10 * major + minor
    later = number <= device and (number // 10 == major or not is_cubin)
    if number != device and (arch.endswith("a") or not later):
        raise UnsupportedError(
            f"the bundle is for {arch}; this GPU is sm_{device}", location=bundle.where
        )


def _check_version(api: CudaApi, ptx: bytes, where: str) -> None:
    match = _VERSION.search(ptx)
    if match is None:
        raise BundleError("section kernel: is neither a cubin nor PTX", location=where)
    version = int(match[1]), int(match[2])
    if version not in _DRIVERS:
        return  # NVIDIA's driver decides
    major, minor, driver = _DRIVERS[version]
    has = int(api.call("cuDriverGetVersion"))
    if has < 1000 * major + 10 * minor:
        supported = f"{has // 1000}.{has % 1000 // 10}"
        raise UnsupportedError(
            f"the bundle holds PTX {version[0]}.{version[1]}, which needs NVIDIA's driver for CUDA "
            f"{major}.{minor} or later ({driver}); NVIDIA's driver on this machine is for CUDA "
            f"{supported}",
            location=where,
        )

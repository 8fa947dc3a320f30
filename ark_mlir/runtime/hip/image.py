"""The image of a kernel on an AMD GPU: a code object."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...errors import BundleError, DeviceError, UnsupportedError

if TYPE_CHECKING:
    from ...bundle import Bundle
    from .api import HipApi

_ELF = b"\x7fELF"


class HipImage:
    """A loaded module.

    Args:
        api: the HIP API.
        bundle: the program.

    Raises UnsupportedError if the image is for another GPU, DeviceError if the loader rejects it,
    and BundleError if it is not a code object.
    """

    def __init__(self, api: HipApi, bundle: Bundle) -> None:
        self._api = api
        # HIP may read the image until the module is unloaded.
        self._image = bytes(bundle.sections["kernel"])
        if not self._image.startswith(_ELF):
            raise BundleError("section kernel: is not a code object", location=bundle.where)
        _check_architecture(api, bundle)
        self._arch = bundle.manifest.target.arch
        names = api.names
        self._module: Any = self._explained(names.load_module, names.unload_module, self._image)
        self._unload = api.own(self, names.unload_module, self._module)

    def function(self, name: str) -> Any:
        """Returns the handle of a kernel in the module."""
        return self._explained(self._api.names.find_function, None, self._module, name.encode())

    def _explained(self, name: str, release: str | None, *arguments: object) -> Any:
        try:
            return self._api.take(name, release, *arguments)
        except DeviceError as error:
            error.notes += (
                f"the bundle has a code object of version 5 for {self._arch}, which ROCm 5.0 and "
                f"later load; compile the program again with the target hip:{self._arch}",
            )
            raise

    def free(self) -> None:
        """Unloads the image."""
        self._unload()


def _check_architecture(api: HipApi, bundle: Bundle) -> None:
    """Raises UnsupportedError unless the code object is for the architecture of this GPU."""
    arch, device = bundle.manifest.target.arch, api.architecture
    if arch != device:
        raise UnsupportedError(
            f"the bundle is for {arch}; this GPU is {device}",
            location=bundle.where,
            notes=[f"compile the program with the target hip:{device}"],
        )

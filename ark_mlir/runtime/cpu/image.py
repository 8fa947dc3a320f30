"""Loading a kernel's shared object from memory."""

from __future__ import annotations

import contextlib
import ctypes
import os
import tempfile
import weakref
from _ctypes import dlclose
from pathlib import Path
from typing import Any

from ...errors import BundleError, shorten
from ...permissions import weakness


class Image:
    """A loaded shared object; unloaded when the last reference to it goes.

    Nothing is loaded by a name that somebody else could change: the image goes to the loader
    through an anonymous file, or, where the system forbids running those, through a private
    temporary file that is gone at once.

    Raises:
        BundleError: the loader refuses the image.
    """

    def __init__(self, image: memoryview, where: str) -> None:
        problems: list[str] = []
        for attempt in (_through_memory, _through_folder):
            try:
                self._library, file = attempt(image)
                break
            except OSError as error:
                problems.append(str(error))
            except UnicodeDecodeError as error:
                # The loader's message quotes bytes of the image, which need not be text.
                problems.append(bytes(error.object).decode("utf-8", "backslashreplace"))
        else:
            raise BundleError(
                f"section kernel: cannot be loaded: {problems[0]}",
                location=where,
                notes=problems[1:],
            )
        self._where = where
        # Not at exit: a lane that never ended may still be in this code.
        weakref.finalize(self, _unload, self._library._handle, file).atexit = False

    def function(self, name: str) -> Any:
        """The entry function, ``int32_t (const ArkContext *, int64_t)``."""
        try:
            entry = getattr(self._library, name)
        except AttributeError:
            raise BundleError(
                f"section kernel: does not export {shorten(name)}", location=self._where
            ) from None
        entry.argtypes = [ctypes.c_void_p, ctypes.c_int64]
        entry.restype = ctypes.c_int32
        return entry


def _unload(handle: int, file: int | None) -> None:
    dlclose(handle)
    if file is not None:
        os.close(file)


def _through_memory(image: memoryview) -> tuple[ctypes.CDLL, int | None]:
    descriptor = os.memfd_create("ark_kernel", os.MFD_CLOEXEC)
    try:
        _write(descriptor, image)
        library = ctypes.CDLL(f"/proc/self/fd/{descriptor}")
    except BaseException:
        os.close(descriptor)
        raise
    # The loader knows a library by its path. The file stays open as long as the library is
    # loaded, so that no other kernel gets the same number and with it this kernel's code.
    return library, descriptor


def _through_folder(image: memoryview) -> tuple[ctypes.CDLL, int | None]:
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        path = os.path.join(folder, os.path.basename(folder) + ".so")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        with contextlib.closing(os.fdopen(descriptor, "wb")) as file:
            file.write(image)
        # Another user could put another file in its place before the loader opens it.
        if reason := weakness(Path(path)):
            raise OSError(f"no safe folder for temporary files: {reason}")
        return ctypes.CDLL(path), None


def _write(descriptor: int, data: memoryview) -> None:
    written = 0
    while written < data.nbytes:
        written += os.write(descriptor, data[written:])

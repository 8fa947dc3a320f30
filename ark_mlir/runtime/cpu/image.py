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
from ...permissions import find_weakness


class Image:
    """A loaded shared object, which is unloaded with the last reference to it.

    No other user can replace the image before it is loaded: the loader gets it as an anonymous file
    or, if the system forbids executing such files, as a private temporary file that is removed at
    once.

    Raises:
        BundleError: the loader rejects the image.
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
                # The loader's message may quote bytes of the image that are not text.
                problems.append(bytes(error.object).decode("utf-8", "backslashreplace"))
        else:
            raise BundleError(
                f"section kernel: cannot be loaded: {problems[0]}",
                location=where,
                notes=problems[1:],
            )
        self._where = where
        # The image stays loaded at exit, since a lane that never ended may still execute it.
        weakref.finalize(self, _unload, self._library._handle, file).atexit = False

    def function(self, name: str) -> Any:
        """Returns the entry function ``int32_t (const ArkContext *, int64_t)``.

        Raises BundleError if the image does not export it.
        """
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
    # The loader identifies a library by its path, which has the number of the descriptor. The file
    # stays open while the library is loaded, so that no other kernel gets the same path.
    return library, descriptor


def _through_folder(image: memoryview) -> tuple[ctypes.CDLL, int | None]:
    with tempfile.TemporaryDirectory(prefix="ark-") as folder:
        path = os.path.join(folder, os.path.basename(folder) + ".so")
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o700)
        with contextlib.closing(os.fdopen(descriptor, "wb")) as file:
            file.write(image)
        # In an unsafe folder, another user could replace the file before the loader opens it.
        if reason := find_weakness(Path(path)):
            raise OSError(f"no safe folder for temporary files: {reason}")
        return ctypes.CDLL(path), None


def _write(descriptor: int, data: memoryview) -> None:
    written = 0
    while written < data.nbytes:
        written += os.write(descriptor, data[written:])

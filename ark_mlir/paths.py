"""Checks of paths, and atomic replacement of files."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
from collections.abc import Generator
from pathlib import Path
from typing import IO, cast

from .errors import InvalidUsageError

__all__ = ["as_path", "replacing"]


def as_path(path: object, label: str) -> Path:
    """Returns `path` as a Path; raises InvalidUsageError, which names the path `label`, if it is
    empty or not a path.

    Example:
        >>> as_path("mlp.arkbin", "the bundle")
        PosixPath('mlp.arkbin')
    """
    if isinstance(path, str | bytes | os.PathLike):
        text = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
        if text:
            return Path(text)
    raise InvalidUsageError(f"{label} is {path!r}; expected a path")


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False) -> Generator[IO[bytes]]:
    """Opens a temporary file that replaces `path` atomically when the block ends.

    If the block raises, the temporary file is deleted and `path` is unchanged. The mode is 0600 if
    `private`, else that of the umask. Raises OSError, which names `path`, if a write fails.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if path.exists() and not path.is_file():  # a device, such as /dev/null, would be replaced
        raise OSError(errno.EINVAL, "Not a regular file", str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # tempfile would ignore the umask and create the file with mode 0600.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    except OSError as error:  # the error must name `path` instead of the temporary file
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            if private:
                os.fchmod(descriptor, 0o600)  # a umask may have removed the owner's bits
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        # The error of a write to a full disk has no file name.
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise

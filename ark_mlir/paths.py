"""Paths that callers give, and files that are whole or not there."""

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


def as_path(path: object, what: str) -> Path:
    """Returns `path` as a Path; raises InvalidUsageError, with the name `what`, if it is not a
    path.

    Example:
        >>> as_path("mlp.arkbin", "the bundle")
        PosixPath('mlp.arkbin')
    """
    if isinstance(path, str | bytes | os.PathLike):
        text = os.fsdecode(cast("str | bytes | os.PathLike[str]", path))
        if text:
            return Path(text)
    raise InvalidUsageError(f"{what} is {path!r}; expected a path")


@contextlib.contextmanager
def replacing(path: Path, *, private: bool = False) -> Generator[IO[bytes]]:
    """A file that takes `path`'s place if the block ends well, and else leaves no trace.

    Nobody else can read or write it where it is `private`; else the umask decides.
    """
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # Opened here and not by tempfile, so that the umask decides who may read the result.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o600 if private else 0o666)
    except OSError as error:  # about the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            if private:
                os.fchmod(descriptor, 0o600)  # also under a umask that takes the owner's bits
            yield file
        os.replace(temporary, path)
    except BaseException as error:
        with contextlib.suppress(OSError):
            temporary.unlink()
        # A write to a full disk does not say of which file.
        if isinstance(error, OSError) and error.filename is None:
            raise OSError(error.errno, error.strerror, str(path)) from None
        raise

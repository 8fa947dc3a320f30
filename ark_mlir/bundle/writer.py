"""Writing bundles: deterministic bytes, published by one atomic rename."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import os
import secrets
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from ..errors import BundleError
from ..paths import as_path
from .bundle import Bundle, Bytes
from .format import (
    HEADER_SIZE,
    MAX_MANIFEST,
    Header,
    section_offsets,
)
from .manifest import Manifest, Section


def write_bundle(
    path: str | os.PathLike[str],
    manifest: Manifest | Mapping[str, Any] | bytes | str,
    sections: Mapping[str, Bytes],
    *,
    durable: bool = False,
) -> None:
    """Writes a program to `path`.

    A reader sees the old file or the new one, never a part; equal content gives equal bytes.

    Args:
        path: the file, by custom ``*.arkbin``.
        manifest: the manifest without offsets: a record, an object or its JSON text.
        sections: bytes by section name.
        durable: whether the content is on the disk before it takes the place of `path`, so that
            even a machine that stops leaves no part of it.

    Raises:
        BundleError: the content is not one that a reader would accept.
        InvalidUsageError: `path` is none.
        OSError: the file cannot be written.

    Example:
        >>> write_bundle("mlp.arkbin", manifest, sections)          # doctest: +SKIP
    """
    target = as_path(path, "the file to write")
    bundle = Bundle.from_parts(manifest, sections, where=str(target))
    with replacing(target) as file:
        for part in encode(bundle):
            file.write(part)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def encode(bundle: Bundle) -> Iterator[Bytes]:
    """The file's bytes, in parts."""
    names, views = list(bundle.sections), list(bundle.sections.values())
    digests = [hashlib.sha256(view).hexdigest() for view in views]
    sizes = [view.nbytes for view in views]
    # Offsets are in the manifest, and its length moves them. It only grows with them, so
    # starting from the least possible this ends, and always at the same place.
    length = 0
    while True:
        offsets, end = section_offsets(length, sizes)
        text = bundle.manifest.encode(map(Section, names, offsets, sizes, digests))
        if len(text) == length:
            break
        length = len(text)
    if length > MAX_MANIFEST:
        raise BundleError(
            f"manifest of {length} bytes; the limit is {MAX_MANIFEST}", location=bundle.where
        )
    yield Header(length, end, hashlib.sha256(text).digest()).pack()
    yield text
    position = HEADER_SIZE + length
    for offset, view in zip(offsets, views, strict=True):
        yield bytes(offset - position)
        yield view
        position = offset + view.nbytes


@contextlib.contextmanager
def replacing(path: Path) -> Generator[IO[bytes]]:
    """A file that takes `path`'s place if the block ends well, and else leaves no trace."""
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    # Opened here and not by tempfile, so that the umask decides who may read the result.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    try:
        descriptor = os.open(temporary, flags, 0o666)
    except OSError as error:  # about the file that was asked for
        raise OSError(error.errno, error.strerror, str(path)) from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            yield file
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise

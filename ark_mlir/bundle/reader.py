"""Reading bundles: nothing is used before it has been checked."""

from __future__ import annotations

import errno
import hashlib
import mmap
import os
import stat
from collections.abc import Generator
from contextlib import contextmanager

from ..errors import BundleError
from ..paths import as_path
from ..permissions import others_can_write, stranger
from .bundle import Bundle
from .format import HEADER_SIZE, MAX_FILE, Header, section_offsets
from .manifest import Manifest
from .manifest_checks import parse_manifest


def read_bundle(path: str | os.PathLike[str], *, own: bool = False) -> Bundle:
    """The bundle in a file, checked in full: layout, hashes, manifest and every table entry.

    Runs no code. With `own`, symbolic links and files that another user (but root) owns or could
    write are refused, too: nobody looks at what lies in a cache before its kernel runs.

    Raises BundleError, which names the file and the field, on whatever is missing, altered, out
    of range or of another version, and InvalidUsageError where `path` is none.

    Example:
        >>> read_bundle("mlp.arkbin").manifest.program              # doctest: +SKIP
        'mlp'
    """
    where = str(as_path(path, "the bundle to read"))
    data = _read(where, own)
    header = Header.unpack(bytes(data[:HEADER_SIZE]), data.nbytes, where)
    text = bytes(data[HEADER_SIZE : HEADER_SIZE + header.manifest_size])
    if hashlib.sha256(text).digest() != header.manifest_sha256:
        raise BundleError("manifest: altered: its SHA-256 differs", location=where)
    manifest = parse_manifest(text, where)
    return Bundle.from_parts(manifest, _sections(data, header, manifest, where), where)


def _sections(
    data: memoryview, header: Header, manifest: Manifest, where: str
) -> dict[str, memoryview]:
    if manifest.sections is None:
        raise BundleError("manifest: key 'sections' is missing", location=where)
    offsets, end = section_offsets(
        header.manifest_size, (section.size for section in manifest.sections)
    )
    views: dict[str, memoryview] = {}
    position = HEADER_SIZE + header.manifest_size
    for section, offset in zip(manifest.sections, offsets, strict=True):
        place = f"section {section.name}"
        if section.offset != offset:
            raise BundleError(
                f"{place}: at {section.offset}; its place is {offset}", location=where
            )
        if offset + section.size > data.nbytes:
            raise BundleError(
                f"{place}: bytes [{offset}, {offset + section.size}) are not in the file",
                location=where,
            )
        if any(data[position:offset]):
            raise BundleError(f"{place}: the padding before it is not zero", location=where)
        view = data[offset : offset + section.size]
        if hashlib.sha256(view).hexdigest() != section.sha256:
            raise BundleError(f"{place}: altered: its SHA-256 differs", location=where)
        views[section.name] = view
        position = offset + section.size
    if end != data.nbytes:
        raise BundleError(f"file: {data.nbytes - end} bytes after the last section", location=where)
    return views


def _read(path: str, own: bool) -> memoryview:
    """The file's bytes in page-aligned private memory.

    Not a mapping of the file: that would let the content change after it was checked, and
    would end the process with SIGBUS if somebody truncated the file.
    """
    with _opened(path, own) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("is no regular file", location=path)
        if own and stranger(status):
            raise BundleError(f"belongs to user {status.st_uid}", location=path)
        if own and others_can_write(status):
            mode = stat.S_IMODE(status.st_mode)
            raise BundleError(f"can be written by others (mode {mode:o})", location=path)
        size = status.st_size
        head = os.pread(descriptor, HEADER_SIZE, 0)
        if size > MAX_FILE:
            raise BundleError(f"header: {size} bytes; the limit is {MAX_FILE}", location=path)
        # Before memory is taken: a large file that is no bundle is refused by its first bytes.
        Header.unpack(head, size, path)
        data = _allocate(size, path)
        filled = 0
        while filled < size:
            count = os.preadv(descriptor, [data[filled:]], filled)
            if count == 0:
                raise BundleError(f"file: ends at {filled} of {size} bytes", location=path)
            filled += count
    return data.toreadonly()


def _allocate(size: int, path: str) -> memoryview:
    try:
        return memoryview(mmap.mmap(-1, size))
    except (OSError, ValueError, MemoryError) as error:
        raise BundleError(f"file: no memory for {size} bytes: {error}", location=path) from None


@contextmanager
def _opened(path: str, own: bool) -> Generator[int]:
    # Without O_NONBLOCK, opening a named pipe would wait for a writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if own else 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        if own and isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise BundleError("is a symbolic link", location=path) from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BundleError(f"cannot be read: {reason}", location=path) from error
    try:
        yield descriptor
    except OSError as error:
        raise BundleError(f"cannot be read: {error.strerror}", location=path) from error
    finally:
        os.close(descriptor)

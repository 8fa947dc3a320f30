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
from ..paths import as_path, replacing
from ..permissions import others_can_write, stranger
from .bundle import Bundle
from .format import HEADER_SIZE, MAX_FILE, Header, section_offsets
from .manifest import Manifest
from .manifest_checks import parse_manifest
from .signatures import (
    Signature,
    TrustedKeys,
    check_signature,
    read_private_key,
    sign,
    trusted_keys,
)


def read_bundle(
    path: str | os.PathLike[str], *, own: bool = False, made_here: bool = False
) -> Bundle:
    """The bundle in a file, checked in full: layout, hashes, manifest and every table entry.

    Runs no code. Where ``ARK_TRUSTED_KEYS`` is set, one of these keys must have signed the file;
    else a signature need not be there, but must hold.

    Args:
        path: the file.
        own: whether it lies in this user's cache: symbolic links and files that another user (but
            root) owns or could write are refused, and no signature is asked for.
        made_here: whether processes of this program made it: no signature is asked for.

    Raises:
        BundleError: it names the file and the field; something is missing, altered, out of range,
            of another version, or not signed by a trusted key.
        InvalidUsageError: `path` is none, or ``ARK_TRUSTED_KEYS`` makes no sense.
        UnsupportedError: the package ``cryptography`` is not installed, and trusted keys are set.

    Example:
        >>> read_bundle("mlp.arkbin").manifest.program
        'mlp'
    """
    where = str(as_path(path, "the bundle to read"))
    trusted = None if own or made_here else trusted_keys()
    return _parse(_read(where, own), trusted, where)


def sign_bundle(
    source: str | os.PathLike[str],
    key: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
) -> Signature:
    """Signs a bundle; a signature that it has is replaced.

    Args:
        source: the bundle, which is checked in full first.
        key: a PEM file with a private key of Ed25519, as ``ark sign --generate`` or
            ``openssl genpkey -algorithm ed25519`` make them.
        output: where to write the signed bundle; by default to `source`.

    Raises:
        BundleError: `source` is no bundle that can be loaded.
        InvalidUsageError: `key` is no such file.
        OSError: the file cannot be written.
        UnsupportedError: the package ``cryptography`` is not installed.

    Example:
        >>> from pathlib import Path
        >>> from ark_mlir.bundle.signatures import generate_key
        >>> public_key = generate_key(Path("me.pem"))
        >>> signature = sign_bundle("mlp.arkbin", "me.pem", "signed.arkbin")
    """
    where = str(as_path(source, "the bundle to sign"))
    private = read_private_key(as_path(key, "the key"))
    target = as_path(source if output is None else output, "the file to write")
    data = _read(where, own=False)
    _parse(data, None, where)
    signed = sign(data, private, where)
    with replacing(target) as file:
        file.write(signed)
    return Signature(private.public_key().public_bytes_raw())


def _parse(data: memoryview, trusted: TrustedKeys | None, where: str) -> Bundle:
    header = Header.unpack(bytes(data[:HEADER_SIZE]), data.nbytes, where)
    signature = check_signature(data, header, trusted, where)
    body = data[: header.body_size]
    text = bytes(body[HEADER_SIZE : HEADER_SIZE + header.manifest_size])
    if hashlib.sha256(text).digest() != header.manifest_sha256:
        raise BundleError("manifest: altered: its SHA-256 differs", location=where)
    manifest = parse_manifest(text, where)
    sections = _sections(body, header, manifest, where)
    return Bundle.from_parts(manifest, sections, where, signature)


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

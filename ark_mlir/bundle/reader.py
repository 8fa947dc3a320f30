"""Reading and signing bundles; every part of a file is checked before it is used."""

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
from ..permissions import is_foreign, others_can_write
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
    path: str | os.PathLike[str], *, from_cache: bool = False, made_here: bool = False
) -> Bundle:
    """Returns the bundle in a file, after it has checked layout, hashes, manifest and all tables.

    Runs no code of the bundle. If ``ARK_TRUSTED_KEYS`` is set, one of these keys must have signed
    the file. Otherwise a signature is optional, but a signature that is present must be valid.

    Args:
        path: the file.
        from_cache: the file lies in this user's cache: symbolic links and files that other users
            (except root) own or can write are rejected, and no signature is required.
        made_here: processes of this program wrote the file: no signature is required.

    Raises:
        BundleError: a part of the file is missing, altered, out of range, of another version, or
            not signed by a trusted key; the error names the file and the field.
        InvalidUsageError: `path` is not a path, or ``ARK_TRUSTED_KEYS`` is invalid.
        UnsupportedError: trusted keys are set, and the package ``cryptography`` is not installed.

    Example:
        >>> read_bundle("mlp.arkbin").manifest.program
        'mlp'
    """
    where = str(as_path(path, "the bundle to read"))
    trusted = None if from_cache or made_here else trusted_keys()
    return _parse(_read(where, from_cache), trusted, where)


def sign_bundle(
    source: str | os.PathLike[str],
    key: str | os.PathLike[str],
    output: str | os.PathLike[str] | None = None,
) -> Signature:
    """Signs a bundle, replaces a signature that it already has, and returns the new signature.

    Args:
        source: the bundle, which is checked in full first.
        key: a PEM file with an Ed25519 private key; ``ark sign --generate`` and
            ``openssl genpkey -algorithm ed25519`` create such files.
        output: the file of the signed bundle; by default `source`.

    Raises:
        BundleError: `source` is not a valid bundle.
        InvalidUsageError: `key` is not such a file.
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
    data = _read(where, from_cache=False)
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
        label = f"section {section.name}"
        if section.offset != offset:
            raise BundleError(
                f"{label}: offset is {section.offset}; expected {offset}", location=where
            )
        if offset + section.size > data.nbytes:
            raise BundleError(
                f"{label}: bytes [{offset}, {offset + section.size}) are not in the file",
                location=where,
            )
        if any(data[position:offset]):
            raise BundleError(
                f"{label}: the padding before the section is not zero", location=where
            )
        view = data[offset : offset + section.size]
        if hashlib.sha256(view).hexdigest() != section.sha256:
            raise BundleError(f"{label}: altered: its SHA-256 differs", location=where)
        views[section.name] = view
        position = offset + section.size
    if end != data.nbytes:
        raise BundleError(f"file: {data.nbytes - end} bytes after the last section", location=where)
    return views


def _read(path: str, from_cache: bool) -> memoryview:
    """Returns the bytes of a file in page-aligned private memory.

    The file is not mapped: the content of a mapping can change after it was checked, and a file
    that is truncated meanwhile ends the process with SIGBUS.
    """
    with _opened(path, from_cache) as descriptor:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise BundleError("is not a regular file", location=path)
        if from_cache and is_foreign(status):
            raise BundleError(f"belongs to user {status.st_uid}", location=path)
        if from_cache and others_can_write(status):
            mode = stat.S_IMODE(status.st_mode)
            raise BundleError(f"can be written by others (mode {mode:o})", location=path)
        size = status.st_size
        head = os.pread(descriptor, HEADER_SIZE, 0)
        if size > MAX_FILE:
            raise BundleError(f"header: {size} bytes; the limit is {MAX_FILE}", location=path)
        # The header is checked before memory is allocated: a large file that is not a bundle is
        # rejected by its first bytes.
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
def _opened(path: str, from_cache: bool) -> Generator[int]:
    # Without O_NONBLOCK, opening a named pipe would wait for a writer.
    flags = os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_NOFOLLOW if from_cache else 0)
    try:
        descriptor = os.open(path, flags)
    except (OSError, ValueError) as error:
        if from_cache and isinstance(error, OSError) and error.errno == errno.ELOOP:
            raise BundleError("is a symbolic link", location=path) from None
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise BundleError(f"cannot be read: {reason}", location=path) from error
    try:
        yield descriptor
    except OSError as error:
        raise BundleError(f"cannot be read: {error.strerror}", location=path) from error
    finally:
        os.close(descriptor)

"""Signatures of bundles, and the public keys that a process trusts.

A signed bundle ends with a trailer: a public key, and its Ed25519 signature over all bytes before
the trailer (docs/bundle.md). The signature is checked before any other part of the file except the
header is parsed. The optional package ``cryptography`` makes and verifies signatures:
``pip install 'ark-mlir[sign]'``.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import os
import re
import stat
import struct
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .. import knobs
from ..errors import BundleError, InvalidUsageError, UnsupportedError
from ..paths import as_path
from ..permissions import find_weakness, is_foreign, others_can_write
from .format import TRAILER_SIZE, Header

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

__all__ = [
    "Signature",
    "TrustedKeys",
    "check_signature",
    "generate_key",
    "read_private_key",
    "sign",
    "trusted_keys",
]

_MAGIC = b"ARKSIG\0\1"
_ED25519 = 1
_TRAILER = struct.Struct("<8sII32s64s16s")
assert _TRAILER.size == TRAILER_SIZE
# Prefix of the signed message: signatures made for another purpose do not verify.
_CONTEXT = b"ark bundle, Ed25519 of SHA-512\0"
_PEM = re.compile(rb"-----BEGIN PUBLIC KEY-----.*?-----END PUBLIC KEY-----", re.DOTALL)
_MAX_KEY_FILE = 1 << 20

# File names by public key, which has 32 bytes.
TrustedKeys = Mapping[bytes, str]


@dataclass(frozen=True)
class Signature:
    """The signer of a bundle.

    Attributes:
        key: the public key, 32 bytes.
        name: the file in ``ARK_TRUSTED_KEYS`` that holds the key; None if no trusted keys are set.
        checked: True if the signature was verified; False if no trusted keys are set and the
            package ``cryptography`` is not installed.

    Example:
        >>> signature = Signature(bytes(32), name="keys/alice.pub")
        >>> print(signature)
        Ed25519 AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=, trusted: keys/alice.pub
        >>> ark.bundle.read_bundle("mlp.arkbin").signature is None
        True
    """

    key: bytes
    name: str | None = None
    checked: bool = True

    def __str__(self) -> str:
        key = f"Ed25519 {base64.b64encode(self.key).decode()}"
        if self.name is not None:
            return f"{key}, trusted: {self.name}"
        if not self.checked:
            return f"{key}, not verified: the package cryptography is not installed"
        return f"{key}, not compared with trusted keys"


def check_signature(
    data: memoryview, header: Header, trusted: TrustedKeys | None, where: str
) -> Signature | None:
    """Verifies and returns the signature of a file, or returns None if the file is not signed.

    Args:
        data: the whole file.
        header: the header of the file; only its flag `signed` is used.
        trusted: keys; one of them must have signed the file. None accepts any key, and also a file
            without a signature.
        where: the name of the file in messages.

    Raises:
        BundleError: the signature is invalid, or no trusted key made it.
        UnsupportedError: `trusted` is given, and the package ``cryptography`` is not installed.
    """
    if not header.signed:
        if trusted is not None:
            raise BundleError(
                "signature: the bundle has none, and ARK_TRUSTED_KEYS requires one", location=where
            )
        return None
    key, signature = _parse_trailer(data, where)
    if trusted is not None and key not in trusted:
        raise BundleError(
            f"signature: made by the key {Signature(key)}, which is not in ARK_TRUSTED_KEYS",
            location=where,
        )
    try:
        holds = _verify(key, signature, _message(data[:-TRAILER_SIZE]))
    except UnsupportedError:
        if trusted is not None:
            raise
        return Signature(key, checked=False)
    if not holds:
        raise BundleError("signature: invalid: the file was altered", location=where)
    return Signature(key, None if trusted is None else trusted[key])


def sign(data: bytes | memoryview, key: Ed25519PrivateKey, where: str) -> bytes:
    """Returns the bytes of a bundle's file with a new signature, which replaces an existing one.

    Args:
        data: the bytes of the file.
        key: the private key.
        where: the name of the file in messages.

    Raises:
        BundleError: `data` does not begin with the header of a bundle.
    """
    header = Header.unpack(bytes(data[: Header.SIZE]), len(data), where)
    body = memoryview(data)[: header.body_size]
    signed = header.with_signature(True).pack() + bytes(body[Header.SIZE :])
    public = key.public_key().public_bytes_raw()
    signature = key.sign(_message(memoryview(signed)))
    return signed + _TRAILER.pack(_MAGIC, _ED25519, 0, public, signature, bytes(16))


def _parse_trailer(data: memoryview, where: str) -> tuple[bytes, bytes]:
    trailer = bytes(data[-TRAILER_SIZE:])
    magic, algorithm, reserved, key, signature, padding = _TRAILER.unpack(trailer)
    if (magic, algorithm, reserved) != (_MAGIC, _ED25519, 0) or any(padding):
        raise BundleError("signature: its format is unknown to this version of ark", location=where)
    return key, signature


def _message(signed: memoryview) -> bytes:
    return _CONTEXT + hashlib.sha512(signed).digest()


def _verify(key: bytes, signature: bytes, message: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise _missing() from None
    try:
        Ed25519PublicKey.from_public_bytes(key).verify(signature, message)
    except (InvalidSignature, ValueError):
        return False
    return True


def _missing() -> UnsupportedError:
    return UnsupportedError(
        "checking and making signatures needs the package cryptography: "
        "pip install 'ark-mlir[sign]'"
    )


# -- keys ------------------------------------------------------------------------------------------


def trusted_keys() -> TrustedKeys | None:
    """Reads the keys that ``ARK_TRUSTED_KEYS`` names; returns None if the variable is not set.

    Raises:
        InvalidUsageError: the variable names a missing file, a file without a key, or a file that
            another user could write.
        UnsupportedError: a key is PEM, and the package ``cryptography`` is not installed.
    """
    path = knobs.TRUSTED_KEYS.get()
    if path is None:
        return None
    keys: dict[bytes, str] = {}
    for file in _key_files(Path(path)):
        for key in _public_keys(file):
            keys.setdefault(key, str(file))
    if not keys:
        raise InvalidUsageError("ARK_TRUSTED_KEYS: holds no key", location=path)
    return keys


def _key_files(path: Path) -> Iterator[Path]:
    """Yields the file itself, or all files of the folder except hidden ones."""
    if not _checked(path):
        yield path
        return
    for file in sorted(path.iterdir()):
        if not file.name.startswith("."):
            if _checked(file):
                raise InvalidUsageError("ARK_TRUSTED_KEYS: is a folder", location=str(file))
            yield file


def _checked(path: Path) -> bool:
    """Returns True if a path is a folder; raises InvalidUsageError if other users can write it."""
    try:
        reason = find_weakness(path)
        status = path.stat()
    except OSError as error:
        raise InvalidUsageError(
            f"ARK_TRUSTED_KEYS: cannot be read: {error.strerror}", location=str(path)
        ) from None
    if is_foreign(status) or others_can_write(status):
        reason = f"user {status.st_uid}, mode {stat.S_IMODE(status.st_mode):o}"
    if reason is not None:
        raise InvalidUsageError(
            f"ARK_TRUSTED_KEYS: another user could change it: {reason}", location=str(path)
        )
    return stat.S_ISDIR(status.st_mode)


def _public_keys(file: Path) -> Iterator[bytes]:
    """Yields the keys in a file.

    The file is PEM, or has one key of 32 bytes in base64 per line; ``#`` begins a comment.
    """
    try:
        if file.stat().st_size > _MAX_KEY_FILE:
            raise _no_key(file)
        text = file.read_bytes()
    except OSError as error:
        raise InvalidUsageError(
            f"ARK_TRUSTED_KEYS: cannot be read: {error.strerror}", location=str(file)
        ) from None
    for pem in _PEM.findall(text):
        yield _from_pem(pem, file)
    for line in _PEM.sub(b"", text).splitlines():
        word = line.partition(b"#")[0].strip()
        if word:
            yield _from_base64(word, file)


def _from_pem(pem: bytes, file: Path) -> bytes:
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
        from cryptography.hazmat.primitives.serialization import load_pem_public_key
    except ImportError:
        raise _missing() from None
    try:
        key = load_pem_public_key(pem)
    except ValueError:
        raise _no_key(file) from None
    if not isinstance(key, Ed25519PublicKey):
        raise _no_key(file)
    return key.public_bytes_raw()


def _from_base64(word: bytes, file: Path) -> bytes:
    try:
        key = base64.b64decode(word, validate=True)
    except binascii.Error:
        raise _no_key(file) from None
    if len(key) != 32:
        raise _no_key(file)
    return key


def _no_key(file: Path) -> InvalidUsageError:
    return InvalidUsageError(
        "ARK_TRUSTED_KEYS: the file holds something other than Ed25519 public keys",
        location=str(file),
    )


def read_private_key(path: Path) -> Ed25519PrivateKey:
    """Returns the private key in a PEM file (PKCS #8, not encrypted).

    Raises:
        InvalidUsageError: the file cannot be read, or holds no such key.
        UnsupportedError: the package ``cryptography`` is not installed.
    """
    try:
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
        from cryptography.hazmat.primitives.serialization import load_pem_private_key
    except ImportError:
        raise _missing() from None
    try:
        key = load_pem_private_key(path.read_bytes(), password=None)
    except OSError as error:
        raise InvalidUsageError(f"cannot be read: {error.strerror}", location=str(path)) from None
    except TypeError:
        raise InvalidUsageError(
            "the private key is encrypted; decrypt it first: openssl pkey -in KEY -out PLAIN",
            location=str(path),
        ) from None
    except Exception:  # the package documents no common base class of its errors
        key = None
    if not isinstance(key, Ed25519PrivateKey):
        raise InvalidUsageError("holds no Ed25519 private key in PEM format", location=str(path))
    return key


def generate_key(path: str | os.PathLike[str]) -> Path:
    """Writes a new private key to `path`, and its public key to a file beside it.

    Only this user can read the private key. Returns the path of the public key.

    Raises:
        InvalidUsageError: one of the files exists already.
        OSError: one of the files cannot be written.
        UnsupportedError: the package ``cryptography`` is not installed.
    """
    try:
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
    except ImportError:
        raise _missing() from None
    private = as_path(path, "the key")
    public = private.with_name(f"{private.name}.pub")
    for file in (private, public):
        if os.path.lexists(file):
            raise InvalidUsageError("exists already", location=str(file))
    key = Ed25519PrivateKey.generate()
    private_text = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    public_text = key.public_key().public_bytes(
        serialization.Encoding.PEM, serialization.PublicFormat.SubjectPublicKeyInfo
    )
    for file, text, mode in ((private, private_text, 0o600), (public, public_text, 0o644)):
        flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
        with os.fdopen(os.open(file, flags, mode), "wb") as stream:
            stream.write(text)
    return public

"""A checked bundle in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import BundleError, shorten
from ..paths import as_path, replacing
from .format import REQUIRED_SECTIONS, SECTIONS, Bytes
from .manifest import Buffer, Manifest
from .manifest_checks import parse_manifest
from .signatures import Signature
from .tables import Tables, parse_tables
from .writer import encode


@dataclass(frozen=True)
class Bundle:
    """A compiled program: manifest, sections, and the schedule's tables, all checked.

    Attributes:
        manifest: buffers, tasks, semaphores and target.
        sections: read-only bytes by section name.
        tables: the schedule.
        where: the path of the file. For a bundle that was not read from a file, the text that error
            messages show in place of a path.
        signature: the signer of the file; None if the file is not signed or there is no file.

    Example:
        >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
        >>> bundle.manifest.program, sorted(bundle.sections)[:2]
        ('mlp', ['constants', 'instructions'])
        >>> bundle.save("copy.arkbin")
    """

    manifest: Manifest
    sections: Mapping[str, memoryview]
    tables: Tables
    where: str = "bundle"
    signature: Signature | None = None
    _cache: dict[str, str] = field(default_factory=dict[str, str], repr=False, compare=False)

    @classmethod
    def from_parts(
        cls,
        manifest: Manifest | Mapping[str, Any] | bytes | str,
        sections: Mapping[str, Bytes],
        where: str = "bundle",
        signature: Signature | None = None,
    ) -> Bundle:
        """Returns the bundle of a manifest and its sections.

        Args:
            manifest: a record, a JSON object or JSON text.
            sections: the bytes of each section by name.
            where: the name of the bundle in error messages.
            signature: the signature of the file from which the parts were read.

        Raises BundleError if a reader would reject a file with these parts.

        Example:
            >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
            >>> Bundle.from_parts(bundle.manifest.as_json(), bundle.sections).manifest.program
            'mlp'
        """
        if isinstance(manifest, str):
            manifest = manifest.encode("utf-8", "surrogatepass")
        if not isinstance(manifest, Manifest):
            manifest = parse_manifest(manifest, where)
        views = _views(sections, where)
        _check_constants(manifest, views, where)
        if not views["kernel"].nbytes:
            raise BundleError("section kernel is empty", location=where)
        return cls(manifest, views, parse_tables(manifest, views, where), where, signature)

    @property
    def mlir(self) -> str | None:
        """The program at the stage `synchronization` as MLIR text.

        None if the bundle has no section `mlir`.

        Raises BundleError if the section is not valid UTF-8.
        """
        if "mlir" not in self.sections:
            return None
        if "mlir" not in self._cache:
            try:
                self._cache["mlir"] = bytes(self.sections["mlir"]).decode("utf-8")
            except UnicodeDecodeError as error:
                raise BundleError(f"section mlir: {error}", location=self.where) from None
        return self._cache["mlir"]

    def constant(self, buffer: Buffer) -> memoryview:
        """Returns the bytes of a constant, without a copy.

        Args:
            buffer: a buffer of kind ``constant`` of this bundle.

        Example:
            >>> with ark.Program("shift") as program:
            ...     x = ark.input("x", (2,))
            ...     y = ark.output("y", x + ark.constant([0.5, 1.5], ark.fp32))
            >>> bundle = ark.compile(program, target="cpu:2").bundle
            >>> (buffer,) = bundle.manifest.of_kind("constant")
            >>> np.frombuffer(bundle.constant(buffer), np.float32)
            array([0.5, 1.5], dtype=float32)
        """
        return self.sections["constants"][buffer.offset : buffer.offset + buffer.bytes]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Writes the bundle to `path`, without a signature; equal bundles give equal bytes.

        Example:
            >>> ark.bundle.read_bundle("mlp.arkbin").save("copy.arkbin")

        Raises InvalidUsageError if `path` is not a path, and OSError if the file cannot be written.
        """
        write_bundle(path, self.manifest, self.sections)

    def encode(self) -> Iterator[Bytes]:
        """Yields the bytes of the file, in blocks.

        Raises BundleError if the manifest is larger than the format allows.

        Example:
            >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
            >>> b"".join(bundle.encode())[:6]
            b'ARKBIN'
        """
        return encode(self.manifest, self.sections, self.where)


def write_bundle(
    path: str | os.PathLike[str],
    manifest: Manifest | Mapping[str, Any] | bytes | str,
    sections: Mapping[str, Bytes],
    *,
    durable: bool = False,
    private: bool = False,
) -> None:
    """Writes a program to `path`.

    The file is replaced atomically: a reader sees the old file or the new one, never a part. Equal
    content gives equal bytes.

    Args:
        path: the file; its name usually ends in ``.arkbin``.
        manifest: the manifest without section offsets: a record, an object or its JSON text.
        sections: bytes by section name.
        durable: flushes the content to the disk before it replaces `path`, so that a crash of the
            machine leaves no partial file.
        private: makes the file readable by this user only; otherwise the umask decides.

    Raises:
        BundleError: a reader would reject the content.
        InvalidUsageError: `path` is not a path.
        OSError: the file cannot be written.

    Example:
        >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
        >>> write_bundle("copy.arkbin", bundle.manifest, bundle.sections)
    """
    target = as_path(path, "the file to write")
    bundle = Bundle.from_parts(manifest, sections, where=str(target))
    with replacing(target, private=private) as file:
        for block in bundle.encode():
            file.write(block)
        if durable:
            file.flush()
            os.fsync(file.fileno())


def _views(sections: Mapping[str, Bytes], where: str) -> dict[str, memoryview]:
    if unknown := sections.keys() - set(SECTIONS):
        raise BundleError(f"unknown section {shorten(min(unknown))}", location=where)
    if missing := [name for name in REQUIRED_SECTIONS if name not in sections]:
        raise BundleError(f"section {missing[0]} is missing", location=where)
    # The order of SECTIONS makes the file independent of the order of the mapping.
    views = {name: sections[name] for name in SECTIONS if name in sections}
    views.setdefault("constants", b"")
    return {name: memoryview(data).cast("B").toreadonly() for name, data in views.items()}


def _check_constants(manifest: Manifest, views: Mapping[str, memoryview], where: str) -> None:
    size = views["constants"].nbytes
    for buffer in manifest.of_kind("constant"):
        if buffer.offset + buffer.bytes > size:
            raise BundleError(
                f"constant {shorten(buffer.name)}: bytes [{buffer.offset}, "
                f"{buffer.offset + buffer.bytes}) are not in the section of {size} bytes",
                location=where,
            )

"""The bytes of a bundle's file, the same for equal content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from ..errors import BundleError
from .format import HEADER_SIZE, MAX_MANIFEST, Bytes, Header, section_offsets
from .manifest import Manifest, Section


def encode(manifest: Manifest, sections: Mapping[str, memoryview], where: str) -> Iterator[Bytes]:
    """Yields the bytes of a bundle's file, in blocks; messages name the file `where`."""
    names, views = list(sections), list(sections.values())
    digests = [hashlib.sha256(view).hexdigest() for view in views]
    sizes = [view.nbytes for view in views]
    # The manifest holds the offsets of sections, and the offsets depend on its length. The length
    # grows with the offsets, so that the iteration from zero reaches the least fixed point.
    length = 0
    while True:
        offsets, end = section_offsets(length, sizes)
        text = manifest.encode(map(Section, names, offsets, sizes, digests))
        if len(text) == length:
            break
        length = len(text)
    if length > MAX_MANIFEST:
        raise BundleError(
            f"manifest of {length} bytes; the limit is {MAX_MANIFEST}", location=where
        )
    yield Header(length, end, hashlib.sha256(text).digest()).pack()
    yield text
    position = HEADER_SIZE + length
    for offset, view in zip(offsets, views, strict=True):
        yield bytes(offset - position)
        yield view
        position = offset + view.nbytes

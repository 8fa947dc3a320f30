"""The bytes of a bundle's file, the same for equal content."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from ..errors import BundleError
from .format import HEADER_SIZE, MAX_MANIFEST, Bytes, Header, section_offsets
from .manifest import Manifest, Section


def encode(manifest: Manifest, sections: Mapping[str, memoryview], where: str) -> Iterator[Bytes]:
    """The bytes of a bundle's file, in parts; `where` stands for it in messages."""
    names, views = list(sections), list(sections.values())
    digests = [hashlib.sha256(view).hexdigest() for view in views]
    sizes = [view.nbytes for view in views]
    # Offsets are in the manifest, and its length moves them. It only grows with them, so
    # starting from the least possible this ends, and always at the same place.
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

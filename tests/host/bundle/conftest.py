"""Writes bundles with invalid contents and valid hashes."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.bundle.format import Header, align

Seal = Callable[..., Path]


def _seal(
    path: Path,
    manifest: Any,
    sections: dict[str, bytes],
    encode: Callable[[Any], bytes] = lambda value: json.dumps(value).encode(),
    move: Callable[[dict[str, dict[str, Any]]], None] = lambda table: None,
) -> Path:
    """Writes a file with these contents; `move` may alter the table of sections before it is
    sealed."""
    length = 0
    while True:
        end, table = 64 + length, {}
        for name, data in sections.items():
            digest = hashlib.sha256(data).hexdigest()
            table[name] = {"offset": align(end), "size": len(data), "sha256": digest}
            end = align(end) + len(data)
        move(table)
        whole = {**manifest, "sections": table} if isinstance(manifest, dict) else manifest
        text = encode(whole)
        if len(text) == length:
            break
        length = len(text)
    data = bytearray(Header(length, end, hashlib.sha256(text).digest()).pack() + text)
    for content in sections.values():
        data += bytes(-len(data) % 64) + content
    path.write_bytes(data)
    return path


@pytest.fixture
def seal(tmp_path: Path) -> Seal:
    """``seal(manifest, sections, …)`` writes such a file and returns its path."""
    return lambda *args, **kwargs: _seal(tmp_path / "sealed.arkbin", *args, **kwargs)

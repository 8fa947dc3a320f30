#!/usr/bin/env python3
"""Flips bits of cache entries; each must be refused with a warning and compiled again.

tests/soak/flip_cache.py --count 1000 --seed 1
tests/soak/flip_cache.py --seed 1 --only 12           # one case again
"""

from __future__ import annotations

import logging
import sys
import tempfile
from pathlib import Path
from random import Random

from fuzzing import main

from ark_mlir.bundle import Bundle, store
from ark_mlir.bundle.store import BundleStore
from ark_mlir.testing.toy import add_program, compile_kernel

FULL_COUNT = 1_000

_FOLDER = tempfile.TemporaryDirectory(prefix="ark-")
_STORE = BundleStore(Path(_FOLDER.name) / "cache", 1 << 30)
_BUNDLE = Bundle.from_parts(*add_program().parts(compile_kernel()))


class _Warnings(logging.Handler):
    """Collects the warnings of the cache."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(record.getMessage())


def case(random: Random) -> str:
    """Flips one to three bits of one entry."""
    store._SAID.clear()
    warnings = _Warnings()
    log = logging.getLogger("ark.cache")
    log.addHandler(warnings)
    try:
        _STORE.save("key", _BUNDLE)
        (path,) = _STORE.folder.glob("*.arkbin")
        before = path.read_bytes()
        data = bytearray(before)
        for _ in range(random.randint(1, 3)):
            data[random.randrange(len(data))] ^= 1 << random.randrange(8)
        path.write_bytes(data)
        altered = bytes(data) != before
        assert (_STORE.load("key") is None) == altered, "a damaged entry was used"
        assert len(warnings.messages) == altered, warnings.messages
        _STORE.save("key", _BUNDLE)
        loaded = _STORE.load("key")
        assert loaded is not None, "the new entry does not serve"
        assert loaded.sections["kernel"] == _BUNDLE.sections["kernel"]
    finally:
        log.removeHandler(warnings)
    return "refused and compiled again" if altered else "the same bits twice"


if __name__ == "__main__":
    sys.exit(main("flip_cache", FULL_COUNT, case))

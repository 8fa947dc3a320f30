#!/usr/bin/env python3
"""Loads bundles with ARK_TRUSTED_KEYS set: only bundles that a trusted key signed are loaded.

A case takes a bundle signed by a trusted key, such a bundle with altered bytes, a bundle without a
signature, or a bundle signed by an unknown key, perhaps under the trusted key's name.

    tests/soak/fuzz_signatures.py --count 10000 --seed 1
    tests/soak/fuzz_signatures.py --seed 1 --only 1234    # one case again
"""

from __future__ import annotations

import base64
import os
import sys
import tempfile
from pathlib import Path
from random import Random

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from fuzz_bundles import ALTERATIONS, FILES, SIGNED, alter_signature
from fuzzing import check_message, main

from ark_mlir.bundle import read_bundle
from ark_mlir.bundle.format import TRAILER_SIZE
from ark_mlir.bundle.signatures import sign
from ark_mlir.errors import BundleError

FULL_COUNT = 100_000

_KEY_OFFSET, _KEY_SIZE = 16, 32
_STRANGER = Ed25519PrivateKey.from_private_bytes(b"\xff" * 32)
_FILE = os.memfd_create("fuzz")
_PATH = Path(f"/proc/self/fd/{_FILE}")


def _trusted(signed: bytes) -> bytes:
    """Returns the public key in a signed file."""
    begin = len(signed) - TRAILER_SIZE + _KEY_OFFSET
    return signed[begin : begin + _KEY_SIZE]


_FOLDER = tempfile.TemporaryDirectory(prefix="ark-")
_KEYS = Path(_FOLDER.name) / "keys"
_KEYS.write_bytes(b"\n".join(base64.b64encode(_trusted(signed)) for signed in SIGNED))
os.environ["ARK_TRUSTED_KEYS"] = str(_KEYS)


def by_stranger(random: Random, base: int) -> bytes:
    """Returns a bundle, valid or altered, that an unknown key signed."""
    data: bytes | bytearray = FILES[base]
    if random.random() < 0.5:
        data = random.choice(ALTERATIONS)(random, base)
    try:
        signed = bytearray(sign(bytes(data), _STRANGER, "case"))
    except BundleError:
        return bytes(data)  # the data has no valid header
    if random.random() < 0.5:
        begin = len(signed) - TRAILER_SIZE + _KEY_OFFSET
        signed[begin : begin + _KEY_SIZE] = _trusted(SIGNED[base])
    return bytes(signed)


def without(random: Random, base: int) -> bytes:
    """Returns a bundle without its signature, or with a part of it."""
    if random.random() < 0.5:
        return FILES[base]
    data = bytearray(SIGNED[base][:-TRAILER_SIZE])
    data[12:16] = bytes(4)
    data[24:32] = len(data).to_bytes(8, "little")
    return bytes(data)


def case(random: Random) -> str:
    """Reads one file and compares the result with the expected one."""
    base, kind = random.randrange(len(FILES)), random.randrange(8)
    if kind == 0:
        name, data = "trusted", SIGNED[base]
    elif kind < 4:
        name, data = "altered", bytes(alter_signature(random, base))
    elif kind < 6:
        name, data = "stranger", by_stranger(random, base)
    else:
        name, data = "unsigned", without(random, base)
    os.ftruncate(_FILE, 0)
    os.pwrite(_FILE, data, 0)
    genuine = data in SIGNED
    try:
        read_bundle(_PATH)
    except BundleError as error:
        check_message(error)
        assert not genuine, "a bundle with a trusted signature was refused"
        return f"{name}: refused"
    assert genuine, "a bundle without a trusted signature was loaded"
    return f"{name}: loaded, as signed"


if __name__ == "__main__":
    sys.exit(main("fuzz_signatures", FULL_COUNT, case))

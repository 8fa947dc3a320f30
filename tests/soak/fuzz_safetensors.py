#!/usr/bin/env python3
"""Fuzzes the reader of safetensors files: tensors or an InvalidUsageError, and nothing else.

Half of the cases alter bytes, the others alter the header as JSON and leave the file's lengths
right, so that the checks of types, shapes and offsets are reached.

    tests/soak/fuzz_safetensors.py --count 10000 --seed 1
    tests/soak/fuzz_safetensors.py --seed 1 --only 1234   # one case again
"""

from __future__ import annotations

import json
import os
import sys
from random import Random
from typing import Any

import numpy as np
from alterations import alter_bytes, alter_json
from fuzzing import check_message, main

from ark_mlir.errors import InvalidUsageError
from ark_mlir.runtime.arrays.safetensors import read_safetensors

FULL_COUNT = 100_000

HEADERS: list[dict[str, Any]] = [
    {
        "a": {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]},
        "b": {"dtype": "BF16", "shape": [], "data_offsets": [24, 26]},
        "__metadata__": {"format": "pt"},
    },
    {
        "model.layers.0.weight": {"dtype": "F8_E4M3", "shape": [4, 4], "data_offsets": [0, 16]},
        "none": {"dtype": "I64", "shape": [0, 7], "data_offsets": [16, 16]},
        "double": {"dtype": "F64", "shape": [2], "data_offsets": [16, 32]},
        "flags": {"dtype": "BOOL", "shape": [3], "data_offsets": [32, 35]},
    },
    {},
]
_KEYS = ("", "a", "b", "x", "dtype", "shape", "data_offsets", "__metadata__")
_FILE = os.memfd_create("fuzz")


def _file(header: bytes, size: int) -> bytearray:
    return bytearray(len(header).to_bytes(8, "little") + header + bytes(range(64))[:size])


def _size(header: dict[str, Any]) -> int:
    return max(
        (entry["data_offsets"][1] for entry in header.values() if "dtype" in entry), default=0
    )


def case(random: Random) -> str:
    """Alters one file and reads it."""
    header = random.choice(HEADERS)
    text, size = json.dumps(header).encode(), _size(header)
    kind = random.choice(("bytes", "json", "json", "text"))
    if kind == "bytes":
        data = _file(text, size)
        alter_bytes(random, data)
    elif kind == "text":
        altered = bytearray(text)
        alter_bytes(random, altered)
        data = _file(bytes(altered), size)
    else:
        value = json.loads(text)
        alter_json(random, value, _KEYS)
        data = _file(json.dumps(value).encode(), size)
    os.ftruncate(_FILE, 0)
    os.pwrite(_FILE, data, 0)
    try:
        tensors = read_safetensors(f"/proc/self/fd/{_FILE}")
    except InvalidUsageError as error:
        check_message(error)
        return f"{kind}: refused"
    _use(tensors, len(data))
    return f"{kind}: accepted"


def _use(tensors: dict[str, np.ndarray[Any, Any]], size: int) -> None:
    """Checks that every byte of a tensor lies in the file."""
    assert sum(array.nbytes for array in tensors.values()) <= size
    for array in tensors.values():
        assert not array.flags.writeable
        array.tobytes()


if __name__ == "__main__":
    sys.exit(main("fuzz_safetensors", FULL_COUNT, case))

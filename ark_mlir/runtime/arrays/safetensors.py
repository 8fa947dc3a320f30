"""Safetensors files: a checked header, arrays that map the file, and writing.

Files of weights are large, so that their contents are mapped and not copied.
The format: https://github.com/huggingface/safetensors, "Format".
"""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import json
import math
import mmap
import os
import stat
from typing import TYPE_CHECKING, Any

import numpy as np

from ... import dtypes
from ...errors import InvalidUsageError
from ...json_checks import Document, Node, parse_json
from ...paths import as_path, replacing

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

_MAX_HEADER = 100 << 20
_MAX_DIMENSION = 1 << 47
_MAX_RANK = 64  # numpy's
_DTYPES = {
    "F32": dtypes.fp32,
    "F16": dtypes.fp16,
    "BF16": dtypes.bf16,
    "F8_E4M3": dtypes.fp8_e4m3,
    "F8_E5M2": dtypes.fp8_e5m2,
    "I8": dtypes.int8,
    "U8": dtypes.uint8,
    "I32": dtypes.int32,
    "U32": dtypes.uint32,
    "I64": dtypes.int64,
    "BOOL": dtypes.bool_,
}
# Types that ark does not support: a file may have such tensors, but they cannot be bound.
_OTHER = {"F64": "f8", "I16": "i2", "U16": "u2", "U64": "u8"}


def read_safetensors(path: str | os.PathLike[str]) -> dict[str, NDArray[Any]]:
    """Returns the tensors of a file by name, as read-only arrays that map the file.

    The file must not change while the arrays live. Raises InvalidUsageError if the file cannot be
    read or is malformed, or if its tensors overlap, leave gaps or exceed the file.

    Example:
        >>> read_safetensors("mlp.safetensors")["w"].shape
        (256, 64)
    """
    where = os.fspath(path)
    try:
        header, data = _read(where)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InvalidUsageError(f"cannot be read: {reason}", location=where) from None
    document = Document(where, "safetensors header", InvalidUsageError)
    return _tensors(parse_json(header, document), data)


def _read(where: str) -> tuple[bytes, memoryview]:
    """Returns the header of a file, and its mapped bytes after the header."""
    descriptor = os.open(where, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        status = os.fstat(descriptor)
        if not stat.S_ISREG(status.st_mode):
            raise ValueError("it is not a regular file")
        head = os.pread(descriptor, 8, 0)
        length = int.from_bytes(head, "little")
        if len(head) < 8 or length > min(_MAX_HEADER, status.st_size - 8):
            raise ValueError("it is not a safetensors file, or it is truncated")
        # The header is copied, so that it cannot change between check and use.
        header = os.pread(descriptor, length, 8)
        if len(header) < length:
            raise ValueError("it is truncated")
        mapped = mmap.mmap(descriptor, status.st_size, access=mmap.ACCESS_READ)
    finally:
        os.close(descriptor)
    return header, memoryview(mapped)[8 + length :]


def _tensors(root: Node, data: memoryview) -> dict[str, NDArray[Any]]:
    tensors: dict[str, NDArray[Any]] = {}
    spans: list[tuple[int, int, str]] = []
    for name in root.mapping():
        if name == "__metadata__":
            continue
        node = root[name]
        node.keys(frozenset({"dtype", "shape", "data_offsets"}))
        begin, end = _span(node["data_offsets"], data.nbytes)
        spans.append((begin, end, name))
        tensors[name] = _tensor(node, data[begin:end])
    _check_layout(root, spans, data.nbytes)
    return tensors


def _span(node: Node, size: int) -> tuple[int, int]:
    offsets = node.each(lambda item: item.integer(0, size))
    if len(offsets) != 2 or offsets[0] > offsets[1]:
        raise node.error("expected begin and end")
    return offsets[0], offsets[1]


def _tensor(node: Node, data: memoryview) -> NDArray[Any]:
    shape = node["shape"].each(lambda item: item.integer(0, _MAX_DIMENSION))
    if len(shape) > _MAX_RANK:
        raise node["shape"].error(f"rank {len(shape)}; the limit is {_MAX_RANK}")
    word = node["dtype"].word((*_DTYPES, *_OTHER))
    dtype = _DTYPES[word].numpy if word in _DTYPES else np.dtype(_OTHER[word])
    if math.prod(shape) * dtype.itemsize != data.nbytes:
        raise node.error(f"{list(shape)} of {word} do not take {data.nbytes} bytes")
    try:
        return np.ndarray(shape, dtype, data)
    except ValueError as error:  # an empty tensor whose other extents overflow
        raise node["shape"].error(str(error)) from None


def _check_layout(root: Node, spans: list[tuple[int, int, str]], size: int) -> None:
    position = 0
    for begin, end, name in sorted(spans):
        if begin != position:
            raise root[name].error(f"begins at {begin}; the tensor before it ends at {position}")
        position = end
    if position != size:
        raise root.error(f"tensors take {position} bytes of {size}")


def write_safetensors(
    path: str | os.PathLike[str], arrays: Mapping[str, NDArray[Any]], *, durable: bool = False
) -> None:
    """Writes arrays to a file, which is replaced atomically: a reader sees the old file or the new.

    Args:
        path: the file.
        arrays: arrays of the element types of ark, by name.
        durable: flushes the content to the disk before it replaces `path`.

    Raises InvalidUsageError if an array has another element type, and OSError if the file cannot
    be written, for example on a full disk; the old file then stays.

    Example:
        >>> write_safetensors("copy.safetensors", {"w": w})
    """
    target = as_path(path, "the file to write")
    letters = {dtype.numpy: name for name, dtype in _DTYPES.items()}
    header: dict[str, Any] = {}
    dense: list[NDArray[Any]] = []
    begin = 0
    # The largest items come first, so that every array is aligned.
    for name in sorted(arrays, key=lambda name: (-np.asarray(arrays[name]).dtype.itemsize, name)):
        array = np.asarray(arrays[name])
        if array.dtype not in letters:
            raise InvalidUsageError(f"array {name!r} is {array.dtype}", location=str(target))
        end = begin + array.nbytes
        header[name] = {
            "dtype": letters[array.dtype], "shape": list(array.shape), "data_offsets": [begin, end]
        }  # fmt: skip
        dense.append(np.ascontiguousarray(array))
        begin = end
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    with replacing(target) as file:
        file.write(len(text).to_bytes(8, "little") + text)
        for array in dense:
            file.write(array.reshape(-1).view(np.uint8).data)
        if durable:
            file.flush()
            os.fsync(file.fileno())

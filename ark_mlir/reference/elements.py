"""Conversion of constant attributes to numpy arrays."""

# The stubs of numpy and of MLIR's bindings leave the elements of arrays and lists unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

import re

import numpy as np

from .. import ir
from ..dtypes import DType, from_mlir
from ..errors import UnsupportedError
from .bounded import Array

__all__ = ["to_array"]

_DENSE = re.compile(r"dense<(.*)> : ", re.DOTALL)
_NUMBER = re.compile(r"0x[0-9A-Fa-f]+|[-+0-9.eE]+|true|false")
# Element types whose attributes implement Python's buffer protocol.
_BUFFER = ("f32", "f16", "i8", "i32", "i64", "ui8", "ui32", "i1")


def to_array(attribute: ir.Attribute) -> Array:
    """Returns the elements of a dense attribute as an array of the dtype's numpy type."""
    shaped = ir.ShapedType(attribute.type)
    shape, dtype = tuple(shaped.shape), from_mlir(str(shaped.element_type))
    if not isinstance(attribute, ir.DenseElementsAttr):
        raise UnsupportedError(f"constant {str(attribute)[:40]} cannot be interpreted")
    if dtype.mlir in _BUFFER and not attribute.is_splat:
        return np.array(attribute, dtype=dtype.numpy).reshape(shape)
    return _parsed(str(attribute), shape, dtype)


def _parsed(text: str, shape: tuple[int, ...], dtype: DType) -> Array:
    # The bindings cannot read bf16, 8-bit floats and splats, but the text can be parsed.
    match = _DENSE.match(text)
    body = match.group(1) if match else ""
    if body.startswith('"0x'):
        data = np.frombuffer(bytes.fromhex(body[3:-1]), dtype.numpy)
    else:
        data = np.array([_number(word, dtype) for word in _NUMBER.findall(body)], dtype.numpy)
    return np.broadcast_to(data.reshape(shape if data.size != 1 else ()), shape)


def _number(word: str, dtype: DType) -> object:
    if word in ("true", "false"):
        return word == "true"
    if word.startswith("0x"):
        # MLIR prints NaN and infinities as bits.
        bits = np.array([int(word, 16)], f"u{dtype.itemsize}")
        return bits.view(dtype.numpy)[0]
    return float(word) if dtype.is_float else int(word)

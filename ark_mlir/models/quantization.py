"""Quantized weights of Hugging Face files: dequantized when a model is loaded, or kept quantized.

Known are MXFP4 of gpt-oss, FP8 with scales of blocks, rows or whole matrices (:mod:`.fp8_weights`),
and GPTQ and AWQ (:mod:`.packed_weights`). Products have the dtype of the model:
activations are not quantized. A scale that is zero, infinite or NaN is an error: a layer would have
zeros or NaN, and the model would compute wrong tokens. MXFP4's scale 255 is NaN by its
format; a checkpoint with it is damaged.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType
from ..errors import InvalidUsageError
from .config import Config
from .fp8_weights import Fp8Format, check_plain, read_compressed, read_fbgemm, read_fp8
from .kept_weights import Layout, kept_layers
from .packed_weights import PackedFormat, read_awq, read_gptq
from .scales import check_scales
from .weights import Arrays, spellings

__all__ = ["Dequantize", "find_layouts", "keep_layers", "read_quantization"]

# Takes the tensors of the files, the dtype of the result, and the folder for messages.
Dequantize = Callable[[Arrays, DType, str], Arrays]

_PACKED = {"gptq": read_gptq, "awq": read_awq}
_FP8 = {"fp8": read_fp8, "fbgemm_fp8": read_fbgemm, "compressed-tensors": read_compressed}
# The numbers of FP4 (E2M1), by their bits.
_HALF = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0]
_FP4 = np.array([*_HALF, *(-number for number in _HALF)], np.float32)
# MXFP4 has one scale for this number of elements, two of which are a byte.
_GROUP = 32
# The scales are powers of two with this bias; the largest number of 8 bits is NaN.
_SCALE_BIAS, _SCALE_NAN = 127, 255


def read_quantization(config: Config) -> Dequantize:
    """Reads the quantization of the weights; returns the function that dequantizes them.

    Raises InvalidUsageError if the method is unknown or an entry of it is not supported.
    """
    section = config.section("quantization_config")
    if section is None:
        return check_plain
    method = section.word("quant_method")
    section.skip("modules_to_not_convert")
    if method == "mxfp4":
        section.skip("dequantize")
        section.check_known()
        return _from_mxfp4
    if method in _FP8:
        return _FP8[method](section)
    if method in _PACKED:
        if config.entries.get("model_type") == "gpt2":
            raise config.error(f"{method} is not supported for gpt2, whose matrices are transposed")
        return _PACKED[method](section)
    raise config.error(
        f"unknown quantization {method!r}; known are mxfp4, {', '.join(_FP8)}, gptq and awq; save "
        "the model with its weights dequantized to load it"
    )


def find_layouts(quantization: Dequantize, config: Config, tensors: Arrays) -> dict[str, Layout]:
    """Returns the layers whose weights can stay quantized in memory, by their names in the files.

    Raises InvalidUsageError if the weights are not in FP8, GPTQ or AWQ.
    """
    if not isinstance(quantization, Fp8Format | PackedFormat):
        raise config.error(
            "keep_quantized needs weights in FP8, GPTQ or AWQ; load this model without it"
        )
    return quantization.layouts(tensors)


def keep_layers(
    quantization: Dequantize, tensors: Arrays, parameters: Iterable[str], where: str
) -> Arrays:
    """Returns the tensors of the files, with the layers packed that `parameters` have quantized."""
    names = kept_layers(parameters)
    if not names or not isinstance(quantization, Fp8Format | PackedFormat):
        return tensors
    known = quantization.layouts(tensors)
    found = {name: [each for each in spellings(name) if each in known] for name in names}
    lost = [name for name, each in found.items() if not each]
    if lost:
        raise InvalidUsageError(
            f"layer {lost[0]!r} is not quantized in the files, or in another layout than that of "
            "the program; compile the model again",
            location=where,
        )
    return quantization.keep(tensors, [each[0] for each in found.values()], where)


# -- MXFP4 ----------------------------------------------------------------------------------------


def _from_mxfp4(tensors: Arrays, dtype: DType, where: str) -> Arrays:
    result = dict(tensors)
    for blocks in [name for name in tensors if name.endswith("_blocks")]:
        name = blocks.removesuffix("_blocks")
        scales = f"{name}_scales"
        if scales not in tensors:
            raise InvalidUsageError(
                f"the weights lack {scales}, the scales of {blocks}", location=where
            )
        packed, exponents = result.pop(blocks), result.pop(scales)
        if (
            packed.dtype != np.uint8
            or exponents.dtype != np.uint8
            or packed.shape != (*exponents.shape, _GROUP // 2)
            or packed.ndim != 4
        ):
            raise InvalidUsageError(
                f"tensors {blocks!r} and {scales!r} are {packed.dtype} {list(packed.shape)} and "
                f"{exponents.dtype} {list(exponents.shape)}, which is not MXFP4",
                location=where,
            )
        if (exponents == _SCALE_NAN).any():
            check_scales(np.where(exponents == _SCALE_NAN, np.nan, 1.0), scales, where)
        # A file has rows of outputs here, but rows of inputs in its form without quantization.
        result[name] = _unpack(packed, exponents, dtype).transpose(0, 2, 1)
    return result


def _unpack(packed: NDArray[Any], exponents: NDArray[Any], dtype: DType) -> NDArray[Any]:
    """Returns ``[experts, rows, columns]``, expert by expert, since the fp32 numbers are large."""
    experts, rows, groups = exponents.shape
    result = np.empty((experts, rows, groups * _GROUP), dtype.numpy)
    for expert in range(experts):
        numbers = np.empty((rows, groups, _GROUP), np.float32)
        numbers[..., 0::2] = _FP4[packed[expert] & 15]
        numbers[..., 1::2] = _FP4[packed[expert] >> 4]
        power = exponents[expert].astype(np.int32) - _SCALE_BIAS
        with np.errstate(over="ignore"):  # fp32 has no number above 2^128
            numbers = np.ldexp(numbers, power[..., None])
        result[expert] = numbers.reshape(rows, -1).astype(dtype.numpy)
    return result

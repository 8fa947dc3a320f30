"""Quantized weights of Hugging Face files: dequantized when a model is loaded, or kept quantized.

Four formats are known: MXFP4 of gpt-oss, FP8 with a scale for each block of a matrix, as in
DeepSeek-V3, and GPTQ and AWQ (:mod:`.packed_weights`). Products have the dtype of the model:
activations are not quantized. A scale that is zero, infinite or NaN is an error: a layer would have
zeros or NaN, and the model would compute wrong tokens. MXFP4's scale 255 is NaN by its
format; a checkpoint with it is damaged.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, fp8_e4m3, fp8_e5m2, fp32
from ..errors import InvalidUsageError
from .config import Config
from .kept_weights import Layout, kept_layers, kept_names
from .packed_weights import PackedFormat, read_awq, read_gptq
from .scales import check_scales
from .weights import Arrays, spellings

__all__ = ["BlockFormat", "Dequantize", "find_layouts", "keep_layers", "read_quantization"]

# Takes the tensors of the files, the dtype of the result, and the folder for messages.
Dequantize = Callable[[Arrays, DType, str], Arrays]

_PACKED = {"gptq": read_gptq, "awq": read_awq}
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
        return _check_plain
    method = section.word("quant_method")
    section.skip("modules_to_not_convert")
    if method == "mxfp4":
        section.skip("dequantize")
        section.check_known()
        return _from_mxfp4
    if method == "fp8":
        section.plain("activation_scheme", "dynamic")
        section.plain("fmt", "e4m3")
        size = section.counts("weight_block_size")
        if len(size) != 2 or 0 in size:
            raise section.error(f"weight_block_size must be two numbers above 0, not {list(size)}")
        section.check_known()
        return BlockFormat(size)
    if method in _PACKED:
        if config.entries.get("model_type") == "gpt2":
            raise config.error(f"{method} is not supported for gpt2, whose matrices are transposed")
        return _PACKED[method](section)
    raise config.error(
        f"unknown quantization {method!r}; known are mxfp4, fp8, gptq and awq; save the "
        "model with its weights dequantized to load it"
    )


def find_layouts(quantization: Dequantize, config: Config, tensors: Arrays) -> dict[str, Layout]:
    """Returns the layers whose weights can stay quantized in memory, by their names in the files.

    Raises InvalidUsageError if no weights are in FP8 with scales of blocks, GPTQ or AWQ.
    """
    if not isinstance(quantization, BlockFormat | PackedFormat):
        raise config.error(
            "keep_quantized needs weights in FP8 with scales of blocks, GPTQ or AWQ; load this "
            "model without it"
        )
    return quantization.layouts(tensors)


def keep_layers(
    quantization: Dequantize, tensors: Arrays, parameters: Iterable[str], where: str
) -> Arrays:
    """Returns the tensors of the files, with the layers packed that `parameters` have quantized."""
    names = kept_layers(parameters)
    if not names or not isinstance(quantization, BlockFormat | PackedFormat):
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


def _check_plain(tensors: Arrays, dtype: DType, where: str) -> Arrays:
    """Returns the tensors; raises InvalidUsageError if one is quantized."""
    for name, array in tensors.items():
        if array.dtype in (fp8_e4m3.numpy, fp8_e5m2.numpy):
            raise InvalidUsageError(
                f"tensor {name!r} is {array.dtype}, but config.json has no quantization_config "
                "that describes its scales",
                location=where,
            )
    return tensors


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


# -- FP8 ------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class BlockFormat:
    """FP8 (e4m3) with a scale for each block of a matrix: ``x.weight_scale_inv`` for ``x.weight``.

    Attributes:
        size: rows and columns of a block; blocks at the ends of a matrix may be smaller.
    """

    size: tuple[int, ...]

    def __call__(self, tensors: Arrays, dtype: DType, where: str) -> Arrays:
        """Returns the tensors of the files, dequantized.

        Raises InvalidUsageError if scales are missing, or their shape or a value is wrong.
        """
        result = dict(tensors)
        kept = {kept_names(layer).weight for layer in kept_layers(tensors)}
        for name, array in tensors.items():
            if array.dtype == fp8_e4m3.numpy and name not in kept:
                factors = self._take_scales(result, name, array, where)
                result[name] = _scale(array, factors, self.size, dtype)
        _check_plain({n: a for n, a in result.items() if n not in kept}, dtype, where)
        return result

    def layouts(self, tensors: Arrays) -> dict[str, Layout]:
        """Returns the layers whose weights can stay quantized: the columns of a block divide
        their inputs."""
        return {
            name.removesuffix(".weight"): Layout(8, self.size[1], fp32)
            for name, array in tensors.items()
            if name.endswith(".weight")
            and array.dtype == fp8_e4m3.numpy
            and array.ndim == 2
            and array.shape[1] % self.size[1] == 0
        }

    def keep(self, tensors: Arrays, layers: Collection[str], where: str) -> Arrays:
        """Returns the tensors of the files, with some layers as ark multiplies them: layers of
        :meth:`layouts`. Each row gets its scales. Raises InvalidUsageError as a call does."""
        result = dict(tensors)
        for layer in layers:
            name, names = f"{layer}.weight", kept_names(layer)
            array = result.pop(name)
            factors = self._take_scales(result, name, array, where)
            result[names.weight] = array
            result[names.scales] = np.repeat(factors, self.size[0], 0)[: len(array)]
        return result

    def _take_scales(
        self, tensors: Arrays, name: str, array: NDArray[Any], where: str
    ) -> NDArray[np.float32]:
        """Removes the scales of a tensor, and returns them in fp32."""
        scales = f"{name}_scale_inv"
        if scales not in tensors:
            raise InvalidUsageError(
                f"the weights lack {scales}, the scales of {name}", location=where
            )
        factors = tensors.pop(scales)
        blocks = tuple(
            -(-extent // each) for extent, each in zip(array.shape, self.size, strict=False)
        )
        if array.ndim != 2 or factors.shape != blocks:
            raise InvalidUsageError(
                f"tensor {scales!r} has shape {list(factors.shape)}; tensor {name!r} "
                f"{list(array.shape)} in blocks of {list(self.size)} requires {list(blocks)}",
                location=where,
            )
        check_scales(factors, scales, where)
        return factors.astype(np.float32)


def _scale(
    array: NDArray[Any], factors: NDArray[Any], size: tuple[int, ...], dtype: DType
) -> NDArray[Any]:
    """Returns a matrix times the scales of its blocks, in steps of rows of one block."""
    result = np.empty(array.shape, dtype.numpy)
    for number, row in enumerate(factors):
        rows = slice(number * size[0], (number + 1) * size[0])
        columns = np.repeat(row, size[1])[: array.shape[1]]
        result[rows] = (array[rows].astype(np.float32) * columns).astype(dtype.numpy)
    return result

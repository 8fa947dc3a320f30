"""Weights in FP8 (e4m3) with scales of blocks, rows or whole matrices.

Three forms of ``quantization_config`` describe them: ``fp8``, as in DeepSeek-V3, with a scale for
each block; ``fbgemm_fp8``, as in Llama-3.1-405B-FP8, with a scale for each row; and
``compressed-tensors`` in the format ``float-quantized``, with a scale for each row or matrix.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..dtypes import DType, fp8_e4m3, fp8_e5m2, fp32
from ..errors import InvalidUsageError
from .config import Config
from .kept_weights import Layout, kept_layers, kept_names
from .scales import check_scales
from .weights import Arrays

__all__ = ["Fp8Format", "check_plain", "read_compressed", "read_fbgemm", "read_fp8"]

# Entries about how a checkpoint was made.
_COMPRESSED_NOTES = ("global_compression_ratio", "ignore", "version")
# Entries of the description of weights that do not change their numbers.
_WEIGHT_NOTES = ("observer", "observer_kwargs", "scale_dtype", "zp_dtype")


@dataclass(frozen=True)
class Fp8Format:
    """FP8 (e4m3) with the scales of ``x.weight`` in a tensor of their own.

    Attributes:
        suffix: what the name of the scales has after ``x.weight``.
        size: rows and columns of a block, of which the last ones may be smaller; or None if each
            row has a scale, or the whole matrix.
    """

    suffix: str
    size: tuple[int, int] | None

    def __call__(self, tensors: Arrays, dtype: DType, where: str) -> Arrays:
        """Returns the tensors of the files, dequantized.

        Raises InvalidUsageError if scales are missing, or their shape or a value is wrong.
        """
        result = dict(tensors)
        kept = {kept_names(layer).weight for layer in kept_layers(tensors)}
        for name, array in tensors.items():
            if array.dtype == fp8_e4m3.numpy and name not in kept:
                factors = self._take_scales(result, name, array, where)
                result[name] = _scale(array, factors, self._size(array), dtype)
        check_plain({n: a for n, a in result.items() if n not in kept}, dtype, where)
        return result

    def layouts(self, tensors: Arrays) -> dict[str, Layout]:
        """Returns the layers whose weights can stay quantized: the columns of a block divide
        their inputs."""
        return {
            name.removesuffix(".weight"): Layout(8, self._size(array)[1], fp32)
            for name, array in tensors.items()
            if name.endswith(".weight")
            and array.dtype == fp8_e4m3.numpy
            and array.ndim == 2
            and array.shape[1] % self._size(array)[1] == 0
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
            result[names.scales] = np.repeat(factors, self._size(array)[0], 0)[: len(array)]
        return result

    def _size(self, array: NDArray[Any]) -> tuple[int, int]:
        """Returns the rows and columns of a block of a matrix."""
        return self.size or (1, max(array.shape[-1], 1))

    def _take_scales(
        self, tensors: Arrays, name: str, array: NDArray[Any], where: str
    ) -> NDArray[np.float32]:
        """Removes the scales of a tensor, and returns them in fp32: one for each block."""
        scales = f"{name}{self.suffix}"
        if scales not in tensors:
            raise InvalidUsageError(
                f"the weights lack {scales}, the scales of {name}", location=where
            )
        factors = tensors.pop(scales)
        # An upper bound of activations, which ark does not quantize.
        tensors.pop(name.removesuffix("weight") + "input_scale_ub", None)
        size = self._size(array)
        blocks = tuple(-(-extent // each) for extent, each in zip(array.shape, size, strict=False))
        known = [blocks] if self.size else [blocks, blocks[:1], (1,), ()]
        if array.ndim != 2 or factors.shape not in known:
            raise InvalidUsageError(
                f"tensor {scales!r} has shape {list(factors.shape)}; tensor {name!r} "
                f"{list(array.shape)} in blocks of {list(size)} requires {list(blocks)}",
                location=where,
            )
        check_scales(np.atleast_1d(factors), scales, where)
        factors = factors.astype(np.float32)
        if factors.size == 1:
            return np.full(blocks, factors.reshape(()), np.float32)
        return factors.reshape(blocks)


def read_fp8(section: Config) -> Fp8Format:
    """Reads the section of ``fp8``: scales of blocks in ``x.weight_scale_inv``."""
    section.plain("activation_scheme", "dynamic")
    section.plain("fmt", "e4m3")
    size = section.counts("weight_block_size")
    if len(size) != 2 or 0 in size:
        raise section.error(f"weight_block_size must be two numbers above 0, not {list(size)}")
    section.check_known()
    return Fp8Format("_scale_inv", (size[0], size[1]))


def read_fbgemm(section: Config) -> Fp8Format:
    """Reads the section of ``fbgemm_fp8``: scales of rows in ``x.weight_scale``."""
    section.skip("activation_scale_ub")
    section.check_known()
    return Fp8Format("_scale", None)


def read_compressed(section: Config) -> Fp8Format:
    """Reads the section of ``compressed-tensors``: scales of rows or matrices in
    ``x.weight_scale``.

    Raises InvalidUsageError for other formats than ``float-quantized``.
    """
    section.word("format")
    section.plain("format", "float-quantized")
    section.plain("quantization_status", "compressed")
    for key in _COMPRESSED_NOTES:
        section.skip(key)
    for key in ("sparsity_config", "transform_config"):
        section.plain(key, {})
    groups = section.section("config_groups")
    if groups is None or not groups.entries:
        raise section.error("'config_groups' is missing")
    for name in groups.entries:
        _check_group(groups.section(name), groups, name)
    section.check_known()
    return Fp8Format("_scale", None)


def _check_group(group: Config | None, groups: Config, name: str) -> None:
    """Raises InvalidUsageError unless the weights of a group are FP8 with scales of rows or of
    matrices, and its activations have no scales in the files."""
    weights = group and group.section("weights")
    if group is None or weights is None:
        raise groups.error(f"group {name!r} has no 'weights'")
    weights.plain("num_bits", 8)
    weights.plain("type", "float")
    weights.plain("symmetric", True)
    weights.plain("dynamic", False)
    weights.plain("strategy", "channel", "tensor")
    for key in _WEIGHT_NOTES:
        weights.skip(key)
    weights.check_known()
    inputs = group.section("input_activations")
    if inputs is not None:
        inputs.plain("dynamic", True)
    group.skip("targets")
    group.plain("format", "float-quantized")
    group.check_known()


def check_plain(tensors: Arrays, dtype: DType, where: str) -> Arrays:
    """Returns the tensors; raises InvalidUsageError if one is quantized."""
    for name, array in tensors.items():
        if array.dtype in (fp8_e4m3.numpy, fp8_e5m2.numpy):
            raise InvalidUsageError(
                f"tensor {name!r} is {array.dtype}, but config.json has no quantization_config "
                "that describes its scales",
                location=where,
            )
    return tensors


def _scale(
    array: NDArray[Any], factors: NDArray[Any], size: tuple[int, int], dtype: DType
) -> NDArray[Any]:
    """Returns a matrix times the scales of its blocks, in steps of about 128 rows."""
    result = np.empty(array.shape, dtype.numpy)
    blocks = max(128 // size[0], 1)
    for first in range(0, len(factors), blocks):
        rows = slice(first * size[0], (first + blocks) * size[0])
        scales = np.repeat(factors[first : first + blocks], size[0], 0)[: len(array[rows])]
        columns = np.repeat(scales, size[1], 1)[:, : array.shape[1]]
        result[rows] = (array[rows].astype(np.float32) * columns).astype(dtype.numpy)
    return result

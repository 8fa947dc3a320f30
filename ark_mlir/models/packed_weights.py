"""Weights of few bits with a scale and a zero for each group of inputs: GPTQ and AWQ.

A 32-bit word packs several numbers. Loading dequantizes these weights to the model's dtype, or
packs numbers of 4 bits again, in the order of ``ark.quantized_matmul``.
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

from ..dtypes import DType, bf16, fp16, fp32, from_numpy
from ..errors import InvalidUsageError
from .config import Config
from .kept_weights import Layout, kept_names, pack
from .scales import check_scales
from .weights import Arrays

__all__ = ["PackedFormat", "read_awq", "read_gptq"]

_WORD = 32
# AWQ's order of the columns in a word, from the lowest bits on.
_AWQ_ORDER = (0, 2, 4, 6, 1, 3, 5, 7)
# Number of inputs whose weights are computed at once, which bounds the memory for fp32.
_ROWS = 1024

# Entries about how a checkpoint was made, and how other libraries run it.
_GPTQ_NOTES = (
    "backend", "batch_size", "block_name_to_quantize", "cache_block_outputs", "damp_auto_increment",
    "damp_percent", "dataset", "desc_act", "disable_exllama", "exllama_config", "is_marlin_format",
    "max_input_length", "meta", "model_file_base_name", "model_name_or_path", "model_seqlen",
    "module_name_preceding_first_block", "modules_in_block_to_quantize", "pad_token_id",
    "quantizer", "static_groups", "sym", "tokenizer", "true_sequential", "use_cuda_fp16",
    "use_exllama",
)  # fmt: skip
_AWQ_NOTES = (
    "backend", "do_fuse", "exllama_config", "fuse_max_seq_len", "modules_to_fuse", "zero_point",
)  # fmt: skip
_PARTS = ("qweight", "qzeros", "scales", "g_idx")


@dataclass(frozen=True)
class _Parts:
    """The tensors of a layer, and the group of each input."""

    qweight: NDArray[np.int32]
    qzeros: NDArray[np.int32]
    scales: NDArray[Any]
    group_of: NDArray[np.int64]


@dataclass(frozen=True)
class PackedFormat:
    """The layout of packed weights.

    A layer ``x`` has ``x.qweight``, ``x.qzeros`` and ``x.scales``, and with GPTQ perhaps
    ``x.g_idx``, the group of each input.

    Attributes:
        bits: the bits of a number.
        group: the number of inputs that share a scale, or None if all do.
        by_rows: True if a word has numbers of several inputs (GPTQ), False if it has numbers of
            several outputs (AWQ).
        zero_offset: added to the stored zeros, modulo ``2^bits``.
        order: the order of the outputs in a word, from the lowest bits on.
    """

    bits: int
    group: int | None
    by_rows: bool
    zero_offset: int
    order: tuple[int, ...]

    def __call__(self, tensors: Arrays, dtype: DType, where: str) -> Arrays:
        """Returns the tensors of the files, with a matrix ``x.weight`` for each packed one.

        Raises InvalidUsageError if a part of a layer is missing, or its shape or dtype is wrong.
        """
        result = dict(tensors)
        for packed in [name for name in tensors if name.endswith(".qweight")]:
            layer = packed.removesuffix(".qweight")
            parts = self._take(result, layer, where)
            result[f"{layer}.weight"] = self._unpack(dtype, parts)
        return result

    def layouts(self, tensors: Arrays) -> dict[str, Layout]:
        """Returns the layers whose weights can stay quantized: those of 4 bits, in groups of equal
        size that follow the order of the inputs."""
        found: dict[str, Layout] = {}
        for name in tensors:
            layer = name.removesuffix(".qweight")
            if layer == name or self.bits != 4 or f"{layer}.scales" not in tensors:
                continue
            scales = from_numpy(tensors[f"{layer}.scales"].dtype)
            # The dequantization of a damaged layer raises an error that names the layer.
            if tensors[name].ndim != 2 or not tensors[name].size:
                continue
            if scales is None or scales not in (fp32, fp16, bf16):
                continue
            inputs = tensors[name].shape[0] * self._per_row
            length, order = self.group or inputs, tensors.get(f"{layer}.g_idx")
            in_order = order is None or np.array_equal(order, np.arange(inputs) // length)
            if inputs % length == 0 and length % 2 == 0 and in_order:
                found[layer] = Layout(4, length, scales)
        return found

    def keep(self, tensors: Arrays, layers: Collection[str], where: str) -> Arrays:
        """Returns the tensors of the files, with those of some layers packed for ark: layers of
        :meth:`layouts`. Raises InvalidUsageError as the dequantization does."""
        result = dict(tensors)
        for layer in layers:
            parts = self._take(result, layer, where)
            numbers = self._rows(parts.qweight, slice(0, len(parts.group_of)))
            zeros = self._zeros(parts)
            names = kept_names(layer)
            result[names.weight] = pack(np.ascontiguousarray(numbers.T))
            result[names.scales] = np.ascontiguousarray(parts.scales.T)
            result[names.zeros] = np.ascontiguousarray(zeros.T).astype(np.int8)
        return result

    @property
    def _per_row(self) -> int:
        """Returns the number of inputs of a row of words."""
        return _WORD // self.bits if self.by_rows else 1

    def _take(self, tensors: Arrays, layer: str, where: str) -> _Parts:
        """Removes the parts of a layer from the tensors of the files, and returns them.

        Raises InvalidUsageError if a part is missing, or its shape, dtype or a scale is wrong.
        """
        found: dict[str, Any] = {key: tensors.pop(f"{layer}.{key}", None) for key in _PARTS}
        for key in _PARTS[:3]:
            if found[key] is None:
                raise InvalidUsageError(
                    f"the weights lack {layer}.{key}, which belongs to {layer}.qweight",
                    location=where,
                )
        check_scales(found["scales"], f"{layer}.scales", where)
        try:
            group_of = self._find_groups(**found)
        except ValueError as error:
            raise InvalidUsageError(f"layer {layer!r}: {error}", location=where) from None
        return _Parts(found["qweight"], found["qzeros"], found["scales"], group_of)

    def _find_groups(self, qweight: Any, qzeros: Any, scales: Any, g_idx: Any) -> NDArray[np.int64]:
        """Checks the parts of a layer; returns the group of each input."""
        count = _WORD // self.bits
        if any(array.ndim != 2 or array.dtype != np.int32 for array in (qweight, qzeros)):
            raise ValueError("qweight and qzeros must be matrices of int32")
        if not qweight.size:
            raise ValueError(f"qweight has shape {list(qweight.shape)}, which has no elements")
        inputs = qweight.shape[0] * self._per_row
        outputs = qweight.shape[1] * (1 if self.by_rows else count)
        length = self.group or inputs
        groups = -(-inputs // length)
        for name, array, shape in (
            ("scales", scales, (groups, outputs)), ("qzeros", qzeros, (groups, outputs // count)),
        ):  # fmt: skip
            if array.shape != shape:
                raise ValueError(
                    f"{name} has shape {list(array.shape)}; {inputs} inputs and {outputs} outputs "
                    f"in groups of {length} require {list(shape)}"
                )
        group_of = np.arange(inputs) // length if g_idx is None else np.asarray(g_idx, np.int64)
        if group_of.shape != (inputs,) or not ((group_of >= 0) & (group_of < groups)).all():
            raise ValueError(f"g_idx must have a group from 0 to {groups - 1} for each input")
        return group_of

    def _zeros(self, parts: _Parts) -> NDArray[np.int32]:
        """Returns the zeros of a layer, ``[groups, outputs]``."""
        return (self._columns(parts.qzeros) + self.zero_offset) % (1 << self.bits)

    def _unpack(self, dtype: DType, parts: _Parts) -> NDArray[Any]:
        """Returns the matrix of a layer, ``[outputs, inputs]``."""
        inputs, outputs = len(parts.group_of), parts.scales.shape[1]
        zeros, factors = self._zeros(parts), parts.scales.astype(np.float32)
        result = np.empty((outputs, inputs), dtype.numpy)
        for begin in range(0, inputs, _ROWS):
            rows = slice(begin, min(begin + _ROWS, inputs))
            chosen = parts.group_of[rows]
            numbers = (self._rows(parts.qweight, rows) - zeros[chosen]).astype(np.float32)
            result[:, rows] = (numbers * factors[chosen]).T.astype(dtype.numpy)
        return result

    def _rows(self, words: NDArray[np.int32], rows: slice) -> NDArray[np.int32]:
        """Returns the numbers of some inputs, ``[inputs, outputs]``; `rows` begin at a word."""
        if not self.by_rows:
            return self._columns(words[rows])
        count = _WORD // self.bits
        parts = self._split(words[rows.start // count : -(-rows.stop // count)])
        return np.moveaxis(parts, -1, 1).reshape(-1, words.shape[1])

    def _columns(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Returns the numbers of words that have several outputs."""
        parts = self._split(words)[..., np.argsort(self.order)]
        return parts.reshape(len(words), -1)

    def _split(self, words: NDArray[np.int32]) -> NDArray[np.int32]:
        """Returns the numbers of each word along a new last dimension, the lowest bits first."""
        shifts = np.arange(0, _WORD, self.bits, dtype=np.int32)
        return (words[..., None] >> shifts) & ((1 << self.bits) - 1)


def read_gptq(section: Config) -> PackedFormat:
    """Reads the entries of GPTQ (Frantar et al., 2023), as AutoGPTQ and GPTQModel write them."""
    for note in _GPTQ_NOTES:
        section.skip(note)
    section.plain("pack_dtype", "int32")
    section.plain("lm_head", False)
    section.plain("dynamic", {})
    section.plain("checkpoint_format", "gptq", "gptq_v2")
    bits = _read_bits(section, "bits", (2, 4, 8))
    group = _read_group(section, "group_size")
    # The first version of the format stores each zero minus one.
    first = section.entries.get("checkpoint_format") != "gptq_v2"
    section.check_known()
    return PackedFormat(bits, group, True, int(first), tuple(range(_WORD // bits)))


def read_awq(section: Config) -> PackedFormat:
    """Reads the entries of AWQ (Lin et al., 2024), as AutoAWQ writes them."""
    for note in _AWQ_NOTES:
        section.skip(note)
    version = section.word("version", "gemm").lower()
    if version != "gemm":
        raise section.error(f"'version' is {version!r}; supported: 'gemm'")
    old = "w_bit" in section.entries
    bits = _read_bits(section, "w_bit" if old else "bits", (4,))
    group = _read_group(section, "q_group_size" if old else "group_size")
    section.check_known()
    return PackedFormat(bits, group, False, 0, _AWQ_ORDER)


def _read_bits(section: Config, key: str, known: tuple[int, ...]) -> int:
    bits = section.count(key)
    if bits not in known:
        raise section.error(f"{key!r} is {bits}; supported: {', '.join(map(str, known))}")
    return bits


def _read_group(section: Config, key: str) -> int | None:
    """Reads the number of inputs of a group; -1 means all inputs."""
    section.skip(key)
    return None if section.entries.get(key) == -1 else section.count(key)

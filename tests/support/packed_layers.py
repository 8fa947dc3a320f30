"""Layers in GPTQ and AWQ, and their matrices, which torch unpacks number by number."""

# pyright: reportMissingImports=false

from __future__ import annotations

from typing import Any

import numpy as np
import torch

Arrays = dict[str, Any]
GPTQ: dict[str, Any] = {
    "quant_method": "gptq", "bits": 4, "group_size": 8, "desc_act": False, "sym": True,
    "checkpoint_format": "gptq", "damp_percent": 0.01, "true_sequential": True,
}  # fmt: skip
AWQ: dict[str, Any] = {
    "quant_method": "awq", "bits": 4, "group_size": 8, "zero_point": True, "version": "gemm",
    "modules_to_not_convert": None,
}  # fmt: skip
AWQ_COLUMNS = [0, 2, 4, 6, 1, 3, 5, 7]


def words(numbers: Any, axis: int, bits: int, order: list[int]) -> Any:
    """Packs numbers along an axis: the k-th bits of a word are those of the number `order[k]`."""
    parts = torch.tensor(numbers).movedim(axis, -1)
    parts = parts.reshape(*parts.shape[:-1], -1, 32 // bits)
    packed = torch.zeros(parts.shape[:-1], dtype=torch.int64)
    for index, number in enumerate(order):
        packed |= parts[..., number].long() << (bits * index)
    packed = torch.where(packed >= 1 << 31, packed - (1 << 32), packed).int()
    return packed.movedim(-1, axis).contiguous().numpy()


def draw(
    random: Any, entries: dict[str, Any], inputs: int, outputs: int, *, sort: bool = False
) -> tuple[Arrays, Any]:
    """Returns the tensors of a layer, and its matrix ``[outputs, inputs]`` in float32."""
    bits, gptq = entries["bits"], entries["quant_method"] == "gptq"
    length = inputs if entries["group_size"] == -1 else entries["group_size"]
    groups, top = -(-inputs // length), 1 << bits
    numbers = random.integers(0, top, (inputs, outputs))
    zeros = random.integers(0, top, (groups, outputs))
    scales = random.uniform(0.02, 0.06, (groups, outputs)).astype(np.float16)
    group_of = np.arange(inputs) // length
    if sort:
        group_of = random.permutation(group_of)
    count = 32 // bits
    order = list(range(count)) if gptq else AWQ_COLUMNS
    stored = (zeros - 1) % top if entries.get("checkpoint_format") == "gptq" else zeros
    parts = {
        "qweight": words(numbers, 0 if gptq else 1, bits, order),
        "qzeros": words(stored, 1, bits, order),
        "scales": scales,
    }
    if gptq:
        parts["g_idx"] = group_of.astype(np.int32)
    weight = torch.zeros(outputs, inputs)
    for row in range(inputs):
        group = int(group_of[row])
        steps = torch.tensor(numbers[row] - zeros[group]).float()
        weight[:, row] = steps * torch.tensor(scales[group]).float()
    return parts, weight.numpy()

"""The rules of ops on batches of images."""

# pyright: reportMissingImports=false, reportMissingTypeStubs=false, reportUnknownMemberType=false
# pyright: reportUnknownVariableType=false, reportUnknownParameterType=false
# pyright: reportUnknownArgumentType=false, reportUnknownLambdaType=false

from __future__ import annotations

from typing import Any

import torch
from torch.utils import _pytree as pytree

from ..axes import Axes, Refusal, axis_of_size, is_fixed, is_plain
from ..padding import Padder, Value, rule

_PER_IMAGE = (
    "adaptive_avg_pool1d", "adaptive_max_pool2d", "avg_pool1d", "avg_pool2d", "avg_pool3d",
    "convolution", "max_pool2d_with_indices", "max_pool3d_with_indices", "native_group_norm",
    "upsample_bicubic2d", "upsample_bilinear2d", "upsample_linear1d", "upsample_nearest1d",
    "upsample_nearest2d", "_adaptive_avg_pool2d", "_native_batch_norm_legit_no_training",
    "_upsample_nearest_exact2d",
)  # fmt: skip


@rule(*_PER_IMAGE)
def per_image(padder: Padder, target: Any, x: Value, *args: Any, **kwargs: Any) -> Any:
    """Pads ops with a separate result for each image; only the size of the batch may change."""
    others = [v for v in pytree.tree_leaves((args, kwargs)) if isinstance(v, Value)]
    fixed = all(map(is_fixed, x.axes[1:])) and all(value.fixed for value in others)
    if not fixed or not (is_plain(x.axes[0]) or is_fixed(x.axes[0])):
        raise Refusal(f"{target} of images whose sizes change")
    result = target(x.tensor, *padder.plain(args), **padder.plain(kwargs))
    if not isinstance(result, tuple):
        return Value(result, _of_images(x, result))
    return Value(result[0], _of_images(x, result[0])), *(None for _ in result[1:])


def _of_images(x: Value, result: torch.Tensor) -> Axes:
    return (x.axes[0], *(axis_of_size(size) for size in result.shape[1:]))

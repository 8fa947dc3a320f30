"""ATen's upsampling of images: nearest and linear along each spatial dimension."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import frontend as ark
from ...dtypes import fp32, int32
from .table import Out, aten
from .values import Operand, tensor
from .windows import check_floats

_NAMES = {1: "linear1d", 2: "bilinear2d", 3: "trilinear3d"}


def _scales(values: Sequence[object], rank: int) -> list[float | None]:
    """Returns torch's scale of each dimension; None if the sizes determine the scale."""
    found: list[object] = []
    for value in values:
        found += value if isinstance(value, (list, tuple)) else [value]
    scales = [float(v) if isinstance(v, (int, float)) else None for v in found[-rank:]]
    return scales if len(scales) == rank else [None] * rank


def _ratio(extent: int, count: int, scale: float | None) -> np.float32:
    """Returns the distance between neighbouring results, in elements; fp32 as in torch."""
    return np.float32(1.0 / scale) if scale else np.float32(extent) / np.float32(count)


def _positions(extent: int, count: int, scale: float | None, exact: bool) -> np.ndarray:
    numbers = np.arange(count, dtype=np.float32) + np.float32(0.5 if exact else 0)
    positions = np.floor(numbers * _ratio(extent, count, scale)).astype(np.int32)
    return positions.clip(0, extent - 1)


def _gather(x: ark.Tensor, positions: np.ndarray, axis: int) -> ark.Tensor:
    return ark.gather(x, ark.constant(positions, int32), axis)


def _repeated(x: ark.Tensor, axis: int, times: int) -> ark.Tensor:
    wide = (*x.shape[: axis + 1], times, *x.shape[axis + 1 :])
    full = (*x.shape[:axis], x.shape[axis] * times, *x.shape[axis + 1 :])
    return ark.reshape(ark.broadcast_to(ark.unsqueeze(x, axis + 1), wide), full)


def _enter_nearest(rank: int, exact: bool) -> None:
    def nearest(out: Out, x: Operand, output_size: object, *scales: object) -> ark.Tensor:
        value = tensor(x)
        chosen = _scales(scales, rank)
        for axis, scale in enumerate(chosen, 2):
            extent, count = value.shape[axis], out.shape[axis]
            positions = _positions(extent, count, scale, exact)
            times = count // extent
            if (positions == np.arange(count) // max(1, times)).all():
                value = value if times == 1 else _repeated(value, axis, times)
            else:
                value = _gather(value, positions, axis)
        return value

    kind = "_upsample_nearest_exact" if exact else "upsample_nearest"
    aten(f"{kind}{rank}d.default", f"{kind}{rank}d.vec")(nearest)


def _enter_linear(rank: int) -> None:
    def linear(
        out: Out, x: Operand, output_size: object, align_corners: bool, *scales: object
    ) -> ark.Tensor:
        value = tensor(x)
        check_floats(value, "a linear interpolation")
        value = tensor(value, fp32)  # torch rounds once, at the end
        for axis, scale in enumerate(_scales(scales, rank), 2):
            value = _blended(value, axis, out.shape[axis], align_corners, scale)
        return tensor(value, out.dtype)

    aten(f"upsample_{_NAMES[rank]}.default", f"upsample_{_NAMES[rank]}.vec")(linear)


def _blended(
    x: ark.Tensor, axis: int, count: int, align_corners: bool, scale: float | None
) -> ark.Tensor:
    """Interpolates between the two elements around each position along an axis."""
    extent = x.shape[axis]
    if extent == count:
        return x
    numbers = np.arange(count, dtype=np.float32)
    if align_corners:
        step = np.float32((extent - 1) / (count - 1)) if count > 1 else np.float32(0)
        positions = numbers * step
    else:
        half = np.float32(0.5)
        positions = np.maximum(_ratio(extent, count, scale) * (numbers + half) - half, 0)
    low = positions.astype(np.int32).clip(0, extent - 1)
    share = (positions - low).astype(np.float32).clip(0, 1)
    high = np.minimum(low + 1, extent - 1)
    weights = ark.constant(share.reshape(count, *(1,) * (x.ndim - axis - 1)), x.dtype)
    return _gather(x, low, axis) * (1 - weights) + _gather(x, high, axis) * weights


for _rank in (1, 2, 3):
    _enter_nearest(_rank, False)
    _enter_nearest(_rank, True)
    _enter_linear(_rank)

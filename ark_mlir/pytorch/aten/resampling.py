"""ATen's upsampling of images: nearest and linear along each spatial dimension."""

from __future__ import annotations

from collections.abc import Sequence

from ... import frontend as ark
from ...dtypes import fp32
from ...frontend.ops.resampling import blended
from ...frontend.ops.resampling import nearest as nearest_along
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


def _enter_nearest(rank: int, exact: bool) -> None:
    def nearest(out: Out, x: Operand, output_size: object, *scales: object) -> ark.Tensor:
        value = tensor(x)
        for axis, scale in enumerate(_scales(scales, rank), 2):
            value = nearest_along(value, axis, out.shape[axis], scale, exact)
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
            value = blended(value, axis, out.shape[axis], align_corners, scale)
        return tensor(value, out.dtype)

    aten(f"upsample_{_NAMES[rank]}.default", f"upsample_{_NAMES[rank]}.vec")(linear)


for _rank in (1, 2, 3):
    _enter_nearest(_rank, False)
    _enter_nearest(_rank, True)
    _enter_linear(_rank)

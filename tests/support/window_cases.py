"""Cases of convolutions and of the other ops on sliding windows."""

from __future__ import annotations

from op_case import EVERY, FLOATS, MATRIX, NUMBERS, Case, extremes

import ark_mlir as ark

WINDOWS: dict[str, Case] = {
    "conv1d": Case(
        lambda x, f: ark.conv1d(x, f, padding=[(2, 1)], dilation=2, groups=2),
        ((2, 6, 9), (4, 3, 3)), MATRIX
    ),
    "conv2d": Case(
        lambda x, f, b: ark.conv2d(x, f, b, (2, 1), [1, (0, 2)], (1, 2)),
        ((2, 3, 7, 5), (4, 3, 3, 2), (4,)), NUMBERS
    ),
    "conv2d of single channels": Case(
        lambda x, f: ark.conv2d(x, f, stride=2, padding=1, groups=3),
        ((1, 3, 6, 5), (6, 1, 3, 3)), MATRIX
    ),
    "conv_transpose1d": Case(
        lambda x, f: ark.conv_transpose1d(x, f, stride=2, padding=(2, 1), groups=2),
        ((2, 6, 9), (6, 2, 5)), MATRIX
    ),
    "conv_transpose2d": Case(
        lambda x, f, b: ark.conv_transpose2d(x, f, b, (2, 1), [1, (0, 2)], (1, 0), 1, (1, 2)),
        ((2, 3, 4, 5), (3, 4, 3, 2), (4,)), NUMBERS
    ),
    "conv_transpose2d of tiles": Case(
        lambda x, f: ark.conv_transpose2d(x, f, stride=2), ((1, 3, 4, 5), (3, 4, 2, 2)), MATRIX
    ),
    "conv_transpose2d of large strides": Case(
        lambda x, f: ark.conv_transpose2d(x, f, stride=5), ((1, 2, 2, 3), (2, 3, 7, 7)), MATRIX
    ),
    "upsample": Case(
        lambda x: [ark.upsample(x, (8, 15)), ark.upsample(x, (3, 7))], ((2, 3, 4, 5),), EVERY
    ),
    "linear upsample": Case(
        lambda x: [
            ark.upsample(x, (8, 7), "linear"), ark.upsample(x, 6, "linear", align_corners=True)
        ],
        ((2, 3, 4, 5),), FLOATS,
    ),
    "im2col": Case(lambda x: ark.im2col(x, 3, 2, 2, 1, 1, 1, 2, 1), ((2, 3, 7, 5),), EVERY),
    "max_pool": Case(lambda x: ark.max_pool(x, 3, 2), ((2, 7, 5, 3),), NUMBERS, extremes),
}  # fmt: skip

"""The rules, on padded tensors, of ATen ops of losses and backward passes; see ``padding``."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch

from .axes import Refusal, axis_of_size, is_fixed, is_plain
from .padding import Padder, Value, rule


def _all_masked(padder: Padder, value: Value, fill: float) -> torch.Tensor:
    return padder.masked(value, range(len(value.axes)), fill)


@rule("embedding_dense_backward")
def embedding_backward(
    padder: Padder, target: Any, slopes: Value, index: Value, rows: Any, *settings: Any
) -> Value:
    if not is_fixed(slopes.axes[-1]):
        raise Refusal(f"{target} of rows whose size changes")
    tensors = (_all_masked(padder, slopes, 0), _all_masked(padder, index, 0))
    result = target(*tensors, padder.extent(rows), *padder.plain(settings))
    return Value(result, (axis_of_size(rows), slopes.axes[-1]))


def _classes(target: Any, x: Value) -> None:
    if not is_fixed(x.axes[1 if len(x.axes) > 1 else 0]):
        raise Refusal(f"{target} over a number of classes that changes")


@rule("nll_loss_forward", "nll_loss2d_forward")
def nll_loss(
    padder: Padder, target: Any, x: Value, labels: Value, weight: Any, reduction: int, ignored: int
) -> tuple[Value, ...]:
    _classes(target, x)
    given = (x.tensor, _all_masked(padder, labels, ignored), padder.plain(weight))
    loss, total = target(*given, reduction, ignored)
    return Value(loss, () if reduction else labels.axes), Value(total, ())


@rule("nll_loss_backward", "nll_loss2d_backward")
def nll_loss_backward(
    padder: Padder,
    target: Any,
    slopes: Value,
    x: Value,
    labels: Value,
    weight: Any,
    reduction: int,
    ignored: int,
    total: Value,
) -> Value:
    _classes(target, x)
    given = (x.tensor, _all_masked(padder, labels, ignored), padder.plain(weight))
    return Value(target(slopes.tensor, *given, reduction, ignored, total.tensor), x.axes)


@rule("convolution_backward")
def convolution_backward(
    padder: Padder,
    target: Any,
    slopes: Value,
    x: Value,
    weight: Value,
    bias_sizes: Any,
    *settings: Sequence[Any],
) -> tuple[Value | None, ...]:
    """Replaces images without data by zero: the gradient of the filters is a sum over images."""
    others = all(map(is_fixed, (*x.axes[1:], *slopes.axes[1:]))) and weight.fixed
    if not others or not is_plain(x.axes[0]) or slopes.axes[0] != x.axes[0]:
        raise Refusal(f"{target} of images whose sizes change")
    tensors = (padder.masked(slopes, [0], 0), padder.masked(x, [0], 0), weight.tensor)
    found = target(*tensors, padder.plain(bias_sizes), *padder.plain(settings))
    axes = [x.axes, weight.axes, (slopes.axes[1],)]
    return tuple(
        None if gradient is None else Value(gradient, each)
        for gradient, each in zip(found, axes, strict=True)
    )

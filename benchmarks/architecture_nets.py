"""Small networks with the structure of well-known ones, for benchmarks/architectures.py."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import nn
from torch.nn import functional

__all__ = ["NETS"]


class ResidualBlock(nn.Module):
    """The basic block of ResNet-18."""

    def __init__(self, channels: int, features: int, stride: int) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, features, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(features)
        self.conv2 = nn.Conv2d(features, features, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(features)
        self.skip: nn.Module = nn.Identity()
        if stride > 1 or channels != features:
            conv = nn.Conv2d(channels, features, 1, stride, bias=False)
            self.skip = nn.Sequential(conv, nn.BatchNorm2d(features))

    def forward(self, x: Any) -> Any:
        inner = functional.relu(self.norm1(self.conv1(x)))
        return functional.relu(self.norm2(self.conv2(inner)) + self.skip(x))


class Residual(nn.Module):
    """A ResNet of four stages with one block each."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        stem = nn.Conv2d(3, width, 7, 2, 3, bias=False)
        self.stem = nn.Sequential(stem, nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1))
        widths = [width * 2**stage for stage in range(4)]
        self.stages = nn.Sequential(
            *(
                ResidualBlock(before, after, 1 if before == after else 2)
                for before, after in zip([width, *widths], widths, strict=False)
            )
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(widths[-1], 10)

    def forward(self, x: Any) -> Any:
        return self.head(torch.flatten(self.pool(self.stages(self.stem(x))), 1))


class Inverted(nn.Module):
    """The block of MobileNetV3: expansion, depthwise convolution, squeeze and excitation."""

    def __init__(self, channels: int, inner: int, features: int, kernel: int, stride: int) -> None:
        super().__init__()
        self.expand = nn.Sequential(
            nn.Conv2d(channels, inner, 1, bias=False), nn.BatchNorm2d(inner), nn.Hardswish()
        )
        depthwise = nn.Conv2d(inner, inner, kernel, stride, kernel // 2, groups=inner, bias=False)
        self.depthwise = nn.Sequential(depthwise, nn.BatchNorm2d(inner), nn.Hardswish())
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(inner, inner // 4, 1), nn.ReLU(),
            nn.Conv2d(inner // 4, inner, 1), nn.Hardsigmoid(),
        )  # fmt: skip
        self.project = nn.Sequential(
            nn.Conv2d(inner, features, 1, bias=False), nn.BatchNorm2d(features)
        )
        self.adds = stride == 1 and channels == features

    def forward(self, x: Any) -> Any:
        inner = self.depthwise(self.expand(x))
        result = self.project(inner * self.squeeze(inner))
        return x + result if self.adds else result


def mobile() -> nn.Module:
    """A MobileNetV3 of three blocks."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.Hardswish(),
        Inverted(8, 16, 8, 3, 1), Inverted(8, 24, 16, 5, 2), Inverted(16, 32, 16, 5, 1),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(16, 10),
    )  # fmt: skip


class ChannelNorm(nn.Module):
    """A layer norm over the channels of images."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(channels)

    def forward(self, x: Any) -> Any:
        return self.norm(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2)


class NextBlock(nn.Module):
    """The block of ConvNeXt."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels)
        self.up = nn.Linear(channels, 4 * channels)
        self.down = nn.Linear(4 * channels, channels)
        self.scale = nn.Parameter(torch.full((channels,), 0.5))

    def forward(self, x: Any) -> Any:
        inner = self.norm(self.depthwise(x).permute(0, 2, 3, 1))
        inner = self.scale * self.down(functional.gelu(self.up(inner)))
        return x + inner.permute(0, 3, 1, 2)


def convnext() -> nn.Module:
    """A ConvNeXt of two stages."""
    return nn.Sequential(
        nn.Conv2d(3, 8, 4, 4), ChannelNorm(8), NextBlock(8), ChannelNorm(8),
        nn.Conv2d(8, 16, 2, 2), NextBlock(16), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.LayerNorm(16), nn.Linear(16, 10),
    )  # fmt: skip


def _twice(channels: int, features: int) -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(channels, features, 3, padding=1), nn.GroupNorm(4, features), nn.SiLU(),
        nn.Conv2d(features, features, 3, padding=1), nn.GroupNorm(4, features), nn.SiLU(),
    )  # fmt: skip


class UNet(nn.Module):
    """A U-Net of three levels: one upsamples by interpolation, one by a transposed convolution."""

    def __init__(self, width: int = 8) -> None:
        super().__init__()
        self.down1, self.down2 = _twice(3, width), _twice(width, 2 * width)
        self.middle = _twice(2 * width, 2 * width)
        self.grow = nn.ConvTranspose2d(2 * width, 2 * width, 2, 2)
        self.up2, self.up1 = _twice(4 * width, width), _twice(2 * width, width)
        self.head = nn.Conv2d(width, 2, 1)

    def forward(self, x: Any) -> Any:
        first = self.down1(x)
        second = self.down2(functional.max_pool2d(first, 2))
        middle = self.middle(functional.avg_pool2d(second, 2))
        second = self.up2(torch.cat([self.grow(middle), second], 1))
        wide = functional.interpolate(second, scale_factor=2, mode="bilinear")
        return self.head(self.up1(torch.cat([wide, first], 1)))


class Scan(nn.Module):
    """The block of Mamba: a causal convolution and a selective scan, step by step."""

    def __init__(self, width: int = 16, state: int = 4) -> None:
        super().__init__()
        self.enter = nn.Linear(width, 2 * width, bias=False)
        self.conv = nn.Conv1d(width, width, 4, padding=3, groups=width)
        self.select = nn.Linear(width, 1 + 2 * state, bias=False)
        self.step = nn.Linear(1, width)
        self.decay = nn.Parameter(torch.log(torch.arange(1.0, state + 1).repeat(width, 1)))
        self.skip = nn.Parameter(torch.ones(width))
        self.leave = nn.Linear(width, width, bias=False)

    def forward(self, x: Any) -> Any:
        length = x.shape[1]
        inner, gate = self.enter(x).chunk(2, -1)
        inner = functional.silu(self.conv(inner.transpose(1, 2))[..., :length].transpose(1, 2))
        step, b, c = self.select(inner).split([1, *[self.decay.shape[1]] * 2], -1)
        step = functional.softplus(self.step(step))
        kept = torch.exp(step.unsqueeze(-1) * -torch.exp(self.decay))
        added = (step * inner).unsqueeze(-1) * b.unsqueeze(2)
        state = torch.zeros_like(added[:, 0])
        results = []
        for index in range(length):
            state = kept[:, index] * state + added[:, index]
            results.append((state * c[:, index].unsqueeze(1)).sum(-1))
        y = torch.stack(results, 1) + inner * self.skip
        return self.leave(y * functional.silu(gate))


class Recurrent(nn.Module):
    """An LSTM or a GRU of two layers."""

    def __init__(self, kind: Callable[..., nn.Module]) -> None:
        super().__init__()
        self.cells = kind(16, 16, 2, batch_first=True)

    def forward(self, x: Any) -> Any:
        return self.cells(x)[0]


def _image(size: int = 32) -> Callable[[], dict[str, Any]]:
    return lambda: {"x": torch.randn(1, 3, size, size)}


def _input(size: int = 32) -> Callable[[], dict[str, Any]]:
    return lambda: {"input": torch.randn(1, 3, size, size)}


def _steps() -> dict[str, Any]:
    return {"x": torch.randn(1, 8, 16)}


NETS: dict[str, tuple[Callable[[], Any], Callable[[], dict[str, Any]]]] = {
    "ResNet": (Residual, _image()),
    "MobileNetV3": (mobile, _input()),
    "ConvNeXt": (convnext, _input()),
    "U-Net": (UNet, _image(16)),
    "Mamba block": (Scan, _steps),
    "LSTM": (lambda: Recurrent(nn.LSTM), _steps),
    "GRU": (lambda: Recurrent(nn.GRU), _steps),
}

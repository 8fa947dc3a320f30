"""Modules for images: convolutions, pools, upsampling and normalisation, by ``from_torch``.

The program is compared with PyTorch in float64, and the compiled program with the interpreter
within its bound.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")

Pick = Callable[[str], str]
nn = torch.nn
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")

SIGNAL, IMAGE, VOLUME = (2, 4, 9), (2, 4, 9, 8), (1, 4, 3, 5, 4)


def assert_right(module: Any, shape: tuple[int, ...], target: str | None) -> None:
    """Compares a module's program with the module; runs it if `target` is not None."""
    torch.manual_seed(0)
    x = torch.randn(shape)
    program = ark.from_torch(module.eval(), x)
    values = {name: t.detach().numpy() for name, t in program.state_dict().items()}
    evaluation = ark.reference.evaluate(program, {**values, "input": x.numpy()}, bound=True)
    with torch.no_grad():
        wanted = module.double()(x.double())
    module.float()
    exact = evaluation.outputs["output"]
    assert exact.shape == tuple(wanted.shape)
    np.testing.assert_allclose(exact, wanted.numpy(), rtol=1e-6, atol=1e-6)
    if target is not None:
        with ark.compile(program, target=target).bind(program.state_dict()) as executable:
            got = executable.run(input=x)["output"]
        assert_within(got.numpy(), exact, evaluation.bounds["output"], "output")


CONVOLUTIONS = {
    "plain": (nn.Conv2d(4, 6, 3), IMAGE),
    "same": (nn.Conv2d(4, 6, 3, padding="same"), IMAGE),
    "strides": (nn.Conv2d(4, 6, (3, 2), (1, 2), (2, 1), (2, 1), bias=False), IMAGE),
    "pointwise": (nn.Conv2d(4, 8, 1, stride=2), IMAGE),
    "groups": (nn.Conv2d(4, 8, 3, padding=1, groups=2), IMAGE),
    "depthwise": (nn.Conv2d(4, 4, 5, padding=2, groups=4), IMAGE),
    "two features a channel": (nn.Conv2d(4, 8, (3, 2), (2, 1), (0, 1), (1, 2), groups=4), IMAGE),
    "reflected": (nn.Conv2d(4, 6, 3, padding=1, padding_mode="reflect"), IMAGE),
    "no batch": (nn.Conv2d(4, 6, 3), IMAGE[1:]),
    "signal": (nn.Conv1d(4, 6, 3, stride=2, padding=1), SIGNAL),
    "causal": (nn.Conv1d(4, 4, 4, padding=3, groups=4), SIGNAL),
    "volume": (nn.Conv3d(4, 2, 3, padding=1), VOLUME),
    "touching": (nn.ConvTranspose2d(4, 6, 2, stride=2), IMAGE),
    "output padding": (nn.ConvTranspose2d(4, 6, 3, 2, 1, output_padding=1), IMAGE),
    "transposed groups": (nn.ConvTranspose2d(4, 6, 3, 2, 1, groups=2, dilation=2), IMAGE),
    "transposed signal": (nn.ConvTranspose1d(4, 6, 4, 3, 2, bias=False), SIGNAL),
    "transposed depthwise": (nn.ConvTranspose2d(4, 8, 4, 2, 1, groups=4), IMAGE),
    "stride beyond the filter": (nn.ConvTranspose1d(4, 6, 2, 3, output_padding=2), SIGNAL),
    "dilation and stride": (nn.ConvTranspose1d(4, 6, 3, 4, 1, 3, dilation=6), SIGNAL),
    "padding beyond the filter": (nn.ConvTranspose1d(4, 6, 2, 2, 3), SIGNAL),
    "many phases": (nn.ConvTranspose2d(4, 2, 6, 5, 1), IMAGE),
}


@pytest.mark.parametrize("case", CONVOLUTIONS)
def test_convolutions(case: str, pick_target: Pick) -> None:
    runs = case in ("strides", "depthwise", "output padding", "transposed groups")
    assert_right(*CONVOLUTIONS[case], pick_target("cpu:2") if runs else None)


def test_a_depthwise_convolution_is_one_task_without_intermediates() -> None:
    program = ark.from_torch(nn.Conv2d(4, 4, 3, groups=4).eval(), torch.zeros(IMAGE))
    with ark.compile(program, target="cpu:2") as executable:
        manifest = executable.bundle.manifest
    assert len(manifest.tasks) == 1
    assert manifest.arena == 0


def test_a_transposed_convolution_multiplies_no_zeros() -> None:
    program = ark.from_torch(nn.ConvTranspose2d(4, 6, 4, 2, 1).eval(), torch.zeros(IMAGE))
    with ark.compile(program, target="cpu:2") as executable:
        flops = sum(part.flops for part in executable.bundle.manifest.tasks)
    assert flops < 2 * (4 * 6 * 4 * 4) * (2 * 9 * 8) * 1.2


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_a_depthwise_convolution_accumulates_in_fp32(dtype: Any) -> None:
    torch.manual_seed(0)
    module, x = nn.Conv1d(4, 4, 32, groups=4).to(dtype).eval(), torch.randn(1, 4, 64).to(dtype)
    program = ark.from_torch(module, x)
    with ark.compile(program, target="cpu:2").bind(program.state_dict()) as executable:
        got = executable.run(input=x)["output"]
    with torch.no_grad():
        exact = module.double()(x.double())
    half = torch.finfo(dtype).eps
    torch.testing.assert_close(got.double(), exact, rtol=2 * half, atol=half)


POOLS = {
    "max": (nn.MaxPool2d(3, 2, 1), IMAGE),
    "max, ceil": (nn.MaxPool2d(2, ceil_mode=True), IMAGE),
    "max, dilated": (nn.MaxPool2d((3, 2), stride=1, dilation=(2, 1)), IMAGE),
    "mean": (nn.AvgPool2d(3, 2, 1), IMAGE),
    "mean, ceil": (nn.AvgPool2d(3, 2, 1, ceil_mode=True), IMAGE),
    "mean without padding": (nn.AvgPool2d(3, 2, 1, count_include_pad=False), IMAGE),
    "mean by divisor": (nn.AvgPool2d(2, divisor_override=3), IMAGE),
    "global": (nn.AdaptiveAvgPool2d(1), IMAGE),
    "adaptive": (nn.AdaptiveAvgPool2d((3, 5)), IMAGE),
    "adaptive max": (nn.AdaptiveMaxPool2d((2, 3)), IMAGE),
    "max of a signal": (nn.MaxPool1d(3, 2, 1), SIGNAL),
    "mean of a signal": (nn.AvgPool1d(3, 2, 1), SIGNAL),
    "mean of a volume": (nn.AvgPool3d(2), VOLUME),
}


@pytest.mark.parametrize("case", POOLS)
def test_pools(case: str, pick_target: Pick) -> None:
    runs = case in ("max", "mean without padding")
    assert_right(*POOLS[case], pick_target("cpu:2") if runs else None)


POSITIONS = {
    "plain": (nn.MaxPool2d(2, return_indices=True), IMAGE),
    "padded": (nn.MaxPool2d(3, 2, 1, return_indices=True), IMAGE),
    "dilated": (nn.MaxPool2d(2, 1, 1, dilation=(3, 2), return_indices=True), IMAGE),
    "ceil": (nn.MaxPool2d(3, 2, ceil_mode=True, return_indices=True), IMAGE),
    "volume": (nn.MaxPool3d(2, 2, 1, return_indices=True), VOLUME),
}


@pytest.mark.parametrize("fill", [None, -torch.inf, torch.nan, 1.0])
@pytest.mark.parametrize("case", POSITIONS)
def test_positions_of_maxima(case: str, fill: float | None, pick_target: Pick) -> None:
    """The cases have equal elements, -inf, which the padding has, and NaN."""
    module, shape = POSITIONS[case]
    torch.manual_seed(0)
    x = torch.randn(shape)
    if fill is not None:
        x = torch.where(torch.rand(shape) < 0.7, fill, x)
    program = ark.from_torch(module, x)
    if case == "padded" and fill == -torch.inf:
        with ark.compile(program, target=pick_target("cpu:2")) as executable:
            got = [y.numpy() for y in executable.run(input=x).values()]
    else:
        got = list(ark.reference.run(program, {"input": x.numpy()}).values())
    for y, wanted in zip(got, module(x), strict=True):
        np.testing.assert_array_equal(y, wanted.numpy())


UPSAMPLING = {
    "twice": nn.Upsample(scale_factor=2),
    "to a size": nn.Upsample(size=(5, 13)),
    "by a fraction": nn.Upsample(scale_factor=1.7),
    "exact": nn.Upsample(scale_factor=2, mode="nearest-exact"),
    "linear": nn.Upsample(scale_factor=2, mode="bilinear"),
    "linear, smaller": nn.Upsample(size=(21, 3), mode="bilinear"),
    "linear, corners": nn.Upsample(size=(5, 13), mode="bilinear", align_corners=True),
    "shuffled": nn.PixelShuffle(2),
}


@pytest.mark.parametrize("case", UPSAMPLING)
def test_upsampling(case: str, pick_target: Pick) -> None:
    runs = case in ("twice", "linear, smaller")
    assert_right(UPSAMPLING[case], IMAGE, pick_target("cpu:2") if runs else None)


@pytest.mark.parametrize("make", [nn.BatchNorm2d, nn.InstanceNorm2d, lambda c: nn.GroupNorm(2, c)])
def test_norms(make: Callable[[int], Any]) -> None:
    assert_right(make(4), IMAGE, None)


@pytest.mark.parametrize("shape", [IMAGE, SIGNAL, (7, 4)])
def test_batch_norm_in_training(shape: tuple[int, ...], pick_target: Pick) -> None:
    """The running statistics change as PyTorch changes them."""

    class Norm(nn.Module):
        def forward(self, x: Any, weight: Any, bias: Any, mean: Any, variance: Any) -> Any:
            results = torch.ops.aten._native_batch_norm_legit_functional(  # noqa: SLF001
                x, weight, bias, mean, variance, True, 0.3, 1e-5
            )
            return results[0], results[3], results[4]

    torch.manual_seed(0)
    arguments = (torch.randn(shape) + 3, *(torch.rand(4) + 0.5 for _ in range(4)))
    program = ark.from_torch(Norm(), arguments)
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(dict(zip(program.inputs, arguments, strict=True)))
    for y, wanted in zip(got.values(), Norm()(*(a.double() for a in arguments)), strict=True):
        torch.testing.assert_close(y, wanted.float(), rtol=3e-6, atol=3e-6)


@pytest.mark.parametrize("statistics", [torch.float32, None])
@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("norm", [nn.BatchNorm2d, nn.InstanceNorm2d])
def test_norms_in_16_bits_are_trained(
    norm: Any, dtype: Any, statistics: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """A training step gives the gradients and the running statistics of fp32, rounded once."""
    torch.manual_seed(0)
    options = {"affine": True} if norm is nn.InstanceNorm2d else {}
    ours, theirs = norm(4, **options).to(dtype), norm(4, **options)
    with torch.no_grad():
        ours.weight.copy_(torch.rand(4) + 0.5)
        theirs.weight.copy_(ours.weight)
    if statistics and norm is nn.BatchNorm2d:
        ours.running_mean = ours.running_mean.to(statistics)
        ours.running_var = ours.running_var.to(statistics)
    x, slopes = torch.randn(IMAGE).to(dtype), torch.randn(IMAGE).to(dtype)
    compiled = torch.compile(ours, backend="ark", fullgraph=True, options={"target": "cpu:1"})
    torch._dynamo.reset()
    step = 2 * torch.finfo(dtype).eps
    for module, dtype_ in ((compiled, dtype), (theirs, torch.float32)):
        module(x.to(dtype_)).backward(slopes.to(dtype_))
    reasons = [r.getMessage() for r in caplog.records if r.name == "ark.pytorch"]
    assert not reasons, "all ops run in ark"
    for mine, wanted in zip(ours.parameters(), theirs.parameters(), strict=True):
        torch.testing.assert_close(
            mine.grad.float(), wanted.grad, rtol=step, atol=64 * step, check_dtype=False
        )
    for mine, wanted in zip(ours.buffers(), theirs.buffers(), strict=True):
        torch.testing.assert_close(mine.to(wanted), wanted, rtol=step, atol=step)


@pytest.mark.parametrize("make", [nn.LogSigmoid, nn.CELU, nn.Hardswish, nn.Mish, nn.GELU])
def test_activations(make: Callable[[], Any]) -> None:
    assert_right(make(), SIGNAL, None)


def test_erfc_has_correct_digits_where_it_is_small(pick_target: Pick) -> None:
    class Function(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.erfc(x)

    x = torch.cat([torch.linspace(-6, 9.1, 999), torch.tensor([0.0, 30.0, -30.0, torch.nan])])
    program = ark.from_torch(Function(), x)
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        (y,) = executable.run(x=x).values()
    wanted = torch.erfc(x.double())
    torch.testing.assert_close(y, wanted.float(), rtol=1e-6, atol=1e-38, equal_nan=True)


@pytest.mark.parametrize(("extent", "dtype"), [(1, None), (13, None), (6, torch.int64)])
@pytest.mark.parametrize("dim", [0, -1])
def test_cumulative_products(extent: int, dtype: Any, dim: int) -> None:
    class Function(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.cumprod(x, dim, dtype=dtype)

    torch.manual_seed(0)
    x = torch.randint(-3, 4, (extent, 3, extent)).float()
    (y,) = ark.reference.run(ark.from_torch(Function(), x), {"x": x.numpy()}).values()
    np.testing.assert_array_equal(y, torch.cumprod(x, dim, dtype=dtype).numpy())


def test_small_arguments_of_log1p_and_expm1(pick_target: Pick) -> None:
    """log(1 + x) and exp(x) - 1 have no correct digit for these arguments."""

    class Both(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.log1p(x), torch.expm1(x)

    x = torch.tensor([0.0, 1e-10, -3e-9, 1e-6, 0.5, 20.0, -0.9, 100.0])
    program = ark.from_torch(Both(), x)
    with ark.compile(program, target=pick_target("cpu:1")) as executable:
        got = list(executable.run(x=x).values())
    for y, wanted in zip(got, (torch.log1p(x.double()), torch.expm1(x.double())), strict=True):
        torch.testing.assert_close(y, wanted.float(), rtol=1e-6, atol=0)

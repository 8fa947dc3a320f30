"""Training on a GPU: ``torch.compile(backend="ark")`` and ``ark.training.from_torch``.

These tests compile, as those of `test_torch_compile.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from torch_modules import bytes_of_copies, mlp, target_of

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="ark is installed without its compiler")

pytestmark = pytest.mark.gpu


@pytest.fixture(autouse=True)
def _fresh(torch: Any) -> Iterator[None]:
    torch.manual_seed(0)
    torch.backends.cuda.matmul.allow_tf32 = False
    torch.backends.cudnn.allow_tf32 = False
    torch._dynamo.reset()
    yield
    torch._dynamo.reset()


def encoder(torch: Any) -> Any:
    return torch.nn.TransformerEncoderLayer(64, 4, 128, dropout=0, batch_first=True).cuda()


def mean_square(net: Any, x: Any) -> Any:
    return net(x).float().square().mean()


def gradients(net: Any, call: Any, x: Any) -> list[Any]:
    """Returns the loss and the gradients of the parameters."""
    net.zero_grad()
    loss = mean_square(call, x)
    loss.backward()
    return [loss.detach(), *(p.grad for p in net.parameters())]


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
def test_gradients(torch: Any, logged: Callable[[], list[str]], dtype: str) -> None:
    """The error to float64 is at most PyTorch's plus a few roundings of the dtype."""
    element = getattr(torch, dtype)
    net = mlp(torch, element)
    x = torch.randn(48, 64, device="cuda", dtype=element)
    eager, exact_net = copy.deepcopy(net), copy.deepcopy(net).double()
    plain = gradients(eager, eager, x)
    exact = gradients(exact_net, exact_net, x.double())
    got = gradients(net, torch.compile(net, backend="ark"), x)
    for ours, theirs, right in zip(got, plain, exact, strict=True):
        assert (ours.shape, ours.dtype, ours.device) == (theirs.shape, theirs.dtype, theirs.device)
        rounding = 16 * torch.finfo(element).eps * right.abs().max()
        assert (ours - right).abs().max() <= 4 * (theirs - right).abs().max() + rounding
    assert logged() == []


@pytest.mark.parametrize("build", [mlp, encoder])
def test_steps_of_an_optimizer(torch: Any, logged: Callable[[], list[str]], build: Any) -> None:
    """Each step reads what the optimizer of PyTorch has written on the GPU."""
    net = build(torch)
    eager = copy.deepcopy(net)
    call = torch.compile(net, backend="ark")
    arms = [(call, net), (eager, eager)]
    optimizers = [torch.optim.AdamW(module.parameters(), 1e-3) for _, module in arms]
    losses: list[list[float]] = [[], []]
    for _ in range(8):
        x = torch.randn(4, 24, 64, device="cuda")
        for number, (function, _) in enumerate(arms):
            optimizers[number].zero_grad()
            loss = mean_square(function, x)
            loss.backward()
            optimizers[number].step()
            losses[number].append(loss.item())
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
    assert losses[0][-1] < losses[0][0]
    assert logged() == []


def test_dropout_draws_the_masks_of_eager_pytorch(torch: Any) -> None:
    def double(x: Any) -> Any:
        return torch.nn.functional.dropout(x * 2, 0.3, training=True)

    x = torch.randn(64, 64, device="cuda", requires_grad=True)
    results = []
    for function in (torch.compile(double, backend="ark"), double):
        torch.manual_seed(5)
        x.grad = None
        y = function(x)
        y.sum().backward()
        results.append((y.detach(), x.grad))
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_no_tensor_of_a_step_visits_the_host(torch: Any, tmp_path: Path) -> None:
    net = mlp(torch)
    call = torch.compile(net, backend="ark")
    x = torch.randn(512, 64, device="cuda")
    gradients(net, call, x)
    sizes = bytes_of_copies(torch, lambda: gradients(net, call, x), tmp_path / "trace.json")
    # The status of a launch is copied; the smallest matrix has 16 KiB.
    assert max(sizes, default=0) < 1 << 14


def test_a_whole_step_in_one_kernel(torch: Any) -> None:
    """``from_torch`` takes a module and batches on the GPU, and gives the weights back there."""
    net = encoder(torch)
    eager = copy.deepcopy(net)
    batches = [{"x": torch.randn(4, 24, 64, device="cuda")} for _ in range(6)]

    def loss(net: Any, batch: dict[str, Any]) -> Any:
        return mean_square(net, batch["x"])

    # Adam would magnify the rounding errors of the keys' bias, whose gradient is zero.
    optimizer, wanted = torch.optim.SGD(eager.parameters(), 0.1, 0.9), []
    for batch in batches:
        optimizer.zero_grad()
        value = loss(eager, batch)
        value.backward()
        optimizer.step()
        wanted.append(value.item())
    step = {"optimizer": torch.optim.SGD(net.parameters(), 0.1, 0.9), "steps": 4}
    target = target_of(torch)
    with ark.training.from_torch(net, loss, batches[0], target=target, **step) as trainer:
        assert trainer.run(batches).tolist() == pytest.approx(wanted, rel=1e-5)
        trainer.load_into(net)
    for ours, theirs in zip(net.parameters(), eager.parameters(), strict=True):
        assert ours.is_cuda
        assert (ours - theirs).abs().max() <= 1e-5 * max(1, theirs.abs().max())

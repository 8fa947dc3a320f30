"""``torch.compile(backend="ark")`` of modules that train: gradients and losses are those of eager
PyTorch."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")

from torch_training import Seen, assert_close, assert_trains, fast

torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
functional = nn.functional
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch", "gradients"),
]

Step = Callable[[Any], Any]


def sgd(net: Any) -> Any:
    return torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9)


def squares(net: Any, x: Any) -> Any:
    return net(x).square().mean()


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4))


def test_a_module_trains_in_two_programs(seen: Seen, logged: Callable[[], list[str]]) -> None:
    assert_trains(perceptron(), [torch.randn(3, 8) for _ in range(5)], squares, sgd)
    forward, backward = seen.programs
    assert len(forward.parameters) == 4
    assert backward.parameters == {}
    assert logged() == []


def test_the_kernel_reads_what_an_optimizer_has_written(seen: Seen) -> None:
    """The parameters, whose memory the kernel reads in place, are bound once."""
    net = nn.Sequential(nn.Linear(64, 64))
    assert_trains(net, [torch.randn(3, 64) for _ in range(4)], squares, sgd)
    assert [len(names) for names in seen.bound] == [2]


def test_the_memory_of_a_parameter_can_be_released(seen: Seen) -> None:
    """FSDP releases the memory of a parameter after a call, and fills new memory before the
    next."""
    linear = nn.Linear(64, 64, bias=False)
    compiled, x = fast(linear), torch.randn(3, 64)
    for _ in range(3):
        assert_close(compiled(x), nn.functional.linear(x, linear.weight))
        storage, kept = linear.weight.untyped_storage(), linear.weight.detach().clone()
        storage.resize_(0)
        storage.resize_(kept.untyped_storage().nbytes())
        linear.weight.data.copy_(-kept)
    assert seen.programs


def leaves(*shapes: Any) -> list[Any]:
    return [torch.randn(shape, requires_grad=True) for shape in shapes]


LABELS = torch.tensor([[1, 4, -100], [0, 2, 3]])


def elementwise(x: Any, y: Any) -> Any:
    ops = (
        torch.tanh, torch.sigmoid, functional.silu, functional.gelu, functional.relu, torch.exp,
        functional.softplus, functional.elu, functional.leaky_relu, functional.hardtanh,
        functional.logsigmoid, functional.mish, lambda x: functional.gelu(x, approximate="tanh"),
        torch.erf, torch.sin, lambda x: (x.abs() + 1).log(), lambda x: (x.abs() + 1).rsqrt(),
        lambda x: x**3, lambda x: x / (y.abs() + 1), lambda x: torch.where(x > 0, x, y * x),
        lambda x: torch.maximum(x, y), lambda x: x.clamp(-0.5, 0.7),
        lambda x: x.masked_fill(y > 0, 2),
    )  # fmt: skip
    return sum(op(x) for op in ops)


def norms(x: Any, weight: Any, bias: Any, image: Any) -> Any:
    rows = functional.layer_norm(x, (6,), weight, bias) + functional.rms_norm(x, (6,), weight)
    rows = rows + torch.softmax(x, -1) * x + torch.log_softmax(x, 0) + functional.normalize(x)
    rows = rows + x.var(-1, keepdim=True) * x.mean() + x.std() + x.amax(-1, keepdim=True)
    grouped = functional.group_norm(image, 2) + functional.instance_norm(image)
    return rows.square().sum() + (grouped * image).square().mean()


def losses(x: Any, weight: Any) -> Any:
    """Logits ``[2, 3, 5]`` with an ignored label, weights of classes, and all reductions."""
    flat, flat_labels = x.flatten(0, 1), LABELS.flatten()
    total = functional.cross_entropy(flat, flat_labels)
    total = total + functional.cross_entropy(flat, flat_labels, reduction="sum")
    each = functional.cross_entropy(flat, flat_labels, reduction="none")
    total = total + (each * torch.arange(6)).sum()
    total = total + functional.cross_entropy(flat, flat_labels, torch.arange(5) + 0.5)
    total = total + functional.cross_entropy(flat, flat_labels, label_smoothing=0.1)
    total = total + functional.cross_entropy(x.mT, LABELS)  # classes before positions
    total = total + functional.cross_entropy(x[0, 0], torch.tensor(3))
    total = total + functional.mse_loss(flat, weight) + functional.smooth_l1_loss(flat, weight)
    return total + functional.binary_cross_entropy_with_logits(flat, weight.sigmoid())


def indices(table: Any, x: Any) -> Any:
    ids = torch.tensor([[0, 3, 3], [6, 1, 0]])
    rows = functional.embedding(ids, table) + functional.embedding(ids, table, padding_idx=3)
    pairs = x[torch.tensor([0, 2, 0]), torch.tensor([1, 1, 1])]
    taken = x[:, torch.tensor([[0, 1], [-1, 0]])]
    gathered = x.gather(1, ids[:, :2, None].clamp(max=3))
    parts = [
        x[:, 1:4],
        x[:, 0],
        x[:, 1::2],
        x.flip(1)[0],
        x.roll(1, 0)[1],
        functional.pad(x, (1, 2)),
    ]
    added = x.index_add(0, torch.tensor([1, 1]), x[:2] * 2)
    joined = [torch.cat([x, x * 2], 1)[:, 2:], torch.stack([x, x.exp()])[1], x.repeat(2, 1, 1)]
    summed = torch.zeros(2, 4).scatter_add(1, LABELS.clamp(0, 3), x[:2, :3, 0])
    return sum(
        part.square().sum()
        for part in [rows, pairs, taken, gathered, *parts, added, *joined, summed]
    )


def products(a: Any, b: Any, c: Any) -> Any:
    total = (a @ b).square().sum() + torch.einsum("bij,bjk->ik", c, c.mT).square().sum()
    total = (
        total
        + torch.baddbmm(c, c, c.mT @ c).mean()
        + (a @ b[:, 0]).sum()
        + c.cumsum(1).exp().mean()
    )
    return (
        total + torch.addmm(a, a, b @ a).square().mean() + functional.linear(c, a).square().mean()
    )


def attention(q: Any, k: Any, v: Any, few: Any) -> Any:
    attend = functional.scaled_dot_product_attention
    mask = torch.ones(5, 5).tril(1) > 0
    mask[2] = False  # no key at all
    total = attend(q, k, v) + attend(q, k, v, is_causal=True, scale=0.3)
    total = (
        total + attend(q, k, v, attn_mask=mask) + attend(q, k, v, attn_mask=mask[None, None] * 0.5)
    )
    return total + attend(q, few, few, enable_gqa=True)


def images(x: Any, w: Any, depthwise: Any, bias: Any) -> Any:
    total = functional.conv2d(x, w, bias[:4], stride=2, padding=1).square().sum()
    total = total + functional.conv2d(x, depthwise, bias, groups=6).square().sum()
    total = (
        total + functional.conv_transpose2d(x, w.mT.reshape(6, 4, 3, 3), stride=2).square().sum()
    )
    total = total + functional.conv1d(x[:, :, 0], w[:, :, 0]).square().sum()
    total = total + functional.avg_pool2d(x, 3, 2, 1).square().sum()
    return total + functional.adaptive_avg_pool2d(x, 2).square().sum() + (x.mean((2, 3)) ** 2).sum()


@pytest.mark.parametrize(
    ("function", "shapes"),
    [
        (elementwise, [(3, 7), (3, 7)]),
        (norms, [(4, 6), (6,), (6,), (2, 4, 3, 3)]),
        (losses, [(2, 3, 5), (6, 5)]),
        (indices, [(7, 4), (3, 4, 5)]),
        (products, [(3, 4), (4, 3), (2, 3, 4)]),
        (attention, [(2, 4, 5, 8), (2, 4, 5, 8), (2, 4, 5, 8), (2, 2, 5, 8)]),
        (images, [(2, 6, 7, 7), (4, 6, 3, 3), (6, 1, 3, 3), (6,)]),
    ],
)
def test_gradients_of_ops(
    function: Any, shapes: Any, seen: Seen, logged: Callable[[], list[str]]
) -> None:
    mine = leaves(*shapes)
    theirs = [x.detach().clone().requires_grad_() for x in mine]
    results = [call(*args) for call, args in ((fast(function), mine), (function, theirs))]
    assert_close(*(result.detach() for result in results))
    for result in results:
        result.mean().backward()
    for x, y in zip(mine, theirs, strict=True):
        assert_close(x.grad, y.grad)
    assert logged() == []
    assert len(seen.programs) == 2


# -- state, randomness and layouts -----------------------------------------------------------


def test_dropout_draws_the_masks_of_eager_pytorch(
    seen: Seen, logged: Callable[[], list[str]]
) -> None:
    net = nn.Sequential(nn.Linear(8, 16), nn.Dropout(0.3), nn.ReLU(), nn.Dropout(0.5))
    net.append(nn.Linear(16, 4)).train()
    assert_trains(net, [torch.randn(3, 8) for _ in range(3)], squares, sgd)
    assert len(seen.programs) == 2
    (line,) = logged()
    assert "aten.bernoulli.p: random numbers are those of PyTorch's generator" in line


def test_statistics_of_batches_are_updated(logged: Callable[[], list[str]]) -> None:
    net = nn.Sequential(nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.MaxPool2d(3, 1))
    net.extend([nn.MaxPool2d(2), nn.Flatten(), nn.Linear(16, 3)]).train()
    eager = copy.deepcopy(net)
    assert_trains(net, [torch.randn(3, 2, 8, 8) for _ in range(3)], squares, sgd)
    for batch in (torch.randn(3, 2, 8, 8),):
        fast(net)(batch)
    assert net[1].num_batches_tracked == 4
    assert not torch.equal(net[1].running_mean, eager[1].running_mean)
    assert logged() == []


class Classifier(nn.Module):
    """The loss of classes of images, of the words of their titles, and of numbers."""

    def __init__(self) -> None:
        super().__init__()
        self.image, self.title = nn.Conv2d(2, 8, 3, stride=2), nn.Embedding(11, 8)
        self.numbers = nn.Sequential(nn.LayerNorm(8), nn.Linear(8, 8), nn.GELU())
        self.out = nn.Linear(8, 4)

    def forward(self, numbers: Any, image: Any, title: Any, labels: Any) -> Any:
        parts = self.image(image).mean((2, 3)) + self.title(title).mean(1)
        logits = self.out(torch.tanh(parts) + self.numbers(numbers))
        return functional.cross_entropy(logits, labels)


def test_batch_sizes_that_change_are_padded(seen: Seen, logged: Callable[[], list[str]]) -> None:
    def batch(size: int) -> tuple[Any, ...]:
        inputs = torch.randn(size, 8), torch.randn(size, 2, 6, 6), torch.randint(11, (size, 3))
        return *inputs, torch.randint(4, (size,))

    batches = [batch(size) for size in (3, 5, 6, 5)]
    assert_trains(Classifier(), batches, lambda net, batch: net(*batch), sgd)
    assert logged() == []
    # For a batch of three as it is, and for up to six.
    assert len(seen.programs) == 4


def test_lengths_that_change(logged: Callable[[], list[str]]) -> None:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0, batch_first=True)
    net = nn.Sequential(nn.Embedding(11, 8), layer, nn.Linear(8, 11))

    def loss_of(net: Any, ids: Any) -> Any:
        return functional.cross_entropy(net(ids).flatten(0, 1), ids.flatten().roll(1))

    batches = [torch.randint(11, (2, length)) for length in (3, 5, 6)]
    assert_trains(net, batches, loss_of, sgd)
    assert logged() == []


def test_a_second_derivative_raises() -> None:
    x = torch.randn(3, 8, requires_grad=True)
    (slope,) = torch.autograd.grad(fast(lambda x: x.exp().sum())(x), x, create_graph=True)
    with pytest.raises(RuntimeError, match="does not currently support double backward"):
        slope.sum().backward()


def test_autocast() -> None:
    net, x = perceptron(), torch.randn(3, 8)
    eager, compiled = copy.deepcopy(net), fast(net)
    for call in (compiled, eager):
        with torch.autocast("cpu", torch.bfloat16):
            result = call(x)
        assert result.dtype == torch.bfloat16
        result.float().square().mean().backward()
    exact = copy.deepcopy(eager).double()
    exact.zero_grad()
    exact(x.double()).square().mean().backward()
    for mine, theirs, wanted in zip(
        net.parameters(), eager.parameters(), exact.parameters(), strict=True
    ):
        error, usual = ((p.grad - wanted.grad).abs().max() for p in (mine, theirs))
        assert error <= 2 * usual + 2**-8 * wanted.grad.abs().max()
        assert mine.grad.dtype == torch.float32


def aliases(x: Any, y: Any) -> Any:
    total = x * y
    return x.view(-1), total.t(), total[1:], x + 1, total.detach()


def test_results_that_alias_inputs_and_each_other() -> None:
    mine, theirs = leaves((4, 6), (4, 6)), []
    theirs = [x.detach().clone().requires_grad_() for x in mine]
    results = [call(*args) for call, args in ((fast(aliases), mine), (aliases, theirs))]
    for got, wanted in zip(*results, strict=True):
        assert_close(got.detach(), wanted.detach())
        assert got.stride() == wanted.stride()
        assert got.requires_grad == wanted.requires_grad
    for result in results:
        sum(part.square().sum() for part in result).backward()
    for x, y in zip(mine, theirs, strict=True):
        assert_close(x.grad, y.grad)


def test_a_buffer_that_forward_writes() -> None:
    class Counting(nn.Linear):
        def __init__(self) -> None:
            super().__init__(8, 4)
            self.register_buffer("total", torch.zeros(8))

        def forward(self, x: Any) -> Any:
            self.total += x.sum(0).detach()
            return super().forward(x) * self.total.sum()

    net = Counting()
    batches = [torch.randn(3, 8) for _ in range(3)]
    assert_trains(net, batches, squares, sgd)
    assert_close(net.total, torch.stack(batches).sum((0, 1)))


@pytest.mark.parametrize(
    "make",
    [
        lambda: torch.randn(4, 3).t(),
        lambda: torch.randn(6, 8)[::2, ::2],
        lambda: torch.ones(1, 4).expand(3, 4),
        lambda: torch.randn(13)[1:].view(3, 4),  # misaligned
    ],
)
def test_slopes_of_any_layout(make: Callable[[], Any]) -> None:
    net, x, slopes = perceptron(), torch.randn(3, 8), make()
    eager = copy.deepcopy(net)
    for call in (fast(net), eager):
        call(x).backward(slopes)
    for p, q in zip(net.parameters(), eager.parameters(), strict=True):
        assert_close(p.grad, q.grad)


def test_gradients_are_accumulated_and_a_graph_is_read_twice() -> None:
    net, x = perceptron(), torch.randn(3, 8)
    eager = copy.deepcopy(net)
    for call in (fast(net), eager):
        loss = call(x).square().mean()
        loss.backward(retain_graph=True)
        loss.backward()
        call(x * 2).sum().backward()
    for p, q in zip(net.parameters(), eager.parameters(), strict=True):
        assert_close(p.grad, q.grad)


def test_frozen_and_tied_parameters() -> None:
    net = nn.Sequential(nn.Linear(8, 8), nn.Tanh(), nn.Linear(8, 8), nn.Linear(8, 8))
    net[2].weight = net[0].weight
    net[3].requires_grad_(False)
    assert_trains(
        net,
        [torch.randn(3, 8) for _ in range(3)],
        squares,
        lambda net: torch.optim.AdamW([p for p in net.parameters() if p.requires_grad], 1e-2),
    )


def test_a_parameter_that_is_copied_is_copied_again_after_a_step(seen: Seen) -> None:
    """The kernel cannot read columns of a larger matrix in place."""
    net = nn.Linear(8, 8, bias=False)
    net.weight = nn.Parameter(torch.randn(8, 16)[:, ::2])
    eager, compiled = copy.deepcopy(net), fast(net)
    batches = [torch.randn(3, 8) for _ in range(3)]
    for call, module in ((compiled, net), (eager, eager)):
        for x in batches:
            module.zero_grad()
            call(x).square().mean().backward()
            with torch.no_grad():
                module.weight -= module.weight.grad
    assert_close(net.weight.detach(), eager.weight.detach())
    assert len(seen.bound) == 3


def test_a_backward_pass_in_another_thread(in_threads: Callable[..., None]) -> None:
    net, x = perceptron(), torch.randn(3, 8)
    compiled = fast(net)
    wanted = torch.autograd.grad(compiled(x).sum(), list(net.parameters()))

    def work() -> None:
        for _ in range(5):
            with torch.enable_grad():
                found = torch.autograd.grad(compiled(x).sum(), list(net.parameters()))
            assert all(map(torch.equal, found, wanted))

    in_threads(*[work] * 3)


def test_the_cache_has_both_programs(tmp_path: Any, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "ark.cache")
    net, x = perceptron(), torch.randn(3, 8)
    for _ in range(2):
        torch._dynamo.reset()
        fast(net, cache=str(tmp_path))(x).sum().backward()
    looked_up = [r.getMessage() for r in caplog.records if r.name == "ark.cache"]
    assert ["not in the cache" in line for line in looked_up] == [True, True, False, False]

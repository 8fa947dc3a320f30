"""``ark.training.from_torch``: whole training steps follow PyTorch; and wrong uses."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
functional = nn.functional
pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(0)


def squares(net: Any, batch: dict[str, Any]) -> Any:
    return net(batch["x"]).square().mean()


def sgd(net: Any) -> Any:
    return torch.optim.SGD(net.parameters(), lr=0.1)


def compiled(net: Any, loss: Any, example: Any, optimizer: Any = None, **options: Any) -> Any:
    made = sgd(net) if optimizer is None else optimizer
    settings = {"target": "cpu:2", "steps": 4, **options}
    return ark.training.from_torch(net, loss, example, optimizer=made, **settings)


def perceptron() -> Any:
    return nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 4))


def assert_follows(
    net: Any,
    loss: Any,
    batches: list[dict[str, Any]],
    make: Callable[[Any], Any] = sgd,
    clip: float | None = None,
) -> None:
    """Compares losses and weights with those of PyTorch."""
    eager = copy.deepcopy(net)
    optimizer, wanted = make(eager), []
    for batch in batches:
        optimizer.zero_grad()
        value = loss(eager, batch)
        value.backward()
        wanted.append(value.item())
        if clip is not None:
            nn.utils.clip_grad_norm_(eager.parameters(), clip)
        optimizer.step()
    with compiled(net, loss, batches[0], make(net), clip=clip) as trainer:
        np.testing.assert_allclose(trainer.run(batches), wanted, rtol=1e-5)
        assert trainer.step == len(batches)
        trainer.load_into(net)
    for p, q in zip(net.parameters(), eager.parameters(), strict=True):
        assert (p - q).abs().max() <= 1e-5 * max(1, q.abs().max())


def xs(count: int, *shape: int) -> list[dict[str, Any]]:
    return [{"x": torch.randn(shape)} for _ in range(count)]


def grouped(kind: Any, **settings: Any) -> Callable[[Any], Any]:
    """Returns an optimizer with weight decay of matrices only."""

    def make(net: Any) -> Any:
        matrices = [p for p in net.parameters() if p.ndim > 1]
        others = [p for p in net.parameters() if p.ndim == 1]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": others, "lr": 0.02}]
        return kind(groups, lr=0.05, weight_decay=0, **settings)

    return make


@pytest.mark.parametrize(
    ("make", "clip"),
    [
        (grouped(torch.optim.AdamW, betas=(0.8, 0.99)), 0.1),
        (grouped(torch.optim.SGD, momentum=0.9, nesterov=True), None),
        (lambda net: torch.optim.Adam(net.parameters(), 0.01, eps=1e-6), None),
    ],
)
def test_optimizers_of_pytorch(make: Any, clip: float | None) -> None:
    assert_follows(perceptron(), squares, xs(6, 3, 8), make, clip)


def test_an_optimizer_of_ark_with_a_schedule() -> None:
    net, batches = perceptron(), xs(5, 3, 8)
    eager = copy.deepcopy(net)
    optimizer = torch.optim.SGD(eager.parameters(), lr=1)
    for number, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = 0.1 * (number + 1)
        optimizer.zero_grad()
        squares(eager, batch).backward()
        optimizer.step()

    def make(weights: list[ark.Tensor]) -> ark.optim.Optimizer:
        return ark.optim.SGD(weights, lambda step: ark.cast(step + 1, ark.fp32) * 0.1)

    with compiled(net, squares, batches[0], make) as trainer:
        trainer.run(batches)
        for name, value in eager.named_parameters():
            assert (trainer.state_dict()[name] - value).abs().max() <= 1e-5


def test_frozen_tied_and_unlisted_parameters_and_buffers() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embed = nn.Embedding(7, 8)
            self.mid, self.fixed = nn.Linear(8, 8), nn.Linear(8, 8).requires_grad_(False)
            self.norm = nn.BatchNorm1d(8).eval()
            self.out = nn.Linear(8, 7, bias=False)
            self.out.weight = self.embed.weight

        def forward(self, ids: Any) -> Any:
            return self.out(self.fixed(self.norm(self.mid(self.embed(ids)))))

    def loss(net: Any, batch: Any) -> Any:
        return functional.cross_entropy(net(batch["ids"]), batch["ids"])

    net = Net()
    net.norm.running_mean.normal_()
    before = copy.deepcopy(net.state_dict())
    batches = [{"ids": torch.randint(7, (5,))} for _ in range(5)]
    assert_follows(
        net, loss, batches, lambda net: torch.optim.SGD([net.embed.weight, net.mid.weight], 0.1)
    )
    same = {name for name, value in net.state_dict().items() if torch.equal(value, before[name])}
    assert same == before.keys() - {"embed.weight", "out.weight", "mid.weight"}


def test_a_network_of_convolutions() -> None:
    net = nn.Sequential(nn.Conv2d(2, 4, 3, 2, 1), nn.ReLU(), nn.ConvTranspose2d(4, 3, 3, 2))
    net.extend([nn.GroupNorm(3, 3), nn.AvgPool2d(2), nn.Conv2d(3, 3, 1, groups=3)])
    assert_follows(net, squares, xs(3, 2, 2, 6, 6))


def cross_entropies(net: Any, batch: dict[str, Any]) -> Any:
    logits, labels = net(batch["x"]), batch["labels"]
    weight, shares = torch.arange(4) + 0.5, batch["shares"].softmax(-1)
    total = functional.cross_entropy(logits, labels) + functional.cross_entropy(
        logits[0], labels[0]
    )
    for options in (
        {"weight": weight},
        {"label_smoothing": 0.1},
        {"weight": weight, "label_smoothing": 0.1, "reduction": "sum"},
    ):
        total = total + functional.cross_entropy(logits, labels, **options)
    each = functional.cross_entropy(logits, labels.clamp(min=0), reduction="none", ignore_index=1)
    total = total + (each * each).sum() + functional.cross_entropy(logits, shares, weight)
    transposed = functional.cross_entropy(logits.T[None], labels[None, :4])
    return total + transposed + functional.cross_entropy(logits, shares, label_smoothing=0.2)


def test_cross_entropies() -> None:
    labels = torch.tensor([3, 0, 1, 2])
    batches = [{**x, "labels": labels, "shares": torch.randn(4, 4)} for x in xs(2, 4, 8)]
    ignored = {**batches[0], "labels": torch.tensor([3, -100, 1, 1])}
    assert_follows(perceptron(), cross_entropies, [*batches, ignored])


def test_dropout_draws_other_numbers_in_each_step() -> None:
    class Net(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.scale = nn.Parameter(torch.ones(()))

        def forward(self, x: Any) -> Any:
            mixed = functional.scaled_dot_product_attention(x, x, x, dropout_p=0.5)
            return functional.dropout(self.scale * x, 0.25).mean() + mixed.mean()

    def loss(net: Any, batch: Any) -> Any:
        return net(batch["x"])

    net, batch = Net(), {"x": torch.ones(2, 4, 32, 16)}
    still = torch.optim.SGD(net.parameters(), lr=0)
    runs = []
    for _ in range(2):
        with compiled(net, loss, batch, still) as trainer:
            runs.append(trainer.run([batch] * 4))
    assert runs[0].tolist() == runs[1].tolist()
    assert len(set(runs[0].tolist())) == 4
    assert np.abs(runs[0] - 2).max() < 0.1  # the mean is kept


def test_a_module_in_bf16() -> None:
    net = perceptron().bfloat16()
    batches = [{"x": batch["x"].bfloat16()} for batch in xs(3, 3, 8)]
    with compiled(net, squares, batches[0]) as trainer:
        losses = trainer.run(batches)
        trainer.load_into(net)
    assert losses.dtype == np.float32
    assert all(p.dtype == torch.bfloat16 for p in net.parameters())


def test_a_resumed_training_has_the_same_bits(tmp_path: Any) -> None:
    net, batches = perceptron(), xs(7, 3, 8)
    path = tmp_path / "net.safetensors"
    with compiled(net, squares, batches[0]) as trainer:
        trainer.run(batches[:4])
        trainer.save(path)
        wanted = trainer.run(iter(batches[4:]))
    with compiled(net, squares, batches[0]) as trainer:
        trainer.load(path)
        assert trainer.step == 4
        assert trainer.run(batches[4:]).tolist() == wanted.tolist()
        assert len(trainer.losses) == 7
        trainer.plot(tmp_path / "loss.html")


def test_a_batch_of_another_shape_in_mid_training() -> None:
    net, batches = perceptron(), xs(3, 3, 8)
    with compiled(net, squares, batches[0]) as trainer:
        trainer.run(batches)
        before = trainer.state_dict()
        for bad, message in (
            ({"x": torch.zeros(4, 8)}, r"the batch of step 3: 'x' is float32\[4, 8\], not"),
            ({"x": torch.zeros(3, 8).double()}, "'x' has elements of float64"),
            ({"y": torch.zeros(3, 8)}, r"the batch of step 3 has the inputs \['y'\]"),
            ({"x": [1.0]}, "the batch of step 3: 'x' is a list"),
            (torch.zeros(3, 8), "the batch of step 3 is a Tensor"),
        ):
            with pytest.raises(ark.InvalidUsageError, match=message):
                trainer.run([bad])
        after = trainer.state_dict()
        assert all(torch.equal(before[name], after[name]) for name in before)
        assert trainer.run(batches).shape == (3,)
        with pytest.raises(ark.InvalidUsageError, match="not one batch"):
            trainer.run(batches[0])


def test_a_loss_that_is_not_finite() -> None:
    net, (batch,) = perceptron(), xs(1, 3, 8)
    with compiled(net, squares, batch) as trainer:
        with pytest.raises(ark.DeviceError, match="the loss of step 1 is nan"):
            trainer.run([batch, {"x": batch["x"] * float("nan")}])
        assert trainer.step == 1
        assert all(torch.isfinite(value).all() for value in trainer.state_dict().values())


def test_parameters_of_another_module() -> None:
    net, (batch,) = perceptron(), xs(1, 3, 8)
    other = nn.Sequential(nn.Linear(8, 16), nn.Tanh(), nn.Linear(16, 5))
    with compiled(net, squares, batch) as trainer:
        with pytest.raises(ark.InvalidUsageError, match=r"'2.weight' is \[5, 16\] in the module"):
            trainer.load_into(other)
        with pytest.raises(ark.InvalidUsageError, match=r"'0\.weight' is missing in the module"):
            trainer.load_into(nn.Linear(8, 8))


class Unused(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.used, self.lost = nn.Linear(8, 4), nn.Linear(8, 4)

    def forward(self, x: Any) -> Any:
        return self.used(x)


class Whole(nn.Linear):
    def __init__(self) -> None:
        super().__init__(8, 4)
        self.count = nn.Parameter(torch.zeros(1, dtype=torch.int64), requires_grad=False)


class Rounded(nn.Linear):
    def forward(self, x: Any) -> Any:
        return x @ self.weight.T + (self.bias > 0)


class Stepped(nn.Linear):
    def forward(self, x: Any) -> Any:
        return torch.erfinv(super().forward(x))


def test_what_cannot_be_trained() -> None:
    (x,) = xs(1, 3, 8)
    stepped = perceptron()
    used = torch.optim.AdamW(stepped.parameters())
    squares(stepped, x).backward()
    used.step()
    linear, norm = nn.Linear(8, 4), nn.Sequential(nn.Linear(8, 4), nn.BatchNorm1d(4))
    usage, missing = ark.InvalidUsageError, ark.UnsupportedError
    other = sgd(perceptron())
    cases: list[tuple[Any, Any, Any, Any, Any, str]] = [
        (linear, lambda net, b: net(b["x"]), x, sgd, usage, r"one element, not fp32\[3, 4\]"),
        (linear, lambda net, b: (squares(net, b),) * 2, x, sgd, usage, r"fp32\[\], fp32\[\]"),
        (linear, lambda net, b: 1.0, x, sgd, usage, "not no tensor"),
        (linear, lambda net, b: net(b["x"]).argmax(), x, sgd, usage, r"not int64\[\]"),
        (linear, 3, x, sgd, usage, "loss is an int; expected a function of the module and a batch"),
        (linear, lambda net, b: net(b["z"]), x, sgd, usage, "'Linear' fails for the example"),
        (squares, squares, x, lambda _: other, usage, "model is a function"),
        (linear, squares, torch.zeros(3, 8), sgd, usage, "example must be a dict of tensors"),
        (linear, squares, {"x": 1}, sgd, usage, r"example\['x'\] is an int"),
        (Unused(), squares, x, sgd, usage, "does not depend on the parameter 'lost.weight'"),
        (Rounded(8, 4), squares, x, sgd, usage, "does not depend on .* 'bias' smoothly"),
        (Whole(), squares, x, sgd, usage, "parameter 'count' is int64, which has no gradient"),
        (norm, squares, x, sgd, missing, r"writes to 'model.1.\w+' \(buffer_mutation\)"),
        (Stepped(8, 4), squares, x, sgd, missing, "aten.erfinv.default: ark has no such op"),
        (linear, squares, x, lambda n: torch.optim.Rprop(n.parameters()), missing, "is a Rprop"),
        (linear, squares, x, lambda n: torch.optim.Adam(n.parameters(), weight_decay=1), missing,
         "Adam without weight decay"),
        (linear, squares, x, lambda n: torch.optim.AdamW(n.parameters(), amsgrad=True), missing,
         "with amsgrad is not supported"),
        (stepped, squares, x, lambda _: used, missing, "taken steps already"),
        (linear, squares, x, lambda _: other, usage, "that model.parameters\\(\\) does not have"),
        (linear, squares, x, lambda _: "adam", usage, "optimizer is a str"),
        (linear, squares, x, lambda _: lambda weights: None, usage, "not a NoneType"),
    ]  # fmt: skip
    for net, loss, example, make, kind, message in cases:
        with pytest.raises(kind, match=message) as caught:
            compiled(net, loss, example, make(net))
        assert "\n" not in str(caught.value)

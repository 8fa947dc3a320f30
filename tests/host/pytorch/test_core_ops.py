"""Core ATen ops that are composed of ops of ark, compared with PyTorch.

Each test compiles one graph of many ops, which must be one program without ops in eager PyTorch.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch: Any = pytest.importorskip("torch", reason="torch is not installed")

X = torch.tensor(
    [-7.5, -3.0, -2.5, -1.4, -0.5, -0.49, 0.0, 0.3, 0.5, 1.5, 2.5, 3.7, 1e-6, 8388607.5, -3e9, 1e20]
)
SPECIAL = torch.tensor([math.inf, -math.inf, math.nan, -0.0, 0.0])


@pytest.fixture
def alike(caplog: pytest.LogCaptureFixture) -> Callable[..., None]:
    """``alike(function, *inputs)`` compares all results of a function with those of PyTorch.

    ``double=True`` has PyTorch compute with float64 and rounds its results to float32.
    """

    def check(
        function: Callable[..., dict[str, Any]],
        *inputs: Any,
        close: Any = None,
        double: bool = False,
    ) -> None:
        torch._dynamo.reset()
        with caplog.at_level(logging.WARNING, "ark.pytorch"):
            got = torch.compile(function, backend="ark", fullgraph=True)(*inputs)
        assert not caplog.messages, "all ops run in ark"
        references = function(*(x.double() for x in inputs) if double else inputs)
        for name, expected in references.items():
            expected = expected.float() if double else expected
            options = {"equal_nan": True, **(close or {})}
            torch.testing.assert_close(
                got[name], expected, msg=lambda text, name=name: f"{name}: {text}", **options
            )

    return check


def test_rounding(alike: Callable[..., None]) -> None:
    def function(x: Any, special: Any, n: Any) -> dict[str, Any]:
        names = ("floor", "ceil", "trunc", "round", "frac")
        return {
            **{name: getattr(torch, name)(x) for name in names},
            **{f"{name} of special": getattr(torch, name)(special) for name in names[:4]},
            **{f"{name} of ints": getattr(torch, name)(n) for name in names[:4]},
            "decimals": x[:12].round(decimals=2),
            "tens": (x[:12] * 7).round(decimals=-1),
            "bf16": torch.round(x.bfloat16()),
        }

    alike(function, X, SPECIAL, torch.arange(-3, 4), close={"rtol": 0, "atol": 1e-6})


def test_divisions(alike: Callable[..., None]) -> None:
    def function(x: Any, y: Any, n: Any, m: Any) -> dict[str, Any]:
        return {
            "fmod": torch.fmod(x, y),
            "remainder": torch.remainder(x, y),
            "floor": torch.div(x, y, rounding_mode="floor"),
            "trunc": torch.div(x, y, rounding_mode="trunc"),
            "by a number": torch.stack([x % 0.3, torch.fmod(x, -0.7), x // 1.5]),
            "by infinity": torch.stack([torch.fmod(x, math.inf), torch.fmod(x, -math.inf)]),
            "ints": torch.stack([torch.fmod(n, m), n % m, n // m]),
            "fp16": torch.remainder(x.half(), y.half()),
        }

    torch.manual_seed(3)
    x, y = torch.randn(200) * 20, torch.randn(200) * 3
    x[:4], y[:4] = torch.tensor([6.0, -6.0, 0.3, 0.9]), torch.tensor([3.0, 3.0, 0.1, -0.3])
    n, m = torch.arange(-100, 100), torch.tensor([3, -3, 7, -1]).repeat(50)
    alike(function, x, y, n, m, close={"rtol": 1e-5, "atol": 2e-6})


FUNCTIONS = ("tan", "sinh", "cosh", "asin", "acos", "atan", "asinh", "acosh", "atanh")


def test_trigonometry_is_precise(alike: Callable[..., None]) -> None:
    """The error is a few units in the last place, also next to 0 and to the ends of a domain."""
    small = torch.tensor([1e-30, 1e-6, 0.1, 0.41, 0.42, 0.5, 0.9, 0.99999, 1.0, 2.0, 30.0, 88.9])
    inputs = {
        **dict.fromkeys(FUNCTIONS, torch.cat([small, -small])),
        **dict.fromkeys(("asin", "acos", "atanh"), torch.cat([small[:8], -small[:8]])),
        "acosh": torch.cat([small[8:], torch.tensor([1.00001, 1e15, 1e30])]),
        "asinh": torch.cat([small, torch.tensor([1e15, -1e30])]),
    }
    arguments = [inputs[name] for name in FUNCTIONS]

    def function(*values: Any) -> dict[str, Any]:
        return {n: getattr(torch, n)(v) for n, v in zip(FUNCTIONS, values, strict=True)}

    # PyTorch's vectorised float32 sinh returns inf for 88.9 on some CPUs.
    alike(function, *arguments, close={"rtol": 2e-6, "atol": 0}, double=True)


def test_angles_and_signs(alike: Callable[..., None]) -> None:
    ends = [0.0, -0.0, 1.0, -1.0, math.inf, -math.inf, 1e-30, 3e38]
    y, x = (t.reshape(-1) for t in torch.meshgrid(*[torch.tensor(ends)] * 2, indexing="ij"))

    def function(y: Any, x: Any, special: Any) -> dict[str, Any]:
        return {
            "atan2": torch.atan2(y, x),
            "hypot": torch.hypot(y.clamp(-1e38, 1e38), x),
            "copysign": 1 / torch.copysign(torch.full_like(y, 2.0), x),
            "signbit": torch.signbit(special),
            "atan": torch.atan(special),
            "logaddexp": torch.logaddexp(y, x),
        }

    alike(function, y, x, SPECIAL)


def test_reductions_and_orders(alike: Callable[..., None]) -> None:
    torch.manual_seed(4)
    x = torch.randn(3, 7, 5)
    lost = x.clone()
    lost[0, 2, 1] = math.nan

    def function(x: Any, lost: Any, n: Any) -> dict[str, Any]:
        middle, where = lost.median(1)
        return {
            "prod": x.prod(),
            "prod of rows": x.prod(1),
            "prod of ints": n.prod(0, keepdim=True),
            "prod of bf16": x.bfloat16().prod(-1),
            "prod of bools": (x > -2).prod(2),
            "norms": torch.stack([x.norm(p, dim=1) for p in (0, 1, 2, 3, 2.5, math.inf)]),
            "cdist": torch.cdist(x, x[:, :4], compute_mode="donot_use_mm_for_euclid_dist"),
            "city distance": torch.cdist(x, x[:, :4], p=1),
            "median": middle,
            "median's index": where,
            "kthvalue": x.kthvalue(3, 2, keepdim=True)[0],
        }

    alike(function, x, lost, torch.arange(1, 13).reshape(4, 3))


def test_searches_views_and_bits(alike: Callable[..., None]) -> None:
    x = torch.linspace(-3, 3, 24).reshape(4, 6)
    bounds = torch.tensor([-1.0, 0.0, 1.0, 1.0])

    def function(x: Any, bounds: Any, n: Any) -> dict[str, Any]:
        return {
            "bucketize": torch.bucketize(x.round(), bounds),
            "bucketize right": torch.bucketize(x.round(), bounds, right=True, out_int32=True),
            "searchsorted": torch.searchsorted(bounds, x.round(), side="right"),
            "searches of rows": torch.searchsorted(x.sort(1)[0], x[:, :2]),
            "diagonal": x.diagonal(),
            "diagonals": torch.stack([x.diagonal(1)[:3], x.diagonal(-1)]),
            "of a stack": x.reshape(2, 2, 2, 3).diagonal(dim1=1, dim2=3),
            "trace": x.trace(),
            "unfold": x.unfold(1, 3, 2) + 1,
            "scatter sum": x.scatter_reduce(1, n % 5, x, "sum"),
            "not": ~n,
            "shift": n << 3,
        }

    alike(function, x, bounds, torch.arange(-12, 12).reshape(4, 6))


def test_sizes_that_change(alike: Callable[..., None], caplog: Any) -> None:
    """The new elementwise ops run with padded sizes, too."""
    torch._dynamo.reset()
    compiled = torch.compile(lambda x: torch.round(torch.atan(x) * 9), backend="ark", dynamic=True)
    with caplog.at_level(logging.WARNING, "ark.pytorch"):
        for size in (3, 4, 7, 9):
            x = torch.linspace(-4, 4, size)
            torch.testing.assert_close(compiled(x), torch.round(torch.atan(x) * 9))
    assert not caplog.messages


def test_counts_of_values() -> None:
    """A result whose length depends on data runs in eager PyTorch; the error names a remedy."""
    import ark_mlir as ark

    class Counts(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.bincount(x, minlength=5) * 2

    x = torch.tensor([0, 3, 3, 1])
    torch._dynamo.reset()
    assert torch.compile(Counts(), backend="ark")(x).tolist() == [2, 2, 0, 4, 0]
    with pytest.raises(ark.UnsupportedError, match=r"(?s)bincount.*one_hot\(x, n\)\.sum\(0\)"):
        ark.from_torch(Counts(), x)

    class Fixed(torch.nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.nn.functional.one_hot(x, 5).sum(0) * 2

    program = ark.from_torch(Fixed(), x)
    assert ark.reference.run(program, {"x": x.numpy()})["output"].tolist() == [2, 2, 0, 4, 0]


# -- recurrent networks ----------------------------------------------------------------------------


class Tagger(torch.nn.Module):
    def __init__(self, kind: Any, **options: Any) -> None:
        super().__init__()
        self.rnn = kind(6, 10, batch_first=True, **options)
        self.head = torch.nn.Linear(20 if options.get("bidirectional") else 10, 3)

    def forward(self, x: Any) -> Any:
        return self.head(self.rnn(x)[0])


@pytest.fixture
def rnn() -> Iterator[None]:
    """TorchDynamo passes recurrent networks on only with ``allow_rnn``."""
    with torch._dynamo.config.patch(allow_rnn=True):
        yield


@pytest.mark.parametrize(
    ("kind", "options"),
    [
        (torch.nn.LSTM, {"num_layers": 2, "bidirectional": True}),
        (torch.nn.LSTM, {"bias": False}),
        (torch.nn.GRU, {"bidirectional": True}),
    ],
)
def test_recurrent_networks(
    kind: Any, options: dict[str, Any], rnn: None, alike: Callable[..., None]
) -> None:
    torch.manual_seed(5)
    model, x = Tagger(kind, **options).eval(), torch.randn(2, 5, 6)

    def function(x: Any) -> dict[str, Any]:
        with torch.no_grad():
            return {"y": model(x)}

    alike(function, x)


def test_gradients_of_an_lstm(rnn: None) -> None:
    torch._dynamo.reset()
    torch.manual_seed(6)
    model, x = Tagger(torch.nn.LSTM), torch.randn(2, 3, 6)
    model(x).square().sum().backward()
    expected = {name: p.grad.clone() for name, p in model.named_parameters()}
    model.zero_grad()
    # PyTorch cannot compile the gradients of its own op for LSTMs on the host, with any backend.
    with torch.backends.mkldnn.flags(enabled=False):
        torch.compile(model, backend="ark")(x).square().sum().backward()
    for name, parameter in model.named_parameters():
        torch.testing.assert_close(parameter.grad, expected[name], msg=name)

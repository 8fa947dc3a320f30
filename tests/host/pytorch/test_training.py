"""``torch.compile(backend="ark")`` of modules that train: gradients and losses are those of eager
PyTorch."""

from __future__ import annotations

import copy
import logging
from collections.abc import Callable, Generator
from typing import Any

import pytest

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")
nn = torch.nn
functional = nn.functional
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch", "gradients"),
]

Step = Callable[[Any], Any]


@pytest.fixture
def gradients() -> Generator[None]:
    with torch.enable_grad():
        yield


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    caplog.set_level(logging.WARNING, "ark.pytorch")
    return lambda: [r.getMessage() for r in caplog.records if r.name == "ark.pytorch"]


class Seen:
    """The programs that were compiled, and the names of parameters of every binding."""

    def __init__(self) -> None:
        self.programs: list[ark.Program] = []
        self.bound: list[list[str]] = []


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    from ark_mlir.pytorch import backend

    found = Seen()
    compile_program, bind = ark.compile, ark.Executable.bind

    def compiling(program: ark.Program, **options: Any) -> ark.Executable:
        found.programs.append(program)
        return compile_program(program, **options)

    def binding(self: ark.Executable, values: Any, **options: Any) -> ark.Executable:
        found.bound.append(list(values))
        return bind(self, values, **options)

    monkeypatch.setattr(backend, "compile", compiling)
    monkeypatch.setattr(ark.Executable, "bind", binding)
    return found


def fast(module: Any, **options: Any) -> Any:
    from ark_mlir.pytorch.backend import backend

    return torch.compile(module, backend=backend, options={"target": "cpu:2", **options})


def assert_close(got: Any, wanted: Any, scale: float = 0) -> None:
    """Checks that a tensor differs from another one by at most 1e-5 of its largest element, or
    1e-6 of `scale` if that is more."""
    assert (got is None) == (wanted is None)
    if wanted is not None:
        assert (got.shape, got.dtype) == (wanted.shape, wanted.dtype)
        limit = max(1e-5 * wanted.abs().max().item(), 1e-6 * scale)
        assert (got - wanted).abs().max().item() <= limit


def assert_trains(
    net: Any,
    batches: list[Any],
    loss_of: Callable[[Any, Any], Any],
    make_optimizer: Callable[[Any], Any],
    **options: Any,
) -> None:
    """Trains a module compiled by ark and its copy in eager PyTorch, and compares all steps."""
    eager = copy.deepcopy(net)
    compiled = fast(net, **options)
    arms = [(compiled, net, make_optimizer(net)), (eager, eager, make_optimizer(eager))]
    for number, batch in enumerate(batches):
        losses = []
        for call, _, optimizer in arms:
            torch.manual_seed(number)
            optimizer.zero_grad()
            losses.append(loss_of(call, batch))
            losses[-1].backward()
        assert_close(losses[0].detach(), losses[1].detach())
        wanted = {name: p.grad for name, p in eager.named_parameters()}
        largest = max(g.abs().max().item() for g in wanted.values() if g is not None)
        for name, p in net.named_parameters():
            # The gradient of a key's bias is zero in exact arithmetic.
            assert_close(p.grad, wanted[name], largest)
        for _, _, optimizer in arms:
            optimizer.step()


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

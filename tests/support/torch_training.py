"""Modules of PyTorch trained by ark and by eager PyTorch, and what tests observe meanwhile."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import torch

import ark_mlir as ark


class Seen:
    """The programs that were compiled, and the names of parameters of every binding."""

    def __init__(self) -> None:
        self.programs: list[ark.Program] = []
        self.bound: list[list[str]] = []


def fast(module: Any, **options: Any) -> Any:
    from ark_mlir.pytorch.backend import backend

    waiting = {"target": "cpu:2", "new_sizes": "wait"}
    return torch.compile(module, backend=backend, options={**waiting, **options})


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

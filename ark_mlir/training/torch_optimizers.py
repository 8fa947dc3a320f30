"""The optimizers of a training program made of a PyTorch module."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from .. import optim
from ..errors import InvalidUsageError, UnsupportedError, a_type
from ..frontend import Tensor

__all__ = ["MakeOptimizer", "make_optimizers", "trained_parameters"]

MakeOptimizer = Callable[[list[Tensor]], "optim.Optimizer | list[optim.Optimizer]"]
"""A function that creates one optimizer of ``ark.optim``, or several, for a list of weights."""

_SUPPORTED = "torch.optim.SGD, Adam without weight decay, or AdamW"


def trained_parameters(torch: Any, model: Any, optimizer: Any) -> list[Any]:
    """Returns the parameters that an optimizer trains; raises InvalidUsageError if one is not of
    `model`, and UnsupportedError if ark does not have the optimizer."""
    parameters = [p for p in model.parameters() if p.requires_grad]
    if not isinstance(optimizer, torch.optim.Optimizer):
        if not callable(optimizer):
            raise InvalidUsageError(
                f"optimizer is {a_type(optimizer)}; pass an optimizer of PyTorch, or a function "
                "that returns an optimizer of ark.optim for a list of weights"
            )
        return parameters
    for group in optimizer.param_groups:
        _settings(torch, optimizer, group)
    if optimizer.state:
        raise UnsupportedError(
            "optimizer has taken steps already, and ark starts without moments; pass a new one"
        )
    given = [p for group in optimizer.param_groups for p in group["params"] if p.requires_grad]
    known = {id(p) for p in parameters}
    if any(id(p) not in known for p in given):
        raise InvalidUsageError(
            "optimizer has a parameter that model.parameters() does not have; create it from model"
        )
    return given


def make_optimizers(
    torch: Any, optimizer: Any, weights: Mapping[int, Tensor]
) -> list[optim.Optimizer]:
    """Returns the optimizers of ark for an optimizer of PyTorch, or for a function.

    Args:
        torch: the package torch.
        optimizer: see :func:`ark_mlir.training.from_torch`.
        weights: the state of each trained parameter, by the ``id`` of the parameter.
    """
    if not isinstance(optimizer, torch.optim.Optimizer):
        return _called(optimizer, list(weights.values()))
    made: list[optim.Optimizer] = []
    for number, group in enumerate(optimizer.param_groups):
        chosen = [weights[id(p)] for p in group["params"] if id(p) in weights]
        if chosen:
            kind, settings = _settings(torch, optimizer, group)
            name = kind.__name__.lower() + (str(number) if number else "")
            made.append(kind(chosen, name=name, **settings))
    return made


def _called(make: MakeOptimizer, weights: list[Tensor]) -> list[optim.Optimizer]:
    made: Any = make(weights)
    several = list(made) if isinstance(made, Iterable) else [made]
    for each in several:
        if not isinstance(each, optim.Optimizer):
            raise InvalidUsageError(
                f"the function optimizer must return an optimizer of ark.optim, not {a_type(each)}"
            )
    return several


def _settings(
    torch: Any, optimizer: Any, group: Mapping[str, Any]
) -> tuple[type[optim.Optimizer], dict[str, Any]]:
    """Returns the class of ark and its arguments for a group of parameters."""
    name = type(optimizer).__name__
    for option in ("amsgrad", "maximize", "dampening"):
        if group.get(option):
            raise UnsupportedError(f"torch.optim.{name} with {option} is not supported")
    decay = float(group.get("weight_decay", 0))
    common = {"lr": float(group.get("lr", 0)), "weight_decay": decay}
    if type(optimizer) is torch.optim.SGD:
        momentum = float(group["momentum"])
        return optim.SGD, {**common, "momentum": momentum, "nesterov": group["nesterov"]}
    plain = type(optimizer) is torch.optim.Adam and not decay
    if type(optimizer) is torch.optim.AdamW or plain:
        betas = tuple(float(beta) for beta in group["betas"])
        return optim.AdamW, {**common, "betas": betas, "eps": float(group["eps"])}
    raise UnsupportedError(f"the optimizer is {a_type(optimizer)}; expected {_SUPPORTED}")

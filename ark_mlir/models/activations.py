"""Activations by their names in transformers; some have several names."""

from __future__ import annotations

from collections.abc import Callable

from .. import frontend as ark
from ..frontend import Tensor
from .config import Config

__all__ = ["ACTIVATIONS", "Activation", "read_activation"]

# Takes a tensor and a name for the result.
Activation = Callable[[Tensor, str], Tensor]


def _gelu(x: Tensor, name: str) -> Tensor:
    return ark.gelu(x, approximate="none", name=name)


def _gelu_tanh(x: Tensor, name: str) -> Tensor:
    return ark.gelu(x, approximate="tanh", name=name)


def _silu(x: Tensor, name: str) -> Tensor:
    return ark.silu(x, name=name)


ACTIVATIONS: dict[str, Activation] = {
    **dict.fromkeys(("gelu", "gelu_python"), _gelu),
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), _gelu_tanh),
    **dict.fromkeys(("silu", "swish"), _silu),
    "relu": lambda x, name: ark.relu(x, name=name),
    "sigmoid": lambda x, name: ark.sigmoid(x, name=name),
    "tanh": lambda x, name: ark.tanh(x, name=name),
}


def read_activation(config: Config, key: str, default: str) -> str:
    """Reads the name of an activation; raises InvalidUsageError if it is unknown."""
    name = config.word(key, default)
    if name not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise config.error(f"unknown {key} {name!r}; known are {known}")
    return name

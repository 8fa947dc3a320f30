"""Access to torch, which is optional."""

from __future__ import annotations

import importlib
import os
from typing import Any

from ..errors import UnsupportedError

__all__ = ["folder", "require_torch"]


def require_torch(feature: str) -> Any:
    """Returns the package torch; without torch, raises UnsupportedError, which names `feature`."""
    try:
        return importlib.import_module("torch")
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        raise UnsupportedError(
            f"{feature} needs PyTorch; install it with `pip install 'ark-mlir[torch]'`"
        ) from None


def folder(torch: Any) -> str:
    """Returns the folder of torch's own Python files."""
    return os.path.join(os.path.dirname(torch.__file__), "")

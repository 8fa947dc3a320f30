"""The device of a graph, which is the device of its tensors."""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

__all__ = ["device_of", "is_readable", "options_for", "reason_against"]

_GPU_ALIGNMENT = 16  # of buffers that a kernel for GPUs reads, in bytes


def device_of(tensors: Iterable[torch.Tensor]) -> torch.device | None:
    """Returns the device of tensors; None if the tensors are on several devices.

    Tensors of rank zero in host memory may be used with tensors on any device, as in PyTorch.
    """
    given = list(tensors)
    devices = {tensor.device for tensor in given}
    host = torch.device("cpu")
    if len(devices) > 1 and all(t.ndim == 0 for t in given if t.device == host):
        devices.discard(host)
    if len(devices) > 1:
        return None
    return next(iter(devices), host)


def reason_against(tensors: Iterable[torch.Tensor], options: Mapping[str, Any]) -> str | None:
    """Returns the reason why a graph with these tensors stays with PyTorch, or None."""
    given = list(tensors)
    device = device_of(given)
    if device is None:
        names = ", ".join(sorted({str(tensor.device) for tensor in given}))
        return f"tensors are on several devices ({names}), but a program of ark runs on one"
    if device.type not in ("cpu", "cuda") or (device.type == "cuda" and torch.version.hip):
        kind = "rocm" if device.type == "cuda" else device.type
        return f"tensors are on {kind}, but ark runs on the host and on NVIDIA GPUs"
    target = options.get("target")
    backend = str(target).partition(":")[0] if target is not None else device.type
    if backend in ("cpu", "cuda") and backend != device.type:
        return f"tensors are on {device}, but the target is {target}"
    return None


def options_for(device: torch.device, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of ``ark.compile`` for a graph on `device`.

    The result has the user's options, and the GPU of the tensors if the user names no target.
    """
    chosen = dict(options)
    if device.type == "cuda":
        chosen.setdefault("target", "cuda")
        if "devices" not in chosen and not _names_a_gpu(str(chosen["target"])):
            index: Any = device.index  # None for "cuda"
            chosen["devices"] = [torch.cuda.current_device() if index is None else index]
    return chosen


def _names_a_gpu(target: str) -> bool:
    return target.partition(":")[2].isdigit()


def is_readable(tensor: torch.Tensor) -> bool:
    """Returns True if a kernel can read a tensor on a GPU in place."""
    return tensor.is_contiguous() and tensor.data_ptr() % _GPU_ALIGNMENT == 0

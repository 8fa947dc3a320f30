"""The device of a graph, which is the device of its tensors.

PyTorch for ROCm calls AMD GPUs ``cuda``, and has the functions of ``torch.cuda`` for them: streams,
graphs, the current device and the addresses of tensors. So this module alone tells the two vendors
apart.
"""

# pyright: reportMissingImports=false, reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false, reportUnknownParameterType=false

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import torch

__all__ = ["backend_of", "device_of", "is_readable", "options_for", "reason_against"]

_GPU_ALIGNMENT = 16  # of buffers that a kernel for GPUs reads, in bytes
_BACKENDS = ("cpu", "cuda", "hip")  # of the devices on which ark takes tensors of PyTorch


def backend_of(device: torch.device) -> str:
    """Returns the name of the backend for a device of PyTorch; other devices keep their type.

    Example:
        >>> backend_of(torch.device("cuda:1"))
        'cuda'

        With PyTorch for ROCm, the result is ``'hip'``.
    """
    if device.type == "cuda" and torch.version.hip:
        return "hip"
    return device.type


def _name(device: torch.device) -> str:
    """Returns the name of a device in messages, in which AMD GPUs are called ``rocm``."""
    return str(device).replace("cuda", "rocm") if backend_of(device) == "hip" else str(device)


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
        names = ", ".join(sorted({_name(tensor.device) for tensor in given}))
        return f"tensors are on several devices ({names}), but a program of ark runs on one"
    own = backend_of(device)
    if own not in _BACKENDS:
        return f"tensors are on {device.type}, but ark runs on the host, NVIDIA GPUs and AMD GPUs"
    target = options.get("target")
    backend = own if target is None else str(target).partition(":")[0]
    if backend in _BACKENDS and backend != own:
        return f"tensors are on {_name(device)}, but the target is {target}"
    return None


def options_for(device: torch.device, options: Mapping[str, Any]) -> dict[str, Any]:
    """Returns the options of ``ark.compile`` for a graph on `device`.

    The result has the user's options, and the GPU of the tensors if the user names no target.
    """
    chosen = dict(options)
    if device.type == "cuda":
        chosen.setdefault("target", backend_of(device))
        if "devices" not in chosen and not _names_a_gpu(str(chosen["target"])):
            index: Any = device.index  # None for "cuda"
            chosen["devices"] = [torch.cuda.current_device() if index is None else index]
    return chosen


def _names_a_gpu(target: str) -> bool:
    return target.partition(":")[2].isdigit()


def is_readable(tensor: torch.Tensor) -> bool:
    """Returns True if a kernel can read a tensor on a GPU in place."""
    return tensor.is_contiguous() and tensor.data_ptr() % _GPU_ALIGNMENT == 0

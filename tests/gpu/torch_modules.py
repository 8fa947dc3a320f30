"""A module of PyTorch on the GPU, the target of ark for it, and the copies that PyTorch's profiler
sees."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any


def mlp(torch: Any, dtype: Any = None) -> Any:
    nn = torch.nn
    net = nn.Sequential(nn.Linear(64, 128), nn.GELU(), nn.LayerNorm(128), nn.Linear(128, 32))
    return net.to(device="cuda", dtype=dtype or torch.float32)


def target_of(torch: Any) -> str:
    """Returns the target for PyTorch's GPUs; PyTorch for ROCm calls AMD GPUs ``cuda``, too."""
    return "hip" if torch.version.hip else "cuda"


def bytes_of_copies(torch: Any, function: Callable[[], Any], trace: Path) -> list[int]:
    """Returns the sizes of the copies between host and GPU while a function runs."""
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profile:
        function()
        torch.cuda.synchronize()
    profile.export_chrome_trace(str(trace))
    events = json.loads(trace.read_text())["traceEvents"]
    # The last two are names of PyTorch for ROCm.
    names = ("Memcpy DtoH", "Memcpy HtoD", "CopyDeviceToHost", "CopyHostToDevice")
    return [e["args"]["bytes"] for e in events if e.get("name", "").startswith(names)]

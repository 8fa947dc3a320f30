"""The NVIDIA GPUs of this machine; nothing is allocated on them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .api import CudaApi

__all__ = ["Gpu", "Survey", "kernel_driver", "survey"]

_VERSION_FILE = Path("/proc/driver/nvidia/version")


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        ordinal: the CUDA ordinal of the GPU in this process.
        kind: model and architecture, such as ``NVIDIA H100 80GB HBM3 (sm_90)``.
        sms: number of SMs.
        memory: bytes of its memory.
        peers: ordinals of the GPUs whose memory it can access.
    """

    ordinal: int
    kind: str
    sms: int
    memory: int
    peers: tuple[int, ...]


@dataclass(frozen=True)
class Survey:
    """The GPUs of this machine, and NVIDIA's driver.

    Attributes:
        driver: version of NVIDIA's driver in the operating system, such as ``570.86.15``; empty if
            it is not known.
        cuda: newest version of CUDA that NVIDIA's driver supports, such as ``12.8``.
        gpus: the GPUs that this process sees.
    """

    driver: str
    cuda: str
    gpus: tuple[Gpu, ...]


def survey(driver: Any = None) -> Survey:
    """Returns the GPUs that NVIDIA's driver lists.

    Args:
        driver: the module ``cuda.bindings.driver``, or a substitute for tests.

    Raises UnsupportedError if cuda-python, NVIDIA's driver or a GPU is missing.
    """
    first = CudaApi(driver)
    count = int(first.call("cuDeviceGetCount"))
    apis = [first, *(CudaApi(driver, ordinal) for ordinal in range(1, count))]
    version = int(first.call("cuDriverGetVersion"))
    return Survey(
        kernel_driver(),
        f"{version // 1000}.{version % 1000 // 10}",
        tuple(_gpu(a, apis) for a in apis),
    )


def _gpu(api: CudaApi, apis: list[CudaApi]) -> Gpu:
    peers = [
        other.ordinal
        for other in apis
        if other is not api and api.call("cuDeviceCanAccessPeer", api.device, other.device)
    ]
    return Gpu(
        api.ordinal,
        api.kind,
        api.attribute("MULTIPROCESSOR_COUNT"),
        int(api.call("cuDeviceTotalMem", api.device)),
        tuple(peers),
    )


def kernel_driver(file: Path = _VERSION_FILE) -> str:
    """Returns the version of NVIDIA's driver in the operating system, or an empty string."""
    try:
        text = file.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""
    found = re.search(r"\b(\d{3,}(?:\.\d+)+)\b", text)
    return found[1] if found else ""

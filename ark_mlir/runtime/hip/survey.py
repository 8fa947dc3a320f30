"""The AMD GPUs of this machine; nothing is allocated on them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .api import HipApi
from .library import architecture_of, text_of

__all__ = ["Gpu", "Survey", "survey"]


@dataclass(frozen=True)
class Gpu:
    """A GPU.

    Attributes:
        ordinal: HIP's number of the GPU in this process.
        kind: model and architecture, such as ``AMD Instinct MI300X (gfx942)``.
        cus: number of CUs.
        memory: bytes of its memory.
    """

    ordinal: int
    kind: str
    cus: int
    memory: int


@dataclass(frozen=True)
class Survey:
    """The GPUs of this machine and the version of HIP.

    Attributes:
        hip: the version of HIP's library, such as ``6.4.43484``.
        gpus: the GPUs that this process sees.
    """

    hip: str
    gpus: tuple[Gpu, ...]


def survey(library: Any = None) -> Survey:
    """Returns the GPUs that HIP lists.

    Args:
        library: hip-python, or a substitute for tests.

    Raises UnsupportedError if hip-python, ROCm or a GPU is missing.
    """
    api = HipApi(library)
    version = int(api.call("hipRuntimeGetVersion"))
    count = int(api.call("hipGetDeviceCount"))
    return Survey(
        f"{version // 10**7}.{version // 10**5 % 100}.{version % 10**5}",
        tuple(_gpu(api, ordinal) for ordinal in range(count)),
    )


def _gpu(api: HipApi, ordinal: int) -> Gpu:
    properties = api.call("hipGetDeviceProperties", ordinal)
    return Gpu(
        ordinal,
        f"{text_of(properties.name)} ({architecture_of(properties)})",
        int(properties.multiProcessorCount),
        int(properties.totalGlobalMem),
    )

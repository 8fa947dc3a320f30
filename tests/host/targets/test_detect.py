"""The target that `cuda` stands for on a machine with a GPU, by a stand-in for NVIDIA's driver."""

from __future__ import annotations

import sys
from enum import Enum, auto
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from ark_mlir.errors import InvalidUsageError
from ark_mlir.targets import resolve


class Driver:
    """NVIDIA's driver of one GPU with 20 SMs."""

    class CUdevice_attribute(Enum):
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR = auto()
        CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR = auto()
        CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT = auto()

    def __init__(self, capability: tuple[int, int]) -> None:
        self._facts = dict(zip(self.CUdevice_attribute, (*capability, 20), strict=True))

    def cuInit(self, flags: int) -> tuple[int]:
        return (0,)

    def cuDeviceGet(self, ordinal: int) -> tuple[int, int]:
        return 0, ordinal

    def cuDeviceGetAttribute(self, attribute: Any, device: int) -> tuple[int, int]:
        return 0, self._facts[attribute]


@pytest.mark.parametrize(
    ("capability", "arch"),
    [((8, 0), "sm_80"), ((8, 9), "sm_89"), ((9, 0), "sm_90a"), ((10, 0), "sm_100a")],
)
def test_cuda(monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], arch: str) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Driver(capability))
    target = resolve("cuda")
    assert (target.arch, target.sms) == (arch, 20)


@pytest.mark.parametrize(
    ("capability", "message"),
    [
        ((7, 5), "sm_75' is not known: .*; ark needs a GPU of compute capability 8.0 or newer$"),
        (
            (8, 7),
            "sm_87' is not known: .*; the nearest older one is cuda:sm_86, .* sm_87$",
        ),
        ((10, 3), "; the nearest older one is cuda:sm_89, whose PTX .* also runs on sm_103$"),
        (
            (12, 0),
            r"cuda:sm_89, whose PTX \(ARK_ASSEMBLER=driver\) also runs on sm_120$",
        ),
    ],
)
def test_an_unknown_gpu(
    monkeypatch: pytest.MonkeyPatch, capability: tuple[int, int], message: str
) -> None:
    monkeypatch.setitem(sys.modules, "cuda.bindings.driver", Driver(capability))
    with pytest.raises(InvalidUsageError, match=message):
        resolve("cuda")


def test_unknown_names_of_known_architectures() -> None:
    for name, known in (("cuda:sm_90", "cuda:sm_90a"), ("cuda:sm_86a", "cuda:sm_86")):
        with pytest.raises(InvalidUsageError, match=f"; use {known}$"):
            resolve(name)
        assert str(resolve(known)) == known

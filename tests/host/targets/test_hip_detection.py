"""The target `hip` is the GPU of this machine, on a stand-in for hip-python."""

from __future__ import annotations

import sys
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.runtime.hip import library
from ark_mlir.targets import resolve
from ark_mlir.testing.fake_gpu import FakeHip


def use(monkeypatch: pytest.MonkeyPatch, hip: Any) -> None:
    monkeypatch.setattr(library, "find_library", lambda: hip)


def test_the_gpu_of_this_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    use(monkeypatch, FakeHip(sms=228))
    target = resolve("hip")
    assert (target.arch, target.sms) == ("gfx942", 228)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "hip", None)
    message = r"needs hip-python.*name an architecture"
    with pytest.raises(ark.UnsupportedError, match=message) as error:
        resolve("hip")
    assert error.value.notes == (library.INSTALL,)


def test_without_rocm(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoRocm(FakeHip):
        def hipGetDeviceProperties(self, ordinal: int) -> Any:
            raise RuntimeError("failed to dlopen 'b'libamdhip64.so''")

    use(monkeypatch, NoRocm())
    with pytest.raises(ark.UnsupportedError, match=r"GPU: failed to dlopen libamdhip64\.so;"):
        resolve("hip")


def test_without_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    class NoGpu(FakeHip):
        def hipGetDeviceProperties(self, ordinal: int) -> Any:
            return self.hipError_t.hipErrorInvalidDevice, None

    use(monkeypatch, NoGpu())
    with pytest.raises(ark.UnsupportedError, match="this machine has none"):
        resolve("hip")

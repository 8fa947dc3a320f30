"""Tensors of torch that claim to be on a GPU, and the stand-ins for CUDA and HIP."""

from __future__ import annotations

from typing import Any

import pytest

from ark_mlir.testing.fake_gpu import FakeCuda

torch: Any = pytest.importorskip("torch", reason="torch is not installed")


class Tensor(torch.Tensor):
    """A tensor in host memory whose device is a GPU."""

    is_cuda = True

    def get_device(self) -> int:
        return 0


def on_gpu(tensor: Any) -> Any:
    """Returns a tensor with the same memory that claims to be on GPU 0."""
    return tensor.as_subclass(Tensor)


def claim_vendor(monkeypatch: pytest.MonkeyPatch, vendor: type[FakeCuda]) -> None:
    """Makes torch claim to be built for a vendor's GPUs, which it calls ``cuda`` in any case."""
    monkeypatch.setattr(torch.version, "hip", "6.4" if vendor.backend == "hip" else None)


def make_cuda(monkeypatch: pytest.MonkeyPatch, vendor: type[FakeCuda] = FakeCuda) -> FakeCuda:
    """Returns a stand-in for the library of a vendor; torch reports the stream ``current`` of it.

    torch claims to be built for the vendor.
    """
    cuda = vendor()
    claim_vendor(monkeypatch, vendor)
    monkeypatch.setattr(
        torch._C,  # noqa: SLF001
        "_cuda_getCurrentRawStream",
        lambda ordinal: cuda.current,
        raising=False,
    )
    monkeypatch.setattr(torch.cuda, "is_initialized", lambda: True)
    monkeypatch.setattr(cuda, "current", 0, raising=False)
    return cuda

"""Tests of NVIDIA's part, on a stand-in for CUDA."""

from __future__ import annotations

from typing import Any

import pytest

from ark_mlir.testing.fake_gpu import FakeCuda


@pytest.fixture
def vendor() -> Any:
    """The class of the stand-in for GPUs of NVIDIA."""
    return FakeCuda

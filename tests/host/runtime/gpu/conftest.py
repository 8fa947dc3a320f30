"""Tests of the driver for GPUs, on a stand-in for the GPUs of each vendor."""

from __future__ import annotations

from typing import Any

import pytest

from ark_mlir.testing.fake_gpu import FakeCuda, FakeHip, OnDevice


@pytest.fixture(params=[FakeCuda, FakeHip], ids=["cuda", "hip"])
def vendor(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the stand-in for GPUs of a vendor."""
    monkeypatch.setattr(OnDevice, "device_type", request.param.device_type)
    return request.param


@pytest.fixture
def cuda(vendor: type[FakeCuda]) -> FakeCuda:
    """A GPU of a vendor."""
    return vendor()

"""Tests of AMD's part, on a stand-in for HIP."""

from __future__ import annotations

from typing import Any

import pytest

from ark_mlir.testing.fake_gpu import FakeHip, OnDevice


@pytest.fixture(autouse=True)
def vendor(monkeypatch: pytest.MonkeyPatch) -> Any:
    """The class of the stand-in for GPUs of AMD."""
    monkeypatch.setattr(OnDevice, "device_type", FakeHip.device_type)
    return FakeHip

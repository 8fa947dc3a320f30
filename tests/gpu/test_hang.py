"""A wait that never ends is reported within its timeout, and the process goes on."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import pytest

import ark_mlir as ark

FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))
SECONDS = 0.5

pytestmark = pytest.mark.gpu


def test_a_planted_hang_is_named_and_the_process_goes_on() -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    with (
        ark.knobs.scope(ARK_TIMEOUT=str(SECONDS)),
        ark.load(FOLDER / "hang.arkbin") as hung,
        ark.load(FOLDER / "good.arkbin") as good,
    ):
        expected = good.run(x=x)["y"]
        for _ in range(3):
            start = time.monotonic()
            with pytest.raises(ark.HangError) as caught:
                hung.run(x=x)
            assert SECONDS <= time.monotonic() - start < SECONDS + 2
            assert "softmax" in str(caught.value)
            assert "saw" in str(caught.value)
            np.testing.assert_array_equal(good.run(x=x)["y"], expected)

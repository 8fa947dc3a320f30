"""A launch of many iterations ends on a GPU when the program stops it, on all CTAs after the same
iteration.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark

FOLDER = Path(os.environ.get("ARK_GPU_BUNDLES", Path(__file__).parents[2] / "build" / "gpu"))

pytestmark = pytest.mark.gpu


def test_launches_end_early() -> None:
    with ark.load(FOLDER / "stop.arkbin") as executable:
        assert len(executable.bundle.tables.lanes) > 100
        total = 0
        for length in [1, 2, 3, 50] * 100:
            total += length
            result: Any = executable.run(limit=total, iterations=100)
            assert executable.states["count"] == total
            assert (result["y"] == 16 * total).all()

"""`make gpu-bundles` stores values and bounds as fp32; stored bounds are no tighter than the
originals, and little wider.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from compact import compact

from ark_mlir.bundle import read_bundle
from ark_mlir.testing.bounds import assert_within


def test_values_and_bounds_take_less_room() -> None:
    rng = np.random.default_rng(0)
    value = rng.standard_normal(1000)
    bound = np.abs(rng.standard_normal(1000)) * 1e-3
    stored, wider = compact(value, bound)
    assert stored.dtype == wider.dtype == np.float32
    assert (np.abs(stored - value) + bound <= wider).all()
    assert (wider <= 1.01 * bound + 1e-7).all()
    for got in (value + bound, value - bound):
        assert_within(got, stored, wider, "y")
    with pytest.raises(AssertionError, match="1000 of 1000"):
        assert_within(value + 1.02 * bound + 2e-7, stored, wider, "y")


def test_exact_and_special_values_stay() -> None:
    value = np.array([0.0, 1.5, np.inf, -np.inf, np.nan, 7.0])
    bound = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf])
    stored, wider = compact(value, bound)
    np.testing.assert_array_equal(stored, value)
    np.testing.assert_array_equal(wider, bound)
    integers = np.array([2**60 + 1])
    np.testing.assert_array_equal(compact(integers, np.zeros(1))[0], integers)
    # A value beyond the range of fp32 does not become infinity.
    large, _ = compact(np.array([1e300]), np.zeros(1))
    assert large[0] == 1e300


@pytest.fixture
def export(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports tests/gpu/export.py."""
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    monkeypatch.syspath_prepend(str(Path(__file__).parents[1] / "gpu"))
    import export

    return export


# The functions that export programs, by whether only NVIDIA GPUs run these.
ALL = (
    "export_ops", "export_states", "export_tiles", "export_warpgroups", "export_hang",
    "export_stop", "export_arrays", "export_streams", "export_boxes", "export_models",
    "export_packets", "export_clipped", "export_worlds", "export_collectives",
    "export_shared_models",
)  # fmt: skip
FOR_NVIDIA = ("export_assemblers",)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_targets_get_the_programs_that_they_run(
    export: Any, target: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    called: list[str] = []
    for name in (*ALL, *FOR_NVIDIA):
        monkeypatch.setattr(export, name, lambda *_, name=name: called.append(name) or 0)
    export.main(str(tmp_path / "gpu"), target)
    assert sorted(called) == sorted(ALL if target.startswith("hip") else (*ALL, *FOR_NVIDIA))


def test_programs_for_amd(export: Any, tmp_path: Path) -> None:
    """Small programs of each kind, and an op."""
    target = "hip:gfx942"
    export.export_op("gelu", 0, tmp_path, target)
    for write in (
        export.export_hang, export.export_stop, export.export_arrays, export.export_worlds,
    ):  # fmt: skip
        write(tmp_path, target)
    names = {path.stem for path in tmp_path.glob("*.arkbin")}
    worlds = {"world", "world-hang", "world-shared", "world-shared-hang"}
    assert {"gelu-fp32", "hang", "good", "traced", "stop", "weights", "lookup"} | worlds == names
    for name in names:
        assert read_bundle(tmp_path / f"{name}.arkbin").manifest.target.arch == "gfx942"

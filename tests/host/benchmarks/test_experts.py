"""benchmarks/experts.py on the cpu with a small layer: its result is that of all experts."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, compile_rows, measure

ROW = "tiny-layer"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("experts", ROW, tmp_path_factory.mktemp("bundles"))


def test_the_layer_is_that_of_torch(bundles: Path, tmp_path: Path) -> None:
    found = measure("experts", bundles, ROW, "graph,ark", tmp_path)
    assert [each["arm"] for each in found] == ["graph", "ark"]
    for result in found:
        assert result["problem"] == ""
        assert 0 < result["error"] < 0.02


def test_a_wrong_layer_has_no_times(bundles: Path, tmp_path: Path) -> None:
    spoil = """
arm = experts.Problem.ark_arm
def wrong(problem):
    name = "mlp.experts.up_proj.weight"
    problem.weights[name] = problem.weights[name].roll(1, 0)
    return arm(problem)
experts.Problem.ark_arm = wrong
"""
    (result,) = measure("experts", bundles, ROW, "ark", tmp_path, spoil)
    assert result["problem"].startswith("WRONG: relative error")
    assert result["device"] is None


def test_rounding_changes_no_choice_of_the_router(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    from experts_layer import LayerSizes, arrays, route

    sizes = LayerSizes(256, 512, 32, 4, 16)
    x, weights = arrays(sizes, "cpu")
    narrow, wide = (route(sizes, weights, each)[1].sort(-1).values for each in (x, x.float()))
    assert (narrow == wide).all()
    assert len(set(narrow.flatten().tolist())) == 32


def test_floors_are_those_of_the_whole_model(monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole model reads 6.08 GB for a token: all but the experts that a token does not have."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import experts

    assert experts.SUITE.workloads["decode-48"].bytes == pytest.approx(6.08e9, rel=0.01)
    assert experts.SUITE.workloads["layer-16k"].floor() == pytest.approx(1.57e-3, rel=0.01)

"""benchmarks/encoder_gpu.py on the cpu with few prompts: it runs, and refuses wrong results."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, compile_rows, measure

ROW = "tiny-2x16"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("encoder_gpu", ROW, tmp_path_factory.mktemp("bundles"))


def test_arms_are_compared(bundles: Path, tmp_path: Path) -> None:
    found = measure("encoder_gpu", bundles, ROW, "graph,ark", tmp_path)
    assert [each["arm"] for each in found] == ["graph", "ark"]
    for result in found:
        assert result["problem"] == ""
        assert result["device"] > 0


def test_wrong_embeddings_have_no_times(bundles: Path, tmp_path: Path) -> None:
    spoil = """
arm = encoder_gpu.Problem.ark_arm
def wrong(problem):
    name = "encoder.layer.1.output.dense.weight"
    problem.weights[name] = problem.weights[name] * 1.1
    return arm(problem)
encoder_gpu.Problem.ark_arm = wrong
"""
    (result,) = measure("encoder_gpu", bundles, ROW, "ark", tmp_path, spoil)
    assert result["problem"].startswith("WRONG: relative error")
    assert result["device"] is None


def test_fused_projections_are_the_same_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(FOLDER))
    import encoder_gpu
    import torch

    weights = encoder_gpu.make_weights(encoder_gpu.TINY, "cpu")
    ids = torch.randint(0, 100, (2, 16))
    one, other = (
        encoder_gpu.Encoder(encoder_gpu.TINY, weights, torch.float64, fused)(ids)
        for fused in (False, True)
    )
    torch.testing.assert_close(one, other)

"""benchmarks/prefill.py and benchmarks/attention.py on the cpu with small shapes."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import compile_rows, measure


@pytest.fixture(scope="module")
def prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("prefill", "tiny-24", tmp_path_factory.mktemp("prompts"))


@pytest.fixture(scope="module")
def heads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("attention", "tiny", tmp_path_factory.mktemp("heads"))


def test_a_prompt_is_checked_and_timed(prompts: Path, tmp_path: Path) -> None:
    found = measure("prefill", prompts, "tiny-24", "graph flash,ark", tmp_path)
    assert [each["arm"] for each in found] == ["graph flash", "ark"]
    for result in found:
        assert result["problem"] == ""
        assert result["device"] > 0
    assert found[1]["error"] <= 1.01 * found[0]["error"]


def test_a_wrong_prompt_has_no_times(prompts: Path, tmp_path: Path) -> None:
    spoil = """
load = prefill.load_ark
def spoilt(path, weights, caches):
    name = "model.layers.1.self_attn.v_proj.weight"
    return load(path, {**weights, name: weights[name].roll(1, 0)}, caches)
prefill.load_ark = spoilt
"""
    (result,) = measure("prefill", prompts, "tiny-24", "ark", tmp_path, spoil)
    assert result["problem"].startswith("WRONG: relative error")
    assert result["device"] is None


def test_attention_is_checked_and_timed(heads: Path, tmp_path: Path) -> None:
    """The cpu has no cuDNN, which costs only the figures of that arm."""
    found = measure("attention", heads, "tiny", "flash,cudnn,ark", tmp_path)
    results = {each["arm"]: each for each in found}
    assert results["cudnn"]["problem"].startswith("failed: RuntimeError")
    assert results["flash"]["device"] > 0
    assert results["ark"]["device"] > 0


def test_wrong_attention_has_no_times(heads: Path, tmp_path: Path) -> None:
    swap = """
arm = attention.ark_arm
def swapped(operands, task):
    operands.copies = [(q, v, k) for q, k, v in operands.copies]
    return arm(operands, task)
attention.ark_arm = swapped
"""
    (result,) = measure("attention", heads, "tiny", "ark", tmp_path, swap)
    assert result["problem"].startswith("WRONG: relative error")
    assert result["device"] is None

"""benchmarks/encoder_gpu.py on the cpu with few prompts: it runs, and refuses wrong results."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="PyTorch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import run_benchmark

SIZES = ("--batch", "2", "--length", "16")


def benchmark(*arguments: object, prelude: str = "") -> subprocess.CompletedProcess[str]:
    return run_benchmark("encoder_gpu", *arguments, prelude=f"encoder_gpu.RUNS = 1\n{prelude}")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("bundles")
    done = benchmark("--compile", folder, "--target", "cpu:2", *SIZES)
    assert done.returncode == 0, done.stderr
    return folder


def test_arms_are_compared(bundles: Path) -> None:
    done = benchmark("--bundles", bundles, "--samples", 1, *SIZES)
    assert done.returncode == 0, done.stderr
    arms = [line.split("|")[1].strip() for line in done.stdout.splitlines()[2:]]
    assert arms == ["eager", "ark"]


def test_wrong_embeddings_fail(bundles: Path) -> None:
    spoil = "embed = encoder_gpu.ArkArm.embed\n"
    spoil += "encoder_gpu.ArkArm.embed = lambda arm: embed(arm) * 1.01"
    done = benchmark("--bundles", bundles, "--samples", 1, *SIZES, prelude=spoil)
    assert done.returncode == 1, done.stderr

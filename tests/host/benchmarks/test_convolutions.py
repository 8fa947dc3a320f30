"""The convolutions of ResNet-50, as ``benchmarks/convolutions.py`` measures them."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest
from assembled_ptx import record_ptx

import ark_mlir as ark

from .conftest import FOLDER, run_benchmark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

LAYERS = ("3x3-s2-512-512-14", "1x1-s1-512-2048-7")


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("convolutions")
    words = [word for layer in LAYERS for word in ("--only", layer)]
    done = run_benchmark(
        "convolutions", "--compile", folder, "--target", "cpu:1", "--batch", 1, *words
    )
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def convolutions() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("convolutions")
    finally:
        sys.path.remove(str(FOLDER))


def test_only_convolutions_with_windows_have_two_programs(bundles: Path) -> None:
    assert {path.stem for path in bundles.iterdir()} == {*LAYERS, f"{LAYERS[0]}-product"}


def test_layers_are_timed(bundles: Path, tmp_path: Path) -> None:
    output = tmp_path / "table.md"
    done = run_benchmark("convolutions", "--bundles", bundles, "--output", output)
    assert done.returncode == 0, done.stderr
    lines = output.read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines[2:5]]
    assert [row[0] for row in cells] == [*LAYERS, "all layers"]
    assert all(float(row[2]) > 0 for row in cells)
    assert float(cells[0][3]) > 0
    assert cells[1][3] == ""
    assert "of the time of all layers." in lines[-1]


def test_a_folder_without_bundles_is_named(tmp_path: Path) -> None:
    done = run_benchmark("convolutions", "--bundles", tmp_path)
    assert done.returncode == 2
    assert f"{tmp_path} has no bundle of a layer; --compile writes them" in done.stderr


def test_the_share_of_the_copies_counts_each_layer(convolutions: Any) -> None:
    first, second = convolutions.Layer(3, 3, 1, 8, 8, 8), convolutions.Layer(1, 1, 1, 8, 8, 8)
    text = convolutions.report({first: {"ark": 10.0, "product": 8.0}, second: {"ark": 10.0}})
    assert "The copies of windows take 15.0% of the time of all layers." in text
    cells = [cell.strip() for cell in text.splitlines()[4].split("|")[1:-1]]
    assert cells == ["all layers", "", "40.0", "34.0", ""]


def test_the_layers_are_those_of_resnet_50(convolutions: Any) -> None:
    """The network has 53 convolutions with 23.5 million weights, and 4.1 billion products."""
    layers = convolutions.LAYERS
    assert sum(layer.count for layer in layers) == 53
    weights = sum(layer.count * layer.features * layer.depth for layer in layers)
    products = sum(layer.count * layer.features * layer.depth * layer.windows for layer in layers)
    assert weights == 23_454_912
    assert products == pytest.approx(4.09e9, rel=0.01)


LARGE = (
    "7x7-s2-3-64-224",
    "1x1-s1-256-64-56", "3x3-s1-64-64-56", "3x3-s2-128-128-56", "1x1-s2-256-512-56",
    "1x1-s1-512-128-28", "3x3-s1-128-128-28", "1x1-s1-128-512-28", "1x1-s1-512-256-28",
    "3x3-s2-256-256-28", "1x1-s2-512-1024-28", "1x1-s1-1024-256-14", "3x3-s1-256-256-14",
    "1x1-s1-256-1024-14", "1x1-s1-1024-512-14", "3x3-s2-512-512-14", "1x1-s2-1024-2048-14",
    "1x1-s1-2048-512-7", "3x3-s1-512-512-7", "1x1-s1-512-2048-7",
)  # fmt: skip


@pytest.mark.parametrize("dtype", [ark.fp16, ark.bf16], ids=str)
@pytest.mark.parametrize("name", LARGE)
def test_large_layers_use_warpgroups(
    name: str, dtype: Any, convolutions: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Images have 784, 196 and 49 positions, which no tile divides, and the windows of the first
    layer have 147 elements, which no stage divides."""
    texts = record_ptx(monkeypatch)
    layer = next(layer for layer in convolutions.LAYERS if layer.name == name)
    program = convolutions.convolution(layer, 8, dtype)
    ark.compile(program, "cuda:sm_90a", cache=False)
    assert "wgmma.mma_async" in texts[-1]


@pytest.mark.parametrize(
    "name",
    ["3x3-s1-64-64-56", "3x3-s2-128-128-56", "3x3-s1-128-128-28", "3x3-s2-256-256-28",
     "3x3-s1-256-256-14", "3x3-s2-512-512-14", "3x3-s1-512-512-7"],
)  # fmt: skip
def test_windows_stay_in_images(name: str, convolutions: Any) -> None:
    """Addresses of windows take few registers, and the stage of a product fits beside them."""
    layer = next(layer for layer in convolutions.LAYERS if layer.name == name)
    program = convolutions.convolution(layer, 8, ark.fp16)
    executable = ark.compile(program, "cuda:sm_90a", cache=False, line_info=False)
    ops = [op for task, _ in executable.report().task_ops for op in task]
    assert "matmul" not in ops
    assert ops.count("convolution") == 1
    assert executable.bundle.manifest.statistics["spill_bytes"] == 0

"""benchmarks/dense.py on the cpu: it runs, and refuses wrong results."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import compile_rows, measure, run_benchmark, table_cells

LINEAR, TRANSPOSED, _ = ROWS = ("64x96x128-nt", "64x96x128-tn", "64x96x128-nt-fp32")
ARMS = "cublas,cublas warm,ark,ark warm"


@pytest.fixture(scope="module")
def bundles(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return compile_rows("dense", ",".join(ROWS), tmp_path_factory.mktemp("bundles"))


def test_products_are_checked(bundles: Path, tmp_path: Path) -> None:
    found = measure("dense", bundles, ",".join(ROWS), ARMS, tmp_path)
    assert {(each["row"], each["arm"]) for each in found} == {
        (row, arm) for row in ROWS for arm in ARMS.split(",")
    }
    for result in found:
        assert result["problem"] == ""
        assert 0 < result["error"] < 0.01


def test_wrong_results_have_no_times(bundles: Path, tmp_path: Path) -> None:
    spoil = """
load = dense.ark.load
class Spoilt:
    def __init__(self, executable):
        self.executable = executable
    def bind(self, arrays):
        return self.executable.bind({"w": arrays["w"].roll(1, 0)})
dense.ark.load = lambda path: Spoilt(load(path))
dense.Task.device = lambda task: "cpu"
"""
    found = measure("dense", bundles, LINEAR, "cublas,ark", tmp_path, spoil)
    wrong = {each["arm"]: each for each in found}
    assert wrong["ark"]["problem"].startswith("WRONG: relative error")
    assert wrong["ark"]["device"] is None
    assert wrong["cublas"]["device"] > 0


def test_a_row_without_a_bundle_is_named(tmp_path: Path) -> None:
    done = run_benchmark("dense", "--bundles", tmp_path, "--rows", LINEAR, "--arms", "cublas,ark")
    assert done.returncode == 1
    assert f"- {LINEAR}, ark: failed: BundleError:" in done.stdout
    assert float(table_cells(done.stdout)[LINEAR, "cublas"][0]) > 0


def test_rows_without_time_are_listed(bundles: Path) -> None:
    done = run_benchmark("dense", "--bundles", bundles, "--rows", LINEAR, "--seconds", 1)
    assert done.returncode == 1
    assert f"- {LINEAR}, all arms: not measured: no time left" in done.stdout

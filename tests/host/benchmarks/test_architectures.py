"""Architectures that become one program each, by benchmarks/architectures.py."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import pytest

from .conftest import FOLDER

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
torch = pytest.importorskip("torch", reason="torch is not installed")


pytestmark = pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")


@pytest.fixture(scope="module")
def architectures() -> Any:
    sys.path.insert(0, str(FOLDER))
    try:
        return importlib.import_module("architectures")
    finally:
        sys.path.remove(str(FOLDER))


@pytest.mark.parametrize("name", ["ResNet", "U-Net", "ConvNeXt", "Mamba block"])
def test_networks_are_one_program(architectures: Any, name: str) -> None:
    assert_one_program(architectures, name)


@pytest.mark.parametrize("name", ["ViT", "Whisper encoder"])
def test_models_of_transformers_are_one_program(architectures: Any, name: str) -> None:
    pytest.importorskip("transformers", reason="transformers is not installed")
    assert_one_program(architectures, name)


def assert_one_program(architectures: Any, name: str) -> None:
    row = architectures.measure(name, "cpu:2", rounds=0)
    assert (row.parts, row.rest) == (1, [])
    assert row.error <= 1e-6


def test_the_page_has_a_row_for_each_architecture(architectures: Any) -> None:
    page = (FOLDER.parent / "docs" / "support.md").read_text(encoding="utf-8")
    _, begin, rest = page.partition("<!-- begin architectures -->\n\n")
    lines, end, _ = rest.partition("\n\n<!-- end architectures -->")
    assert begin
    assert end
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines.splitlines()[2:]]
    assert [row[0] for row in rows] == list(architectures.CASES)
    complete = [row for row in rows if (row[1], row[3]) == ("1", "0") and float(row[4]) <= 1e-6]
    assert len(complete) >= 25


def test_the_table_of_a_page_is_replaced(architectures: Any, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    begin, end = "<!-- begin architectures -->", "<!-- end architectures -->"
    page.write_text(f"before\n\n{begin}\n\nold\n\n{end}\n\nafter\n", encoding="utf-8")
    architectures.write_page(page, [architectures.Row("A", 1, 20, [], 1e-7)])
    text = page.read_text(encoding="utf-8")
    assert "old" not in text
    assert f"| A | 1 | 20 | 0 | 1.0e-07 |\n\n{end}\n\nafter\n" in text
    page.write_text("no table", encoding="utf-8")
    with pytest.raises(SystemExit, match="has no table of architectures"):
        architectures.write_page(page, [])


def test_the_table_has_a_line_for_each_row(architectures: Any) -> None:
    rows = [architectures.Row("A", 1, 20, ["aten.sort.default"], 1e-7, 2.0, 0.5, 1.5, 0.33)]
    assert architectures.table(rows).splitlines() == [
        "| architecture | parts | ark | rest | error | first s | ark ms | eager ms | ratio |",
        "| --- | --: | --: | --: | --: | --: | --: | --: | --: |",
        "| A | 1 | 20 | 1 | 1.0e-07 | 2.0 | 0.50 | 1.50 | 0.33 |",
    ]


def test_calls_of_both_arms_alternate(
    architectures: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls: list[int] = []
    times = architectures.alternating([lambda: calls.append(0), lambda: calls.append(1)], 4, "cpu")
    assert calls == [0, 1] * 3 + [0, 1, 1, 0, 0, 1, 1, 0]
    assert [len(arm) for arm in times] == [4, 4]
    output = tmp_path / "table.md"
    arguments = ["architectures.py", "--only", "LSTM", "--target", "cpu:1", "--rounds", "3"]
    monkeypatch.setattr(sys, "argv", [*arguments, "--output", str(output)])
    assert architectures.main() == 0
    head, _, row, _, conditions = output.read_text(encoding="utf-8").splitlines()
    cells = [cell.strip() for cell in row.split("|")[1:-1]]
    assert cells[0] == "LSTM"
    assert all(float(cell) > 0 for cell in cells[6:8])
    assert float(cells[8]) >= 0  # 0.00 if another process takes the core of PyTorch's threads
    assert head.endswith("| ratio |")
    assert "ark's target cpu:1" in conditions
    assert "3 rounds; load " in conditions

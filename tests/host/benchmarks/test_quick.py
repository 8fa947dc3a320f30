"""benchmarks/quick.py on the cpu with small rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed")
pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, run_benchmark, table_cells

SMALL = """
from quick import Entry
quick.ENTRIES = (
    Entry(quick.dense.SUITE, ["64x96x128-nt"], ["cublas", "ark"]),
    Entry(quick.prefill.SUITE, ["tiny-24"], ["graph flash", "ark"]),
)
"""


def test_rows_of_several_suites_are_in_one_record(tmp_path: Path) -> None:
    bundles, record = tmp_path / "bundles", tmp_path / "record.md"
    done = run_benchmark("quick", "--compile", bundles, "--target", "cpu:2", prelude=SMALL)
    assert done.returncode == 0, done.stderr
    options = ("--bundles", bundles, "--samples", 1, "--output", record)
    done = run_benchmark("quick", *options, prelude=SMALL)
    assert done.returncode == 0, done.stderr
    table = table_cells(record.read_text(encoding="utf-8"))
    assert set(table) == {
        ("dense 64x96x128-nt", "cublas"),
        ("dense 64x96x128-nt", "ark"),
        ("prefill tiny-24", "graph flash"),
        ("prefill tiny-24", "ark"),
    }
    assert all(float(cells[0]) > 0 for cells in table.values())
    done = run_benchmark("quick", *options, "--rows", "tiny-24", prelude=SMALL)
    assert done.returncode == 0, done.stderr
    rows = {row for row, arm in table_cells(record.read_text(encoding="utf-8"))}
    assert rows == {"prefill tiny-24"}


def test_entries_name_known_rows_and_arms(monkeypatch: pytest.MonkeyPatch) -> None:
    """There are 17 rows, each with a peer and ark in its first entry."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import quick

    first: dict[tuple[str, str], Any] = {}
    for entry in quick.ENTRIES:
        assert set(entry.arms) <= set(entry.suite.arms)
        assert set(entry.rows) <= set(entry.suite.workloads)
        for row in entry.rows:
            first.setdefault((entry.suite.name, row), entry)
    assert len(first) == 17
    for entry in first.values():
        assert 0 < sum(arm.startswith("ark") for arm in entry.arms) < len(entry.arms)

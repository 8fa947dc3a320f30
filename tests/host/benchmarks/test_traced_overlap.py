"""benchmarks/traced_overlap.py: the exposed part of the sums of gradients in a trace."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from .conftest import FOLDER, run_benchmark


def event(sm: int, begin: float, end: float, name: str, kind: str = "run") -> dict[str, Any]:
    return {"ph": "X", "pid": sm, "ts": begin, "dur": end - begin, "name": name, "cat": kind}


def test_time_beside_other_tasks_is_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rank 1 has workers 2 and 3. Its waits for sums count, other waits and rank 0 do not."""
    monkeypatch.syspath_prepend(str(FOLDER))
    from traced_overlap import exposure

    events = [
        {"ph": "M", "pid": 2, "name": "process_name"},
        event(2, 0, 10, "rank1/matmul"),
        event(2, 10, 16, "rank1/gradients.sum.to0"),
        event(3, 0, 4, "rank1/gradients.sum.to0"),
        event(3, 4, 8, "wait rank0/gradients.sum.to1", "wait"),
        event(3, 8, 9, "wait rank1/matmul", "wait"),
        event(3, 12, 20, "rank1/update"),
        event(0, 0, 100, "rank0/gradients.sum.to1"),
    ]
    found = exposure(events, workers=2, rank=1)
    assert found == (20, 14, 2)
    assert found.share == pytest.approx(2 / 14)
    assert exposure(events[1:2], workers=2, rank=1).share == 0


def test_smaller_buckets_are_more_sums() -> None:
    done = run_benchmark("traced_overlap", "--model", "tiny", "--workers", 1, "--samples", 1)
    assert done.returncode == 0, done.stderr
    rows = [line.strip("| ").split("|") for line in done.stdout.splitlines()[2:] if "|" in line]
    sums, shares = [int(row[1]) for row in rows], [float(row[5]) for row in rows]
    assert sums[-1] == 1
    assert sums == sorted(sums, reverse=True)
    # One worker of a rank computes nothing while it communicates.
    assert shares == [1.0] * 3

"""benchmarks/protocol: rows in processes, medians of processes, floors and ratios."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from .conftest import FOLDER


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports the modules of the protocol."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import protocol.comparison
    import protocol.record
    import protocol.suite

    return protocol


SCRIPT = """
import json, os, sys
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
with open(options["--journal"], "a") as journal:
    for row in options["--rows"].split(","):
        print(json.dumps({"begin": row, "machine": "a machine", "clocks": "1 GHz"}), file=journal)
        result = {"row": row, "arm": "ark", "device": 2.0}
        print(json.dumps({"result": result}), file=journal, flush=True)
        if row == "crash":
            os.abort()
        print(json.dumps({"end": row, "clocks": "2 GHz"}), file=journal, flush=True)
"""


def suite_of(protocol: Any, folder: Path, together: bool) -> Any:
    """Returns a suite whose script writes a result for each row, and ends early at a given row."""
    (folder / "script.py").write_text(SCRIPT, encoding="utf-8")

    class Scripted(protocol.suite.Suite):
        script = folder / "script.py"

    work = protocol.record.Workload("work", bytes=4.68e12)
    rows = {row: work for row in ("one", "crash", "two")}
    return Scripted("script", rows, tuple(rows), None, None, ("ark",), ("ark",), together)


@pytest.mark.parametrize("together", [False, True])
def test_a_process_that_ends_early_costs_one_row(
    protocol: Any, tmp_path: Path, together: bool
) -> None:
    suite = suite_of(protocol, tmp_path, together)
    journal = protocol.suite.Journal()
    request = protocol.suite.Request(("one", "crash", "two"), tmp_path, ("ark",), 1)
    journal.measure(suite, request, time.monotonic() + 60, prefix="a ")
    problems = {(each.row, each.arm): each.problem for each in journal.results()}
    assert problems == {
        ("a one", "ark"): "",
        ("a crash", "ark"): "",
        ("a crash", "all arms"): "the process ended with status -6",
        ("a two", "ark"): "",
    }
    assert journal.machines == ["a machine"]
    assert journal.clocks[:2] == ["before a one: 1 GHz", "after a one: 2 GHz"]


def test_rows_without_time_are_not_begun(protocol: Any, tmp_path: Path) -> None:
    suite = suite_of(protocol, tmp_path, together=False)
    journal = protocol.suite.Journal()
    journal.measure(
        suite, protocol.suite.Request(("one",), tmp_path, ("ark",), 1), time.monotonic()
    )
    (result,) = journal.results()
    assert result.problem == "not measured: no time left"
    record = journal.record(suite.workloads, {"pages": "no table"}, 3)
    assert "- one, all arms: not measured: no time left" in record
    assert "- pages: not supported: no table" in record


def test_a_process_that_takes_too_long_is_ended(protocol: Any) -> None:
    begin = time.monotonic()
    command = [sys.executable, "-c", "import time; time.sleep(60)"]
    assert protocol.suite.run_within(command, 0.5) == "ended after 0 s"
    assert time.monotonic() - begin < 30


def test_ratios_are_to_the_fastest_peer_of_the_same_row(protocol: Any) -> None:
    result = protocol.record.Result
    results = [
        result("r", "slow", 4.0),
        result("r", "fast", 2.0),
        result("r", "fast warm", 1.0),
        result("r", "ark", 3.0),
        result("r", "ark warm", 0.5),
        result("s", "ark", 1.0),
    ]
    assert protocol.record.ratios(results) == {"r": 1.5}
    assert "over 1 rows: geometric mean 0.667, worst 0.667 (r)" in protocol.record.summary(results)


def test_results_of_several_processes_are_medians(protocol: Any) -> None:
    result = protocol.record.Result
    times = [result("r", "ark", seconds, 2 * seconds, 0.1) for seconds in (3.0, 1.0, 2.0)]
    assert protocol.record.merged(times) == [result("r", "ark", 2.0, 4.0, 0.1)]
    broken = result("r", "ark", problem="failed: it broke")
    assert protocol.record.merged([*times, broken]) == [broken]


def test_the_floor_is_that_of_reads_or_of_products(protocol: Any) -> None:
    work = protocol.record.Workload
    assert work("", bytes=4.68e9, flops=79e9).floor == pytest.approx(1e-3)
    assert work("", bytes=4.68e9, flops=7.9e12).floor == pytest.approx(1e-2)
    assert work("", bytes=4.68e9, flops=79e9).rate(2e-3) == "2340 GB/s"
    assert work("", bytes=4.68e9, flops=7.9e12).rate(2e-2) == "395 TFLOP/s"


class FixedArm:
    """An arm with the same times in all samples."""

    def __init__(self, value: float) -> None:
        self.value = value

    def output(self) -> Any:
        return np.array([1.0, self.value])

    def device_seconds(self) -> float:
        return 1.0

    def caller_seconds(self) -> float:
        return 2.0


def test_arms_with_large_errors_have_no_times(protocol: Any) -> None:
    """Peers may have 1.5 times the error of the bound, and a NaN is never right."""
    values = {"peer": 1.014, "ark": 1.014, "ark-nan": float("nan"), "ark-good": 1.01}
    makers = {arm: lambda value=value: FixedArm(value) for arm, value in values.items()}
    expected = np.array([1.0, 1.0])
    bound = protocol.comparison.error_of(np.array([1.0, 1.01]), expected)
    found = {
        each.arm: each for each in protocol.comparison.compare("r", makers, expected, bound, 2)
    }
    assert found["peer"].device == 1.0
    assert found["ark-good"].caller == 2.0
    assert found["ark"].problem.startswith("WRONG")
    assert found["ark-nan"].problem.startswith("WRONG")

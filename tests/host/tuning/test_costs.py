"""Traces are read by the package's JSON validator, whose errors name the wrong value."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ark_mlir.errors import InvalidUsageError
from ark_mlir.tuning.costs import Costs, TaskCost

EVENT: dict[str, Any] = {
    "ph": "X", "cat": "run", "tid": 0, "name": "fc", "dur": 8.0,
    "args": {"vctas": "[4, 8)", "kind": "matmul"},
}  # fmt: skip


def write(folder: Path, **changes: Any) -> Path:
    """Writes a trace with one work item, with some of its fields replaced."""
    trace = folder / "trace.json"
    event = {name: value for name, value in {**EVENT, **changes}.items() if value is not None}
    trace.write_text(json.dumps({"traceEvents": [event], "otherData": {"program": "p"}}))
    return trace


def test_a_trace_gives_the_time_of_a_vcta(tmp_path: Path) -> None:
    costs = Costs.read(write(tmp_path))
    assert costs == Costs("p", {"fc": TaskCost(4, 2000.0, "matmul")}, (1.0,))


def test_other_events_need_no_fields(tmp_path: Path) -> None:
    assert Costs.read(write(tmp_path, ph="M", tid=None, cat=None, args=None)).tasks == {}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tid": None}, r"traceEvents\[0\]: key 'tid' is missing"),
        ({"tid": 1 << 40}, r"traceEvents\[0\].tid: 1099511627776 is not in"),
        ({"dur": -1}, r"traceEvents\[0\].dur: -1 is less than 0"),
        ({"dur": "1"}, r"traceEvents\[0\].dur: expected a number"),
        ({"dur": 1e308}, r"traceEvents\[0\].dur: 1e\+308 is too large for a duration"),
        ({"name": ""}, r"traceEvents\[0\].name: must not be empty"),
        ({"args": []}, r"traceEvents\[0\].args: expected an object"),
        ({"args": {"vctas": "4"}}, "key 'kind' is missing"),
        ({"args": {"vctas": "4", "kind": "a"}}, "vctas: '4' is not a range of vCTAs"),
        ({"args": {"vctas": "[8, 4)", "kind": "a"}}, "is not a range of at most"),
        ({"args": {"vctas": "[0, 4000000000)", "kind": "a"}}, "is not a range of at most"),
    ],
)
def test_errors_name_the_value(tmp_path: Path, changes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidUsageError, match=message):
        Costs.read(write(tmp_path, **changes))

"""A trace of a run is a file for Perfetto; a program without a trace records nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import ark_mlir as ark

Load = Callable[[str], ark.Executable]

pytestmark = pytest.mark.gpu


def test_every_work_item_has_a_time(load: Load, tmp_path: Path) -> None:
    x = np.random.default_rng(0).standard_normal((64, 256)).astype(np.float32)
    expected = load("good").run(x=x)["y"]
    traced = load("traced")
    np.testing.assert_array_equal(traced.run(x=x, trace=tmp_path / "trace.json")["y"], expected)
    content = json.loads((tmp_path / "trace.json").read_text())
    runs = [event for event in content["traceEvents"] if event.get("cat") == "run"]
    assert {event["name"] for event in runs} == {task.name for task in traced.bundle.manifest.tasks}
    assert all(event["dur"] >= 0 for event in runs)
    # The work items of a lane are executed in order, so their times increase.
    for lane in {event["tid"] for event in runs}:
        own = sorted((e["ts"], e["ts"] + e["dur"]) for e in runs if e["tid"] == lane)
        times = [round(1000 * time) for pair in own for time in pair]
        assert times == sorted(times)
    spread = max(e["ts"] + e["dur"] for e in runs) - min(e["ts"] for e in runs)
    assert 0 < spread < 1e5  # microseconds


def test_a_program_without_a_trace_refuses_to_trace(load: Load, tmp_path: Path) -> None:
    x = np.zeros((64, 256), np.float32)
    with pytest.raises(ark.InvalidUsageError, match="trace"):
        load("good").run(x=x, trace=tmp_path / "trace.json")

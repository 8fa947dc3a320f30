"""benchmarks/protocol: rows in processes, medians of processes, floors and ratios."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

from .conftest import FOLDER, table_cells


@pytest.fixture
def protocol(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports the modules of the protocol."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import protocol.comparison
    import protocol.conditions
    import protocol.limits
    import protocol.record
    import protocol.suite
    import protocol.timing

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
    assert work("", bytes=4.68e9, flops=79e9).floor() == pytest.approx(1e-3)
    assert work("", bytes=4.68e9, flops=7.9e12).floor() == pytest.approx(1e-2)
    assert work("", bytes=4.68e9, flops=79e9).rate(2e-3) == "2340 GB/s"
    assert work("", bytes=4.68e9, flops=7.9e12).rate(2e-2) == "395 TFLOP/s"


def test_the_floor_is_that_of_the_bundles_gpu(protocol: Any, tmp_path: Path) -> None:
    """5.3 TB/s and 1307 TFLOP/s for MI300X; an H200 for bundles of NVIDIA and without a bundle."""
    record, limits_of = protocol.record, protocol.limits.limits_of
    work = record.Workload("", bytes=5.3e9, flops=13.07e9)
    assert work.floor(limits_of("gfx942")) == pytest.approx(1e-3)
    assert record.Workload("", flops=1.307e12).floor(limits_of("gfx942")) == pytest.approx(1e-3)
    assert [limits_of(arch).read for arch in ("sm_90a", "")] == [4.68e12] * 2
    suite = suite_of(protocol, tmp_path, together=False)
    script = suite.script.read_text(encoding="utf-8")
    entry = '"arch": "gfx942", "begin": row'
    suite.script.write_text(script.replace('"begin": row', entry), encoding="utf-8")
    journal = protocol.suite.Journal()
    request = protocol.suite.Request(("one",), tmp_path, ("ark",), 1)
    journal.measure(suite, request, time.monotonic() + 60)
    text = journal.record({"one": record.Workload("work", bytes=5.3e12)}, {}, 3)
    assert table_cells(text)["one", "ark"][3] == "2.00"
    assert "at 5.3 TB/s and 1307 TFLOP/s (MI300X, nominal)" in text


class Torch(SimpleNamespace):
    """PyTorch for ROCm on one GPU."""

    __version__ = "2.9.0+rocm6.4"
    version = SimpleNamespace(hip="6.4.4")
    cuda = SimpleNamespace(get_device_name=lambda: "AMD Instinct MI300X")


SMI = """#!/bin/sh
echo
echo "device,sclk clock speed:,Average Graphics Package Power (W)"
echo "card0,(132Mhz),160.0"
"""


def test_conditions_of_a_rocm_machine(
    protocol: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The clocks are those of rocm-smi, if there is one."""
    monkeypatch.setitem(sys.modules, "torch", Torch())
    conditions = protocol.conditions
    assert conditions.machine("cuda") == "AMD Instinct MI300X, ROCm 6.4.4, PyTorch 2.9.0+rocm6.4"
    monkeypatch.setenv("PATH", str(tmp_path))
    assert conditions.clocks("cuda") == "not measured: rocm-smi does not answer"
    (tmp_path / "rocm-smi").write_text(SMI, encoding="utf-8")
    (tmp_path / "rocm-smi").chmod(0o755)
    found = conditions.clocks("cuda")
    assert found == "sclk clock speed: (132Mhz), Average Graphics Package Power (W) 160.0"
    (tmp_path / "rocm-smi").write_text("#!/bin/sh\nexit 1\n", encoding="utf-8")
    assert conditions.clocks("cuda") == "not measured: rocm-smi does not answer"


def test_operands_exceed_the_infinity_cache(protocol: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "torch", Torch())
    assert protocol.timing.copies_for_cold_l2(100e6, "cuda") * 100e6 > 2 * 256e6
    assert protocol.timing.copies_for_cold_l2(100e6, "cpu") == 1


@pytest.mark.parametrize(
    ("target", "device"), [("hip:gfx942", "cuda"), ("cuda:sm_90a", "cuda"), ("cpu:1", "cpu")]
)
def test_devices_of_bundles_have_pytorchs_names(
    protocol: Any, tmp_path: Path, target: str, device: str
) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
    with ark.Program("scale") as program:
        ark.output("y", ark.input("x", (4, 64)) * 2.0)
    protocol.suite.save(program, tmp_path, "row", target)
    task = protocol.suite.Task("row", tmp_path, ("ark",), 1)
    assert task.device() == device
    assert ("gfx942" in task.arch()) == (target == "hip:gfx942")


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

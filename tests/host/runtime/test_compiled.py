"""Compiled kernels keep the contract that other tests check with the toy kernel.

The other tests of this folder run a kernel written in C, so that they fail for reasons of the
runtime only. The tests of this file fail when compiler and runtime disagree.
"""

from __future__ import annotations

import importlib.util
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from internals import driver_of, kernel_of, lanes_of, run_of

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.bundle import Opcode
from ark_mlir.runtime import Executable

Array = np.ndarray[Any, Any]

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("ark_mlir._mlir_libs") is None, reason="the compiler is not built"
)

ROWS, INNER, WIDTH = 64, 96, 160
# A timeout for hanging runs only: on a busy machine, other runs may take longer.
SHORT_TIMEOUT = {"ARK_TIMEOUT": "0.2"}


@pytest.fixture(scope="module")
def parts() -> tuple[dict[str, Any], dict[str, bytes]]:
    """Two dependent matmuls on two SMs."""
    with ark.Program("mlp") as program:
        x = ark.input("x", (ROWS, INNER), ark.fp32)
        w = ark.parameter("w", (WIDTH, INNER), ark.fp32)
        v = ark.parameter("v", (INNER, WIDTH), ark.fp32)
        h = ark.relu(ark.matmul(x, w, transpose_other=True))
        ark.output("y", ark.matmul(h, v, transpose_other=True))
    bundle = ark.compile(program, target="cpu:2", trace=True).bundle
    manifest = bundle.manifest.as_json()
    return manifest, {name: bytes(data) for name, data in bundle.sections.items()}


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    random = np.random.default_rng(0)
    return {
        "w": random.standard_normal((WIDTH, INNER)).astype(np.float32),
        "v": random.standard_normal((INNER, WIDTH)).astype(np.float32),
    }


@pytest.fixture
def inputs() -> Array:
    return np.random.default_rng(1).standard_normal((ROWS, INNER)).astype(np.float32)


def expected(x: Array, weights: dict[str, Array]) -> Array:
    h = np.maximum(x.astype(np.float64) @ weights["w"].T, 0)
    return h @ weights["v"].T


def right(y: Array, x: Array, weights: dict[str, Array]) -> bool:
    return bool(np.allclose(y, expected(x, weights), rtol=1e-4, atol=1e-3))


def test_launches_follow_each_other(parts: Any, weights: Any, inputs: Array) -> None:
    with Executable.from_parts(*parts).bind(weights) as executable:
        for iterations in (1, 1, 5, 2, 1):
            assert right(executable.run(x=inputs, iterations=iterations)["y"], inputs, weights)
        with executable.resident() as resident:
            assert right(resident.run(x=2 * inputs)["y"], 2 * inputs, weights)


def test_parameters_are_used_in_place(parts: Any, weights: Any) -> None:
    with Executable.from_parts(*parts).bind(weights) as executable:
        report = executable.report()
        assert report.bound_in_place == report.parameter_bytes


def test_from_a_file(parts: Any, weights: Any, inputs: Array, tmp_path: Path) -> None:
    Executable.from_parts(*parts).save(tmp_path / "a.arkbin")
    with ark.load(tmp_path / "a.arkbin") as executable:
        assert right(executable.bind(weights).run(x=inputs)["y"], inputs, weights)
        executable.save(tmp_path / "b.arkbin")
    assert (tmp_path / "a.arkbin").read_bytes() == (tmp_path / "b.arkbin").read_bytes()


@pytest.mark.parametrize("epoch", [2**31 - 2, 2**32 - 2, 2**40])
def test_epochs(parts: Any, weights: Any, inputs: Array, epoch: int) -> None:
    with Executable.from_parts(*parts).bind(weights) as executable:
        driver = driver_of(executable)
        driver.epoch = epoch
        arrivals = [item.arrivals for item in executable.bundle.manifest.semaphores]
        kernel_of(driver).counters[:] = np.array(arrivals, np.uint64) * np.uint64(epoch)
        for _ in range(5):
            assert right(executable.run(x=inputs)["y"], inputs, weights)


def test_a_hang_is_named_and_survived(parts: Any, weights: Any, inputs: Array) -> None:
    """A wait that is never satisfied is planted in the schedule; then a signal is lost."""
    manifest, sections = parts
    rows = np.frombuffer(sections["instructions"], "<i4").reshape(-1, 4).copy()
    waits = np.flatnonzero(np.isin(rows[:, 0], (Opcode.WAIT, Opcode.BARRIER)))
    rows[waits[0], 2] += 1
    broken = {**sections, "instructions": rows.tobytes()}
    with Executable.from_parts(manifest, broken).bind(weights) as executable:
        for _ in range(3):
            with (
                knobs.scope(**SHORT_TIMEOUT),
                pytest.raises(ark.HangError, match="and the schedule has") as caught,
            ):
                executable.run(x=inputs)
        assert "matmul" in str(caught.value)
    with Executable.from_parts(manifest, sections).bind(weights) as executable:
        executable.run(x=inputs)
        driver = driver_of(executable)
        kernel_of(driver).counters[rows[waits[0], 1]] -= np.uint64(1)
        with knobs.scope(**SHORT_TIMEOUT), pytest.raises(ark.HangError):
            executable.run(x=inputs)
        assert right(executable.run(x=inputs)["y"], inputs, weights)


def test_ctrl_c(parts: Any, weights: Any, inputs: Array, interrupt: Callable[..., None]) -> None:
    with Executable.from_parts(*parts).bind(weights) as executable:
        driver = driver_of(executable)
        interrupt(executable)
        with pytest.raises(KeyboardInterrupt):
            executable.run(x=inputs, iterations=10**9)
        assert lanes_of(driver) is None, "all lanes have ended"
        assert right(executable.run(x=inputs)["y"], inputs, weights)


def test_resident(
    parts: Any, weights: Any, inputs: Array, tmp_path: Path, interrupt: Callable[..., None]
) -> None:
    """Lanes enter the kernel once, and again in the next run after a hang or Ctrl-C."""
    with Executable.from_parts(*parts).bind(weights) as executable:
        driver = driver_of(executable)
        entry, entries = kernel_of(driver).entry, list[int]()

        def counting(context: int, lane: int) -> int:
            entries.append(lane)
            return entry(context, lane)

        kernel_of(driver).entry = counting
        with executable.resident() as resident:
            for scale in range(1, 20):
                time.sleep(0.002 * (scale % 3))  # long enough for waiting lanes to sleep
                assert right(resident.run(x=scale * inputs)["y"], scale * inputs, weights)
            resident.run(x=inputs, iterations=7, trace=tmp_path / "t.json")
            assert (lanes_of(driver).running, len(entries)) == ((0, 1), 2)
            run_of(driver).context.timeout_ns = 0
            time.sleep(0.3)  # longer than the timeout of waits
            assert lanes_of(driver).running == (0, 1)
            kernel_of(driver).counters[0] -= np.uint64(1)
            with knobs.scope(**SHORT_TIMEOUT), pytest.raises(ark.HangError):
                resident.run(x=inputs)
            assert lanes_of(driver).running == ()
            assert right(resident.run(x=inputs)["y"], inputs, weights)
            interrupt(executable)
            with pytest.raises(KeyboardInterrupt):
                resident.run(x=inputs, iterations=10**9)
            assert right(resident.run(x=inputs)["y"], inputs, weights)
            assert len(entries) == 6
        assert lanes_of(driver).running == ()
    assert json.loads((tmp_path / "t.json").read_text())["otherData"]["iterations"] == 7


def test_trace(parts: Any, weights: Any, inputs: Array, tmp_path: Path) -> None:
    from ark_mlir.show import write_timeline

    with Executable.from_parts(*parts).bind(weights) as executable:
        executable.run(x=inputs, iterations=3, trace=tmp_path / "t.json")
        events = json.loads((tmp_path / "t.json").read_text())["traceEvents"]
        runs = [event for event in events if event.get("cat") == "run"]
        assert runs
        assert sum(event["dur"] for event in runs) > 0
        write_timeline(executable, tmp_path / "t.html", tmp_path / "t.json")


def test_an_index_out_of_range() -> None:
    with ark.Program("lookup") as program:
        ids = ark.input("ids", (2, 8), ark.int32)
        table = ark.parameter("table", (100, 32), ark.fp32)
        ark.output("y", ark.embedding(ids, table))
    weight = np.random.default_rng(0).standard_normal((100, 32)).astype(np.float32)
    with ark.compile(program, target="cpu:2").bind({"table": weight}) as executable:
        good = np.arange(16, dtype=np.int32).reshape(2, 8)
        assert np.array_equal(executable.run(ids=good)["y"], weight[good])
        for bad in (100, -1, 2**31 - 1):
            wrong = good.copy()
            wrong[1, 3] = bad
            message = rf"embedding: index {bad} is out of range \[0, 100\)"
            with pytest.raises(ark.InvalidUsageError, match=message) as caught:
                executable.run(ids=wrong)
            assert "test_compiled.py:" in str(caught.value)
            assert np.array_equal(executable.run(ids=good)["y"], weight[good])

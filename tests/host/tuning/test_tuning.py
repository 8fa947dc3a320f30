"""The Python API of tuning."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.tuning import measuring


def make_program() -> ark.Program:
    with ark.Program("scaled") as program:
        x = ark.input("x", (16, 32))
        w = ark.parameter("w", (32,))
        ark.output("y", ark.softmax(ark.gelu(x) * w))
    return program


def test_tune() -> None:
    program, w = make_program(), np.linspace(1, 2, 32, dtype=np.float32)
    x = np.linspace(-1, 1, 512, dtype=np.float32).reshape(16, 32)
    with ark.tuning.tune(
        program, "cpu:2", parameters={"w": w}, inputs={"x": x}, runs=2, rounds=1, cache=False
    ) as tuned:
        names = [candidate.name for candidate in tuned.candidates]
        assert names == ["default", "list", "round-robin", "rounds", "profile 1"]
        assert all(len(candidate.seconds) == 2 for candidate in tuned.candidates)
        assert tuned.best in tuned.candidates
        assert tuned.gain == tuned.gain_of(tuned.best) >= 0
        assert all(cost.alone_ns for cost in tuned.costs.tasks.values())
        expected = ark.reference.run(program, {"x": x, "w": w})["y"]
        for candidate in tuned.candidates:
            y = candidate.executable.run(x=x)["y"]
            np.testing.assert_allclose(y, expected, rtol=1e-5)
    with pytest.raises(ark.InvalidUsageError, match="closed"):
        tuned.best.executable.run(x=x)


def test_zeros_select_the_defaults() -> None:
    with ark.tuning.tune(make_program(), "cpu:2", runs=1, rounds=1, cache=False) as tuned:
        assert not any(tuned.best.inputs["x"].ravel())


def test_profile() -> None:
    profile = ark.tuning.profile(
        make_program(), "cpu:2", parameters={"w": np.ones(32, np.float32)}, runs=1, cache=False
    )
    assert "softmax" in str(profile)
    assert profile.roofline()
    with pytest.raises(ark.InvalidUsageError, match="a profile sets the option trace itself"):
        ark.tuning.profile(make_program(), "cpu:2", trace=True)
    with pytest.raises(ark.InvalidUsageError, match="runs is 0; it must be at least 1"):
        ark.tuning.profile(make_program(), "cpu:2", runs=0)


@pytest.mark.parametrize("name", ["trace", "profile", "scheduler"])
def test_own_options(name: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match=f"tune sets the option '{name}' itself"):
        ark.tuning.tune(make_program(), "cpu:2", **{name: None})


@pytest.mark.parametrize("counts", [{"runs": 0}, {"rounds": 0}, {"rounds": -1}])
def test_counts(counts: dict[str, int]) -> None:
    with pytest.raises(ark.InvalidUsageError, match="both must be at least 1"):
        ark.tuning.tune(make_program(), "cpu:2", **counts)


def test_executables_are_closed_after_an_error() -> None:
    """The second executable cannot be bound."""
    made: list[ark.Executable] = []

    def build(**options: object) -> ark.Executable:
        made.append(ark.compile(make_program(), "cpu:2", cache=False, **options))
        return made[-1]

    def prepare(executable: ark.Executable) -> dict[str, object]:
        if len(made) == 3:
            raise ark.InvalidUsageError("no more")
        executable.bind({"w": np.ones(32, np.float32)})
        return {"x": np.ones((16, 32), np.float32)}

    with pytest.raises(ark.InvalidUsageError, match="no more"):
        ark.tuning.search(build, prepare, runs=1, rounds=1)
    for executable in made:
        with pytest.raises(ark.InvalidUsageError, match="closed"):
            executable.run(x=np.ones((16, 32), np.float32))


def test_costs_come_before_the_comparison() -> None:
    """Costs are not lost if a later step fails."""
    found: list[ark.tuning.Costs] = []

    def build(**options: object) -> ark.Executable:
        if "profile" in options:
            raise ark.InvalidUsageError("no more")
        return ark.compile(make_program(), "cpu:2", cache=False, **options)

    def prepare(executable: ark.Executable) -> dict[str, object]:
        executable.bind(ark.tuning.zeros(executable.parameters))
        return ark.tuning.zeros(executable.inputs)

    with pytest.raises(ark.InvalidUsageError, match="no more"):
        ark.tuning.search(build, prepare, runs=1, rounds=1, on_costs=found.append)
    assert len(found) == 1


def test_measure_needs_a_run() -> None:
    with (
        ark.compile(make_program(), "cpu:2", cache=False) as executable,
        pytest.raises(ark.InvalidUsageError, match="runs must be at least 1, not 0"),
    ):
        ark.tuning.measure(executable, {}, runs=0)


def test_measure_needs_a_trace() -> None:
    with ark.compile(make_program(), "cpu:2", cache=False) as executable:
        executable.bind({"w": np.ones(32, np.float32)})
        with pytest.raises(ark.InvalidUsageError, match="trace"):
            ark.tuning.measure(executable, {"x": np.ones((16, 32), np.float32)})


class CountedRuns:
    """An executable that only counts runs and their iterations."""

    def __init__(self) -> None:
        self.iterations: list[int] = []
        self.resident_runs = 0

    def run(self, inputs: object, *, iterations: int) -> None:
        self.iterations.append(iterations)

    @contextmanager
    def resident(self) -> Iterator[CountedRuns]:
        before = len(self.iterations)
        yield self
        self.resident_runs = len(self.iterations) - before

    def report(self) -> SimpleNamespace:
        return SimpleNamespace(predicted_ns=2000)


@pytest.mark.parametrize("resident", [False, True])
def test_measure_runs(resident: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Warm-up runs do not count, and times are those of one iteration."""
    executable, seconds = CountedRuns(), iter((8.0, 4.0, 16.0, 12.0))

    def measure_seconds(work: Callable[[], object]) -> float:
        work()
        return next(seconds)

    monkeypatch.setattr(measuring, "measure_seconds", measure_seconds)
    times = ark.tuning.measure_runs(
        executable, {}, runs=4, warmup=2, iterations=4, resident=resident
    )
    assert times == ark.tuning.RunTimes(
        least=1.0, median=2.5, p90=4.0, most=4.0, predicted=2000 / 1e9
    )
    assert executable.iterations == [4] * 6
    assert executable.resident_runs == (6 if resident else 0)


def test_run_times() -> None:
    """Two of twenty runs are slower than 90 % of them; the percentile is the faster of the two."""
    times = ark.tuning.RunTimes.summarize([*range(1, 21)], predicted=3)
    assert times == ark.tuning.RunTimes(1, 10.5, 19, 20, 3)


@pytest.mark.parametrize(
    ("counts", "message"),
    [
        ({"runs": 0}, "runs must be at least 1, not 0"),
        ({"iterations": -1}, "iterations must be at least 1, not -1"),
        ({"warmup": -1}, "warmup must be at least 0, not -1"),
    ],
)
def test_counts_of_measured_runs(counts: dict[str, int], message: str) -> None:
    executable = CountedRuns()
    with pytest.raises(ark.InvalidUsageError, match=f"^{message}$"):
        ark.tuning.measure_runs(executable, {}, **counts)
    assert executable.iterations == []

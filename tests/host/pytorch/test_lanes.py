"""The number of lanes of a PyTorch module on the host without a target."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.compiler.schedule import cached_schedule

torch = pytest.importorskip("torch", reason="torch is not installed")
pytestmark = [
    pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning"),
    pytest.mark.usefixtures("fresh_torch"),
]


@pytest.fixture
def targets(monkeypatch: pytest.MonkeyPatch) -> list[str | None]:
    """The targets of all compilations of the backend."""
    from ark_mlir.pytorch import backend

    found: list[str | None] = []

    def compile(program: ark.Program, **options: Any) -> ark.Executable:
        found.append(options.get("target"))
        return ark.compile(program, **options)

    monkeypatch.setattr(backend, "compile", compile)
    return found


@pytest.fixture
def schedules(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The schedules that the choice of the lanes needed."""
    from ark_mlir.pytorch import lanes

    found: list[Any] = []

    def record(program: ark.Program, **options: Any) -> Any:
        found.append(cached_schedule(program, **options))
        return found[-1]

    monkeypatch.setattr(lanes, "cached_schedule", record)
    return found


def check(function: Any, x: Any, **options: Any) -> None:
    from ark_mlir.pytorch.backend import backend

    got = torch.compile(function, backend=backend, options=options)(x)
    torch.testing.assert_close(got, function(x), rtol=1e-5, atol=1e-4)


def run(width: int, layers: int, rows: int = 4, **options: Any) -> None:
    module = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])
    check(module, torch.randn(rows, width), **options)


def test_a_short_program_has_one_lane(targets: list[str | None]) -> None:
    run(16, 2)
    assert targets == ["cpu:1"]


@pytest.mark.parametrize("width", [128, 600])
def test_a_program_of_large_buffers_has_all_lanes(
    width: int, targets: list[str | None], schedules: list[Any]
) -> None:
    """The calling thread does not run it, however short it is, and its sizes show that."""
    run(width, 1)
    assert (targets, schedules) == ([None], [])


def test_a_program_of_large_intermediates_has_all_lanes(
    targets: list[str | None], schedules: list[Any]
) -> None:
    """The schedule shows that the arena is too large for the stack of the caller."""
    check(lambda x: torch.softmax(x[:, None] + x, -1).sum(0), torch.randn(256))
    assert (targets, len(schedules)) == ([None], 1)


def test_a_long_program_of_small_tensors_has_all_lanes(
    targets: list[str | None], schedules: list[Any]
) -> None:
    """Only its schedule is compiled for one lane, and no machine code."""
    w = torch.randn(64, 64) / 8

    def rows(x: Any) -> Any:
        for _ in range(40):
            x = torch.tanh(x @ w)
        return x

    check(rows, torch.randn(64, 64))
    assert (targets, len(schedules)) == ([None], 1)
    assert schedules[0].tables.predicted_ns > 100_000


def test_a_second_process_takes_the_schedule_from_the_cache(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """TorchDynamo begins again, as in another process; ark finds the schedule and the code."""
    caplog.set_level(logging.INFO, "ark.cache")
    for _ in range(2):
        torch._dynamo.reset()
        run(16, 2, cache=str(tmp_path))
    looked_up = [r.getMessage() for r in caplog.records if r.name == "ark.cache"]
    assert ["not in the cache" in line for line in looked_up] == [True, True, False, False]
    assert ["-schedule" in line for line in looked_up] == [True, False, True, False]


def test_the_environment_names_a_target(targets: list[str | None], schedules: list[Any]) -> None:
    with knobs.scope(ARK_TARGET="cpu:2"):
        run(16, 2)
    assert (targets, schedules) == ([None], [])


def test_a_target_is_taken_as_it_is(targets: list[str | None]) -> None:
    run(16, 2, target="cpu:2")
    assert targets == ["cpu:2"]

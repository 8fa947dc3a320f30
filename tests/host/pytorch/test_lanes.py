"""The number of lanes of a PyTorch module on the host without a target."""

from __future__ import annotations

from typing import Any

import pytest

import ark_mlir as ark

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
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


def run(width: int, layers: int, rows: int = 4, **options: Any) -> None:
    from ark_mlir.pytorch.backend import backend

    module = torch.nn.Sequential(*[torch.nn.Linear(width, width) for _ in range(layers)])
    x = torch.randn(rows, width)
    got = torch.compile(module, backend=backend, options=options)(x)
    torch.testing.assert_close(got, module(x), rtol=1e-5, atol=1e-5)


def test_a_short_program_has_one_lane(targets: list[str | None]) -> None:
    run(16, 2)
    assert targets == ["cpu:1"]


def test_a_large_program_has_all_lanes(targets: list[str | None]) -> None:
    run(1024, 2)
    assert targets == [None]


def test_a_long_program_of_small_tensors_has_all_lanes(targets: list[str | None]) -> None:
    """The compilation for one lane shows that its predicted time is too long."""
    run(256, 3, rows=64)
    assert targets == ["cpu:1", None]


def test_a_target_is_taken_as_it_is(targets: list[str | None]) -> None:
    run(16, 2, target="cpu:2")
    assert targets == ["cpu:2"]

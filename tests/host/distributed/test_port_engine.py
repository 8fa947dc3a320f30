"""Port channels of MSCCL++ between processes, on a stand-in with a FIFO, semaphores and a proxy."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCENARIOS = Path(__file__).parent / "engine_scenarios.py"

Launch = Callable[..., "list[Any]"]


@pytest.fixture
def launch(launch_ranks: Launch, tmp_path: Path) -> Launch:
    """``launch(fault)``: the result of each rank."""

    def run(fault: str, **options: Any) -> list[Any]:
        return launch_ranks(SCENARIOS, "mscclpp", fault, str(tmp_path), **options)

    return run


@pytest.mark.parametrize("layout", range(3))
@pytest.mark.parametrize("size", [2, 3])
def test_each_layout(launch: Launch, layout: int, size: int) -> None:
    """The channels pass their test. After a failed run, no late signal counts; without the wait for
    them, late signals would count. All is freed."""
    for (numbers, right, wrong), clean in launch(f"ports {layout}", size=size):
        assert numbers > 0
        assert right == 0
        assert wrong > 0
        assert clean


@pytest.mark.parametrize(
    ("fault", "messages"),
    [
        ("library", ["compiled with network='nccl', and the engine is mscclpp"]),
        ("version", ["mscclpp 0.8.0 has port channels whose handles have 96 bytes, which ark"]),
        ("length", ["whose handles have 104 bytes, which ark does not know: install one of"]),
        ("handle", ["does not have the layout of MSCCL++ main of August 2026"]),
        ("silent", ["the port channels of MSCCL++ did not", "set CUDA_MODULE_LOADING=EAGER"]),
        ("stride", ["do not work: the port channels of MSCCL++ did not"]),
        ("copies", ["do not work: rank 1 copied 0x0"]),
        ("forwarding", ["do not work: ", "use IbMode.Host"]),
    ],
)
def test_every_rank_raises_the_same_error(launch: Launch, fault: str, messages: list[str]) -> None:
    first, second = launch(f"ports {fault}")
    assert first == second
    (kind, text), clean = first
    assert kind == "UnsupportedError"
    assert all(message in text for message in messages)
    assert clean

"""A process for every rank, each with an AMD GPU of its own, on a stand-in for HIP."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

SCENARIOS = Path(__file__).parent / "gpu_scenarios.py"

Launch = Callable[..., "list[Any]"]


@pytest.fixture
def launch(launch_ranks: Launch, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """``launch(name, *arguments)``: the output of each rank's process, or its exit status."""
    monkeypatch.setenv("STAND_IN", "hip")
    return functools.partial(launch_ranks, SCENARIOS)


@pytest.mark.parametrize("size", [2, 3])
def test_values_states_and_resident_runs(launch: Launch, size: int) -> None:
    """Each process uses the GPU of its local rank alone, and holds nothing afterwards."""
    results = launch("values", size=size)
    assert results == [[[0.0] * 4, 6, [rank], [], True] for rank in range(size)]


def test_gpus_by_number(launch: Launch) -> None:
    assert launch("chosen") == [[3, 1], [1, 2]]


def test_ranks_on_one_gpu(launch: Launch) -> None:
    """HIP has no service such as MPS, so the error names none."""
    for errors in launch("wrong_devices"):
        kind, text = errors[3]
        assert kind == "UnsupportedError"
        assert text.endswith("take a GPU for each rank, or one process with devices=[0]")


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ("kind", "the kind of GPU differs: stand-in (gfx942) at rank 0, other (gfx942) at rank 1"),
        ("version", "HIP version of AMD's driver differs: 70151831 at rank 0, 70351831 at rank 1"),
        ("page", "share memory in pages of 4194304 bytes"),
        ("link", "linked by NVLink or xGMI, or by PCIe with peer access"),
        ("export", "rank 1: AMD's driver cannot share memory with other processes"),
        ("import", "legacy HIP IPC does not work either: rank 1: AMD's driver cannot lend memory"),
        ("open", "rank 1: AMD's driver cannot map the memory of other processes"),
    ],
)
def test_ranks_that_cannot_run_together(launch: Launch, difference: str, message: str) -> None:
    """Every rank raises the same error and holds nothing; afterwards a program runs."""
    first, second = launch("differ", difference)
    assert first == second
    kind, text, clean, difference = first
    assert kind == "UnsupportedError"
    assert message in text
    assert (clean, difference) == (True, 0.0)


def test_full_memory(launch: Launch) -> None:
    other, own = launch("differ", "memory")
    assert (own[0], other[0]) == ("DeviceError", "RankFailedError")
    assert "hipErrorOutOfMemory" in own[1]
    assert own[2:] == other[2:] == [True, 0.0]


@pytest.mark.parametrize("refused", ["uncached", "create", "export", "import"])
def test_legacy_ipc(launch: Launch, refused: str) -> None:
    """Legacy IPC is chosen when one rank cannot share file descriptors of memory."""
    text = "legacy HIP IPC, since file descriptors of memory are refused"
    assert launch("legacy", refused) == [[[0.0] * 4, 6, text, True, [], True]] * 2


@pytest.mark.parametrize("scenario", ["faults", "legacy_failures"])
def test_a_fault_at_every_call(launch: Launch, scenario: str) -> None:
    """Both ranks raise each error, no memory leaks, and the next program runs."""
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch(scenario)
    assert count > 60
    assert set(others) <= {"RankFailedError", "UnsupportedError"}
    assert set(own) <= {"DeviceError", "UnsupportedError"}
    assert (none, leaks, after) == (own_none, own_leaks, own_after) == (0, 0, 0.0)


def test_a_fault_at_every_call_of_a_run(launch: Launch) -> None:
    (_, others), (count, own) = launch("retries")
    assert count > 3
    assert (others, own) == (["RankFailedError"], ["DeviceError"])


@pytest.mark.parametrize("where", ["cuMemCreate", "cuMemImportFromShareableHandle", "run"])
def test_a_killed_rank(launch: Launch, where: str) -> None:
    survivor, killed = launch("killed", where)
    assert killed == -signal.SIGKILL
    kind, text, seconds, held, _, text_after = survivor
    assert (kind, text) == ("RankFailedError", text_after)
    assert "has ended" in text
    assert seconds < 10
    assert held == 0


def test_a_hang(launch: Launch) -> None:
    """All ranks raise the same error, which names the wait; other programs run afterwards."""
    first, second = launch("hang")
    assert first[0] == second[0]
    for kind, text, in_time, difference in first[0]:
        assert (kind, in_time, difference) == ("HangError", True, 0.0)
        assert "'rank0/receive'" in text

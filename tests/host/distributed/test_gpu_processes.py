"""A process for every rank, each with a GPU of its own, on a stand-in for CUDA."""

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
def launch(launch_ranks: Launch) -> Launch:
    """``launch(name, *arguments)``: the output of each rank's process, or its exit status."""
    return functools.partial(launch_ranks, SCENARIOS)


@pytest.mark.parametrize("size", [2, 3])
def test_values_states_and_resident_runs(launch: Launch, size: int) -> None:
    """Each process uses the GPU of its local rank alone, and holds nothing afterwards."""
    results = launch("values", size=size)
    assert results == [[[0.0] * 4, 6, [rank], [], True] for rank in range(size)]


def test_gpus_by_number(launch: Launch) -> None:
    """A list names the GPUs of all ranks, and one number that of this rank."""
    assert launch("chosen") == [[3, 1], [1, 2]]


def test_invalid_devices(launch: Launch) -> None:
    for errors in launch("wrong_devices"):
        kinds, texts = zip(*errors, strict=True)
        assert kinds == (*["InvalidUsageError"] * 3, "UnsupportedError")
        assert "one for each of the 2 ranks" in texts[0]
        assert "its process sees 4" in texts[1]
        assert "a GPU is named twice" in texts[2]
        assert "ranks 0 and 1 are on one GPU (GPU-" in texts[3]
        assert "one process with devices=[0]" in texts[3]


def test_launches_at_once_need_one_process(launch: Launch) -> None:
    for errors in launch("launches_at_once"):
        for kind, text in errors:
            assert kind == "InvalidUsageError"
            assert "concurrent=True is for ranks in one process" in text


def test_one_gpu_with_mps(launch: Launch) -> None:
    assert launch("mps") == [0.0, 0.0]


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ("kind", "the kind of GPU differs: stand-in (sm_90) at rank 0, other (sm_90) at rank 1"),
        (
            "version",
            "CUDA version of NVIDIA's driver differs: 12080 at rank 0, 212080 at rank 1",
        ),
        ("page", "share memory in pages of 4194304 bytes"),
        ("link", "rank 1: the GPU of rank 1"),
        ("export", "rank 1: NVIDIA's driver cannot share memory with other processes"),
        ("import", "rank 1: NVIDIA's driver cannot map the memory of other processes"),
        ("import", "IPC does not work either: rank 1: NVIDIA's driver cannot lend memory"),
        (
            "open",
            "IPC does not work either: rank 1: NVIDIA's driver cannot map the memory",
        ),
        ("open", "run all ranks in one process: ark.load(path, devices=[0, 1])"),
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


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("refused", ["create", "export", "import"])
def test_legacy_ipc(launch: Launch, refused: str, size: int) -> None:
    """Legacy CUDA IPC is chosen when one rank cannot share file descriptors of memory."""
    text = "legacy CUDA IPC, since file descriptors of memory are refused"
    assert launch("legacy", refused, size=size) == [[[0.0] * 4, 6, text, True, [], True]] * size


@pytest.mark.parametrize("size", [2, 3])
def test_legacy_ipc_with_distant_addresses(launch: Launch, size: int) -> None:
    """Signals and stops reach memory that is terabytes away."""
    assert launch("legacy_far", size=size) == [[[0.0] * 2, True, [], True]] * size


def test_a_fault_at_every_call_with_legacy_ipc(launch: Launch) -> None:
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch(
        "legacy_failures"
    )
    assert count > 80
    assert set(others) <= {"RankFailedError", "UnsupportedError"}
    assert set(own) <= {"DeviceError", "UnsupportedError"}
    assert (none, leaks, after) == (own_none, own_leaks, own_after) == (0, 0, 0.0)


def test_a_hang_with_legacy_ipc(launch: Launch) -> None:
    first, second = launch("legacy_hang")
    assert first[0] == second[0]
    for kind, text, in_time, difference in first[0]:
        assert (kind, in_time, difference) == ("HangError", True, 0.0)
        assert "'rank0/receive'" in text


@pytest.mark.parametrize(
    ("difference", "kind", "message"),
    [
        ("memory", "DeviceError", "CUDA_ERROR_OUT_OF_MEMORY"),
        ("lanes", "UnsupportedError", "this GPU holds 1 of its CTAs at once"),
    ],
)
def test_a_rank_that_cannot_load(launch: Launch, difference: str, kind: str, message: str) -> None:
    other, own = launch("differ", difference)
    assert (own[0], other[0]) == (kind, "RankFailedError")
    assert message in own[1]
    assert "rank 1 failed" in other[1]
    assert message in other[1]
    assert own[2:] == other[2:] == [True, 0.0]


def test_a_fault_at_every_call_of_the_driver(launch: Launch) -> None:
    """Both ranks raise each error, no memory leaks, and the next program runs."""
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch("faults")
    assert count > 100
    assert set(others) <= {"RankFailedError", "UnsupportedError"}
    assert set(own) <= {"DeviceError", "UnsupportedError"}
    assert (none, leaks, after) == (own_none, own_leaks, own_after) == (0, 0, 0.0)


def test_a_fault_at_every_call_of_a_run(launch: Launch) -> None:
    """The same program runs afterwards, each time."""
    (_, others), (count, own) = launch("retries")
    assert count > 4
    assert (others, own) == (["RankFailedError"], ["DeviceError"])


@pytest.mark.parametrize(
    "where",
    [
        "cuDevicePrimaryCtxRetain", "cuMemCreate", "cuMemExportToShareableHandle",
        "cuMemImportFromShareableHandle", "cuMemSetAccess", "cuModuleLoadData", "cuMemAlloc",
        "cuLaunchKernelEx", "run",
    ],
)  # fmt: skip
def test_a_killed_rank(launch: Launch, where: str) -> None:
    survivor, killed = launch("killed", where)
    assert killed == -signal.SIGKILL
    kind, text, seconds, held, kind_after, text_after = survivor
    assert kind == kind_after == "RankFailedError"
    assert "rank 1 (process" in text
    assert text == text_after
    assert "has ended" in text
    assert seconds < 10
    assert held == 0


@pytest.mark.parametrize("where", ["put", "barrier"])
def test_a_rank_that_is_killed_in_a_run(launch: Launch, where: str) -> None:
    """The other rank raises an error at once, and its kernel ends."""
    (kind, text, seconds, held, after, running), killed = launch("killed_in", where)
    assert killed == -signal.SIGKILL
    assert kind == after == "RankFailedError"
    assert "rank 1 (process" in text
    assert "has ended" in text
    assert seconds < 5
    assert (held, running) == (0, 0)


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ("program", "rank 0 loads 'toy'"),
        ("size", "program 'toy' was compiled for 3 ranks; this world has 2"),
    ],
)
def test_programs_that_are_unlike(launch: Launch, difference: str, message: str) -> None:
    first, second = launch("unlike", difference)
    assert first == second
    assert first[0] == "InvalidUsageError"
    assert message in first[1]
    assert first[2:] == [True, 0.0]


def test_a_rank_that_is_stopped_between_runs(launch: Launch) -> None:
    kind, text = launch("stopped", "between", unheard=1)[0]
    assert kind == "RankFailedError"
    assert "did not join run 'toy' within 3 s" in text
    assert "is stopped, by a signal or a debugger" in text


def test_a_rank_that_is_stopped_before_its_launch(launch: Launch) -> None:
    """The kernel of the other rank does not wait for ever for the stopped rank."""
    kind, text = launch("stopped", "before its launch", unheard=1)[0]
    assert kind == "RankFailedError"
    assert "did not join run 'toy'" in text
    assert "is stopped, by a signal or a debugger" in text


def test_a_rank_that_is_stopped_in_a_run(launch: Launch) -> None:
    kind, text = launch("stopped", "in a run", unheard=1)[0]
    assert kind == "HangError"
    assert "waited more than 1 s" in text


def test_a_queued_launch(launch: Launch) -> None:
    """No rank computes anything, and the next run is right."""
    other, own = launch("queued", "30")
    text = "the kernel of rank 1 of 'toy' has not begun for 1.5 s: another kernel holds SMs"
    assert (own[0], other[0]) == ("BusyError", "RankFailedError")
    assert text in own[1]
    assert f"rank 0 cannot continue: rank 1 failed: {text}" in other[1]
    for _, _, seconds, count, difference, running in (other, own):
        assert 1.3 < seconds < 10
        assert (count, difference, running) == (1, 0.0, 0)


def test_a_launch_that_is_queued_for_a_while(launch: Launch) -> None:
    """Longer than a wait may last."""
    for kind, text, seconds, count, difference, running in launch("queued", "0.8"):
        assert (kind, text) == ("none", "0.0")
        assert seconds > 0.7
        assert (count, difference, running) == (3, 0.0, 0)


def test_earlier_work_of_a_stream(launch: Launch) -> None:
    assert launch("streamed") == [0.0, 0.0]


def test_a_hang(launch: Launch) -> None:
    """All ranks raise the same error, which names the wait; other programs run afterwards."""
    first, second = launch("hang")
    assert first[0] == second[0]
    for kind, text, in_time, difference in first[0]:
        assert kind == "HangError"
        assert "'rank0/receive'" in text
        assert "waits for 2 arrivals at 'rank0/arrived'" in text
        assert in_time
        assert difference == 0.0


def test_an_index_out_of_range(launch: Launch) -> None:
    other, own = launch("bad_index")
    assert own[0][0] == "InvalidUsageError"
    assert "index 12 is out of range [0, 8)" in own[0][1]
    assert other[0][0] == "RankFailedError"
    assert "rank 0 cannot continue: rank 1 failed" in other[0][1]
    assert (other[1], own[1]) == (3.0, 4.0)


def test_an_interrupted_rank(launch: Launch) -> None:
    other, own = launch("interrupted")
    assert own == [["KeyboardInterrupt", ""], 0.0]
    assert other[0] == [
        "RankFailedError",
        "rank 0 cannot continue: rank 1 failed: KeyboardInterrupt",
    ]
    assert other[1] == 0.0


def test_other_iterations(launch: Launch) -> None:
    error = ["InvalidUsageError", "rank 0 runs 1 iterations, and rank 1 runs 2", 0.0]
    assert launch("other_iterations") == [error, error]


def test_a_run_is_not_part_of_a_graph(launch: Launch) -> None:
    for kind, text, difference in launch("captured"):
        assert (kind, difference) == ("InvalidUsageError", 0.0)
        assert "cannot be part of a CUDA graph" in text

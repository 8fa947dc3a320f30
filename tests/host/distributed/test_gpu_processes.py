"""A process for every rank, with a GPU each or one for all, on stand-ins for CUDA and HIP."""

from __future__ import annotations

import functools
import signal
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

SCENARIOS = Path(__file__).parent / "gpu_scenarios.py"

Launch = Callable[..., "list[Any]"]


@dataclass(frozen=True)
class Library:
    """The words of a vendor's library.

    Attributes:
        backend: the backend of its GPUs.
        name: the name of the interface.
        vendor: the vendor.
        arch: the architecture of the stand-in, as in the kind of a GPU.
        versions: the version of the stand-in, and a later one.
        no_memory: the error for memory that is short.
        remedy: what lets kernels of several processes run at the same time.
    """

    backend: str
    name: str
    vendor: str
    arch: str
    versions: tuple[str, str]
    no_memory: str
    remedy: str


LIBRARIES = (
    Library(
        "cuda", "CUDA", "NVIDIA", "sm_90", ("12080", "212080"), "CUDA_ERROR_OUT_OF_MEMORY", "MPS"
    ),
    Library(
        "hip", "HIP", "AMD", "gfx942", ("70151831", "70351831"), "hipErrorOutOfMemory",
        "hws_max_conc_proc",
    ),
)  # fmt: skip


@pytest.fixture(params=LIBRARIES, ids=lambda library: library.backend)
def library(request: pytest.FixtureRequest) -> Library:
    return request.param


@pytest.fixture
def launch(launch_ranks: Launch, library: Library, monkeypatch: pytest.MonkeyPatch) -> Launch:
    """``launch(name, *arguments)``: the output of each rank's process, or its exit status."""
    monkeypatch.setenv("STAND_IN", library.backend)
    return functools.partial(launch_ranks, SCENARIOS)


@pytest.mark.parametrize("size", [2, 3])
def test_values_states_and_resident_runs(launch: Launch, size: int) -> None:
    """Each process uses the GPU of its local rank alone, and holds nothing afterwards."""
    results = launch("values", size=size)
    assert results == [[[0.0] * 4, 6, [rank], [], True] for rank in range(size)]


def test_gpus_by_number(launch: Launch) -> None:
    """A list names the GPUs of all ranks, and one number that of this rank."""
    assert launch("chosen") == [[3, 1], [1, 2]]


def test_invalid_devices(launch: Launch, library: Library) -> None:
    """Kernels of two processes do not run at the same time."""
    for errors in launch("wrong_devices"):
        kinds, texts = zip(*errors, strict=True)
        assert kinds == (*["InvalidUsageError"] * 3, "UnsupportedError")
        assert "one for each of the 2 ranks" in texts[0]
        assert "its process sees 4" in texts[1]
        assert "a GPU is named twice" in texts[2]
        assert "ranks 0 and 1 are on one GPU (GPU-" in texts[3]
        assert "one process with devices=[0]" in texts[3]
        assert library.remedy in texts[3]


def test_launches_at_once_need_one_process(launch: Launch) -> None:
    for errors in launch("launches_at_once"):
        for kind, text in errors:
            assert kind == "InvalidUsageError"
            assert "concurrent=True is for ranks in one process" in text


def test_ranks_on_one_gpu(launch: Launch) -> None:
    """With MPS, or on an AMD GPU. The GPU needs room for the lanes of both ranks."""
    for difference, used, kind, text in launch("one_gpu"):
        assert (difference, used, kind) == (0.0, [2], "UnsupportedError")
        assert "with 3 SMs, and have 4 lanes" in text


def test_a_queued_launch_on_one_gpu(launch: Launch) -> None:
    """Another process occupies the GPU: the rank whose kernel has not begun is named."""
    other, own = launch("queued", "30", "2")
    assert (own[0], other[0]) == ("BusyError", "RankFailedError")
    assert "the kernel of rank 1 of 'toy' has not begun for 1.5 s" in own[1]
    for _, _, _, count, difference, running in (other, own):
        assert (count, difference, running) == (1, 0.0, 0)


@pytest.mark.parametrize(
    ("difference", "message"),
    [
        ("kind", "the kind of GPU differs: stand-in (ARCH) at rank 0, other (ARCH) at rank 1"),
        ("version", "NAME version of VENDOR's driver differs: OLD at rank 0, NEW at rank 1"),
        ("page", "share memory in pages of 4194304 bytes"),
        ("link", "rank 1: the GPU of rank 1"),
        ("link", "linked by NVLink or xGMI, or by PCIe with peer access"),
        ("export", "rank 1: VENDOR's driver cannot share memory with other processes"),
        ("import", "rank 1: VENDOR's driver cannot map the memory of other processes"),
        ("import", "NAME IPC does not work either: rank 1: VENDOR's driver cannot lend memory"),
        ("open", "NAME IPC does not work either: rank 1: VENDOR's driver cannot map the memory"),
        ("open", "run all ranks in one process: ark.load(path, devices=[0, 1])"),
    ],
)
def test_ranks_that_cannot_run_together(
    launch: Launch, library: Library, difference: str, message: str
) -> None:
    """Every rank raises the same error and holds nothing; afterwards a program runs."""
    words = {"ARCH": library.arch, "NAME": library.name, "VENDOR": library.vendor}
    words.update(zip(("OLD", "NEW"), library.versions, strict=True))
    for word, meaning in words.items():
        message = message.replace(word, meaning)
    first, second = launch("differ", difference)
    assert first == second
    kind, text, clean, difference = first
    assert kind == "UnsupportedError"
    assert message in text
    assert (clean, difference) == (True, 0.0)


@pytest.mark.parametrize("size", [2, 3])
@pytest.mark.parametrize("refused", ["create", "export", "import"])
def test_legacy_ipc(launch: Launch, library: Library, refused: str, size: int) -> None:
    """Legacy IPC is chosen when one rank cannot share file descriptors of memory."""
    text = f"legacy {library.name} IPC, since file descriptors of memory are refused"
    assert launch("legacy", refused, size=size) == [[[0.0] * 4, 6, text, True, [], True]] * size


@pytest.mark.parametrize("library", LIBRARIES[1:], ids=["hip"], indirect=True)
def test_rocm_without_uncached_memory(launch: Launch) -> None:
    text = "legacy HIP IPC, since file descriptors of memory are refused"
    assert launch("legacy", "uncached") == [[[0.0] * 4, 6, text, True, [], True]] * 2


@pytest.mark.parametrize("size", [2, 3])
def test_legacy_ipc_with_distant_addresses(launch: Launch, size: int) -> None:
    """Signals and stops reach memory that is terabytes away."""
    assert launch("legacy_far", size=size) == [[[0.0] * 2, True, [], True]] * size


def test_a_fault_at_every_call_with_legacy_ipc(launch: Launch) -> None:
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch(
        "legacy_failures"
    )
    assert count > 60
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
        ("memory", "DeviceError", "NO_MEMORY"),
        ("lanes", "UnsupportedError", "this GPU holds 1 of its CTAs at once"),
    ],
)
def test_a_rank_that_cannot_load(
    launch: Launch, library: Library, difference: str, kind: str, message: str
) -> None:
    message = message.replace("NO_MEMORY", library.no_memory)
    other, own = launch("differ", difference)
    assert (own[0], other[0]) == (kind, "RankFailedError")
    assert message in own[1]
    assert "rank 1 failed" in other[1]
    assert message in other[1]
    assert own[2:] == other[2:] == [True, 0.0]


def test_a_fault_at_every_call_of_the_driver(launch: Launch) -> None:
    """Both ranks raise each error, no memory leaks, and the next program runs."""
    (count, others, none, leaks, after), (_, own, own_none, own_leaks, own_after) = launch("faults")
    assert count > 60
    assert set(others) <= {"RankFailedError", "UnsupportedError"}
    assert set(own) <= {"DeviceError", "UnsupportedError"}
    assert (none, leaks, after) == (own_none, own_leaks, own_after) == (0, 0, 0.0)


def test_a_fault_at_every_call_of_a_run(launch: Launch) -> None:
    """The same program runs afterwards, each time."""
    (_, others), (count, own) = launch("retries")
    assert count > 3
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

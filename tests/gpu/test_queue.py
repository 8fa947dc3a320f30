"""Runs that are queued on a GPU: behind a kernel that occupies all SMs, and behind earlier work of
their stream. The occupying kernel ends by itself after some seconds, even if the test fails."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

import pytest

import ark_mlir as ark

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]

pytestmark = pytest.mark.gpu

# The seconds after which an idle resident kernel ends.
SECONDS = 4.0
MOST_SHARED_MEMORY = 228 << 10  # supported by every GPU


@pytest.fixture
def bound(load: Load, block: Arrays) -> Callable[[], ark.Executable]:
    """``bound()`` returns a program with a lane on every SM, of which one SM cannot hold two."""

    def make() -> ark.Executable:
        executable = load("streams")
        target = executable.bundle.manifest.target
        assert len(executable.bundle.tables.lanes) == target.sms
        assert 2 * target.shared_memory > MOST_SHARED_MEMORY
        values = {b.name: block[f"input.{b.name}"] for b in executable.parameters}
        return executable.bind(values)

    return make


@contextmanager
def occupied(executable: ark.Executable, x: Any) -> Generator[None]:
    """Occupies all SMs until the end of the block, but no longer than SECONDS."""
    with ark.knobs.scope(ARK_TIMEOUT=str(SECONDS)), executable.resident() as resident:
        resident.run(x=x)
        yield


def test_a_kernel_that_keeps_the_device(bound: Callable[[], ark.Executable], block: Arrays) -> None:
    """Each run raises BusyError in time; its queued launch does nothing when it starts later."""
    x = block["input.x"]
    staying, waiting = bound(), bound()
    expected = waiting.run(x=x)["y"].tobytes()
    for _ in range(2):
        with occupied(staying, x), ark.knobs.scope(ARK_TIMEOUT="0.1"):
            for _ in range(2):
                start = time.monotonic()
                with pytest.raises(ark.BusyError, match=r"has not begun for 0\.5 s"):
                    waiting.run(x=x)
                assert 0.5 <= time.monotonic() - start < 1.5
        for _ in range(3):
            assert waiting.run(x=x)["y"].tobytes() == expected
        assert staying.run(x=x)["y"].tobytes() == expected


def test_a_resident_kernel_that_ends_in_time(
    bound: Callable[[], ark.Executable], block: Arrays
) -> None:
    """The idle resident kernel ends before the run that waits for it times out."""
    x = block["input.x"]
    staying, waiting = bound(), bound()
    expected = waiting.run(x=x)["y"].tobytes()
    with ark.knobs.scope(ARK_TIMEOUT="0.5"), staying.resident() as resident:
        for _ in range(2):
            resident.run(x=x)
            assert waiting.run(x=x)["y"].tobytes() == expected


def test_a_resident_kernel_raises_busy_error_in_the_queue(
    bound: Callable[[], ark.Executable], block: Arrays
) -> None:
    x = block["input.x"]
    staying, waiting = bound(), bound()
    expected = waiting.run(x=x)["y"].tobytes()
    with waiting.resident() as resident:
        with (
            occupied(staying, x),
            ark.knobs.scope(ARK_TIMEOUT="0.1"),
            pytest.raises(ark.BusyError),
        ):
            resident.run(x=x)
        for _ in range(3):
            assert resident.run(x=x)["y"].tobytes() == expected


def test_earlier_work_of_the_stream_does_not_count(load: Load, torch: Any) -> None:
    """The earlier work takes more than a second; a run may be queued for half a second."""
    exe = load("good")
    x = torch.randn(64, 256, device="cuda")
    expected = exe.run(x=x)["y"]
    with ark.knobs.scope(ARK_TIMEOUT="0.1"):
        torch.cuda._sleep(2_500_000_000)  # cycles
        start = time.monotonic()
        result = exe.run(x=x)["y"]
        assert time.monotonic() - start > 0.7
    assert torch.equal(result, expected)


def test_a_replay(bound: Callable[[], ark.Executable], torch: Any, block: Arrays) -> None:
    """A check reports that the replay is queued; it runs when the device is free."""
    x = torch.from_numpy(block["input.x"].view("int16").copy()).view(torch.bfloat16).cuda()
    staying, waiting = bound(), bound()
    expected = waiting.run(x=x)["y"]
    graph = torch.cuda.CUDAGraph()
    with ark.knobs.scope(ARK_TIMEOUT="0.1"):
        with torch.cuda.graph(graph):
            y = waiting.run(x=x)["y"]
        with occupied(staying, block["input.x"]):
            graph.replay()
            with pytest.raises(ark.BusyError):
                waiting.check()
        waiting.check()
    assert torch.equal(y, expected)

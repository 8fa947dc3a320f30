"""Clocks for work on a device, and capture of work in CUDA graphs."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any

# Replays follow each other for about this long, so that the launch of the first does not count.
SAMPLE_SECONDS = 4e-3
MOST_REPLAYS = 200
# Twice the L2 of an H200, and twice the Infinity Cache of MI300X: operands of this size in rotation
# are evicted before their next use.
COLD_BYTES = 120e6
COLD_BYTES_OF_ROCM = 540e6
MOST_COPIES = 24


def copies_for_cold_l2(size: float, device: str) -> int:
    """Returns the number of copies of operands of `size` bytes that together exceed the L2, or the
    Infinity Cache."""
    import torch

    if device == "cpu":
        return 1
    cold = COLD_BYTES if torch.version.hip is None else COLD_BYTES_OF_ROCM
    return max(1, min(MOST_COPIES, -int(-cold // size)))


def synchronize(device: str) -> None:
    """Waits for all work of the device."""
    import torch

    if device == "cuda":
        torch.cuda.synchronize()


def device_seconds(work: Callable[[], object], device: str) -> float:
    """Returns the seconds that the work takes on the device, by events on the current stream."""
    import torch

    if device == "cpu":
        return caller_seconds(work, device)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    begin.record()
    work()
    end.record()
    end.synchronize()
    return float(begin.elapsed_time(end)) / 1e3


def caller_seconds(work: Callable[[], object], device: str) -> float:
    """Returns the seconds until a caller who waits for the work has its result."""
    synchronize(device)
    start = time.perf_counter()
    work()
    synchronize(device)
    return time.perf_counter() - start


def capture(step: Callable[[], Any]) -> Callable[[], Any]:
    """Captures a step as a CUDA graph of its kernels; the result replays it.

    The result owns the step: the kernels read memory that the step owns, such as fused weights.
    """
    import torch

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            step()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = step()

    def replay(_owner: Callable[[], Any] = step) -> Any:
        graph.replay()
        return result

    return replay


def compiled(step: Callable[[], Any], mode: str, device: str) -> Callable[[], Any]:
    """Compiles a step with torch.compile and runs it until it is captured as a CUDA graph."""
    import torch

    # Every arm and model is one more version of the same code.
    torch._dynamo.config.recompile_limit = 64
    counts = torch._dynamo.utils.counters["inductor"]
    before = counts["cudagraph_skips"]
    made = torch.compile(step, mode=mode, fullgraph=True, dynamic=False)
    for _ in range(4):  # compiles, warms up, records, replays
        made()
    skipped = counts["cudagraph_skips"] > before or mode.endswith("no-cudagraphs")
    return capture(made) if skipped and device == "cuda" else made


class Calls:
    """An arm of calls that do not depend on each other, one for each copy of the operands.

    Args:
        calls: each returns a tensor, and all of them have the same work.
        device: ``cuda`` or ``cpu``.
        captured: False if a call replays a CUDA graph already, which no graph can contain.
        check: is called after replays and raises an exception if one of them failed.
    """

    def __init__(
        self,
        calls: Sequence[Callable[[], Any]],
        device: str,
        captured: bool = True,
        check: Callable[[], object] | None = None,
    ) -> None:
        self._calls = calls
        self._device = device
        self._captured = captured and device == "cuda"
        self._check = check
        self._round: Callable[[], object] | None = None
        self._replays = 1

    def output(self) -> Any:
        """Returns the result of the first call, in fp32 on the host."""
        return self._calls[0]().float().cpu().numpy()

    def device_seconds(self) -> float:
        """Returns the seconds of one call on the device, by replays of a graph of all calls."""
        if self._round is None:
            self._round = self._make_round()
            one = min(device_seconds(self._round, self._device) for _ in range(2))
            self._replays = max(1, min(MOST_REPLAYS, int(SAMPLE_SECONDS / max(one, 1e-6))))
        seconds = device_seconds(self._replay, self._device)
        if self._check is not None:
            self._check()
        return seconds / self._replays / len(self._calls)

    def caller_seconds(self) -> float:
        """Returns the seconds of a call for a caller who waits for it."""
        return min(caller_seconds(call, self._device) for call in self._calls[:4])

    def _make_round(self) -> Callable[[], object]:
        def work() -> None:
            for call in self._calls:
                call()

        return capture(work) if self._captured else work

    def _replay(self) -> None:
        assert self._round is not None
        for _ in range(self._replays):
            self._round()

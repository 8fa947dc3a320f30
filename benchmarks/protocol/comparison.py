"""The comparison of the arms of one row: results first, then times in turns."""

from __future__ import annotations

import gc
import statistics
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Protocol

import numpy as np

from .record import Result

# PyTorch and ark round an accumulator once, and add in different orders.
SLACK = 1.01
# Kernels of PyTorch round different intermediate results.
PEER_SLACK = 1.5


class Arm(Protocol):
    """A way to do the work of a row."""

    def output(self) -> Any:
        """Returns the result in fp32 on the host."""
        ...

    def device_seconds(self) -> float:
        """Returns the seconds on the device, one sample."""
        ...

    def caller_seconds(self) -> float:
        """Returns the seconds for a caller who waits for the result, one sample."""
        ...


def error_of(found: Any, expected: Any) -> float:
    """Returns the relative error of all elements together, NaN if there is one in `found`."""
    return float(np.linalg.norm(found - expected) / np.linalg.norm(expected))


def compare(
    row: str,
    makers: Mapping[str, Callable[[], Arm]],
    expected: Any,
    bound: float,
    samples: int,
    slack: float = SLACK,
    apart: bool = False,
) -> Iterator[Result]:
    """Yields the result of each arm; an arm that fails has a problem instead of times.

    Args:
        makers: functions that make the arms, by name.
        expected: the result in fp32.
        bound: the relative error of PyTorch in the dtype of the row. An arm whose error is larger
            (than 1.5 times as much, if it is PyTorch's own) is wrong and has no times.
        samples: number of samples of each arm. The order of the arms alternates. With
            none, arms are made and checked, which fills the cache of torch.compile.
        slack: the factor of `bound` for ark.
        apart: True measures one arm after another and frees its memory before the next, for rows
            whose arms do not fit the memory together.
    """
    if apart and len(makers) > 1:
        for name, make in makers.items():
            yield from compare(row, {name: make}, expected, bound, samples, slack)
            release()
        return
    arms: dict[str, Arm] = {}
    errors: dict[str, float] = {}
    for name, make in makers.items():
        try:
            arm = make()
            errors[name] = error_of(arm.output(), expected)
        except Exception as error:
            yield problem(row, name, error)
            continue
        most = bound * (slack if name.startswith("ark") else PEER_SLACK)
        if errors[name] <= most:
            arms[name] = arm
        else:
            text = f"WRONG: relative error {errors[name]:.5f}, above {most:.5f}"
            print(f"{row}, {name}: {text}", file=sys.stderr, flush=True)
            yield Result(row, name, error=errors[name], problem=text)
    if not samples:
        return
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in arms}
    for sample in range(samples + 1):
        for name in list(times)[:: -1 if sample % 2 else 1]:
            try:
                pair = arms[name].device_seconds(), arms[name].caller_seconds()
            except Exception as error:
                del times[name]
                yield problem(row, name, error)
                continue
            if sample:  # the first one warms up
                times[name].append(pair)
    for name, pairs in times.items():
        device, caller = (statistics.median(column) for column in zip(*pairs, strict=True))
        yield Result(row, name, device, caller, errors[name])


def release() -> None:
    """Frees the memory of arms that nothing uses any more."""
    import torch

    torch._dynamo.reset()
    gc.collect()
    if torch.cuda.is_available():
        torch.cuda.empty_cache()


def problem(row: str, arm: str, error: BaseException) -> Result:
    """Returns the result of an arm that raised an exception, and prints the traceback."""
    traceback.print_exception(error)
    text = " ".join(f"{type(error).__name__}: {error}".split())
    return Result(row, arm, problem=f"failed: {text[:300]}")

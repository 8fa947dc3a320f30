"""Hand-offs of small activations in packets: readers poll the words that senders store."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]
Read = Callable[[str], Arrays]
NAMES = ["blocks", "shares", "partitions"]

pytestmark = pytest.mark.gpu


def bind(executable: ark.Executable, arrays: Arrays) -> ark.Executable:
    return executable.bind({b.name: arrays[f"input.{b.name}"] for b in executable.parameters})


@pytest.mark.parametrize("name", NAMES)
def test_results_with_packets_equal_those_without(load: Load, read_arrays: Read, name: str) -> None:
    """Results are bitwise equal in one and in many iterations, and within their bounds."""
    arrays = read_arrays(f"{name}-packets")
    with_packets, without = (bind(load(n), arrays) for n in (f"{name}-packets", name))
    assert with_packets.bundle.manifest.packets
    assert not without.bundle.manifest.packets
    expected = without.run(x=arrays["input.x"])["y"]
    assert_within(expected, arrays["output.y"], arrays["bound.y"], "y")
    for iterations in (1, 2, 3, 1000):
        y = with_packets.run(x=arrays["input.x"], iterations=iterations)["y"]
        assert y.tobytes() == expected.tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_epochs_wrap_around(load: Load, read_arrays: Read, name: str) -> None:
    """A packet carries 16 bits of the epoch; every run has other values."""
    arrays = read_arrays(f"{name}-packets")
    with_packets, without = (bind(load(n), arrays) for n in (f"{name}-packets", name))
    with_packets.run(x=arrays["input.x"], iterations=(1 << 16) - 4)
    for scale in range(1, 9):
        x = (arrays["input.x"].astype(np.float32) * scale).astype(arrays["input.x"].dtype)
        assert with_packets.run(x=x)["y"].tobytes() == without.run(x=x)["y"].tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_resident_kernel(load: Load, read_arrays: Read, name: str) -> None:
    """A resident kernel counts its iterations without the host."""
    arrays = read_arrays(f"{name}-packets")
    executable = bind(load(f"{name}-packets"), arrays)
    expected = executable.run(x=arrays["input.x"])["y"].tobytes()
    with executable.resident() as resident:
        for _ in range(100):
            assert resident.run(x=arrays["input.x"])["y"].tobytes() == expected


def test_packets_that_never_come_are_named(load: Load, read_arrays: Read) -> None:
    """The error names the task that should send; later runs ignore the packets of this one."""
    arrays = read_arrays("shares-packets")
    with ark.knobs.scope(ARK_TIMEOUT="0.5"):
        hung, good = load("shares-hang"), load("shares-packets")
        for _ in range(3):
            with pytest.raises(ark.HangError, match="for packets of task 'reduce_sum': saw epoch"):
                hung.run(x=arrays["input.x"])
            y = good.run(x=arrays["input.x"])["y"]
            assert_within(y, arrays["output.y"], arrays["bound.y"], "y")

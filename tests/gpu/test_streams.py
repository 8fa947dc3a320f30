"""Parameters that are streamed through rings of shared memory, across tasks and runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.testing.bounds import assert_within

Load = Callable[[str], ark.Executable]
Arrays = dict[str, Any]

pytestmark = pytest.mark.gpu


def bind(executable: ark.Executable, block: Arrays) -> ark.Executable:
    return executable.bind({b.name: block[f"input.{b.name}"] for b in executable.parameters})


def check(block: Arrays, outputs: Arrays) -> None:
    for name, value in outputs.items():
        assert_within(value, block[f"output.{name}"], block[f"bound.{name}"], name)


def test_one_iteration_and_many(load: Load, block: Arrays) -> None:
    """The last runs of an iteration prefetch parameters of the next iteration."""
    executable = bind(load("streams"), block)
    first = executable.run(x=block["input.x"])
    check(block, first)
    for iterations in (1, 2, 3, 1000):
        again = executable.run(x=block["input.x"], iterations=iterations)
        assert {n: a.tobytes() for n, a in again.items()} == {
            n: a.tobytes() for n, a in first.items()
        }


def test_fp8_weights(load: Load, read_arrays: Callable[[str], Arrays]) -> None:
    """Threads widen the weights between the ring and the accumulator."""
    block = read_arrays("streams-eights")
    executable = bind(load("streams-eights"), block)
    for iterations in (1, 3):
        check(block, executable.run(x=block["input.x"], iterations=iterations))


def test_a_resident_kernel(load: Load, block: Arrays) -> None:
    """The rings of a resident kernel restart with every run."""
    executable = bind(load("streams"), block)
    expected = executable.run(x=block["input.x"])["y"].tobytes()
    with executable.resident() as resident:
        for _ in range(100):
            assert resident.run(x=block["input.x"])["y"].tobytes() == expected


def test_parameters_that_are_bound_again_are_read(load: Load, block: Arrays) -> None:
    executable = bind(load("streams"), block)
    before = executable.run(x=block["input.x"])["mixed"]
    executable.bind({"mix": np.zeros_like(block["input.mix"])})
    assert np.any(before)
    assert not np.any(executable.run(x=block["input.x"])["mixed"])


def test_a_hang_leaves_nothing_behind(load: Load, block: Arrays) -> None:
    """A wait times out while copies are in flight; the same process can launch again."""
    with ark.knobs.scope(ARK_TIMEOUT="0.5"):
        hung, good = bind(load("streams-hang"), block), bind(load("streams"), block)
        for _ in range(3):
            with pytest.raises(ark.HangError):
                hung.run(x=block["input.x"])
            check(block, good.run(x=block["input.x"]))

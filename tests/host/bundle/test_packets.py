"""Waits that look at packets: where they lie is checked before the kernel looks there."""

from __future__ import annotations

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode


@pytest.fixture(scope="module")
def bundle() -> Bundle:
    def build(rank: int) -> ark.Program:
        with ark.Program("sum", rank=rank, world_size=2) as program:
            ark.output("y", ark.all_reduce(ark.input("x", (5,))))
        return program

    with ark.compile([build(0), build(1)], target="cpu:1") as world:
        return world.bundle


def spoiled(bundle: Bundle, table: str, row: int, column: int, value: int) -> Bundle:
    rows = np.array(getattr(bundle.tables, table))
    rows[row, column] = value
    return Bundle.from_parts(bundle.manifest, {**bundle.sections, table: rows.tobytes()})


def find(bundle: Bundle, opcode: Opcode) -> int:
    return int(np.argmax(bundle.tables.instructions[:, 0] == opcode))


def test_where_packets_are(bundle: Bundle) -> None:
    """Five words of one part of the arena each, the last one at 32 bytes from the first."""
    packets = bundle.tables.packets
    assert len(packets) == 2
    for index, rows in packets:
        assert bundle.tables.instructions[index, 0] == Opcode.WAIT
        assert (rows[:, 0] == 0).all()
        assert rows[1, 1] - rows[0, 1] == 32
    Bundle.from_parts(bundle.manifest, bundle.sections)


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        (3, -2, "not in the table of operands"),
        (3, 2**31 - 2, "not in the table of operands"),
        (2, 2**31 - 1, "not in the table of operands"),
        (3, 1, "waits for no packets"),  # operands of a task
        (2, 2, "waits for more packets than are put|not in the table of operands"),
    ],
)
def test_waits(bundle: Bundle, column: int, value: int, error: str) -> None:
    with pytest.raises(ark.BundleError, match=error):
        spoiled(bundle, "instructions", find(bundle, Opcode.WAIT), column, value)


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(0, 0, 1), (1, 0, 1), (0, 1, 4), (1, 1, 36), (0, 1, 2**20), (1, 1, -8)],
)
def test_places(bundle: Bundle, row: int, column: int, value: int) -> None:
    """Another buffer, half of a word, backwards, outside of the arena."""
    first = int(bundle.tables.instructions[find(bundle, Opcode.WAIT), 3])
    with pytest.raises(ark.BundleError):
        spoiled(bundle, "operands", first + row, column, value)


def test_the_last_word_of_the_arena(bundle: Bundle) -> None:
    """The rows may name it, and nothing that ends behind it."""
    first = int(bundle.tables.instructions[find(bundle, Opcode.WAIT), 3])
    arena = bundle.manifest.arena
    spoiled(bundle, "operands", first + 1, 1, arena - 8)
    with pytest.raises(ark.BundleError, match=r"waits for no packets"):
        spoiled(bundle, "operands", first + 1, 1, arena - 4)


def test_signals(bundle: Bundle) -> None:
    with pytest.raises(ark.BundleError, match="says more than that"):
        spoiled(bundle, "instructions", find(bundle, Opcode.SIGNAL), 3, 2)


def test_counters_are_not_told_by_packets(bundle: Bundle) -> None:
    with pytest.raises(ark.BundleError, match="unused field"):
        spoiled(bundle, "instructions", find(bundle, Opcode.BARRIER), 3, 1)

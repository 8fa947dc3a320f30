"""Waits for packets: the offsets are checked before a kernel uses them."""

from __future__ import annotations

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode, Tables


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


def test_offsets_of_packets(bundle: Bundle) -> None:
    """Five words in one part of the arena; the last one is 32 bytes behind the first."""
    packets = bundle.tables.packets
    assert len(packets) == 2
    for semaphore, offsets in packets.items():
        assert bundle.manifest.semaphores[semaphore].handoff == "packet"
        assert offsets.shape == (1, 2)
        assert offsets[0, 1] - offsets[0, 0] == 32
    Bundle.from_parts(bundle.manifest, bundle.sections)


def test_packets_take_linear_space() -> None:
    """All waits for a semaphore share the entries of its packets."""
    count = 3000
    waits = np.tile(np.array([Opcode.WAIT, 0, count, 2], np.int32), (count, 1))
    operands = np.zeros((2 + 2 * count, 2), np.int64)
    operands[:, 1] = np.arange(len(operands)) * 8
    tables = Tables(
        instructions=waits,
        lanes=np.array([[0, 0, count]], np.int32),
        tasks=np.zeros((0, 2), np.int32),
        operands=operands,
        timeline=np.zeros((count, 2), np.int64),
    )
    assert list(tables.packets) == [0]
    assert tables.packets[0].tolist() == operands[2:, 1].reshape(-1, 2).tolist()


def test_waits_for_one_semaphore_name_the_same_packets(bundle: Bundle) -> None:
    """`Tables.packets` holds the entries of the first wait only, and relies on equal entries."""
    rows = bundle.tables.instructions
    first, second = np.flatnonzero((rows[:, 0] == Opcode.WAIT) & (rows[:, 3] != 0)).tolist()
    with pytest.raises(ark.BundleError, match="has other packets than an earlier wait"):
        spoiled(bundle, "instructions", second, 1, int(rows[first, 1]))


@pytest.mark.parametrize(
    ("column", "value", "error"),
    [
        (3, -2, "not in the table of operands"),
        (3, 2**31 - 2, "not in the table of operands"),
        (2, 2**31 - 1, "not in the table of operands"),
        (3, 1, "its entries of operands are not rank packets"),  # operands of a task
        (2, 2, "waits for more packets than are sent|not in the table of operands"),
    ],
)
def test_waits(bundle: Bundle, column: int, value: int, error: str) -> None:
    with pytest.raises(ark.BundleError, match=error):
        spoiled(bundle, "instructions", find(bundle, Opcode.WAIT), column, value)


@pytest.mark.parametrize(
    ("row", "column", "value"),
    [(0, 0, 1), (1, 0, 1), (0, 1, 4), (1, 1, 36), (0, 1, 2**20), (1, 1, -8)],
)
def test_operands_of_packets(bundle: Bundle, row: int, column: int, value: int) -> None:
    """Packets in another buffer, of half a word, in reverse order, and outside of the arena
    raise."""
    first = int(bundle.tables.instructions[find(bundle, Opcode.WAIT), 3])
    with pytest.raises(ark.BundleError):
        spoiled(bundle, "operands", first + row, column, value)


def test_the_last_word_of_the_arena(bundle: Bundle) -> None:
    """The last packet may end at the end of the arena, but not after it."""
    first = int(bundle.tables.instructions[find(bundle, Opcode.WAIT), 3])
    arena = bundle.manifest.arena
    spoiled(bundle, "operands", first + 1, 1, arena - 8)
    with pytest.raises(ark.BundleError, match=r"its entries of operands are not rank packets"):
        spoiled(bundle, "operands", first + 1, 1, arena - 4)


def test_signals(bundle: Bundle) -> None:
    with pytest.raises(ark.BundleError, match="field 3 of a signal by packets is not 1"):
        spoiled(bundle, "instructions", find(bundle, Opcode.SIGNAL), 3, 2)


def test_packets_for_a_counter_raise(bundle: Bundle) -> None:
    with pytest.raises(ark.BundleError, match="unused field"):
        spoiled(bundle, "instructions", find(bundle, Opcode.BARRIER), 3, 1)

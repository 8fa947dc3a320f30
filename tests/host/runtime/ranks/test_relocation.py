"""Linked tables for parts of memory that do not follow each other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.runtime.drivers.abi import DOMAIN_DISTANCE, RANK_COUNTERS, SEMAPHORE_STRIDE
from ark_mlir.runtime.ranks.linking import link
from ark_mlir.runtime.ranks.relocation import PartAddresses, relocate
from ark_mlir.testing.toy import ToyProgram, barrier, run, signal, wait

PAGE = 2 << 20
PACKETS = PAGE
SIZE = 3


def program() -> Bundle:
    """Each rank adds to the arena and the packets of the next one; rank 1 may stop the launch."""
    toy = ToyProgram(sms=SIZE, arena=SIZE * PAGE)
    again = toy.semaphore(SIZE, "again")
    arrived = [toy.semaphore(1, f"rank{rank}/arrived") for rank in range(SIZE)]
    inputs = [toy.buffer(f"rank{rank}/x", "input", "fp32", [128]) for rank in range(SIZE)]
    done = toy.buffer("rank1/done", "state", "int32", [], stop=True)
    packets = 1 + done
    for rank, x in enumerate(inputs):
        target = (rank + 1) % SIZE
        operands = [(0, target * PAGE + 4096), (x, 0), (0, rank * PAGE)]
        send = toy.task("add", 8, operands, f"rank{rank}/send")
        put = toy.task("add", 8, [(packets, target * PACKETS), (x, 0), (x, 0)], f"rank{rank}/put")
        stop = [(int(Opcode.STOP), done, 0, 0)] if rank == 1 else []
        work = [run(send, 0, 8), run(put, 0, 8), signal(arrived[target]), *stop]
        toy.lane(rank, [*work, wait(arrived[rank], 1), barrier(again, SIZE)])
    manifest, sections = toy.parts(ranks=SIZE, packets=SIZE * PACKETS)
    manifest["target"].update(backend="cuda", arch="sm_90a", warps=16, shared_memory=1024)
    manifest["options"]["far_signals"] = True
    return Bundle.from_parts(manifest, sections)


def part_addresses(rank: int, begins: list[int]) -> PartAddresses:
    """A block for each rank with its part of the arena, its counters and its packets."""
    counters = RANK_COUNTERS * SEMAPHORE_STRIDE
    return PartAddresses(
        rank=rank,
        arenas=tuple(begins),
        counters=tuple(begin + PAGE for begin in begins),
        packets=tuple(begin + PAGE + counters for begin in begins),
        arena_part=PAGE,
        packets_part=PACKETS,
    )


def addresses(relocated: Bundle, where: PartAddresses) -> list[tuple[int, int]]:
    """The address of each operand in arena or packets: the rank of the part, and its offset."""
    packets = 1 + len(relocated.manifest.buffers)
    slots = {0: where.arena, packets: where.own_packets}
    slots |= {packets + 1 + number: value for number, value in enumerate(where.slots)}
    found: list[tuple[int, int]] = []
    for slot, offset in relocated.tables.operands.tolist():
        if slot in slots:
            address = (slots[slot] + offset) % (1 << 64)
            begin = max(each for each in where.arenas if each <= address)
            found.append((where.arenas.index(begin), address - begin))
    return found


@pytest.mark.parametrize("rank", range(SIZE))
@pytest.mark.parametrize("order", [(0, 1, 2), (2, 0, 1)])
def test_each_operand_leads_to_the_same_part(rank: int, order: tuple[int, ...]) -> None:
    joined = program()
    where = part_addresses(rank, [(1 << 33) * (number + 1) for number in order])
    relocated = relocate(link(joined)[rank].bundle, where)
    expected: list[tuple[int, int]] = []
    counters = RANK_COUNTERS * SEMAPHORE_STRIDE
    for slot, offset in joined.tables.operands.tolist():
        if slot == 0:
            expected.append((offset // PAGE, offset % PAGE))
        elif slot == 2 + SIZE:
            expected.append((offset // PACKETS, PAGE + counters + offset % PACKETS))
    assert addresses(relocated, where) == expected


@pytest.mark.parametrize("rank", range(SIZE))
@pytest.mark.parametrize(
    "begins",
    [
        [5 << 30, 1 << 30, 9 << 30],
        [1 << 40, (1 << 40) + (127 << 30), (1 << 40) - (127 << 30)],
        [1 << 40, (1 << 40) + (129 << 30), (1 << 40) - (129 << 30)],
        [1 << 46, 1 << 30, (1 << 47) - PAGE],
        [1 << 30, (1 << 48) - (1 << 30), 1 << 47],
    ],
    ids=["GiB", "127 GiB", "129 GiB", "47 bits", "48 bits"],
)
def test_each_signal_and_stop_leads_to_the_same_counter(rank: int, begins: list[int]) -> None:
    linked = link(program())[rank].bundle
    where = part_addresses(rank, begins)
    relocated = relocate(linked, where)
    own = where.counters[rank]
    seen: set[int] = set()
    for before, after in zip(
        linked.tables.instructions.tolist(), relocated.tables.instructions.tolist(), strict=True
    ):
        if before[0] == Opcode.SIGNAL:
            distance, number = divmod(before[1], RANK_COUNTERS)
            expected = where.counters[rank + distance] + number * SEMAPHORE_STRIDE
            index = after[1] + (after[2] << 32)
            assert own + index * SEMAPHORE_STRIDE == expected
            # The kernel tells by the index whether the counter is on its own GPU.
            assert (index >> 15 == 0) == (distance == 0)
            if abs(expected - own) < 127 << 30:
                assert after[2] == 0
            seen.add(distance)
        elif before[0] == Opcode.STOP:
            expected = where.counters[rank + before[2]]
            assert own + after[2] * RANK_COUNTERS * SEMAPHORE_STRIDE == expected
        else:
            assert before == after
    assert seen == {other - rank for other in range(SIZE)}


def test_consecutive_parts_need_no_other_numbers() -> None:
    linked = link(program())[1].bundle
    counters = RANK_COUNTERS * SEMAPHORE_STRIDE
    where: Any = PartAddresses(
        rank=1,
        arenas=tuple(number * PAGE for number in range(SIZE)),
        counters=tuple((1 << 33) + number * counters for number in range(SIZE)),
        packets=tuple((1 << 34) + number * PACKETS for number in range(SIZE)),
        arena_part=PAGE,
        packets_part=PACKETS,
    )
    relocated = relocate(linked, where)
    np.testing.assert_array_equal(relocated.tables.instructions, linked.tables.instructions)
    assert set(where.slots) == {0, 1 << 34}


@pytest.mark.parametrize("begin", [(1 << 30) + 4096, (1 << 30) + (1 << 52)])
def test_a_distance_that_no_stop_can_have(begin: int) -> None:
    linked = link(program())[0].bundle
    with pytest.raises(
        ark.UnsupportedError, match="has to be a multiple of 2 MiB below 4 PiB"
    ) as e:
        relocate(linked, part_addresses(0, [1 << 30, begin, 3 << 30]))
    assert "the counters of rank 1 are at the address" in str(e.value)
    assert "run all ranks in one process" in str(e.value)


@pytest.mark.parametrize("rank", [0, 1])
def test_the_largest_distance_of_a_stop(rank: int) -> None:
    """4 PiB minus 2 MiB upwards, and half a GiB less downwards: the lowest 256 numbers stand for
    ranks of other domains."""
    far = (1 << 52) - (1 if rank == 0 else 256) * (2 << 20)
    linked = link(program())[rank].bundle
    where = part_addresses(rank, [1 << 30, (1 << 30) + far, 3 << 30])
    relocated = relocate(linked, where)
    rows = relocated.tables.instructions
    distances = rows[rows[:, 0] == Opcode.STOP, 2].tolist()
    before = linked.tables.instructions
    others = before[before[:, 0] == Opcode.STOP, 2].tolist()
    assert [
        where.counters[rank] + distance * RANK_COUNTERS * SEMAPHORE_STRIDE for distance in distances
    ] == [where.counters[rank + other] for other in others]
    beyond = part_addresses(rank, [1 << 30, (1 << 30) + far + (2 << 20), 3 << 30])
    with pytest.raises(ark.UnsupportedError, match="below 4 PiB"):
        relocate(linked, beyond)


@pytest.mark.parametrize("far", [True, False])
def test_a_program_of_an_older_ark(far: bool) -> None:
    """A kernel of an older ark does not read field B of a signal: only near counters work."""
    linked = link(program())[0].bundle
    old = replace(linked, manifest=replace(linked.manifest, options={}))
    where = part_addresses(0, [1 << 30, (140 << 30) if far else (2 << 30), 3 << 30])
    if far:
        with pytest.raises(ark.UnsupportedError, match=r"older ark.* compile the program again"):
            relocate(old, where)
        return
    np.testing.assert_array_equal(
        relocate(old, where).tables.instructions, relocate(linked, where).tables.instructions
    )


def test_numbers_stand_for_counters_of_other_domains() -> None:
    """A signal to another domain has the rank and the number; other signals stay as they are."""
    linked = link(program())[0].bundle
    where = part_addresses(0, [1 << 30, 2 << 30, 3 << 30])
    apart = replace(where, apart=frozenset({1}))
    rows = linked.tables.instructions
    signals = rows[rows[:, 0] == Opcode.SIGNAL, 1].tolist()
    counters = [n % RANK_COUNTERS for n in signals if n // RANK_COUNTERS == 1]
    assert len(set(counters)) == len(counters) == 2
    numbers = {(1, counter): 700 + index for index, counter in enumerate(counters)}
    named = relocate(linked, replace(apart, numbers=numbers)).tables.instructions
    plain = relocate(linked, apart).tables.instructions
    near = np.array([number // RANK_COUNTERS != 1 for number in signals])
    found = named[rows[:, 0] == Opcode.SIGNAL, 1:3]
    other = plain[rows[:, 0] == Opcode.SIGNAL, 1:3]
    assert found[near].tolist() == other[near].tolist()
    assert found[~near].tolist() == [[700 + index, DOMAIN_DISTANCE + 1] for index in range(2)]
    assert other[~near].tolist() == [[counter, DOMAIN_DISTANCE + 1] for counter in counters]

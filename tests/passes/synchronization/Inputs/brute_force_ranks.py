"""Checks the additional rules for schedules of several ranks by brute force.

Each rank may have a GPU of its own. As in `brute_force`, the check lists bytes.
"""

from __future__ import annotations

from brute_force import ARENA, PACKETS, Operand, Program, Task, Vcta, accesses


def keeps_ranks(program: Program, part_bytes: int) -> bool:
    """Returns True if ranks share only permitted memory and semaphores; a rank's part of memory has
    `part_bytes` bytes.
    """
    return (
        connects_ranks_by_their_kinds(program)
        and reads_own_parts(program, part_bytes)
        and are_signals_packets(program)
    )


def rank_of_lane(program: Program, lane: int) -> int:
    return lane * program.ranks // len(program.lanes)


def connects_ranks_by_their_kinds(program: Program) -> bool:
    """Returns True if semaphores with items on several ranks have a kind that connects ranks."""
    for name in program.semaphores:
        uses = {
            (rank_of_lane(program, number), item[0])
            for number, lane in enumerate(program.lanes)
            for item in lane
            if item[0] != "run" and item[1] == name
        }
        if len({rank for rank, _ in uses}) < 2:
            continue
        ways = {way for _, way in uses}
        kind = program.kinds.get(name, "counter")
        if "barrier" not in ways:
            if kind not in ("peer", "packet"):
                return False
        elif ways != {"barrier"} or kind != "barrier":
            return False
    return True


def reads_own_parts(program: Program, part_bytes: int) -> bool:
    """Returns True if vCTAs touch only arguments of their rank, and read only the part of their
    rank in other memory.
    """
    ranks: dict[Vcta, int] = {
        (item[1], vcta): rank_of_lane(program, number)
        for number, lane in enumerate(program.lanes)
        for item in lane
        if item[0] == "run"
        for vcta in range(item[2], item[3])
    }
    for access in accesses(program):
        rank = ranks[access.vcta]
        if access.root not in (ARENA, PACKETS):
            if access.touched and access.root != rank:
                return False
        elif access.reads and any(byte // part_bytes != rank for byte in access.touched):
            return False
    return True


def are_signals_packets(program: Program) -> bool:
    """Returns True if each signal of a semaphore of packets directly follows a work item that sends
    them.
    """
    senders: set[int] = set()
    for lane in program.lanes:
        sender: int | None = None
        for item in lane:
            if item[0] == "run":
                sender = item[1] if item[2] < item[3] else None
            elif program.kinds.get(item[1]) != "packet":
                # Signals write nothing.
                sender = sender if item[0] == "signal" else None
            elif item[0] == "wait":
                sender = None
            elif item[0] == "signal" and sender is not None:
                if not sends_rank_packets(program.tasks[sender]):
                    return False
                senders.add(sender)
            else:
                return False
    return all(
        set(words(program.tasks[sender])).isdisjoint(operand.span())
        for sender in senders
        for number, task in enumerate(program.tasks)
        if number != sender
        for operand in task.operands
        if operand.writes and operand.root == ARENA
    )


def words(task: Task) -> range:
    """Returns the bytes of the one operand that a task writes."""
    return next(operand.span() for operand in task.operands if operand.writes)


def sends_rank_packets(task: Task) -> bool:
    """Returns True if the one vCTA of a task writes only adjacent words with the epoch."""
    written = [operand for operand in task.operands if operand.writes]
    return (
        task.stamps
        and len(written) == 1
        and len(task.indices()) == 1
        and is_of_words(written[0])
        and written[0].touched(task.indices()[0]) == frozenset(written[0].span())
    )


def is_of_words(operand: Operand) -> bool:
    return operand.root == ARENA and operand.dtype == "i64"

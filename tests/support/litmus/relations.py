"""Binary relations on events 0 to n - 1: row k is the bit mask of the events related to k."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

Relation = list[int]


def empty(n: int) -> Relation:
    return [0] * n


def identity(n: int) -> Relation:
    return [1 << k for k in range(n)]


def from_pairs(n: int, pairs: Iterable[tuple[int, int]]) -> Relation:
    result = empty(n)
    for a, b in pairs:
        result[a] |= 1 << b
    return result


def bits(mask: int) -> Iterator[int]:
    """Yields the events of a mask."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def pairs(relation: Relation) -> Iterator[tuple[int, int]]:
    for a, row in enumerate(relation):
        for b in bits(row):
            yield a, b


def union(*relations: Relation) -> Relation:
    result = list(relations[0])
    for relation in relations[1:]:
        for k, row in enumerate(relation):
            result[k] |= row
    return result


def intersection(a: Relation, b: Relation) -> Relation:
    return [x & y for x, y in zip(a, b, strict=True)]


def compose(a: Relation, b: Relation) -> Relation:
    """Returns the pairs (x, z) with a(x, y) and b(y, z) for some y."""
    result = empty(len(a))
    for k, row in enumerate(a):
        reached = 0
        while row:
            low = row & -row
            reached |= b[low.bit_length() - 1]
            row ^= low
        result[k] = reached
    return result


def closure(a: Relation) -> Relation:
    """Returns the transitive closure."""
    result = list(a)
    for k in range(len(result)):
        bit, row = 1 << k, result[k]
        if not row:
            continue
        for j, other in enumerate(result):
            if other & bit:
                result[j] = other | row
    return result


def is_irreflexive(a: Relation) -> bool:
    return not any(row >> k & 1 for k, row in enumerate(a))


def is_acyclic(a: Relation) -> bool:
    return is_irreflexive(closure(a))

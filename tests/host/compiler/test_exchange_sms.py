"""The SMs of exchanges between ranks: chosen by predicted times, or by a plan."""

from __future__ import annotations

import contextlib
from collections import defaultdict

import pytest

import ark_mlir as ark
from ark_mlir.bundle import Bundle, Opcode
from ark_mlir.compiler import compile_schedule

TARGET = "cuda:sm_90a"
RANKS, SIZE = 2, 4096
SMS_OF_RANK = 132


def product(index: int) -> ark.Tensor:
    left, right = (ark.input(f"{name}{index}", (SIZE, SIZE), ark.bf16) for name in ("a", "b"))
    return ark.matmul(left, right, transpose_other=True)


def beside_products(rank: int, sms: int = 0) -> ark.Program:
    """Returns a program with a mean of an input, and products that do not depend on it."""
    with ark.Program("beside", rank=rank, world_size=RANKS) as program:
        x = ark.input("x", (SIZE, SIZE), ark.bf16)
        with ark.planner(sms=sms) if sms else contextlib.nullcontext():
            ark.output("mean", ark.all_reduce(x) * (1 / RANKS))
        for index in range(4):
            ark.output(f"y{index}", product(index))
    return program


def of_products(rank: int) -> ark.Program:
    """Returns a program with means of products."""
    with ark.Program("of", rank=rank, world_size=RANKS) as program:
        for index in range(4):
            ark.output(f"y{index}", ark.all_reduce(product(index)) * (1 / RANKS))
    return program


def tasks_by_sm(bundle: Bundle) -> dict[int, set[str]]:
    """Returns the names of the tasks of each SM of rank 0."""
    tables, found = bundle.tables, defaultdict[int, set[str]](set)
    rows = tables.instructions.tolist()
    for sm, first, last in tables.lanes.tolist():
        if sm < SMS_OF_RANK:
            found[sm] |= {
                bundle.manifest.tasks[task].name.removeprefix("rank0/")
                for code, task, begin, end in rows[first:last]
                if code == Opcode.RUN and begin < end
            }
    return found


def is_exchange(name: str) -> bool:
    """Returns true for puts, and for sums of what was put."""
    return name.startswith(("all_reduce", "mul"))


def compiled(*programs: ark.Program) -> Bundle:
    return compile_schedule(programs, TARGET)


def test_products_run_beside_an_exchange_on_few_sms() -> None:
    """The all-reduce is shorter than the products on 4 SMs, and the products hide all of it."""
    found = tasks_by_sm(compiled(*(beside_products(rank) for rank in range(RANKS))))
    exchange = [sm for sm, names in found.items() if any(map(is_exchange, names))]
    assert exchange == [0, 1, 2, 3]
    assert all(is_exchange(name) for sm in exchange for name in found[sm])


@pytest.mark.parametrize("sms", [8, 16])
def test_a_plan_overrides_the_choice(sms: int) -> None:
    found = tasks_by_sm(compiled(*(beside_products(rank, sms) for rank in range(RANKS))))
    assert [sm for sm, names in found.items() if any(map(is_exchange, names))] == list(range(sms))


def test_products_that_store_to_the_other_rank_use_all_sms() -> None:
    """The products store their results to the other rank, so that only sums are left to hide."""
    found = tasks_by_sm(compiled(*(of_products(rank) for rank in range(RANKS))))
    assert len(found) == SMS_OF_RANK
    assert all(any(name.startswith("matmul") for name in names) for names in found.values())

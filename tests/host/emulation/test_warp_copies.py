"""Loads of AMD GPUs to LDS: the bytes are there after the wait, and not before."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Outcome, Shape, TextKernel

SEEDS = range(8)
WAVE = 64
# The words that the wave loads; those of the results follow.
WORDS = 512
KERNEL = """
declare i32 @llvm.nvvm.amdgcn.workitem.id.x()
declare void @llvm.nvvm.amdgcn.s.waitcnt(i32)
declare void @llvm.nvvm.amdgcn.global.load.lds(ptr addrspace(1), ptr addrspace(3), i32, i32, i32)
define void @ark_kernel(ptr %words) {
  %thread = call i32 @llvm.nvvm.amdgcn.workitem.id.x()
  %results = getelementptr i32, ptr %words, i32 512
  %own = getelementptr i32, ptr %results, i32 %thread
  %global = addrspacecast ptr %words to ptr addrspace(1)
  %part = mul i32 %thread, 16
  %mine = getelementptr i8, ptr addrspace(1) %global, i32 %part
  %lds = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 0
  %uneven = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %part
BODY
  ret void
}
"""
# A thread's own chunk, behind those of the threads before it.
LOOK = [
    "%at = getelementptr i8, ptr addrspace(3) %uneven, i32 OFFSET",
    "%got = load i32, ptr addrspace(3) %at, align 16",
    "store i32 %got, ptr %own, align 4",
]
UNWRITTEN = 0xFFFFFFFF


def copy(target: str = "%lds", size: int = 16, offset: int = 0) -> str:
    return (
        "call void @llvm.nvvm.amdgcn.global.load.lds(ptr addrspace(1) %mine, "
        f"ptr addrspace(3) {target}, i32 {size}, i32 {offset}, i32 0)"
    )


def wait(most: int) -> str:
    bits = 0x0F70 | most & 15 | most >> 4 << 14
    return f"call void @llvm.nvvm.amdgcn.s.waitcnt(i32 {bits})"


def look(offset: int) -> list[str]:
    return [line.replace("OFFSET", str(offset)) for line in LOOK]


Launch = Callable[..., list[Outcome]]


@pytest.fixture
def launch(library: Path, tmp_path: Path) -> Launch:
    """``launch(steps)`` runs a wave on the words 1, 2, 3, …, once for each seed."""

    def run(*steps: str) -> list[Outcome]:
        text = KERNEL.replace("BODY", "\n".join(f"  {step}" for step in steps))
        kernel = TextKernel(text, library, tmp_path)
        shape, words = Shape(1, WAVE, 4096, WAVE), range(1, WORDS + WAVE + 1)
        return [kernel.launch(shape, words, Behaviour(seed)) for seed in SEEDS]

    return run


def first_words(begin: int) -> list[int]:
    """Returns the first word of each thread's chunk, `begin` bytes behind the words."""
    return [1 + begin // 4 + 4 * thread for thread in range(WAVE)]


def test_a_load_is_there_after_the_wait(launch: Launch) -> None:
    for outcome in launch(copy(), wait(0), *look(0)):
        assert outcome.failure == ""
        assert list(outcome.words[WORDS:]) == first_words(0)


def test_the_offset_counts_for_both_addresses(launch: Launch) -> None:
    for outcome in launch(copy(offset=1024), wait(0), *look(1024)):
        assert outcome.failure == ""
        assert list(outcome.words[WORDS:]) == first_words(1024)


@pytest.mark.parametrize("between", [[], [wait(1)]], ids=["no wait", "a wait for none"])
def test_a_load_without_a_wait_may_be_missing(between: list[str], launch: Launch) -> None:
    outcomes = launch(copy(), *between, *look(0))
    assert any(UNWRITTEN in outcome.words[WORDS:] for outcome in outcomes)


def test_a_wait_for_the_first_of_two_loads(launch: Launch) -> None:
    both = [copy(), copy(offset=1024), wait(1)]
    for outcome in launch(*both, *look(0)):
        assert list(outcome.words[WORDS:]) == first_words(0)
    assert any(UNWRITTEN in outcome.words[WORDS:] for outcome in launch(*both, *look(1024)))


@pytest.mark.parametrize(
    ("step", "failure"),
    [
        (copy("%uneven"), "the threads of a wave load to different addresses of LDS"),
        (copy(size=4), "a load of 4 bytes to LDS; only gfx950 has one, of 16 bytes"),
        (copy(offset=4096), r"a copy of 16 bytes at \d+ of shared memory, which has 4096"),
        (copy(offset=2304), r"a copy of 16 bytes at \w+, \d+ bytes behind the end of a buffer"),
    ],
    ids=["uneven", "4 bytes", "outside of LDS", "outside of a buffer"],
)
def test_a_wrong_load_is_refused(step: str, failure: str, launch: Launch) -> None:
    for outcome in launch(step, wait(0)):
        assert re.search(failure, outcome.failure), outcome.failure

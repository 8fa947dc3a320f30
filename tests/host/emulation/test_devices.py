"""Stores between CTAs of several GPUs: the values that loads return; see test_memory.py.

Each GPU has one CTA. The words lie in memory of the first GPU, which all may access.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Outcome, Shape, TextKernel
from emulation.litmus import add, fence, load, poll, store, weak_store

SEEDS = range(24)
DATA, FLAG, MORE, SEEN = 64, 96, 128, 160
WORDS = 192
KERNEL = f"""
define ptx_kernel void @ark_kernel(ptr %own) {{
  %number = load i32, ptr %own, align 4
  %back = sub i32 0, %number
  %words = getelementptr i32, ptr %own, i32 %back
  %data = getelementptr i32, ptr %words, i32 {DATA}
  %flag = getelementptr i32, ptr %words, i32 {FLAG}
  %more = getelementptr i32, ptr %words, i32 {MORE}
  %seen = getelementptr i32, ptr %words, i32 {SEEN}
  switch i32 %number, label %gpu0 [CASES]
BODIES
}}
"""
TELL = "%got = load i32, ptr %data, align 4\n  store i32 %got, ptr %seen, align 4"
# The first word of each GPU is its number.
NUMBERS = list(range(WORDS))[:DATA] + [0] * (WORDS - DATA)

Run = Callable[..., list[Outcome]]


@pytest.fixture
def run(library: Path, tmp_path: Path) -> Run:
    """``run(bodies, shared=True)`` returns the outcome of each seed; each GPU has a body."""

    def launch(*bodies: str, shared: bool = True) -> list[Outcome]:
        cases = " ".join(f"i32 {n}, label %gpu{n}" for n in range(1, len(bodies)))
        blocks = "\n".join(f"gpu{n}:\n  {body}\n  ret void" for n, body in enumerate(bodies))
        text = KERNEL.replace("CASES", cases).replace("BODIES", blocks)
        kernel = TextKernel(text, library, tmp_path)
        shape, count = Shape(1, 1, 0), len(bodies)
        return [
            kernel.launch(shape, NUMBERS, Behaviour(seed), devices=count, shared=shared)
            for seed in SEEDS
        ]

    return launch


def seen(outcomes: list[Outcome]) -> set[int]:
    """Returns the values of SEEN at the end of runs that had no failure."""
    assert [outcome.failure for outcome in outcomes] == [""] * len(outcomes)
    return {outcome.words[SEEN] for outcome in outcomes}


def is_found(outcomes: list[Outcome]) -> bool:
    """Returns True if a run read the old data, or reported the scope of an access to the flag.

    In other runs, a GPU may never see the flag.
    """
    stuck, narrow = "no thread makes progress", "at the scope of the system"
    failures = [outcome.failure for outcome in outcomes if outcome.failure]
    assert all(stuck in failure or narrow in failure for failure in failures)
    is_old = any(outcome.words[SEEN] == 0 for outcome in outcomes if not outcome.failure)
    return is_old or any(narrow in failure for failure in failures)


@pytest.mark.parametrize("direction", ["from the first", "to the first"])
@pytest.mark.parametrize(
    ("released", "acquired", "is_ordered"),
    [
        ("release.sys", "acquire.sys", True),
        ("release.gpu", "acquire.sys", False),
        ("release.sys", "acquire.gpu", False),
        ("release.gpu", "acquire.gpu", False),
        ("relaxed.sys", "acquire.sys", False),
        ("release.sys", "relaxed.sys", False),
    ],
)
def test_a_message(
    direction: str, released: str, acquired: str, is_ordered: bool, run: Run
) -> None:
    sender = f"{weak_store('data', 7)}\n  {store(released, 'flag', '1')}"
    receiver = f"{poll(acquired)}\n  {TELL}"
    bodies = (sender, receiver) if direction == "from the first" else (receiver, sender)
    outcomes = run(*bodies)
    if is_ordered:
        assert seen(outcomes) == {7}
    else:
        assert is_found(outcomes)


@pytest.mark.parametrize(
    ("kind", "is_ordered"), [("acq_rel.sys", True), ("sc.sys", True), ("acq_rel.gpu", False)]
)
def test_fences(kind: str, is_ordered: bool, run: Run) -> None:
    sender = f"{weak_store('data', 7)}\n  {fence(kind)}\n  {store('relaxed.sys', 'flag', '1')}"
    values = seen(run(sender, f"{poll('relaxed.sys')}\n  {fence(kind)}\n  {TELL}"))
    assert values == {7} if is_ordered else 0 in values


@pytest.mark.parametrize(("ended", "is_ordered"), [("acquire.sys", True), ("acquire.gpu", False)])
def test_a_message_that_is_passed_on(ended: str, is_ordered: bool, run: Run) -> None:
    """A release also covers stores that its GPU has acquired from another GPU."""
    first = f"{weak_store('data', 7)}\n  {store('release.sys', 'flag', '1')}"
    second = f"{poll('acquire.sys', name='middle')}\n  {store('release.sys', 'more', '1')}"
    outcomes = run(first, second, f"{poll(ended, 'more')}\n  {TELL}")
    assert seen(outcomes) == {7} if is_ordered else is_found(outcomes)


def test_a_counter_hands_on_the_releases_of_all_gpus(run: Run) -> None:
    first = f"{weak_store('data', 7)}\n  {add('release.sys', 'flag')}"
    third = f"{poll('acquire.sys', least=2)}\n  {TELL}"
    assert seen(run(first, add("release.sys", "flag"), third)) == {7}


def test_relaxed_stores_come_late_and_in_any_order(run: Run) -> None:
    sender = f"{store('relaxed.sys', 'data', '7')}\n  {store('relaxed.sys', 'flag', '1')}"
    tell = f"{load('relaxed.sys', 'got', 'data')}\n  store i32 %got, ptr %seen, align 4"
    assert seen(run(sender, f"{poll('relaxed.sys')}\n  {tell}")) == {0, 7}


def test_an_atomic_change_of_the_memory_of_another_gpu(run: Run) -> None:
    """The atomic needs system scope; on the GPU's own memory, the scope of the GPU suffices."""
    for outcome in run(add("relaxed.gpu", "flag"), ""):
        assert (outcome.failure, outcome.words[FLAG]) == ("", 1)
    for outcome in run("", add("relaxed.sys", "flag")):
        assert (outcome.failure, outcome.words[FLAG]) == ("", 1)
    for outcome in run("", add("release.gpu", "flag")):
        assert "GPU 1: CTA 0: thread 0: an atomic change of memory of GPU 0" in outcome.failure


@pytest.mark.parametrize(
    "access",
    [
        "%value = load i32, ptr %flag, align 4",
        "store i32 1, ptr %flag, align 4",
        load("relaxed.sys", "value", "flag"),
        store("relaxed.sys", "flag", "1"),
        add("release.sys", "flag"),
    ],
)
def test_access_to_memory_without_peer_access_fails(access: str, run: Run) -> None:
    for outcome in run("", access, shared=False):
        assert "GPU 1: CTA 0: thread 0: a " in outcome.failure
        assert "of memory of GPU 0, which it may not access" in outcome.failure

"""Visibility of stores between CTAs: litmus tests of PTX's memory model over many seeds.

The words DATA, FLAG and SEEN lie in separate cache lines; SEEN holds the values that a CTA has
read. Memory is zero in the beginning. An outcome that PTX forbids must not occur with any seed. An
outcome that PTX allows because a release or acquire is missing must occur with some seed.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Shape, TextKernel
from emulation.litmus import BARRIER, add, fence, load, poll, store, weak_store

SEEDS = range(24)
DATA, FLAG, MORE, SEEN = 0, 32, 64, 96
WORDS = 128
KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
define ptx_kernel void @ark_kernel(ptr %words) {
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %data = getelementptr i32, ptr %words, i32 DATA
  %flag = getelementptr i32, ptr %words, i32 FLAG
  %more = getelementptr i32, ptr %words, i32 MORE
  %seen = getelementptr i32, ptr %words, i32 SEEN
  switch i32 %cta, label %cta0 [CASES]
BODIES
}
"""

Outcomes = Callable[..., set[int]]


TELL = "%got = load i32, ptr %data, align 4\n  store i32 %got, ptr %seen, align 4"


@pytest.fixture
def make_kernel(library: Path, tmp_path: Path) -> Callable[..., TextKernel]:
    """``make_kernel(bodies)`` returns a kernel with a body for each CTA."""

    def make(*bodies: str) -> TextKernel:
        text = KERNEL
        for name in ("DATA", "FLAG", "MORE", "SEEN"):
            text = re.sub(rf"\b{name}\b", str(globals()[name]), text)
        cases = " ".join(f"i32 {n}, label %cta{n}" for n in range(1, len(bodies)))
        blocks = "\n".join(f"cta{n}:\n  {body}\n  ret void" for n, body in enumerate(bodies))
        return TextKernel(text.replace("CASES", cases).replace("BODIES", blocks), library, tmp_path)

    return make


@pytest.fixture
def outcomes(make_kernel: Callable[..., TextKernel]) -> Outcomes:
    """``outcomes(bodies, threads)`` returns the final values of SEEN over all seeds; each CTA has a
    body."""

    def collect(*bodies: str, threads: int = 1) -> set[int]:
        kernel = make_kernel(*bodies)
        results: set[int] = set()
        for seed in SEEDS:
            outcome = kernel.launch(Shape(len(bodies), threads, 0), WORDS, Behaviour(seed))
            assert outcome.failure == ""
            results.add(outcome.words[SEEN])
        return results

    return collect


@pytest.mark.parametrize(
    ("released", "acquired", "is_ordered"),
    [
        ("release.gpu", "acquire.gpu", True),
        ("release.sys", "acquire.gpu", True),
        ("release.gpu", "acquire.sys", True),
        ("relaxed.gpu", "acquire.gpu", False),
        ("release.gpu", "relaxed.gpu", False),
        ("release.cta", "acquire.gpu", False),
    ],
)
def test_a_message(released: str, acquired: str, is_ordered: bool, outcomes: Outcomes) -> None:
    sender = f"{weak_store('data', 7)}\n  {store(released, 'flag', '1')}"
    seen = outcomes(sender, f"{poll(acquired)}\n  {TELL}")
    assert seen == {7} if is_ordered else 0 in seen


def test_an_acquire_of_the_cta_may_never_see_the_flag(
    make_kernel: Callable[..., TextKernel],
) -> None:
    """The emulator ends a wait that has no deadline."""
    sender = f"{weak_store('data', 7)}\n  {store('release.gpu', 'flag', '1')}"
    kernel = make_kernel(sender, f"{poll('acquire.cta')}\n  {TELL}")
    results = [kernel.launch(Shape(2, 1, 0), WORDS, Behaviour(seed)) for seed in SEEDS]
    assert any("no thread makes progress" in result.failure for result in results)
    assert any(result.failure == "" and result.words[SEEN] == 0 for result in results)


@pytest.mark.parametrize(
    ("kind", "is_ordered"), [("acq_rel.gpu", True), ("sc.sys", True), ("acq_rel.cta", False)]
)
def test_fences(kind: str, is_ordered: bool, outcomes: Outcomes) -> None:
    """With relaxed accesses, fences replace release and acquire at their scope."""
    sender = f"{weak_store('data', 7)}\n  {fence(kind)}\n  {store('relaxed.gpu', 'flag', '1')}"
    seen = outcomes(sender, f"{poll('relaxed.gpu')}\n  {fence(kind)}\n  {TELL}")
    assert seen == {7} if is_ordered else 0 in seen


@pytest.mark.parametrize("middle", ["acquire.gpu", "relaxed.gpu"])
def test_a_message_that_is_passed_on(middle: str, outcomes: Outcomes) -> None:
    """Release and acquire also order earlier stores of other threads."""
    first = f"{weak_store('data', 7)}\n  {store('release.gpu', 'flag', '1')}"
    second = f"{poll(middle, name='middle')}\n  {store('release.gpu', 'more', '1')}"
    third = f"{poll('acquire.gpu', 'more')}\n  {TELL}"
    seen = outcomes(first, second, third)
    assert seen == {7} if middle == "acquire.gpu" else 0 in seen


@pytest.mark.parametrize("second", ["release.gpu", "relaxed.gpu"])
def test_a_counter_hands_on_all_releases(second: str, outcomes: Outcomes) -> None:
    """A reader of the sum synchronises with every thread that added by a release."""
    first = f"{weak_store('data', 7)}\n  {add('release.gpu', 'flag')}"
    other = add(second, "flag")
    assert outcomes(first, other, f"{poll('acquire.gpu', least=2)}\n  {TELL}") == {7}


@pytest.mark.parametrize("waits", [True, False])
def test_one_thread_releases_for_its_cta(waits: bool, outcomes: Outcomes) -> None:
    """The release covers stores of other threads before the barrier, and not those at the same
    time."""
    sender = f"""%stores = icmp eq i32 %thread, 33
  br i1 %stores, label %store, label %stored
store:
  {weak_store("data", 7)}
  br label %stored
stored:
  {BARRIER if waits else ""}
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %release, label %end
release:
  {store("release.gpu", "flag", "1")}
  br label %end
end:"""
    receiver = f"""%looks = icmp eq i32 %thread, 0
  br i1 %looks, label %look, label %done
look:
  {poll("acquire.gpu")}
  {TELL}
  br label %done
done:"""
    seen = outcomes(sender, receiver, threads=64)
    assert seen == {7} if waits else 0 in seen


def test_relaxed_loads_of_one_word_never_go_back(outcomes: Outcomes) -> None:
    sender = "\n  ".join(store("relaxed.gpu", "data", str(value)) for value in (1, 2, 3))
    loads = "\n  ".join(load("relaxed.gpu", f"v{n}", "data") for n in range(6))
    ordered = [f"%o{n} = icmp ule i32 %v{n}, %v{n + 1}" for n in range(5)]
    all_of_them = ["%a0 = and i1 %o0, %o1"]
    all_of_them += [f"%a{n} = and i1 %a{n - 1}, %o{n + 1}" for n in range(1, 4)]
    tell = "%bad = select i1 %a3, i32 0, i32 1\n  store i32 %bad, ptr %seen, align 4"
    lines = "\n  ".join([loads, *ordered, *all_of_them, tell])
    assert outcomes(sender, lines) == {0}


def test_relaxed_stores_come_in_any_order(outcomes: Outcomes) -> None:
    sender = f"{store('relaxed.gpu', 'data', '7')}\n  {store('relaxed.gpu', 'flag', '1')}"
    tell = f"{load('relaxed.gpu', 'got', 'data')}\n  store i32 %got, ptr %seen, align 4"
    assert outcomes(sender, f"{poll('relaxed.gpu')}\n  {tell}") == {0, 7}


def test_parts_of_a_vector_come_one_by_one(outcomes: Outcomes) -> None:
    sender = (
        'call void asm sideeffect "st.relaxed.gpu.global.v2.u32 [$0], {$1, $2};", '
        '"l,r,r,~{memory}"(ptr %data, i32 1, i32 1)'
    )
    receiver = """br label %poll
poll:
  %both = call {i32, i32} asm sideeffect "ld.relaxed.gpu.global.v2.u32 {$0, $1}, [$2];",\
 "=r,=r,l,~{memory}"(ptr %data)
  %a = extractvalue {i32, i32} %both, 0
  %b = extractvalue {i32, i32} %both, 1
  %any = or i32 %a, %b
  %ends = icmp ne i32 %any, 0
  br i1 %ends, label %tell, label %poll
tell:
  %sum = add i32 %a, %b
  store i32 %sum, ptr %seen, align 4"""
    assert outcomes(sender, receiver) == {1, 2}


def test_a_launch_is_the_same_with_the_same_seed(make_kernel: Callable[..., TextKernel]) -> None:
    sender = f"{weak_store('data', 7)}\n  {store('relaxed.gpu', 'flag', '1')}"
    kernel = make_kernel(sender, f"{poll('relaxed.gpu')}\n  {TELL}")
    results: set[int] = set()
    for seed in SEEDS:
        first, second = (kernel.launch(Shape(2, 1, 0), WORDS, Behaviour(seed)) for _ in range(2))
        assert first == second
        results.add(first.words[SEEN])
    assert results == {0, 7}

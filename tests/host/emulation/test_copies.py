"""Asynchronous copies and products: their results are visible after the wait, and not before."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Outcome, Shape, TextKernel

SEEDS = range(8)
THREADS = 128
SHARED_BYTES = 4096
KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3), ptr addrspace(1))
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr addrspace(3), ptr addrspace(3),\
 ptr addrspace(1), i32)
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
define ptx_kernel void @ark_kernel(ptr %words) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %own = getelementptr i32, ptr %words, i32 %thread
  %global = addrspacecast ptr %words to ptr addrspace(1)
  %barrier = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 2048
BODY
  ret void
}
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"

Launch = Callable[..., list[Outcome]]


@pytest.fixture
def launch(library: Path, tmp_path: Path) -> Launch:
    """``launch(steps)`` runs a kernel of these steps on the words 1, 2, 3, …, and returns the final
    words for each seed.
    """

    def run(*steps: str, threads: int = THREADS) -> list[Outcome]:
        text = KERNEL.replace("BODY", "\n".join(f"  {step}" for step in steps))
        kernel = TextKernel(text, library, tmp_path)
        words = range(1, THREADS + 1)
        shape = Shape(1, threads, SHARED_BYTES)
        return [kernel.launch(shape, words, Behaviour(seed)) for seed in SEEDS]

    return run


# -- copies of threads -------------------------------------------------------------------------

COPY = [
    "%part = mul i32 %thread, 16",
    "%to = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %part",
    "%from = getelementptr i8, ptr addrspace(1) %global, i32 0",
    "call void @llvm.nvvm.cp.async.cg.shared.global.16(ptr addrspace(3) %to, "
    "ptr addrspace(1) %from)",
]
COMMIT = "call void @llvm.nvvm.cp.async.commit.group()"
WAIT = "call void @llvm.nvvm.cp.async.wait.group(i32 0)"
LOOK = ["%got = load i32, ptr addrspace(3) %to, align 16", "store i32 %got, ptr %own, align 4"]


@pytest.mark.parametrize(
    ("between", "is_there"),
    [([COMMIT, WAIT], True), ([COMMIT], False), ([WAIT], False)],
    ids=["waited for", "not waited for", "not committed"],
)
def test_a_copy_of_a_thread(between: list[str], is_there: bool, launch: Launch) -> None:
    for outcome in launch(*COPY, *between, *LOOK, threads=1):
        assert outcome.failure == ""
        assert not is_there or outcome.words[0] == 1
    seen = {outcome.words[0] for outcome in launch(*COPY, *between, *LOOK, threads=1)}
    assert seen == {1} if is_there else 0xFFFFFFFF in seen


# -- copies in bulk ----------------------------------------------------------------------------

INIT = "call void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3) %barrier, i32 1)"
FENCE = "call void @llvm.nvvm.fence.proxy.async.shared_cta()"
BULK = [
    "%state = call i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta("
    "ptr addrspace(3) %barrier, i32 64)",
    "call void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr addrspace(3) @ark_shared_memory, "
    "ptr addrspace(3) %barrier, ptr addrspace(1) %global, i32 64)",
]
TRY = """br label %try
try:
  %done = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(\
ptr addrspace(3) %barrier, i32 0)
  br i1 %done, label %there, label %try
there:"""
READ = [
    "%got = load i32, ptr addrspace(3) @ark_shared_memory, align 16",
    "store i32 %got, ptr %own, align 4",
]


def test_a_bulk_copy(launch: Launch) -> None:
    outcomes = launch(INIT, FENCE, *BULK, TRY, *READ, threads=1)
    assert {(outcome.words[0], outcome.failure) for outcome in outcomes} == {(1, "")}


def test_a_bulk_copy_without_a_wait_shows(launch: Launch) -> None:
    for outcome in launch(INIT, FENCE, *BULK, *READ, threads=1):
        assert outcome.words[0] == 0xFFFFFFFF
        assert "it ends while a bulk copy to its shared memory is under way" in outcome.failure


def test_a_barrier_without_a_fence_shows(launch: Launch) -> None:
    for outcome in launch(INIT, *BULK, TRY, *READ, threads=1):
        assert "an mbarrier whose initialisation no proxy fence has shown to it" in outcome.failure


@pytest.mark.parametrize("is_fenced", [True, False])
def test_stores_before_a_bulk_copy(is_fenced: bool, launch: Launch) -> None:
    """Without a proxy fence, the stores may become visible after the copy."""
    before = "store i32 5, ptr addrspace(3) @ark_shared_memory, align 16"
    steps = [INIT, before, FENCE] if is_fenced else [INIT, FENCE, before]
    outcomes = launch(*steps, *BULK, TRY, *READ, threads=1)
    assert {outcome.words[0] for outcome in outcomes} == {1 if is_fenced else 0xFFFFFFFF}


def test_a_read_of_bytes_that_a_bulk_copy_overwrites(launch: Launch) -> None:
    """No order exists between the read of another thread and the copy."""
    guarded = f"""%reads = icmp eq i32 %thread, 1
  br i1 %reads, label %read, label %other
read:
  %early = load i32, ptr addrspace(3) @ark_shared_memory, align 16
  store i32 %early, ptr %own, align 4
  br label %done
other:
  {INIT}
  {FENCE}
  {BULK[0]}
  {BULK[1]}
  br label %try
try:
  %ends = call i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(\
ptr addrspace(3) %barrier, i32 0)
  br i1 %ends, label %done, label %try
done:"""
    failures = {outcome.failure for outcome in launch(guarded, threads=2)}
    assert any("copies to byte" in failure or "writes byte" in failure for failure in failures)


# -- products of warpgroups --------------------------------------------------------------------

ONES = [
    "%place = mul i32 %thread, 16",
    "%part = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %place",
    "store <8 x bfloat> splat (bfloat 1.0), ptr addrspace(3) %part, align 16",
]
REGISTERS = "call void @llvm.nvvm.wgmma.fence.sync.aligned()"
PRODUCT = (
    '%accumulators = call {float, float, float, float} asm sideeffect "{.reg .pred p; '
    "setp.ne.b32 p, $10, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 "
    '{$0, $1, $2, $3}, $8, $9, p, $11, $12, $13, $14;}", "=f,=f,=f,=f,0,1,2,3,l,l,n,n,n,n,n"'
    "(float 0.0, float 0.0, float 0.0, float 0.0, i64 0, i64 0, i32 1, i32 1, i32 1, i32 0, i32 0)"
)
GROUP = "call void @llvm.nvvm.wgmma.commit_group.sync.aligned()"
WAIT_FOR_ACCUMULATORS = "call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)"
USE = [
    "%accumulator = extractvalue {float, float, float, float} %accumulators, 2",
    "%number = fptoui float %accumulator to i32",
    "store i32 %number, ptr %own, align 4",
]


def test_a_product(launch: Launch) -> None:
    steps = [*ONES, FENCE, BARRIER, REGISTERS, PRODUCT, GROUP, WAIT_FOR_ACCUMULATORS, *USE]
    for outcome in launch(*steps):
        assert outcome == Outcome([16] * THREADS, "")


@pytest.mark.parametrize(
    ("missing", "failure"),
    [
        (REGISTERS, "wgmma of registers that no wgmma.fence has fenced"),
        (GROUP, "uses an accumulator before wgmma.wait_group has waited for it"),
        (WAIT_FOR_ACCUMULATORS, "uses an accumulator before wgmma.wait_group has waited for it"),
    ],
)
def test_a_product_without_a_required_step_shows(
    missing: str, failure: str, launch: Launch
) -> None:
    steps = [*ONES, FENCE, BARRIER, REGISTERS, PRODUCT, GROUP, WAIT_FOR_ACCUMULATORS, *USE]
    for outcome in launch(*[step for step in steps if step != missing]):
        assert failure in outcome.failure


# The left operand is in registers: four words of a thread with two numbers each.
PRODUCT_OF_REGISTERS = (
    '%accumulators = call {float, float, float, float} asm sideeffect "{.reg .pred p; '
    "setp.ne.b32 p, 1, 0; wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, "
    '{$8, $9, $10, $11}, $12, p, 1, 1, 0;}", "=f,=f,=f,=f,0,1,2,3,r,r,r,r,l"(float 0.0, '
    "float 0.0, float 0.0, float 0.0, i32 1065369472, i32 1065369472, i32 1065369472, "
    "i32 1065369472, i64 0)"
)


@pytest.mark.parametrize("second", [PRODUCT, PRODUCT_OF_REGISTERS])
@pytest.mark.parametrize("is_fenced", [True, False])
def test_a_fence_covers_products_until_the_wait(
    second: str, is_fenced: bool, launch: Launch
) -> None:
    """Threads may write the registers of the second product after the wait for the first one."""
    second = second.replace("%accumulators", "%others")
    first = [PRODUCT, GROUP, WAIT_FOR_ACCUMULATORS]
    between = [REGISTERS] if is_fenced else []
    steps = [*ONES, FENCE, BARRIER, REGISTERS, *first, *between]
    use = [step.replace("%accumulators", "%others") for step in USE]
    for outcome in launch(*steps, second, GROUP, WAIT_FOR_ACCUMULATORS, *use):
        if is_fenced:
            assert outcome == Outcome([16] * THREADS, "")
        else:
            assert "wgmma of registers that no wgmma.fence has fenced" in outcome.failure


def test_operands_without_a_proxy_fence(launch: Launch) -> None:
    """Without a proxy fence, the product does not see the stores of threads."""
    steps = [*ONES, BARRIER, REGISTERS, PRODUCT, GROUP, WAIT_FOR_ACCUMULATORS, *USE]
    for outcome in launch(*steps):
        assert 16 not in outcome.words


def test_a_product_by_a_part_of_a_warpgroup(launch: Launch) -> None:
    some = f"""%first = icmp ult i32 %thread, 32
  br i1 %first, label %multiply, label %end
multiply:
  {PRODUCT}
  br label %end
end:"""
    for outcome in launch(*ONES, FENCE, BARRIER, REGISTERS, some):
        assert "no thread can go on:" in outcome.failure
        assert "32 at wgmma, 0 ended" in outcome.failure

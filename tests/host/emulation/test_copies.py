"""Asynchronous copies and products: their results are visible after the wait, and not before."""

from __future__ import annotations

import re
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
declare void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3), ptr addrspace(1), i32)
declare void @llvm.nvvm.cp.async.commit.group()
declare void @llvm.nvvm.cp.async.wait.group(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.mbarrier.init.shared(ptr addrspace(3), i32)
declare void @llvm.nvvm.mbarrier.inval.shared(ptr addrspace(3))
declare i64 @llvm.nvvm.mbarrier.arrive.expect.tx.scope.cta.space.cta(ptr addrspace(3), i32)
declare i1 @llvm.nvvm.mbarrier.try.wait.parity.scope.cta.space.cta(ptr addrspace(3), i32)
declare void @llvm.nvvm.cp.async.bulk.global.to.shared.cta(ptr addrspace(3), ptr addrspace(3),\
 ptr addrspace(1), i32)
declare void @llvm.nvvm.fence.proxy.tensormap_generic.acquire.gpu(ptr, i32)
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


@pytest.mark.parametrize(
    ("to", "begin", "failure"),
    [
        (0, 512, "a copy of 16 bytes at 0x... 0 bytes behind the end of a buffer of 512 bytes"),
        (0, -16, "a copy of 16 bytes at 0x... which is in no buffer"),
        (4096, 0, "a copy of 16 bytes at 4096 of shared memory, which has 4096"),
    ],
)
def test_a_copy_of_a_thread_outside_of_a_buffer(
    to: int, begin: int, failure: str, launch: Launch
) -> None:
    moved = [COPY[0], COPY[1].replace("%part", str(to)), COPY[2].replace("i32 0", f"i32 {begin}")]
    for outcome in launch(*moved, COPY[3], COMMIT, WAIT, threads=1):
        assert has_report(outcome, failure, "cp_async_cg_shared_global_16")


SIZED = (
    "call void @llvm.nvvm.cp.async.cg.shared.global.16.s(ptr addrspace(3) %to, "
    "ptr addrspace(1) %from, i32 BYTES)"
)


def test_a_copy_without_bytes_writes_zeros_and_reads_nothing(launch: Launch) -> None:
    outside = COPY[2].replace("i32 0", "i32 512")
    sized = SIZED.replace("BYTES", "0")
    for outcome in launch(*COPY[:2], outside, sized, COMMIT, WAIT, *LOOK, threads=1):
        assert outcome.failure == ""
        assert outcome.words[0] == 0


def test_a_copy_with_all_bytes(launch: Launch) -> None:
    sized = SIZED.replace("BYTES", "16")
    for outcome in launch(*COPY[:3], sized, COMMIT, WAIT, *LOOK, threads=1):
        assert outcome.words[0] == 1


def test_a_copy_of_some_bytes_fills_the_others_with_zeros(launch: Launch) -> None:
    sized = SIZED.replace("BYTES", "8")
    for outcome in launch(*COPY[:3], sized, COMMIT, WAIT, *LOOK, threads=1):
        assert outcome.failure == ""
        assert outcome.words[0] == 1


def test_a_copy_of_more_bytes_is_refused(launch: Launch) -> None:
    sized = SIZED.replace("BYTES", "18")
    for outcome in launch(*COPY[:3], sized, COMMIT, WAIT, threads=1):
        assert has_report(outcome, "a copy of 18 of 16 bytes", "cp_async_cg_shared_global_16_s")


def has_report(outcome: Outcome, failure: str, instruction: str = "") -> bool:
    """Returns True if thread 0 failed, at an instruction; ``0x...`` stands for an address."""
    instruction = f" ({instruction} at line " if instruction else ""
    report = re.escape(f"CTA 0: thread 0: {failure}{instruction}")
    pattern = report.replace(re.escape("0x..."), "0x[0-9a-f]+,")
    return re.match(pattern, outcome.failure) is not None


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


@pytest.mark.parametrize(
    ("to", "begin", "failure"),
    [
        (0, 512, "64 bytes at 0x... 0 bytes behind the end of a buffer of 512 bytes"),
        (0, 480, "64 bytes at 0x... the last 32 of them behind a buffer of 512 bytes"),
        (4064, 0, "64 bytes at 4064 of shared memory, which has 4096"),
    ],
)
def test_a_bulk_copy_outside_of_a_buffer(to: int, begin: int, failure: str, launch: Launch) -> None:
    moved = [
        f"%to = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 {to}",
        f"%from = getelementptr i8, ptr addrspace(1) %global, i32 {begin}",
        BULK[0],
        BULK[1].replace("@ark_shared_memory", "%to").replace("%global", "%from"),
    ]
    for outcome in launch(INIT, FENCE, *moved, TRY, threads=1):
        report = f"a bulk copy of {failure}"
        assert has_report(outcome, report, "cp_async_bulk_global_to_shared_cta")


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


# -- copies of boxes ---------------------------------------------------------------------------

# The words are a tensor of three rows with 64 elements, and the tensor map.
ROW_BYTES, MAP_AT = 128, 384


def field(name: str, values: str, value: str = "") -> str:
    """Sets a field of the tensor map, which all threads do."""
    kind = value.partition(" ")[0]
    constraint = {"": "", "i32": "r,", "i64": "l,"}[kind]
    operands = f"ptr addrspace(3) %map, {value}" if value else "ptr addrspace(3) %map"
    return (
        f'call void asm sideeffect "tensormap.replace.tile.{name} [$0], {values};", '
        f'"l,{constraint}~{{memory}}"({operands})'
    )


def box(rows: int, row: int, to: int) -> list[str]:
    """Copies two rows from a row on to a byte of shared memory, as rows of a tensor."""
    of_64, of_32 = "shared::cta.b1024.b64", "shared::cta.b1024.b32"
    return [
        "%map = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 3072",
        "%begin = ptrtoint ptr addrspace(1) %global to i64",
        field(f"global_address.{of_64}", "$1", "i64 %begin"),
        field(f"global_stride.{of_64}", "0, $1", f"i64 {ROW_BYTES}"),
        field(f"global_dim.{of_32}", "0, $1", "i32 64"),
        field(f"global_dim.{of_32}", "1, $1", f"i32 {rows}"),
        field(f"box_dim.{of_32}", "0, 64"),
        field(f"box_dim.{of_32}", "1, $1", "i32 2"),
        f"%kept = getelementptr i8, ptr addrspace(1) %global, i32 {MAP_AT}",
        'call void asm sideeffect "tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.'
        'release.gpu.sync.aligned [$0], [$1], 128;", "l,l,~{memory}"'
        "(ptr addrspace(1) %kept, ptr addrspace(3) %map)",
        "%seen = addrspacecast ptr addrspace(1) %kept to ptr",
        "call void @llvm.nvvm.fence.proxy.tensormap_generic.acquire.gpu(ptr %seen, i32 128)",
        f"%to = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 {to}",
        "%leads = icmp eq i32 %thread, 0",
        "br i1 %leads, label %copy, label %there",
        "copy:",
        INIT,
        FENCE,
        BULK[0].replace("i32 64", f"i32 {2 * ROW_BYTES}"),
        'call void asm sideeffect "@$5 cp.async.bulk.tensor.2d.shared::cluster.global.'
        'mbarrier::complete_tx::bytes [$0], [$1, {$2,$3} ], [$4];", "l,l,r,r,r,b"('
        f"ptr addrspace(3) %to, ptr %seen, i32 0, i32 {row}, ptr addrspace(3) %barrier, i1 true)",
        TRY,
    ]


def test_a_copy_of_a_box(launch: Launch) -> None:
    """Rows outside of the tensor are zero."""
    for rows, row, expected in ((3, 1, 33), (3, 3, 0)):
        for outcome in launch(*box(rows, row, 0), BARRIER, *READ, threads=32):
            assert (outcome.words[0], outcome.failure) == (expected, "")


@pytest.mark.parametrize(
    ("rows", "row", "to", "failure"),
    [
        (9, 4, 0, "a load of 128 bytes at 0x... 0 bytes behind the end of a buffer of 512 bytes"),
        (9, 3, 0, "a load of 128 bytes at 0x... 0 bytes behind the end of a buffer of 512 bytes"),
        (3, 0, 3968, "a copy of a box of 256 bytes at 3968 of shared memory, which has 4096"),
    ],
)
def test_a_copy_of_a_box_outside_of_a_buffer(
    rows: int, row: int, to: int, failure: str, launch: Launch
) -> None:
    """A tensor map that describes more rows than the buffer has, and a target without room."""
    for outcome in launch(*box(rows, row, to), threads=32):
        assert has_report(outcome, failure)


# -- products of warpgroups --------------------------------------------------------------------

ONES = [
    "%begin = mul i32 %thread, 16",
    "%part = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %begin",
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


@pytest.mark.parametrize(
    ("product", "changed"), [(PRODUCT, "left"), (PRODUCT, "right"), (PRODUCT_OF_REGISTERS, "right")]
)
def test_warps_with_different_factors(product: str, changed: str, launch: Launch) -> None:
    """All warps of a warpgroup describe one matrix of 64 rows and one of 16 columns."""
    parts = product.rsplit("i64 0", 1) if changed == "right" else product.split("i64 0", 1)
    mixed = "i64 %descriptor".join(parts)
    for offset in (0, 64):
        steps = [
            "%is_last_warp = icmp uge i32 %thread, 96",
            f"%descriptor = select i1 %is_last_warp, i64 {offset}, i64 0",
            *ONES, FENCE, BARRIER, REGISTERS, mixed, GROUP, WAIT_FOR_ACCUMULATORS, *USE,
        ]  # fmt: skip
        for outcome in launch(*steps):
            if offset == 0:
                assert outcome == Outcome([16] * THREADS, "")
            else:
                report = "wgmma of other factors than other threads of its warpgroup"
                assert report in outcome.failure

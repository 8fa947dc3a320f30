"""Accesses of two threads of a CTA without an order end an emulation, whatever the values are."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Shape, TextKernel
from emulation.litmus import BARRIER

THREADS = 64
BYTES_PER_WORD = 4
SEEDS = range(4)
WARP_BARRIER = "call void @llvm.nvvm.bar.warp.sync(i32 -1)"
KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.bar.warp.sync(i32)
define ptx_kernel void @ark_kernel(ptr %words) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %other = xor i32 %thread, DISTANCE
  %own.global = getelementptr TYPE, ptr %words, i32 %thread
  %other.global = getelementptr TYPE, ptr %words, i32 %other
  %own.shared = getelementptr TYPE, ptr addrspace(3) @ark_shared_memory, i32 %thread
  %other.shared = getelementptr TYPE, ptr addrspace(3) @ark_shared_memory, i32 %other
  %number = trunc i64 1 to TYPE
BODY
  ret void
}
"""
# Threads of different warps, and of one warp.
ACROSS, WITHIN = 32, 1

Failures = Callable[..., set[str]]


@pytest.fixture
def failures(library: Path, tmp_path: Path) -> Failures:
    """``failures(body, kind, distance)`` returns the failures with some seeds. Each thread has an
    element of a type, and the one of a thread at a distance."""

    def collect(body: str, kind: str, distance: int) -> set[str]:
        text = KERNEL.replace("BODY", body).replace("TYPE", kind)
        kernel = TextKernel(text.replace("DISTANCE", str(distance)), library, tmp_path)
        shape = Shape(1, THREADS, THREADS * BYTES_PER_WORD)
        return {kernel.launch(shape, THREADS, Behaviour(seed)).failure for seed in SEEDS}

    return collect


def load(address: str, kind: str, to: str = "loaded") -> str:
    return f"  %{to} = load {kind}, {_pointer(address)}, align {_alignment(kind)}"


def store(address: str, kind: str, value: str = "%number") -> str:
    return f"  store {kind} {value}, {_pointer(address)}, align {_alignment(kind)}"


def _pointer(address: str) -> str:
    return f"ptr addrspace(3) %{address}" if address.endswith("shared") else f"ptr %{address}"


def _alignment(kind: str) -> int:
    return int(kind[1:]) // 8


@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize(
    ("barrier", "distance"), [("", ACROSS), ("", WITHIN), (BARRIER, ACROSS), (WARP_BARRIER, WITHIN)]
)
@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_store_after_a_load(
    space: str, barrier: str, distance: int, kind: str, failures: Failures
) -> None:
    """Without a barrier, the loaded value depends on the order of the threads."""
    body = "\n".join([load(f"other.{space}", kind), barrier, store(f"own.{space}", kind)])
    found = failures(body, kind, distance)
    if barrier:
        assert found == {""}
    else:
        assert all(", with no barrier between (" in failure for failure in found)


@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_barrier_of_the_warp_orders_no_other_warp(
    space: str, kind: str, failures: Failures
) -> None:
    body = "\n".join([load(f"other.{space}", kind), WARP_BARRIER, store(f"own.{space}", kind)])
    found = failures(body, kind, ACROSS)
    assert all(", with no barrier between (" in failure for failure in found)


@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_load_after_a_store(space: str, waits: bool, kind: str, failures: Failures) -> None:
    barrier = BARRIER if waits else ""
    body = "\n".join([store(f"own.{space}", kind), barrier, load(f"other.{space}", kind)])
    found = failures(f"{body}\n  {BARRIER}\n{store(f'own.{space}', kind, '%loaded')}", kind, ACROSS)
    if waits:
        assert found == {""}
    else:
        assert all(", with no barrier between (" in failure for failure in found)


@pytest.mark.parametrize("kind", ["i8", "i16", "i32"])
@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_two_stores(space: str, waits: bool, kind: str, failures: Failures) -> None:
    """The values differ, so the result depends on the order of the stores."""
    number = "  %low = trunc i32 %thread to KIND\n".replace("KIND", kind)
    if kind == "i32":
        number = "  %low = add i32 %thread, 0\n"
    body = [store(f"own.{space}", kind, "%low"), BARRIER if waits else ""]
    found = failures(number + "\n".join([*body, store(f"other.{space}", kind, "%low")]), kind, 32)
    if waits:
        assert found == {""}
    else:
        assert all(", with no barrier between (" in failure for failure in found)


@pytest.mark.parametrize("kind", ["i8", "i16"])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_neighbours_in_a_word(space: str, kind: str, failures: Failures) -> None:
    """Each thread reads and changes its own part of a word."""
    address = f"own.{space}"
    sum_of_both = f"  %sum = add {kind} %loaded, %number"
    lines = [store(address, kind), load(address, kind), sum_of_both, store(address, kind, "%sum")]
    assert failures("\n".join(lines), kind, WITHIN) == {""}


@pytest.mark.parametrize("waits", [True, False])
@pytest.mark.parametrize("space", ["global", "shared"])
def test_a_byte_of_a_word_that_others_read(space: str, waits: bool, failures: Failures) -> None:
    """The first thread loads a word, and others store to its bytes."""
    body = f"""
  %leads = icmp eq i32 %thread, 0
  br i1 %leads, label %look, label %looked
look:
{load(f"own.{space}", "i32")}
  br label %looked
looked:
  {BARRIER if waits else ""}
{store(f"own.{space}", "i8")}"""
    found = failures(body, "i8", WITHIN)
    if waits:
        assert found == {""}
    else:
        assert any("thread 0 reads, with no barrier between (store" in text for text in found)


@pytest.mark.parametrize("waits", [True, False])
def test_a_strong_store_after_a_load(waits: bool, failures: Failures) -> None:
    """A weak load and a strong store of two threads race as well."""
    strong = 'call void asm sideeffect "st.release.gpu.u32 [$0], $1;", "l,r,~{memory}"'
    body = f"""
{load("other.global", "i32")}
  {BARRIER if waits else ""}
  {strong}(ptr %own.global, i32 1)"""
    found = failures(body, "i32", ACROSS)
    if waits:
        assert found == {""}
    else:
        assert all("reads, with no barrier between (ptx_st" in failure for failure in found)


@pytest.mark.parametrize("waits", [True, False])
def test_a_store_while_a_copy_reads(waits: bool, failures: Failures) -> None:
    """A thread copies the words of another one, which changes them."""
    copy = "@llvm.nvvm.cp.async.cg.shared.global.16"
    body = f"""
  %row = and i32 %other, -4
  %source = getelementptr i32, ptr %words, i32 %row
  %target = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %row
  %remainder = and i32 %thread, 3
  %leads = icmp eq i32 %remainder, 0
  br i1 %leads, label %copy, label %copied
copy:
  call void {copy}(ptr addrspace(3) %target, ptr addrspace(1) %source)
  call void @llvm.nvvm.cp.async.commit.group()
  call void @llvm.nvvm.cp.async.wait.group(i32 0)
  br label %copied
copied:
  {BARRIER if waits else ""}
{store("own.global", "i32")}"""
    found = failures(body, "i32", ACROSS)
    if waits:
        assert found == {""}
    else:
        assert all(", with no barrier between (" in failure for failure in found)


@pytest.mark.parametrize("space", ["global", "shared"])
def test_equal_stores_of_all_threads(space: str, failures: Failures) -> None:
    """The order of stores of one value has no effect."""
    whole = "%words" if space == "global" else "@ark_shared_memory"
    pointer = f"ptr addrspace(3) {whole}" if space == "shared" else f"ptr {whole}"
    assert failures(f"  store i32 1, {pointer}, align 4", "i32", WITHIN) == {""}


# -- wgmma -------------------------------------------------------------------------------------

WARPGROUP = 128
PRODUCT = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare void @llvm.nvvm.fence.proxy.async.shared_cta()
declare void @llvm.nvvm.wgmma.fence.sync.aligned()
declare void @llvm.nvvm.wgmma.commit_group.sync.aligned()
declare void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64)
define ptx_kernel void @ark_kernel(ptr %words) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %offset = mul i32 %thread, 16
  %part = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %offset
  store <8 x bfloat> splat (bfloat 1.0), ptr addrspace(3) %part, align 16
  call void @llvm.nvvm.fence.proxy.async.shared_cta()
  BARRIER
  call void @llvm.nvvm.wgmma.fence.sync.aligned()
  %sums = call {float, float, float, float} asm sideeffect "{.reg .pred p; setp.ne.b32 p, $10, 0; \
wgmma.mma_async.sync.aligned.m64n8k16.f32.bf16.bf16 {$0, $1, $2, $3}, $8, $9, p, $11, $12, $13, \
$14;}", "=f,=f,=f,=f,0,1,2,3,l,l,n,n,n,n,n"(float 0.0, float 0.0, float 0.0, float 0.0, i64 0, \
i64 0, i32 1, i32 1, i32 1, i32 0, i32 0)
  call void @llvm.nvvm.wgmma.commit_group.sync.aligned()
  call void @llvm.nvvm.wgmma.wait_group.sync.aligned(i64 0)
  ret void
}
"""


@pytest.mark.parametrize("waits", [True, False])
def test_operands_of_other_warps(waits: bool, library: Path, tmp_path: Path) -> None:
    """A warp may begin a product before the other warps of its warpgroup."""
    text = PRODUCT.replace("BARRIER", BARRIER if waits else "")
    kernel = TextKernel(text, library, tmp_path)
    for seed in SEEDS:
        outcome = kernel.launch(Shape(1, WARPGROUP, 16 * WARPGROUP), 1, Behaviour(seed))
        if waits:
            assert outcome.failure == ""
        else:
            assert ", with no barrier between (wgmma_bf16" in outcome.failure

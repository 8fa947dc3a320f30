"""Accesses and synchronisation that a GPU does not allow end an emulation with a message."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest
from emulation import Behaviour, Shape, TextKernel

THREADS = 64
KERNEL = """
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.bar.warp.sync(i32)
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)
define ptx_kernel void @ark_kernel(ptr %out) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %result = getelementptr i32, ptr %out, i32 %thread
BODY
  ret void
}
"""
BARRIER = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
SHUFFLE = "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)"
# Code that only the threads below a limit execute.
SOME = """
  %some = icmp ult i32 %thread, LIMIT
  br i1 %some, label %then, label %end
then:
  WHAT
  br label %end
end:
"""

Run = Callable[..., tuple[list[int], str]]


@pytest.fixture
def run(library: Path, tmp_path: Path) -> Run:
    """``run(body)`` returns the words that threads have stored, and the failure."""

    def launch(
        body: str, shared: int = 1024, seed: int = 0, races: bool = True
    ) -> tuple[list[int], str]:
        kernel = TextKernel(KERNEL.replace("BODY", body), library, tmp_path, races)
        outcome = kernel.launch(Shape(1, THREADS, shared), THREADS, Behaviour(seed))
        return outcome.words, outcome.failure

    return launch


def some(limit: int, action: str) -> str:
    return SOME.replace("LIMIT", str(limit)).replace("WHAT", action)


def test_threads_exchange_numbers(run: Run) -> None:
    stored, failure = run(f"  %other = {SHUFFLE}\n  store i32 %other, ptr %result, align 4")
    assert stored == [thread ^ 1 for thread in range(THREADS)]
    assert failure == ""


def exchange(barrier: str) -> str:
    """Each thread stores its number in shared memory, and reads that of the next thread."""
    return f"""
  %own = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %thread
  store i32 %thread, ptr addrspace(3) %own, align 4
  {barrier}
  %after = add i32 %thread, 1
  %next = and i32 %after, {THREADS - 1}
  %other = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %next
  %number = load i32, ptr addrspace(3) %other, align 4
  store i32 %number, ptr %result, align 4"""


@pytest.mark.parametrize("waits", [True, False])
def test_a_missing_barrier_shows(waits: bool, run: Run) -> None:
    """Without the barrier, every order of threads gives some thread a wrong value."""
    stored, failure = run(exchange(BARRIER if waits else ""), races=False)
    assert failure == ""
    assert (stored == [(thread + 1) % THREADS for thread in range(THREADS)]) == waits


@pytest.mark.parametrize("waits", [True, False])
def test_a_race_in_shared_memory(waits: bool, run: Run) -> None:
    _, failure = run(exchange(BARRIER if waits else ""))
    assert failure == "" if waits else ", with no barrier between (" in failure


@pytest.mark.parametrize("waits", [True, False])
def test_a_word_that_its_reader_stores(waits: bool, run: Run) -> None:
    """All threads of a warp read a word, which one of them then reads again and overwrites. The
    barrier of the warp orders the first reads, so that the second read is not a race."""
    _, failure = run(
        f"""
  %warp = lshr i32 %thread, 5
  %word = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %warp
  %first = load i32, ptr addrspace(3) %word, align 4
  store i32 %first, ptr %result, align 4
  {"call void @llvm.nvvm.bar.warp.sync(i32 -1)" if waits else ""}
  %thread_of_warp = and i32 %thread, 31
  %leads = icmp eq i32 %thread_of_warp, 0
  br i1 %leads, label %then, label %end
then:
  %second = load i32, ptr addrspace(3) %word, align 4
  %more = add i32 %second, 1
  store i32 %more, ptr addrspace(3) %word, align 4
  br label %end
end:"""
    )
    assert failure == "" if waits else ", with no barrier between (" in failure


@pytest.mark.parametrize("waits", [True, False])
def test_a_race_in_global_memory(waits: bool, run: Run) -> None:
    _, failure = run(
        f"""
  store i32 %thread, ptr %result, align 4
  {BARRIER if waits else ""}
  %next = xor i32 %thread, 32
  %other = getelementptr i32, ptr %out, i32 %next
  %number = load i32, ptr %other, align 4
  {BARRIER}
  store i32 %number, ptr %result, align 4"""
    )
    assert failure == "" if waits else ", with no barrier between (" in failure


def test_a_barrier_without_some_threads(run: Run) -> None:
    """Threads that have ended are not waited for; threads of a warp-level wait are."""
    _, failure = run(some(32, BARRIER))
    assert failure == ""
    _, failure = run(some(16, BARRIER) + f"  %other = {SHUFFLE}")
    assert failure.startswith("CTA 0: no thread can go on:\n  warp 0: 16 at a barrier, 16 at shfl")
    assert "warp 1: 0 at a barrier, 0 at nothing, 32 ended" in failure


def test_a_shuffle_without_some_threads(run: Run) -> None:
    _, failure = run(some(48, f"%other = {SHUFFLE}"))
    assert "warp 1: 0 at a barrier, 16 at shfl.bfly, 16 ended" in failure


def test_two_instructions_at_once(run: Run) -> None:
    index = "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %thread, i32 1, i32 31)"
    body = some(16, f"%other = {SHUFFLE}\n  ret void") + f"  %more = {index}"
    _, failure = run(body.replace("ret void\n  br label %end", "ret void"))
    assert "while others of its warp are at shfl" in failure


def test_an_unknown_instruction(run: Run, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run('  call void asm sideeffect "nanosleep.u32 $0;", "r"(i32 %thread)')
    assert "undefined reference to `nanosleep_u32'" in capfd.readouterr().err


# -- memory outside of buffers -----------------------------------------------------------------


def test_a_load_behind_a_buffer(run: Run) -> None:
    _, failure = run(
        "  %behind = getelementptr i32, ptr %out, i32 70\n"
        "  %number = load i32, ptr %behind, align 4\n"
        "  store i32 %number, ptr %result, align 4"
    )
    assert "a load of 4 bytes at 0x" in failure
    assert "24 bytes behind the end of a buffer of 256 bytes (load at line " in failure


def test_a_store_that_is_partly_behind_a_buffer(run: Run) -> None:
    _, failure = run(
        "  %last = getelementptr i32, ptr %out, i32 62\n"
        "  store <4 x i32> zeroinitializer, ptr %last, align 8"
    )
    assert "the last 8 of them behind a buffer of 256 bytes (store at line " in failure


def test_a_load_that_is_not_aligned(run: Run) -> None:
    _, failure = run(
        "  %odd = getelementptr i8, ptr %out, i32 2\n"
        "  %number = load i32, ptr %odd, align 4\n"
        "  store i32 %number, ptr %result, align 4"
    )
    assert "which is not aligned to 4 (load at line " in failure


@pytest.mark.parametrize(("nbytes", "fits"), [(256, True), (252, False)])
def test_the_end_of_shared_memory(nbytes: int, fits: bool, run: Run) -> None:
    _, failure = run(
        "  %own = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %thread\n"
        "  store i32 %thread, ptr addrspace(3) %own, align 4",
        shared=nbytes,
    )
    expected = "thread 63: a store of 4 bytes at 252 of shared memory, which has 252 (store at"
    assert failure == "" if fits else expected in failure


def test_an_order_that_llvm_would_drop(run: Run) -> None:
    with pytest.raises(ValueError, match="drop the order of this access: %old = atomicrmw"):
        run("  %old = atomicrmw add ptr %out, i32 1 release, align 4")

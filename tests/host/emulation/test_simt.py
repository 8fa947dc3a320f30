"""What threads of a GPU must not do ends an emulation, with a message."""

from __future__ import annotations

import ctypes
import subprocess
from pathlib import Path

import pytest

from ark_mlir.runtime.image import Image
from ark_mlir.testing.emulation.lower import compile_kernel

THREADS = 64
KERNEL = """
@ark_shared_memory = external addrspace(3) global [0 x i8], align 1024
declare i32 @llvm.nvvm.read.ptx.sreg.tid.x()
declare void @llvm.nvvm.barrier.cta.sync.aligned.all(i32)
declare i32 @llvm.nvvm.shfl.sync.bfly.i32(i32, i32, i32, i32)
define ptx_kernel void @ark_kernel(ptr %out) {
  %thread = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %place = getelementptr i32, ptr %out, i32 %thread
BODY
  ret void
}
"""
SHUFFLE = "call i32 @llvm.nvvm.shfl.sync.bfly.i32(i32 -1, i32 %thread, i32 1, i32 31)"
# What only the threads below a limit do.
SOME = """
  %some = icmp ult i32 %thread, LIMIT
  br i1 %some, label %then, label %end
then:
  WHAT
  br label %end
end:
"""


def run(body: str, folder: Path) -> tuple[list[int], str]:
    """What the threads have stored, and the failure."""
    code = compile_kernel(KERNEL.replace("BODY", body), THREADS, folder)
    image = Image(memoryview(code), "test")
    out = (ctypes.c_int32 * THREADS)()
    image.function("emulated_ark_kernel")(ctypes.addressof(out), 0)
    take_failure = image.function("simt_take_failure")
    take_failure.argtypes, take_failure.restype = [], ctypes.c_char_p
    return list(out), take_failure().decode()


def some(limit: int, what: str) -> str:
    return SOME.replace("LIMIT", str(limit)).replace("WHAT", what)


def test_threads_exchange_numbers(folder: Path) -> None:
    stored, failure = run(f"  %other = {SHUFFLE}\n  store i32 %other, ptr %place", folder)
    assert stored == [thread ^ 1 for thread in range(THREADS)]
    assert failure == ""


@pytest.mark.parametrize("waits", [True, False])
def test_a_barrier_that_is_forgotten_shows(waits: bool, folder: Path) -> None:
    """No order of threads is the same for all of them."""
    barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)" if waits else ""
    stored, failure = run(
        f"""
  %own = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %thread
  store i32 %thread, ptr addrspace(3) %own
  {barrier}
  %after = add i32 %thread, 1
  %next = and i32 %after, {THREADS - 1}
  %other = getelementptr i32, ptr addrspace(3) @ark_shared_memory, i32 %next
  %number = load i32, ptr addrspace(3) %other
  store i32 %number, ptr %place""",
        folder,
    )
    assert failure == ""
    expected = [(thread + 1) % THREADS for thread in range(THREADS)]
    assert (stored == expected) == waits


def test_a_barrier_without_some_threads(folder: Path) -> None:
    """Those that have ended are not waited for; those that wait as a warp are."""
    barrier = "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)"
    _, failure = run(some(32, barrier), folder)
    assert failure == ""
    _, failure = run(some(16, barrier) + f"  %other = {SHUFFLE}", folder)
    assert failure.startswith("CTA 0: no thread can go on:\n  warp 0: 16 at a barrier, 16 at shfl")
    assert "warp 1: 0 at a barrier, 0 at nothing, 32 ended" in failure


def test_a_shuffle_without_some_threads(folder: Path) -> None:
    _, failure = run(some(48, f"%other = {SHUFFLE}"), folder)
    assert "warp 1: 0 at a barrier, 16 at shfl.bfly, 16 ended" in failure


def test_two_instructions_at_once(folder: Path) -> None:
    index = "call i32 @llvm.nvvm.shfl.sync.idx.i32(i32 -1, i32 %thread, i32 1, i32 31)"
    declare = "declare i32 @llvm.nvvm.shfl.sync.idx.i32(i32, i32, i32, i32)\n"
    body = some(16, f"%other = {SHUFFLE}\n  ret void") + f"  %more = {index}"
    body = body.replace("ret void\n  br label %end", "ret void")
    code = KERNEL.replace("define ptx", f"{declare}define ptx").replace("BODY", body)
    image = Image(memoryview(compile_kernel(code, THREADS, folder)), "test")
    assert image.function("emulated_ark_kernel")(0, 0) == 1
    take_failure = image.function("simt_take_failure")
    take_failure.argtypes, take_failure.restype = [], ctypes.c_char_p
    assert b"while others of its warp are at shfl" in take_failure()


def test_an_unknown_instruction(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(subprocess.CalledProcessError):
        run('  call void asm sideeffect "nanosleep.u32 $0;", "r"(i32 %thread)', folder)
    assert "undefined reference to `nanosleep_u32'" in capfd.readouterr().err

"""The premise of the design for hosts with a network only (docs/rationale.md).

A kernel that puts and signals by NCCL's device API links with NCCL's bitcode by our LLVM, and
assembles. No target of ark makes such kernels yet.
"""

from __future__ import annotations

import shutil
import subprocess
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import pytest

from ark_mlir.distributed.engines.nccl import NCCL_VERSION
from ark_mlir.errors import ArkError
from ark_mlir.targets.cuda_assembler import choose_assembler

TOOLS = Path("/usr/lib/llvm-22/bin")

# Puts bytes of a window to the same path of a peer's window. Then adds one to a counter in a
# window of the peer by a strong signal, which covers the put.
KERNEL = """
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%team = type { i32, i32, i32 }
%coop = type { [16 x i8], ptr }

declare void @ncclGin_C_init(ptr, i32, ptr, i32)
declare %team @ncclTeamWorld(ptr)
declare void @ncclCoopAnyInitThread(ptr)
declare void @ncclGinPut_v3(
    ptr, ptr byval(%team), i32, ptr, i64, ptr, i64, i64, i32, ptr, i64, i32, i1 zeroext, i32, i64,
    i1 zeroext, i32, ptr byval(%coop), i1 zeroext, ptr, i32, i32, i32, i32)
declare void @ncclGinSignal_v3(
    ptr, ptr byval(%team), i32, i32, ptr, i64, i32, i1 zeroext, i32, i64, ptr byval(%coop),
    i1 zeroext, ptr, i32, i32, i32)

define ptx_kernel void @put_and_signal(
    ptr %comm, ptr %arena, ptr %counters, i32 %peer, i64 %offset, i64 %bytes, i64 %counter) {
  %gin = alloca [64 x i8], align 16
  %team = alloca %team
  %coop = alloca %coop, align 16
  call void @ncclGin_C_init(ptr %gin, i32 60, ptr %comm, i32 0)
  %world = call %team @ncclTeamWorld(ptr %comm)
  store %team %world, ptr %team
  call void @ncclCoopAnyInitThread(ptr %coop)
  call void @ncclGinPut_v3(
      ptr %gin, ptr byval(%team) %team, i32 %peer, ptr %arena, i64 %offset, ptr %arena,
      i64 %offset, i64 %bytes, i32 0, ptr null, i64 0, i32 0, i1 false, i32 0, i64 0, i1 false,
      i32 0, ptr byval(%coop) %coop, i1 false, ptr null, i32 0, i32 0, i32 0, i32 0)
  call void @ncclGinSignal_v3(
      ptr %gin, ptr byval(%team) %team, i32 %peer, i32 1, ptr %counters, i64 %counter, i32 0,
      i1 true, i32 1, i64 1, ptr byval(%coop) %coop, i1 false, ptr null, i32 0, i32 0, i32 0)
  ret void
}
"""


@pytest.fixture
def bitcode() -> Path:
    """The bitcode of the version of NCCL that the extra `nccl` installs."""
    try:
        found = distribution("nvidia-nccl-cu13")
    except PackageNotFoundError:
        pytest.skip("needs nvidia-nccl-cu13: pip install 'ark-mlir[nccl]'")
    assert found.version == NCCL_VERSION
    return Path(str(found.locate_file("nvidia/nccl/lib/libnccl_device.bc")))


def run(tool: str, *arguments: str | Path) -> None:
    result = subprocess.run([TOOLS / tool, *arguments], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


def test_puts_and_signals_link(bitcode: Path, tmp_path: Path) -> None:
    if not shutil.which("llvm-link", path=TOOLS):
        pytest.skip("needs llvm-link of LLVM 22")
    kernel, linked, small, ptx = (tmp_path / name for name in ("k.ll", "l.bc", "s.bc", "k.ptx"))
    kernel.write_text(KERNEL)
    run("llvm-link", "--only-needed", kernel, bitcode, "-o", linked)
    passes = "-passes=internalize,globaldce,default<O2>"
    run("opt", passes, "-internalize-public-api-list=put_and_signal", linked, "-o", small)
    run("llc", "-mcpu=sm_90a", "-mattr=+ptx84", small, "-o", ptx)
    text = ptx.read_text()
    # NVIDIA's driver defines this function; everything else comes from the bitcode.
    assert [line.split()[2] for line in text.splitlines() if line.startswith(".extern")] == [
        "__assertfail"
    ]
    try:
        assembler = choose_assembler()
    except ArkError:
        pytest.skip("needs ptxas")
    if assembler.name != "ptxas":
        pytest.skip("needs ptxas")
    cubin = tmp_path / "k.cubin"
    path = assembler.origin().path
    subprocess.run([path, "-arch=sm_90a", ptx, "-o", cubin], check=True)
    assert cubin.read_bytes().startswith(b"\x7fELF")

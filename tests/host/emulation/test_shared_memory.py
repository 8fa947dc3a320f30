"""The limits of shared memory: how much a CTA may have, and where its threads may access it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from emulation import Behaviour, Emulation, Shape, TextKernel, machine
from emulation.host_code import compile_kernel, load_library
from emulation.kernels import HEAD
from emulation.lower import lower

import ark_mlir as ark
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.targets import resolve

# KiB that a CTA may have after an opt-in, from the table of compute capabilities in NVIDIA's guide.
LIMITS = {"sm_80": 163, "sm_86": 99, "sm_89": 99, "sm_90a": 227, "sm_100a": 227}
# KiB that a CTA may have without an opt-in.
DEFAULT = 48
# The thread stores to a word of shared memory, and reads it.
LAST_WORD = """
define ptx_kernel void @ark_kernel(ptr %out) {
  %last = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 OFFSET
  store volatile i32 7, ptr addrspace(3) %last, align 4
  %got = load volatile i32, ptr addrspace(3) %last, align 4
  store i32 %got, ptr %out, align 4
  ret void
}
"""


class Gpu:
    """An emulated GPU of an architecture, with a kernel that uses the word at an offset."""

    def __init__(self, arch: str, offset: int, library: Path, folder: Path) -> None:
        lowered = lower(HEAD + LAST_WORD.replace("OFFSET", str(offset)))
        self.emulated = machine.EmulatedCuda(
            load_library(library), arch, 1, lowered.sites, Behaviour()
        )
        self.api = CudaApi(self.emulated)
        self.api.open()
        self.stream = self.api.call("cuStreamCreate", 1)
        image = self.api.call("cuModuleLoadData", compile_kernel(lowered, library, folder))
        self.kernel = self.api.call("cuModuleGetFunction", image, b"ark_kernel")
        self.out = self.api.call("cuMemAlloc", 4)

    def opt_in(self, nbytes: int) -> None:
        names = self.emulated.CUfunction_attribute
        key = names.CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
        self.api.call("cuFuncSetAttribute", self.kernel, key, nbytes)

    def launch(self, nbytes: int) -> tuple[int, str]:
        """Returns the word that the kernel stores, and the failure of the launch."""
        argument = ctypes.c_uint64(self.out)
        parameters = (ctypes.c_uint64 * 1)(ctypes.addressof(argument))
        attribute = self.emulated.CUlaunchAttribute()
        attribute.id, attribute.value.cooperative = 2, 1
        config = SimpleNamespace(
            gridDimX=1, blockDimX=1, sharedMemBytes=nbytes, hStream=self.stream,
            attrs=[attribute], numAttrs=1,
        )  # fmt: skip
        address = ctypes.addressof(parameters)
        self.api.call("cuLaunchKernelEx", config, self.kernel, address, 0)
        self.api.call("cuStreamSynchronize", self.stream)
        return ctypes.c_int32.from_address(self.out).value, self.emulated.failure


# -- what a CTA may have -----------------------------------------------------------------------


@pytest.mark.parametrize("arch", LIMITS)
def test_the_most_that_a_cta_may_have(arch: str, library: Path, tmp_path: Path) -> None:
    """NVIDIA's driver refuses an opt-in beyond the limit of the GPU, and keeps the one before."""
    most = LIMITS[arch] << 10
    gpu = Gpu(arch, most - 4, library, tmp_path)
    assert gpu.api.attribute("MAX_SHARED_MEMORY_PER_BLOCK_OPTIN") == most
    gpu.opt_in(most)
    for beyond in (most + 1, most + 1024, 1 << 20):
        with pytest.raises(ark.DeviceError, match=r"cuFuncSetAttribute failed: .*INVALID_VALUE"):
            gpu.opt_in(beyond)
        with pytest.raises(ark.DeviceError, match=r"cuLaunchKernelEx failed: .*INVALID_VALUE"):
            gpu.launch(beyond)
    assert gpu.launch(most) == (7, "")


@pytest.mark.parametrize("arch", LIMITS)
def test_a_launch_without_an_opt_in(arch: str, library: Path, tmp_path: Path) -> None:
    default = DEFAULT << 10
    gpu = Gpu(arch, default - 4, library, tmp_path)
    with pytest.raises(ark.DeviceError, match=r"cuLaunchKernelEx failed: .*INVALID_VALUE"):
        gpu.launch(default + 1)
    assert gpu.launch(default) == (7, "")
    gpu.opt_in(default + 1024)
    assert gpu.launch(default + 1024) == (7, "")
    with pytest.raises(ark.DeviceError, match=r"cuLaunchKernelEx failed: .*INVALID_VALUE"):
        gpu.launch(default + 1025)


@pytest.mark.parametrize("arch", LIMITS)
def test_ark_plans_with_the_memory_of_the_gpu(arch: str) -> None:
    assert resolve(f"cuda:{arch}").shared_memory == LIMITS[arch] << 10


def test_a_program_for_a_gpu_with_more(
    library: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The runtime refuses the program before it asks NVIDIA's driver."""
    with ark.Program("row") as program, ark.planner(tile=(1, 64)):
        x, w = ark.input("x", (1, 256)), ark.parameter("w", (256, 64))
        ark.output("y", ark.matmul(x, w))
    emulation = Emulation(program, library, tmp_path)
    needed = emulation.bundle.manifest.target.shared_memory
    assert 0 < needed < LIMITS["sm_90a"] << 10
    monkeypatch.setitem(machine._SHARED_MEMORY, "sm_90a", needed - 1)
    emulation.load(0)
    message = f"needs {needed} bytes of shared memory; a CTA of this GPU has {needed - 1}"
    with pytest.raises(ark.UnsupportedError, match=message):
        emulation.executable.bind({"w": np.zeros((256, 64), np.float32)})


# -- where threads may access it ---------------------------------------------------------------

BYTES = 8192
# The addresses that a CTA's shared memory may have, at most.
WINDOW = 0x40000
ACCESSES = {
    "load": "%got = load i32, ptr addrspace(3) %at, align 4\n  store i32 %got, ptr %out, align 4",
    "store": "store i32 7, ptr addrspace(3) %at, align 4",
    "volatile load": "%got = load volatile i32, ptr addrspace(3) %at, align 4\n"
    "  store i32 %got, ptr %out, align 4",
    "volatile store": "store volatile i32 7, ptr addrspace(3) %at, align 4",
}
# Offsets behind the memory, a page later, at the end of the window, and in the guards around the
# window, with the descriptions in reports.
OUTSIDE = {
    BYTES: f"{BYTES} of shared memory, which has {BYTES}",
    BYTES + 4096: f"{BYTES + 4096} of shared memory, which has {BYTES}",
    WINDOW - 4: f"{WINDOW - 4} of shared memory, which has {BYTES}",
    WINDOW: "0x1c0000040000, which is in no buffer",
    -4: "0x1bfffffffffc, which is in no buffer",
}

Launch = Callable[[int], str]


@pytest.fixture
def make_kernel(library: Path, tmp_path: Path) -> Callable[[str, bool], Launch]:
    """``make_kernel(access, races)(offset)`` returns the failure of an access at an offset."""

    def make(access: str, races: bool) -> Launch:
        text = f"""
define ptx_kernel void @ark_kernel(ptr %out) {{
  %offset = load i32, ptr %out, align 4
  %at = getelementptr i8, ptr addrspace(3) @ark_shared_memory, i32 %offset
  {access}
  ret void
}}"""
        kernel = TextKernel(text, library, tmp_path, races)
        return lambda offset: kernel.launch(Shape(1, 1, BYTES), [offset & 0xFFFFFFFF]).failure

    return make


@pytest.mark.parametrize("races", [True, False])
@pytest.mark.parametrize("access", ACCESSES)
def test_an_access_outside_of_shared_memory(
    access: str, races: bool, make_kernel: Callable[[str, bool], Launch]
) -> None:
    """A report with the access ends the launch, also where the memory of the host has a guard."""
    kind = access.rpartition(" ")[2]
    launch = make_kernel(ACCESSES[access], races)
    assert launch(BYTES - 4) == ""
    for offset, description in OUTSIDE.items():
        report = f"CTA 0: thread 0: a {kind} of 4 bytes at {description} ({kind} at line "
        assert launch(offset).startswith(report)

"""The real hip-python: its functions, and programs that run with it on a stand-in for HIP."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ark_mlir as ark
from ark_mlir.bundle import write_bundle
from ark_mlir.runtime.hip import records
from ark_mlir.runtime.hip.api import HipApi
from ark_mlir.runtime.hip.library import (
    ENUMERATIONS,
    FUNCTIONS,
    architecture_of,
    find_library,
    import_hip,
)
from ark_mlir.testing.fake_gpu import FakeHip
from ark_mlir.testing.fake_gpu.hip import (
    HipAttribute,
    HipError,
    HipGranularity,
    HipHandleType,
)
from ark_mlir.testing.toy import add_program, compile_c, ring_program

SUPPORT = Path(__file__).parents[3] / "support"
try:
    hip = import_hip()
except ImportError:
    pytest.skip("hip-python is not installed: make peers", allow_module_level=True)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions(name: str) -> None:
    """hip-python states the arguments of a function in the first line of its documentation."""
    documentation = (getattr(hip, name).__doc__ or "").splitlines()
    signature = re.fullmatch(rf"{name}\((.*)\)", documentation[0])
    assert signature is not None
    arguments = [argument for argument in signature[1].split(",") if argument]
    assert len(arguments) == FUNCTIONS[name]


def test_every_function_of_the_api_is_listed() -> None:
    """All but the two that HipLibrary replaces."""
    text = "".join(
        (Path(ark.__file__).parent / "runtime" / "hip" / name).read_text(encoding="utf-8")
        for name in ("api.py", "image.py")
    )
    used = set(re.findall(r'"(hip(?!Error)[A-Z]\w+)"|driver\.(hip[A-Z]\w+)\(', text))
    names = {name for pair in used for name in pair if name}
    replaced = {"hipGetDeviceProperties", "hipThreadExchangeStreamCaptureMode"}
    assert names - replaced == set(FUNCTIONS)


@pytest.mark.parametrize("name", ENUMERATIONS)
def test_enumerations(name: str) -> None:
    assert set(ENUMERATIONS[name]) <= {member.name for member in getattr(hip, name)}


def test_numbers_of_the_stand_in() -> None:
    for mine, theirs in (
        (HipError, hip.hipError_t),
        (HipAttribute, hip.hipDeviceAttribute_t),
        (HipGranularity, hip.hipMemAllocationGranularity_flags),
        (HipHandleType, hip.hipMemAllocationHandleType),
    ):
        assert {member.name: member.value for member in mine}.items() <= {
            member.name: member.value for member in theirs
        }.items()
    ordinal = "HIP_POINTER_ATTRIBUTE_DEVICE_ORDINAL"
    assert getattr(hip.hipPointer_attribute, ordinal) == getattr(
        FakeHip.hipPointer_attribute, ordinal
    )


def test_flags() -> None:
    """The numbers that `HipApi` passes instead of names."""
    assert HipApi.host_flags == hip.hipHostMallocMapped | hip.hipHostMallocCoherent
    assert HipApi.coherent_flags == (hip.hipDeviceMallocFinegrained,)
    assert (hip.hipStreamNonBlocking, hip.hipEventDisableTiming) == (1, 2)
    assert hip.hipStreamCaptureMode.hipStreamCaptureModeRelaxed == 2
    assert hip.hipStreamCaptureStatus.hipStreamCaptureStatusNone == 0


def test_records() -> None:
    """The layouts of records that the runtime fills in, and the numbers in them."""
    for mine, theirs in (
        (records.Location, hip.hipMemLocation),
        (records.AllocationProp, hip.hipMemAllocationProp),
        (records.AccessDesc, hip.hipMemAccessDesc),
    ):
        assert ctypes.sizeof(mine) == theirs().c_sizeof()
    assert hip.hipMemAllocationType.hipMemAllocationTypeUncached == records.UNCACHED
    given = records.AllocationProp(records.UNCACHED, 1, records.Location.of_device(3))
    given.flags.rdma = True
    seen = hip.hipMemAllocationProp.fromObj(given)
    assert seen.type == hip.hipMemAllocationType.hipMemAllocationTypeUncached
    assert seen.location.type == hip.hipMemLocationType.hipMemLocationTypeDevice
    assert (seen.location.id, seen.allocFlags.gpuDirectRDMACapable) == (3, 1)
    access = hip.hipMemAccessDesc.fromObj(records.AccessDesc.of_device(5))
    assert access.location.id == 5
    assert access.flags == hip.hipMemAccessFlags.hipMemAccessFlagsProtReadWrite


def test_without_a_gpu() -> None:
    """A process that HIP shows no GPU, or that finds no ROCm, gets a typed error."""
    code = "from ark_mlir.runtime.hip.api import HipApi; HipApi()"
    result = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "HIP_VISIBLE_DEVICES": "-1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert result.returncode == 1
    assert "UnsupportedError: a program for hip needs a GPU of AMD" in result.stderr


def find_arch_offset() -> int:
    """Returns the offset of the architecture's name in the record of a device's properties."""
    properties = hip.hipDeviceProp_t()
    size, address = properties.c_sizeof(), int(properties)
    for offset in range(0, size - 8, 8):
        ctypes.memset(address, 0, size)
        ctypes.memmove(address + offset, b"gfx", 3)
        if architecture_of(properties).startswith("gfx"):
            return offset
    raise AssertionError("there is no such name")


def test_programs_run_on_a_stand_in(kernel: bytes, tmp_path: Path) -> None:
    """hip-python accepts every argument of the runtime, and the runtime every result.

    HIP's library is replaced by a library of the same name whose two GPUs are the host.
    """
    offset = find_arch_offset()
    image = compile_c(SUPPORT / "hip_stand_in.c", "-pthread", f"-DARCH_OFFSET={offset}")
    (tmp_path / "libamdhip64.so").write_bytes(image)
    parts = [add_program().parts(kernel), ring_program(2).parts(kernel, ranks=2)]
    bundles: list[Path] = []
    for number, (manifest, sections) in enumerate(parts):
        target = {"backend": "hip", "arch": "gfx942", "warps": 8, "shared_memory": 1024}
        manifest["target"].update(target)
        manifest["options"]["clears_queued"] = True
        for buffer in manifest["buffers"]:
            buffer["alignment"] = 16
        bundles.append(tmp_path / f"{number}.arkbin")
        write_bundle(bundles[-1], manifest, sections)
    result = subprocess.run(
        [sys.executable, SUPPORT / "run_on_hip_stand_in.py", *bundles],
        env={**os.environ, "LD_LIBRARY_PATH": str(tmp_path), "ARK_TIMEOUT": "20"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert (result.returncode, result.stdout) == (0, "all right\n"), result.stderr


def test_the_library_is_found_once() -> None:
    """Programs on one device share the list of handles that are to be released."""
    assert find_library() is find_library()

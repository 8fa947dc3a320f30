"""The stand-in for CUDA: devices, and the memory that they may access."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from ark_mlir.testing.fake_gpu import FakeCuda

PAGE = 2 << 20
INVALID_VALUE, OUT_OF_MEMORY, INVALID_DEVICE = 1, 2, 101
INVALID_CONTEXT, INVALID_HANDLE, ILLEGAL_ADDRESS = 201, 400, 700


class Gpus:
    """Two GPUs, whose contexts a thread enters by their numbers."""

    def __init__(self) -> None:
        self.cuda = FakeCuda(devices=2, memory=4 * PAGE)
        self._contexts = [self.call("cuDevicePrimaryCtxRetain", number) for number in (0, 1)]

    def call(self, name: str, *arguments: object) -> Any:
        """Returns the result of a call that must not fail."""
        code, *results = getattr(self.cuda, name)(*arguments)
        assert code == 0, (name, code)
        return results[0] if results else None

    def fails(self, name: str, *arguments: object) -> int:
        """Returns the error of a call."""
        return getattr(self.cuda, name)(*arguments)[0]

    def enter(self, number: int) -> None:
        """Makes the context of a GPU current."""
        self.call("cuCtxSetCurrent", self._contexts[number])

    def location(self, number: int) -> Any:
        """Returns a GPU as a location of memory."""
        location = self.cuda.CUmemLocation()
        location.type = self.cuda.CUmemLocationType.CU_MEM_LOCATION_TYPE_DEVICE
        location.id = number
        return location

    def properties(self, number: int) -> Any:
        """Properties of memory of a GPU."""
        properties = self.cuda.CUmemAllocationProp()
        properties.type = self.cuda.CUmemAllocationType.CU_MEM_ALLOCATION_TYPE_PINNED
        properties.location = self.location(number)
        return properties

    def access(self, number: int) -> Any:
        """Access of a GPU to memory."""
        access = self.cuda.CUmemAccessDesc()
        access.location = self.location(number)
        access.flags = self.cuda.CUmemAccess_flags.CU_MEM_ACCESS_FLAGS_PROT_READWRITE
        return access

    def map(self, number: int, address: int) -> None:
        """Maps a page of a GPU."""
        handle = self.call("cuMemCreate", PAGE, self.properties(number), 0)
        self.call("cuMemMap", address, PAGE, 0, handle, 0)
        self.call("cuMemRelease", handle)


@pytest.fixture
def gpus() -> Iterator[Gpus]:
    gpus = Gpus()
    yield gpus
    for number in (0, 1):
        gpus.cuda.cuDevicePrimaryCtxRelease(number)
    assert gpus.cuda.held == 0


def test_devices(gpus: Gpus) -> None:
    assert gpus.call("cuDeviceGetCount") == 2
    assert [gpus.call("cuDeviceGet", number) for number in (0, 1)] == [0, 1]
    assert gpus.fails("cuDeviceGet", 2) == INVALID_DEVICE
    assert gpus.call("cuDeviceCanAccessPeer", 0, 1) == 1
    gpus.cuda.unlinked = {(0, 1)}
    assert gpus.call("cuDeviceCanAccessPeer", 0, 1) == 0
    assert gpus.call("cuDeviceCanAccessPeer", 1, 0) == 1


def test_a_context_decides_the_device(gpus: Gpus) -> None:
    held: list[list[int]] = []
    handles: list[tuple[int, str, object]] = []
    for number in (0, 1):
        gpus.enter(number)
        stream, event = gpus.call("cuStreamCreate", 1), gpus.call("cuEventCreate", 2)
        address = gpus.call("cuMemAlloc", 64)
        handles += [
            (number, "cuStreamDestroy", stream),
            (number, "cuEventDestroy", event),
            (number, "cuMemFree", address),
        ]
        held.append([device.held for device in gpus.cuda.devices])
    assert held == [[4, 1], [4, 4]]
    gpus.enter(0)
    assert gpus.fails("cuEventRecord", handles[1][2], handles[3][2]) == INVALID_HANDLE
    for number, give, handle in handles:
        gpus.enter(number)
        gpus.call(give, handle)
    assert gpus.cuda.held == 2


def test_memory_of_each_device_is_its_own(gpus: Gpus) -> None:
    gpus.enter(0)
    first = gpus.call("cuMemAlloc", 3 * PAGE)
    assert gpus.fails("cuMemAlloc", 2 * PAGE) == OUT_OF_MEMORY
    gpus.enter(1)
    second = gpus.call("cuMemAlloc", 3 * PAGE)
    assert gpus.fails("cuMemCreate", 2 * PAGE, gpus.properties(1), 0) == OUT_OF_MEMORY
    gpus.call("cuMemFree", second)
    gpus.enter(0)
    gpus.call("cuMemFree", first)


@pytest.mark.parametrize("function", ["cuMemsetD8Async", "cuMemcpyHtoDAsync", "cuMemcpyDtoHAsync"])
@pytest.mark.parametrize("owner", [0, 1])
def test_work_on_memory_of_another_device(gpus: Gpus, function: str, owner: int) -> None:
    """The access breaks the context of the stream, as on a GPU, and changes nothing."""
    gpus.enter(owner)
    address = gpus.call("cuMemAlloc", 64)
    host = np.zeros(64, np.uint8)
    gpus.enter(1)
    stream = gpus.call("cuStreamCreate", 1)
    arguments = {
        "cuMemsetD8Async": (address, 0, 64, stream),
        "cuMemcpyHtoDAsync": (address, host.ctypes.data, 64, stream),
        "cuMemcpyDtoHAsync": (host.ctypes.data, address, 64, stream),
    }[function]
    gpus.call(function, *arguments)
    if owner == 1:
        gpus.call("cuStreamSynchronize", stream)
        gpus.call("cuMemFree", address)
        gpus.call("cuStreamDestroy", stream)
        return
    assert gpus.fails("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    assert not host.any()
    gpus.enter(0)
    gpus.call("cuMemFree", address)


def test_work_beyond_the_end_of_memory(gpus: Gpus) -> None:
    """Virtual memory continues in the next mapping; other memory ends."""
    gpus.enter(0)
    stream = gpus.call("cuStreamCreate", 1)
    base = gpus.call("cuMemAddressReserve", 3 * PAGE, PAGE, 0, 0)
    for number in (0, 1):
        gpus.map(number, base + number * PAGE)
    gpus.call("cuMemSetAccess", base, 2 * PAGE, [gpus.access(0)], 1)
    gpus.call("cuMemsetD8Async", base, 0, 2 * PAGE, stream)
    gpus.call("cuStreamSynchronize", stream)
    gpus.call("cuMemsetD8Async", base, 0, 2 * PAGE + 1, stream)
    assert gpus.fails("cuStreamSynchronize", stream) == ILLEGAL_ADDRESS
    # Virtual memory does not belong to the lost context.
    for number in (0, 1):
        gpus.call("cuMemUnmap", base + number * PAGE, PAGE)
    gpus.call("cuMemAddressFree", base, 3 * PAGE)


def test_mapped_memory_is_closed_until_access_is_set(gpus: Gpus) -> None:
    base = gpus.call("cuMemAddressReserve", PAGE, PAGE, 0, 0)
    gpus.map(0, base)
    first, second = gpus.cuda.devices
    assert not gpus.cuda.may_access(first, base, 1)
    gpus.call("cuMemSetAccess", base, PAGE, [gpus.access(1)], 1)
    assert gpus.cuda.may_access(second, base, PAGE)
    assert not gpus.cuda.may_access(first, base, 1)
    gpus.call("cuMemUnmap", base, PAGE)
    assert not gpus.cuda.may_access(second, base, 1)
    gpus.call("cuMemAddressFree", base, PAGE)


def test_invalid_calls_of_virtual_memory_fail(gpus: Gpus) -> None:
    assert gpus.fails("cuMemAddressReserve", PAGE + 1, PAGE, 0, 0) == INVALID_VALUE
    assert gpus.fails("cuMemCreate", PAGE + 1, gpus.properties(0), 0) == INVALID_VALUE
    assert gpus.fails("cuMemCreate", PAGE, gpus.properties(2), 0) == INVALID_DEVICE
    base = gpus.call("cuMemAddressReserve", 2 * PAGE, PAGE, 0, 0)
    handle = gpus.call("cuMemCreate", PAGE, gpus.properties(1), 0)
    access = [gpus.access(0)]
    assert gpus.fails("cuMemMap", base + 2 * PAGE, PAGE, 0, handle, 0) == INVALID_VALUE
    assert gpus.fails("cuMemMap", base, 2 * PAGE, 0, handle, 0) == INVALID_VALUE
    gpus.call("cuMemMap", base, PAGE, 0, handle, 0)
    assert gpus.fails("cuMemMap", base, PAGE, 0, handle, 0) == INVALID_VALUE
    assert gpus.fails("cuMemSetAccess", base, 2 * PAGE, access, 1) == INVALID_VALUE
    gpus.cuda.unlinked = {(0, 1)}
    assert gpus.fails("cuMemSetAccess", base, PAGE, access, 1) == INVALID_DEVICE
    assert gpus.fails("cuMemAddressFree", base, 2 * PAGE) == INVALID_VALUE
    assert gpus.fails("cuMemUnmap", base, PAGE // 2) == INVALID_VALUE
    gpus.call("cuMemRelease", handle)
    assert gpus.fails("cuMemRelease", handle) == INVALID_VALUE
    gpus.call("cuMemUnmap", base, PAGE)
    gpus.call("cuMemAddressFree", base, 2 * PAGE)


def test_a_thread_without_a_context(gpus: Gpus) -> None:
    assert gpus.fails("cuMemAlloc", 1) == INVALID_CONTEXT
    # Virtual memory needs no context.
    base = gpus.call("cuMemAddressReserve", PAGE, PAGE, 0, 0)
    gpus.call("cuMemAddressFree", base, PAGE)

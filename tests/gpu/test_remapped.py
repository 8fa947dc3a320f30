"""Memory that is mapped once more at other addresses, as ark does with memory of an engine."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from ark_mlir.errors import DeviceError
from ark_mlir.runtime.cuda.api import CudaApi
from ark_mlir.runtime.cuda.memory import CudaMemory, download
from ark_mlir.runtime.cuda.peers import ExportedPart, MappedParts, RemappedParts, page_size

pytestmark = pytest.mark.gpu


@pytest.fixture
def api() -> Iterator[CudaApi]:
    opened = CudaApi()
    opened.open()
    yield opened
    opened.close()


@pytest.fixture
def stream(api: CudaApi) -> Iterator[int]:
    made = int(api.call("cuStreamCreate", api.driver.CUstream_flags.CU_STREAM_NON_BLOCKING))
    yield made
    api.call("cuStreamDestroy", made)


def test_both_mappings_have_the_same_bytes(api: CudaApi, stream: int) -> None:
    """The second mapping has the first pages of two allocations, and outlives the first one."""
    page = page_size(api)
    parts = [ExportedPart(api, 2 * page) for _ in range(2)]
    first = [MappedParts(api, part, [None], 2 * page) for part in parts]
    again = RemappedParts(api, [each.address for each in first], page)
    for number, each in enumerate(first):
        data = np.full(page // 8, number + 7, np.uint64)
        api.call("cuMemcpyHtoDAsync", each.address, data.ctypes.data, page, stream)
        api.call("cuStreamSynchronize", stream)
    for each, part in zip(first, parts, strict=True):
        each.free()
        part.release()
    read = download(api, stream, again.address, np.dtype(np.uint64), (2, page // 8))
    again.free()
    assert (read == [[7], [8]]).all()


def test_memory_that_cannot_be_mapped_again(api: CudaApi, stream: int) -> None:
    memory = CudaMemory(api, stream, page_size(api))
    with pytest.raises(DeviceError, match="cuMemRetainAllocationHandle failed"):
        RemappedParts(api, [memory.address], page_size(api))
    memory.free()

"""Memory that two processes share by legacy IPC of CUDA or HIP, on one GPU."""

from __future__ import annotations

import os
import subprocess
import sys

import numpy as np
import pytest

from ark_mlir.backends import backend_info
from ark_mlir.distributed.gpu_memory import FILES, LEGACY, find_sharing
from ark_mlir.runtime.gpu.legacy_ipc import LentBlock
from ark_mlir.runtime.gpu.memory import DeviceMemory, download

pytestmark = pytest.mark.gpu

SIZE = 6 << 20
# Maps the memory, adds one to each of its words, and prints the address and the sum before.
OTHER = """
import sys
import numpy as np
from ark_mlir.backends import backend_info
from ark_mlir.runtime.gpu.legacy_ipc import BorrowedBlock
from ark_mlir.runtime.gpu.memory import download

api = backend_info(sys.argv[4]).make_gpu_api()
api.open()
block = BorrowedBlock(api, bytes.fromhex(sys.argv[1]), int(sys.argv[2]))
count = int(sys.argv[3]) // 4
stream = api.call(api.names.create_stream, 1)
seen = download(api, stream, block.address, np.dtype(np.int32), (count,))
more = seen + 1
api.call(api.names.to_device, block.address, more.ctypes.data, more.nbytes, stream)
api.call(api.names.await_stream, stream)
block.close()
print(block.address % (2 << 20), int(seen.sum(dtype=np.int64)))
"""


def test_the_way_of_this_machine(backend: str) -> None:
    library = backend_info(backend).make_gpu_api().library
    assert find_sharing(backend) in (FILES, LEGACY.format(library))


def test_another_process_maps_the_memory(backend: str) -> None:
    api = backend_info(backend).make_gpu_api()
    api.open()
    stream = api.call(api.names.create_stream, 1)
    block = LentBlock(api, SIZE)
    words = np.arange(SIZE // 4, dtype=np.int32)
    api.call(api.names.to_device, block.address, words.ctypes.data, words.nbytes, stream)
    api.call(api.names.await_stream, stream)
    arguments = [block.handle().hex(), str(block.offset), str(SIZE), backend]
    output = subprocess.run(
        [sys.executable, "-c", OTHER, *arguments],
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=120,
    ).stdout
    assert [int(word) for word in output.split()] == [0, int(words.sum(dtype=np.int64))]
    after = download(api, stream, block.address, np.dtype(np.int32), words.shape)
    np.testing.assert_array_equal(after, words + 1)
    block.free()
    # The GPU has the memory again.
    DeviceMemory(api, stream, SIZE).free()
    api.call(api.names.destroy_stream, stream)
    api.close()

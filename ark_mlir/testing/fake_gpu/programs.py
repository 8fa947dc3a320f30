"""Programs that run on the stand-in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bundle import Bundle
from ...runtime import Executable
from ...runtime.arrays.dlpack import Exporter
from ...runtime.arrays.streams import CUDA
from ...runtime.cuda.api import CudaApi
from ...runtime.gpu.api import GpuApi
from ...runtime.gpu.driver import GpuDriver
from ...runtime.gpu.world import GpuWorldDriver
from ...runtime.hip.api import HipApi
from ...runtime.ranks.world import World
from ..toy import ToyProgram
from .cuda import FakeCuda
from .hip import FakeHip

if TYPE_CHECKING:
    from numpy.typing import NDArray


class OnDevice:
    """A copy of an array on a device of the stand-in, which DLPack can read.

    Attributes:
        array: the copy.
        streams: the argument `stream` of each call of ``__dlpack__``.
        device_type: DLPack's type of the device; tests may set it for all arrays.
    """

    device_type = CUDA

    def __init__(self, array: NDArray[Any], ordinal: int = 0) -> None:
        block = np.zeros(array.nbytes + 256, np.uint8)
        start = -block.ctypes.data % 256
        self.array: NDArray[Any] = np.ndarray(array.shape, array.dtype, block.data, start)
        self.array[...] = array
        self.streams: list[object] = []
        self._ordinal = ordinal

    def __dlpack__(self, *, stream: object = None, **arguments: Any) -> Any:
        self.streams.append(stream)
        return Exporter(self.array).__dlpack__(**arguments)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.device_type, self._ordinal


def fake_api(cuda: FakeCuda, ordinal: int = 0) -> GpuApi:
    """Returns the API of a vendor on a GPU of a stand-in."""
    return HipApi(cuda, ordinal) if isinstance(cuda, FakeHip) else CudaApi(cuda, ordinal)


def fake_executable(
    cuda: FakeCuda,
    kernel: bytes,
    program: ToyProgram,
    alignment: int = 16,
    target: Mapping[str, object] | None = None,
    **options: Any,
) -> Executable:
    """Returns a toy program that runs on a stand-in for a GPU.

    Args:
        cuda: the stand-in.
        kernel: the kernel of :func:`~ark_mlir.testing.toy.compile_kernel`.
        program: the program.
        alignment: the alignment of every buffer in bytes.
        target: fields of the target that differ from those of the stand-in.
        options: options of :meth:`~ark_mlir.testing.toy.ToyProgram.parts`.
    """
    manifest, sections = program.parts(kernel, **options)
    fields = {"backend": cuda.backend, "arch": cuda.arch, "warps": 16, "shared_memory": 1024}
    manifest["target"].update({**fields, **(target or {})})
    manifest["options"]["clears_queued"] = True
    for buffer in manifest["buffers"]:
        buffer["alignment"] = alignment
    drivers = {cuda.backend: lambda: GpuDriver(fake_api(cuda))}
    return Executable.from_parts(manifest, sections, drivers)


def fake_world(
    cuda: FakeCuda,
    kernel: bytes,
    program: ToyProgram,
    ranks: int,
    devices: Sequence[int] | None = None,
    **options: Any,
) -> World:
    """Returns a toy program of several ranks that runs on stand-ins for GPUs.

    Args:
        cuda: the stand-in.
        kernel: the kernel of :func:`~ark_mlir.testing.toy.compile_kernel`.
        program: the program, whose buffers and tasks have names that begin with the rank.
        ranks: the number of ranks.
        devices: the GPU of each rank; None takes the first ones.
        options: options of :meth:`~ark_mlir.testing.toy.ToyProgram.parts`.
    """
    manifest, sections = program.parts(kernel, ranks=ranks, **options)
    manifest["target"].update(backend=cuda.backend, arch=cuda.arch, warps=16, shared_memory=1024)
    manifest["options"]["clears_queued"] = True
    chosen = range(ranks) if devices is None else devices

    def make_driver() -> GpuWorldDriver:
        return GpuWorldDriver([fake_api(cuda, ordinal) for ordinal in chosen])

    return World(Bundle.from_parts(manifest, sections), {cuda.backend: make_driver})

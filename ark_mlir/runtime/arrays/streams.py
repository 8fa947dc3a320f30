"""The stream of a run, and the device of its arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, cast

from ...errors import InvalidUsageError, a_type

if TYPE_CHECKING:
    from ...bundle import Buffer

HOST_DEVICES = (1, 3, 11, 13)  # DLPack's types of pageable, pinned and managed host memory
CUDA = 2
ROCM = 10
DEVICE_NAMES = {2: "cuda", 4: "opencl", 7: "vulkan", 8: "metal", 10: "rocm", 14: "oneapi"}


def _nowhere(address: int) -> None:
    del address


class RunStream:
    """The device of a run and, on a GPU, its stream.

    Attributes:
        device: DLPack's type and number of the device.
        stream: handle of the stream of the run; None on the host.
        user: the name of the program in messages about the device.
        locate: a function that returns the ordinal of the GPU whose memory has an address, or None.
        on_host: True if the device is the host.
        producers: handles of the streams that write the inputs; the run starts after the work that
            was queued on them before.
        torch: the module torch if it is imported and may have tensors on the device, else None.
        torch_stream: the handle of torch's current stream, once it was looked up, else None.
    """

    __slots__ = (
        "device", "locate", "on_host", "producers", "stream", "torch", "torch_stream", "user",
    )  # fmt: skip

    def __init__(self, device: tuple[int, int] = (1, 0), stream: int | None = None) -> None:
        self.device = device
        self.stream = stream
        self.user = "the program"
        self.locate: Callable[[int], int | None] = _nowhere
        self.on_host = device[0] in HOST_DEVICES
        self.producers: set[int] = set()
        self.torch: Any = None if self.on_host else loaded_torch(device[0])
        self.torch_stream: int | None = None

    def follow_torch(self) -> int:
        """Adds torch's current stream to the producers, and returns its handle.

        The stream is looked up once.
        """
        if self.torch_stream is None:
            self.torch_stream = torch_stream(self.torch, self.device[1])
            self.producers.add(self.torch_stream)
        return self.torch_stream

    def of(self, buffer: Buffer) -> RunStream:
        """Returns the device and stream of the rank that has a buffer."""
        del buffer
        return self


class RankStreams(RunStream):
    """The devices and streams of a run on several GPUs.

    Attributes:
        ranks: the device and stream of each rank.
    """

    __slots__ = ("ranks",)

    def __init__(self, ranks: Sequence[RunStream]) -> None:
        super().__init__(ranks[0].device, ranks[0].stream)
        self.ranks = tuple(ranks)
        for rank, each in enumerate(self.ranks):
            each.user = f"rank {rank}"

    def of(self, buffer: Buffer) -> RunStream:
        """See :meth:`RunStream.of`."""
        return self.ranks[buffer.rank]


class StreamsByRank(tuple[int | None, ...]):
    """A caller's streams for a world: a handle for each rank, or None."""

    __slots__ = ()


def loaded_torch(device_type: int) -> Any:
    """Returns the module torch if it is imported and built for GPUs of a type, else None.

    Without such a module, no array can be a tensor of torch on such a GPU.

    Args:
        device_type: DLPack's type of the GPUs. torch built for ROCm calls AMD GPUs ``cuda``, too.
    """
    torch = cast("Any", sys.modules.get("torch"))
    if torch is None:
        return None
    return torch if device_type == (CUDA if torch.version.hip is None else ROCM) else None


def device_name(device: tuple[int, int]) -> str:
    """Returns the name of a device in messages.

    Example:
        >>> device_name((2, 1)), device_name((1, 0)), device_name((99, 0))
        ('cuda:1', 'host memory', 'device type 99')
    """
    kind, number = device
    if kind in HOST_DEVICES:
        return "host memory"
    return f"{DEVICE_NAMES[kind]}:{number}" if kind in DEVICE_NAMES else f"device type {kind}"


def torch_of(value: object) -> Any:
    """Returns the module torch if `value` is a tensor of torch on a GPU, else None."""
    torch = cast("Any", sys.modules.get("torch"))
    if torch is None or not isinstance(value, torch.Tensor) or not cast("Any", value).is_cuda:
        return None
    return torch


def torch_stream(torch: Any, ordinal: int) -> int:
    """Returns the handle of torch's current stream on a GPU; torch has initialised CUDA or ROCm."""
    # The public function makes an object of each stream, which every run would pay for.
    handle = getattr(torch._C, "_cuda_getCurrentRawStream", None)  # noqa: SLF001
    if handle is not None:
        return int(handle(ordinal))
    return int(torch.cuda.current_stream(ordinal).cuda_stream)


def current_stream(ordinal: int) -> int:
    """Returns the handle of torch's current stream, or of the default stream.

    torch has a current stream after it has initialised CUDA or ROCm.
    """
    torch = cast("Any", sys.modules.get("torch"))
    if torch is None or not torch.cuda.is_initialized():
        return 0
    return torch_stream(torch, ordinal)


def current_stream_of(values: Iterable[object]) -> int | None:
    """Returns the handle of torch's current stream on the GPU of the first tensor in `values`.

    The stream is that of this thread. Returns None if no value is a tensor on a GPU.
    """
    for value in values:
        if (torch := torch_of(value)) is not None:
            return torch_stream(torch, cast("Any", value).get_device())
    return None


def stream_handle(stream: object) -> int:
    """Returns the handle of a stream.

    Args:
        stream: a handle, or a stream of torch, cupy or cuda.core, or another object with
            ``__cuda_stream__``.

    Raises InvalidUsageError for other objects.
    """
    if isinstance(stream, int) and not isinstance(stream, bool):
        return stream
    given: Any = stream
    if hasattr(given, "__cuda_stream__"):
        # A method by the protocol, a property in early versions of cuda.core.
        protocol: Any = given.__cuda_stream__
        record: Any = protocol() if callable(protocol) else protocol
        return int(record[1])
    for attribute in ("cuda_stream", "ptr"):
        if isinstance(handle := getattr(given, attribute, None), int):
            return handle
    raise InvalidUsageError(
        f"stream is {a_type(stream)}; pass a handle, or a stream of torch, cupy or cuda.core"
    )


def choose_run_stream(
    stream: object, values: Iterable[object], device: tuple[int, int], default: int
) -> RunStream:
    """Returns the stream and the GPU of a run.

    The stream is the stream of the caller; or else torch's current stream, if a value is a torch
    tensor on this GPU; or else the stream of the driver. If the caller passes a stream for each
    rank of a world on this GPU, the run uses the first one, and waits for the work of the others.
    """
    if isinstance(stream, StreamsByRank):
        handles = [handle for handle in stream if handle is not None]
        if handles:
            run_stream = RunStream(device, handles[0])
            run_stream.producers.update(handles)
            return run_stream
    elif stream is not None:
        return RunStream(device, stream_handle(stream))
    run_stream = RunStream(device, default)
    if (torch := run_stream.torch) is not None:
        for value in values:
            if isinstance(value, torch.Tensor):
                tensor: Any = value
                if tensor.is_cuda and tensor.get_device() == device[1]:
                    run_stream.stream = run_stream.follow_torch()
                    break
    return run_stream

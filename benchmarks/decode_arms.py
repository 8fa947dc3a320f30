"""The arms of benchmarks/decode.py: ways to make tokens, each of which can be checked and timed."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import numpy as np
from protocol.timing import caller_seconds, device_seconds

import ark_mlir as ark

# Number of steps with which the time of the caller is measured. The caller waits for each step.
WAITING = 32


class Arm(Protocol):
    """A way to generate tokens, with caches of its own."""

    def logits(self, token: Any, position: int) -> Any:
        """Returns the logits of one step, fp32 ``[batch, vocabulary]``."""
        ...

    def run(self, token: Any, position: int, tokens: int) -> tuple[float, float]:
        """Generates tokens; returns the seconds per token on the device, and for the caller."""
        ...


class TorchArm:
    """A step of torch_decoder.TorchDecoder: eager, compiled, or captured as a graph."""

    def __init__(self, model: Any, step: Callable[[], Any]) -> None:
        self._model = model
        self._step = step

    def logits(self, token: Any, position: int) -> Any:
        import torch

        with torch.no_grad():
            self._model.put(torch.from_numpy(token), position)
            return self._step().float().cpu().numpy()

    def run(self, token: Any, position: int, tokens: int) -> tuple[float, float]:
        import torch

        device = "cuda" if self._model.position.is_cuda else "cpu"
        waiting = min(tokens, WAITING)

        def steps() -> None:
            for _ in range(tokens):
                self._step()

        with torch.no_grad():
            self._model.put(torch.from_numpy(token), position)
            seconds = device_seconds(steps, device) / tokens
            self._model.put(torch.from_numpy(token), position)
            host = sum(caller_seconds(self._step, device) for _ in range(waiting)) / waiting
        return seconds, host


class ArkArm:
    """An executable, which generates all tokens in one launch, or one token per launch."""

    def __init__(self, executable: ark.Executable, clock: DeviceClock, single: bool) -> None:
        self._executable = executable
        self._clock = clock
        self._single = single
        self._ends = np.full(8, -1, np.int32)

    def _put(self, token: Any, position: int) -> None:
        array = np.array(position, np.int32)
        self._executable.bind({"token": token.astype(np.int32)[:, None], "position": array})

    def logits(self, token: Any, position: int) -> Any:
        self._put(token, position)
        return np.asarray(self._executable.run(ends=self._ends)["logits"], np.float32)

    def run(self, token: Any, position: int, tokens: int) -> tuple[float, float]:
        self._put(token, position)
        launches, each = (tokens, 1) if self._single else (1, tokens)
        device = 0.0
        start = time.perf_counter()
        for _ in range(launches):
            self._executable.run(ends=self._ends, iterations=each)
            device += self._clock.seconds()
        host = (time.perf_counter() - start) / tokens
        return device / tokens or host, host

    def restore(self) -> None:
        """Restores the caches, which steps overwrite in part."""
        self._executable.reset()

    def made(self, token: Any, position: int, tokens: int) -> Any:
        """Returns the tokens that a run generates."""
        self.run(token, position, tokens)
        return self._executable.states["tokens"][:, position : position + tokens]


class Functions(NamedTuple):
    """The functions of a driver that launch a kernel, wait for an event, and compare two events."""

    launch: str
    wait: str
    elapsed: str


FUNCTIONS = {
    "cuda": Functions("cuLaunchKernelEx", "cuEventSynchronize", "cuEventElapsedTime"),
    "hip": Functions("hipModuleLaunchKernel", "hipEventSynchronize", "hipEventElapsedTime"),
}


class DeviceClock:
    """Measures the last kernel of an executable for a GPU, with events around its launch."""

    def __init__(self, executable: ark.Executable) -> None:
        driver: Any = executable.prepare()._runner.driver
        self._call: Any = None
        backend = executable.bundle.manifest.target.backend
        if backend not in FUNCTIONS:
            return
        functions = self._functions = FUNCTIONS[backend]
        call, names = driver._api.call, driver._api.names
        self._call = call
        self._begin, self._end = (call(names.create_event, 0) for _ in range(2))

        def timed(name: str, *arguments: object) -> Any:
            if name != functions.launch:
                return call(name, *arguments)
            call(names.record_event, self._begin, driver._streams.kernels)
            result = call(name, *arguments)
            call(names.record_event, self._end, driver._streams.kernels)
            return result

        driver._api.call = timed

    def seconds(self) -> float:
        """Returns the seconds of the last kernel, zero without a GPU."""
        if self._call is None:
            return 0.0
        self._call(self._functions.wait, self._end)
        return float(self._call(self._functions.elapsed, self._begin, self._end)) / 1e3


def as_array(tensor: Any) -> Any:
    """Returns a tensor as an array in host memory."""
    import torch

    # NumPy lacks these types, which have the bits of those of ml_dtypes.
    bits = {torch.bfloat16: torch.uint16, torch.float8_e4m3fn: torch.uint8}
    host = tensor.cpu()
    if host.dtype not in bits:
        return host.numpy()
    return host.view(bits[host.dtype]).numpy().view(ark.dtypes.as_dtype(host.dtype).numpy)


def load_ark(path: Path, weights: Any, caches: Any) -> ark.Executable:
    """Loads the bundle and binds the arrays of the other arms, those of a GPU in place."""
    tensors = {**weights, **caches}
    if not all(tensor.is_cuda for tensor in tensors.values()):
        tensors = {name: as_array(tensor) for name, tensor in tensors.items()}
    return ark.load(path).bind(tensors)

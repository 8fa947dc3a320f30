"""The check of a run's arguments: inputs, arrays for outputs, iterations and the trace."""

from __future__ import annotations

import operator
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, SupportsIndex, cast

from .arrays.device import DeviceArray, Results
from .arrays.receiving import name_problems, receive_arrays, refuse

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..bundle import Buffer, Bundle
    from .arrays.binding import Array
    from .arrays.streams import RunStream
    from .drivers.interface import Driver
    from .memory.storage import Storage

_MAX_ITERATIONS = (1 << 32) - 1


class ArgumentCheck:
    """Checks the arguments of runs of one program, and finds all problems of a run at once.

    Args:
        bundle: the program.
        storage: the parameters of the program, which must be bound.
        driver: the driver of the device. Arrays for outputs must be on this device.
    """

    def __init__(self, bundle: Bundle, storage: Storage, driver: Driver) -> None:
        self._manifest = bundle.manifest
        self._storage = storage
        self._driver = driver
        self._input_names = {buffer.name: None for buffer in self._manifest.inputs}.keys()
        self._output_names = {buffer.name: None for buffer in self._manifest.outputs}.keys()

    def receive(
        self,
        values: Mapping[str, object],
        iterations: int,
        trace: object,
        run_stream: RunStream,
        out: Mapping[str, object],
        captured: bool,
    ) -> tuple[dict[str, Array], dict[str, Array]]:
        """Returns the arrays of the inputs and of `out`, by name.

        Args:
            values, iterations, trace, out: arguments of :meth:`Executable.run`.
            run_stream: the device and stream of the run.
            captured: True if the run becomes part of a CUDA graph.

        Raises one InvalidUsageError with all problems.
        """
        problems: list[str] = []
        names = self._input_names
        if values.keys() != names:
            problems += name_problems(values, names, names, "input")
        if not self._storage.complete:
            problems += self._storage.unbound_problems()
        if not _is_count(iterations):
            problems.append(
                f"iterations is {iterations!r}; it must be a positive integer below 2^32"
            )
        if trace is not None and not self._manifest.traced:
            problems.append(
                "a trace needs a program that was compiled with trace=True (ark compile --trace)"
            )
        if trace is not None and captured:
            problems.append("a run that becomes part of a graph cannot be traced")
        arrays = receive_arrays(values, self._manifest.inputs, problems, run_stream)
        written: dict[str, Array] = {}
        if out:
            written = self._receive_out(out, problems, run_stream)
        if problems:
            refuse(problems, f"run {self._manifest.program!r}")
        return arrays, written

    def _receive_out(
        self, out: Mapping[str, object], problems: list[str], run_stream: RunStream
    ) -> dict[str, Array]:
        outputs = self._manifest.outputs
        if not out.keys() <= self._output_names:
            problems += name_problems(out, self._output_names, (), "output")
        written = receive_arrays(out, outputs, problems, run_stream)
        problems += [
            f"output {name!r} cannot be written in place; pass an array on the device that the "
            "program runs on, contiguous, aligned and not read-only"
            for name, array in written.items()
            if not isinstance(array, DeviceArray) and not self._is_writable(array, outputs, name)
        ]
        return written

    def _is_writable(self, array: NDArray[Any], outputs: tuple[Buffer, ...], name: str) -> bool:
        alignment = next(buffer.alignment for buffer in outputs if buffer.name == name)
        dense = array.flags.c_contiguous and array.flags.writeable
        return dense and self._driver.adopt(array, alignment) is not None

    def refuse_host(self, arrays: Mapping[str, Array], results: Results) -> None:
        """Raises InvalidUsageError if a captured run has an array on the host.

        A replay of a graph cannot read or write arrays on the host.
        """
        kinds = {buffer.name: buffer.kind for buffer in self._manifest.inputs}
        problems = [
            f"input {name!r} lies in host memory"
            for name, array in arrays.items()
            if not isinstance(array, DeviceArray) and kinds[name] != "scalar"
        ]
        problems += [
            f"output {buffer.name!r} has no array on the device: pass one in out="
            for buffer in self._manifest.outputs
            if buffer.name not in results.out and not results.capturable(buffer)
        ]
        refuse(problems, f"capture a run of {self._manifest.program!r}")


def _is_count(value: object) -> bool:
    if value.__class__ is int:
        return 1 <= cast("int", value) <= _MAX_ITERATIONS
    if isinstance(value, bool) or not isinstance(value, SupportsIndex):
        return False
    return 1 <= operator.index(value) <= _MAX_ITERATIONS

"""The transfer of a run's arrays to a GPU and back; arrays on the GPU are used in place."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..arrays.binding import Array
from ..arrays.device import DeviceArray, Results

if TYPE_CHECKING:
    from ...bundle import Buffer
    from ..arrays.exchange import Slots
    from ..arrays.streams import RunStream
    from .driver import GpuDriver
    from .memory import DeviceMemory


class Used(NamedTuple):
    """An address that a run uses, and the owner that keeps it alive."""

    address: int
    owner: object


class _Output:
    """An output and, if it goes to the host, its memory on the device and the host."""

    def __init__(self, buffer: Buffer, driver: GpuDriver) -> None:
        self.buffer = buffer
        self.staged = driver.record.output(buffer)
        self.memory: DeviceMemory | None = None
        self.value: Any = None
        if self.staged is not None:
            offset = driver.record.layout.outputs[buffer.slot]
            self.used = Used(driver.record.device.address + offset, None)


class _Input:
    """An input and, if it comes from the host, its memory on the device and the host."""

    def __init__(self, buffer: Buffer, driver: GpuDriver) -> None:
        self.buffer = buffer
        self.staged = driver.record.input(buffer)
        self.memory: DeviceMemory | None = None
        if self.staged is not None:
            offset = driver.record.layout.inputs[buffer.slot]
            self.used = Used(driver.record.device.address + offset, None)


class GpuExchange:
    """See :class:`ark_mlir.runtime.arrays.exchange.Exchange`; its memory is allocated once.

    Args:
        driver: the driver, with a loaded program.
        eager: allocates the memory now, since nothing may be allocated while a kernel is resident.
    """

    def __init__(self, driver: GpuDriver, eager: bool) -> None:
        self._driver = driver
        # Arrays are copied while a resident kernel runs.
        self._coherent = eager
        manifest = driver.bundle.manifest
        self._inputs = [_Input(buffer, driver) for buffer in manifest.inputs]
        self._outputs = [_Output(buffer, driver) for buffer in manifest.outputs]
        if eager:
            for item in (*self._inputs, *self._outputs):
                if item.staged is None:
                    self._memory_of(item)

    def _memory_of(self, item: _Input | _Output) -> DeviceMemory:
        """Returns memory for an array that is too large for the launch record, allocated on first
        use."""
        if item.memory is None:
            buffer = item.buffer
            item.memory = self._driver.allocate(
                buffer.bytes, buffer.alignment, zeroed=False, coherent=self._coherent
            )
        return item.memory

    def bring(self, arrays: Mapping[str, Array], results: Results, where: RunStream) -> Slots:
        """See :meth:`Exchange.bring`."""
        slots: dict[int, Any] = {}
        for item in self._inputs:
            slots[item.buffer.slot] = self._bring(item, arrays[item.buffer.name], where)
        on_host = False
        for item in self._outputs:
            used = slots[item.buffer.slot] = self._make(item, results, where)
            on_host = on_host or used.owner is None
        self._driver.reads_outputs = on_host
        return slots

    def _bring(self, item: _Input, array: Array, where: RunStream) -> Used:
        if isinstance(array, DeviceArray):
            return Used(array.address, array.owner)
        if item.staged is not None:
            item.staged[...] = array
            return item.used
        memory, source = self._memory_of(item), np.ascontiguousarray(array)
        self._driver.send(memory, source, where)
        return Used(memory.address, (memory, source))

    def _make(self, item: _Output, results: Results, where: RunStream) -> Used:
        """Returns the memory that an output is written to; it has no owner if it is part of the
        launch record."""
        name, buffer = item.buffer.name, item.buffer
        if name in results.out:
            array = results.out[name]
            item.value = results.given[name]
            assert isinstance(array, DeviceArray)
            return Used(array.address, array.owner)
        if results.on_device(buffer):
            item.value, made = results.make(buffer, where, lambda: self._allocate(buffer))
            return Used(made.address, made.owner)
        item.value = None
        if item.staged is not None:
            return item.used
        memory = self._memory_of(item)
        return Used(memory.address, memory)

    def _allocate(self, buffer: Buffer) -> DeviceMemory:
        """Allocates an output for the caller, without zeroing: the kernel writes all of it."""
        return self._driver.allocate(buffer.bytes, buffer.alignment, zeroed=False, lasting=True)

    def fetch(self) -> dict[str, Any]:
        """See :meth:`Exchange.fetch`."""
        return {item.buffer.name: self._fetch(item) for item in self._outputs}

    def _fetch(self, item: _Output) -> Any:
        if item.value is not None:
            value, item.value = item.value, None
            return value
        if item.staged is not None:
            return np.array(item.staged)
        assert item.memory is not None
        return item.memory.read(item.buffer.dtype.numpy, item.buffer.shape)

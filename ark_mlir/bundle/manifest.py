"""The manifest: frozen records of its contents, and their encoding as JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from .footprints import Footprint
from .format import ALIGNMENT, VERSION
from .unit import Unit

if TYPE_CHECKING:
    from ..dtypes import DType

KINDS = ("input", "parameter", "state", "scalar", "output", "constant")
# The kinds of buffers that callers bind by name. They share one namespace. Outputs have another
# namespace, and so have constants.
BOUND_KINDS = ("input", "parameter", "state", "scalar")
_RANK = re.compile(r"rank(\d{1,5})/")


@dataclass(frozen=True)
class Target:
    """The machine that the kernel was compiled for.

    Attributes:
        backend: ``cpu``, ``cuda`` or ``hip``.
        arch: ``x86_64``, ``sm_90a``, ``gfx942`` …
        features: instruction-set features that the kernel uses, by LLVM's names.
        sms: number of SMs of the schedule.
        warps: number of warps of one SM.
        shared_memory: bytes of shared memory that the kernel uses on each SM.

    Example:
        >>> target = ark.bundle.read_bundle("mlp.arkbin").manifest.target
        >>> target.backend, target.sms
        ('cpu', 2)
    """

    backend: str
    arch: str
    features: tuple[str, ...]
    sms: int
    warps: int
    shared_memory: int


@dataclass(frozen=True)
class Buffer:
    """One buffer, dense and row-major.

    Attributes:
        name: the name in the program, unique among buffers that a caller binds.
        kind: ``input``, ``parameter``, ``state``, ``scalar``, ``output`` or ``constant``.
        dtype: element type.
        shape: extents.
        bytes: the size, which shape and dtype imply.
        slot: index in the kernel's table of buffers; slot 0 is the arena.
        maximum: largest value of a scalar (inclusive), or None.
        init: initial value of every element of a state.
        offset: byte offset of a constant in the section `constants`.
        alignment: the alignment that the kernel requires, in bytes.
        stop: True for a state that ends the launch if it is not zero after an iteration.

    Example:
        >>> x, w, y = ark.bundle.read_bundle("mlp.arkbin").manifest.buffers
        >>> w.name, w.kind, w.dtype, w.shape, w.bytes
        ('w', 'parameter', ark.fp32, (256, 64), 65536)
    """

    name: str
    kind: str
    dtype: DType
    shape: tuple[int, ...]
    bytes: int
    slot: int
    maximum: int | None = None
    init: int | float = 0
    offset: int = 0
    alignment: int = ALIGNMENT
    stop: bool = False

    @property
    def rank(self) -> int:
        """The rank in the buffer's name, such as 1 for ``rank1/x``; 0 for a name without a rank."""
        found = _RANK.match(self.name)
        return int(found[1]) if found else 0


@dataclass(frozen=True)
class Task:
    """The grid of vCTAs of one group of ops.

    Attributes:
        name: the name of the group.
        body: index into `Manifest.bodies`.
        vctas: number of vCTAs, which is the product of `grid`.
        grid: extents over which the vCTAs are numbered, in row-major order.
        ops: the names of the ops of the group.
        location: ``file:line`` of the op in the source, or empty.
        bytes: bytes that all vCTAs read and write.
        flops: floating-point operations of all vCTAs.
        footprint: index into the footprints of the task's body.
        values: an index into `Manifest.values` for every operand.
        unit: the stage and microbatch of a pipeline; None without one.

    Example:
        >>> (task,) = ark.bundle.read_bundle("mlp.arkbin").manifest.tasks
        >>> task.name, task.ops
        ('matmul', ('matmul', 'gelu'))
    """

    name: str
    body: int
    vctas: int
    grid: tuple[int, ...]
    ops: tuple[str, ...]
    location: str
    bytes: int
    flops: int
    footprint: int = 0
    values: tuple[int, ...] = ()
    unit: Unit | None = None


@dataclass(frozen=True)
class Body:
    """The code that tasks of equal structure share.

    Attributes:
        name: the name of the function in the kernel.
        footprints: descriptions of the memory that tasks access through their operands.
        stamps: True if the words that the body writes carry the number of the iteration.

    Example:
        >>> (body,) = ark.bundle.read_bundle("mlp.arkbin").manifest.bodies
        >>> [[operand.access for operand in footprint] for footprint in body.footprints]
        [['read', 'read', 'write']]
    """

    name: str
    footprints: tuple[Footprint, ...]
    stamps: bool = False


@dataclass(frozen=True)
class Value:
    """One value of the program, a buffer or an intermediate: a range of bytes in a slot.

    Attributes:
        slot: index in the kernel's table of buffers.
        offset: the first byte in the slot.
        bytes: the size.

    Example:
        >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
        >>> bundle.manifest.values[0]
        Value(slot=1, offset=0, bytes=1024)
    """

    slot: int
    offset: int
    bytes: int


@dataclass(frozen=True)
class Semaphore:
    """A semaphore.

    Attributes:
        name: the name in the schedule.
        arrivals: the number of signals in one iteration.
        handoff: the kind of hand-off: ``counter``, ``barrier`` or ``packet``.

    Example:
        >>> ark.bundle.read_bundle("mlp.arkbin").manifest.semaphores[-1]
        Semaphore(name='end', arrivals=2, handoff='barrier')
    """

    name: str
    arrivals: int
    handoff: str


@dataclass(frozen=True)
class Origin:
    """The model folder that a program was built from.

    Attributes:
        kind: the model type.
        entries: a SHA-256 in hex of each entry of the configuration that may change the results.
        tensors: a SHA-256 in hex of the names and shapes of the folder's tensors.

    Example:
        >>> ark.bundle.read_bundle("mlp.arkbin").manifest.origin is None  # not of a model folder
        True
    """

    kind: str
    entries: Mapping[str, str]
    tensors: str


@dataclass(frozen=True)
class Section:
    """The position of a section in the file, and its hash.

    Attributes:
        name: the name, such as ``kernel``.
        offset: the first byte in the file.
        size: bytes.
        sha256: the SHA-256 of the bytes, in hex.

    Example:
        >>> bundle = ark.bundle.read_bundle("mlp.arkbin")
        >>> kernel = bundle.manifest.sections[0]
        >>> kernel.name, kernel.size == bundle.sections["kernel"].nbytes
        ('kernel', True)
    """

    name: str
    offset: int
    size: int
    sha256: str


@dataclass(frozen=True)
class Manifest:
    """All contents of a bundle except its sections.

    Attributes:
        producer: the version of ark that compiled the program.
        program: the name of the program.
        target: the machine that the kernel was compiled for.
        entry: the name of the function in the kernel.
        arena: bytes of the arena.
        buffers: the buffers, in the order of their slots.
        tasks: the tasks, in the order of the table `tasks`.
        bodies: the code of the tasks.
        semaphores: the semaphores, in the order of their indices.
        ranks: the number of ranks, which share the SMs equally, in order. If there are several
            ranks, the names of buffers and tasks begin with the rank: ``rank0/x``.
        packets: bytes of the buffer of task packets. The slot of this buffer follows the slot of
            the last buffer, and the runtime zeroes the buffer together with the semaphores.
        domains: the NVLink domain of each rank, for which the program has copies by network
            adapters; empty if all ranks are in one domain.
        network: the library that copies between domains: ``nccl`` or ``mscclpp``.
        intermediates: the values in the arena and in the task packets.
        statistics: figures of the schedule, such as ``predicted_ns``.
        options: options of the compilation that the runtime needs, such as ``trace``.
        origin: the model folder of the program; None for any other program.
        sections: the sections of the file; None in a program that was just compiled, since only a
            file has offsets.

    Example:
        >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
        >>> manifest.program, [buffer.name for buffer in manifest.outputs]
        ('mlp', ['y'])
    """

    producer: str
    program: str
    target: Target
    entry: str
    arena: int
    buffers: tuple[Buffer, ...]
    tasks: tuple[Task, ...]
    bodies: tuple[Body, ...]
    semaphores: tuple[Semaphore, ...]
    ranks: int = 1
    packets: int = 0
    domains: tuple[int, ...] = ()
    network: str = "nccl"
    intermediates: tuple[Value, ...] = ()
    statistics: Mapping[str, int | float] = field(default_factory=dict[str, "int | float"])
    options: Mapping[str, Any] = field(default_factory=dict[str, Any])
    origin: Origin | None = None
    sections: tuple[Section, ...] | None = None

    def of_kind(self, kind: str) -> tuple[Buffer, ...]:
        """Returns the buffers of one kind, in the order of their slots.

        Args:
            kind: ``input``, ``parameter``, ``state``, ``scalar``, ``output`` or ``constant``.

        Example:
            >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
            >>> [buffer.name for buffer in manifest.of_kind("parameter")]
            ['w']
        """
        return tuple(buffer for buffer in self.buffers if buffer.kind == kind)

    @cached_property
    def inputs(self) -> tuple[Buffer, ...]:
        """The buffers that a caller passes to each run: inputs, then scalars."""
        return self.of_kind("input") + self.of_kind("scalar")

    @cached_property
    def parameters(self) -> tuple[Buffer, ...]:
        """The buffers that a caller binds once."""
        return self.of_kind("parameter")

    @cached_property
    def states(self) -> tuple[Buffer, ...]:
        """The buffers that live on the device between runs."""
        return self.of_kind("state")

    @cached_property
    def outputs(self) -> tuple[Buffer, ...]:
        """The buffers that a run returns."""
        return self.of_kind("output")

    @cached_property
    def values(self) -> tuple[Value, ...]:
        """All values: those of buffers in the order of their slots, then the intermediates."""
        buffers = (Value(buffer.slot, 0, buffer.bytes) for buffer in self.buffers)
        return (*buffers, *self.intermediates)

    @cached_property
    def slot_bytes(self) -> tuple[int, ...]:
        """Bytes of every slot: the arena, the buffers, then the task packets if there are any."""
        packets = (self.packets,) if self.packets else ()
        return (self.arena, *(buffer.bytes for buffer in self.buffers), *packets)

    def footprint(self, task: Task) -> Footprint:
        """Returns the footprint of a task: its operands, with the regions that vCTAs access.

        Args:
            task: a task of this manifest.

        Example:
            >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
            >>> x, w, y = manifest.footprint(manifest.tasks[0])
            >>> w.access, w.shape
            ('read', (256, 64))
        """
        return self.bodies[task.body].footprints[task.footprint]

    @property
    def proven(self) -> bool:
        """True if the bundle claims that the compiler proved its schedule.

        A file without a signature proves nothing: its author can set the claim. `ark check` and
        ``ark.load(path, verify=True)`` prove the tables themselves.
        """
        return self.options.get("verify") is True

    @property
    def traced(self) -> bool:
        """True if the kernel can record the start and end of each instruction."""
        return self.options.get("trace") is True

    @property
    def shares_device(self) -> bool:
        """Returns True if each rank was compiled for a share of one GPU."""
        return self.options.get("shares_device") is True

    @property
    def clears_queued(self) -> bool:
        """True if the kernel clears the word `queued` of the report when it begins."""
        return self.options.get("clears_queued") is True

    @property
    def far_signals(self) -> bool:
        """True if the kernel reads both halves of the index of a counter on another GPU."""
        return self.options.get("far_signals") is True

    def encode(self, sections: Iterable[Section]) -> bytes:
        """Returns the JSON text, in UTF-8; equal manifests give equal bytes.

        Args:
            sections: the sections of the file, instead of those of this manifest.

        Example:
            >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
            >>> manifest.encode(manifest.sections)[:10]
            b'{"format":'
        """
        text = json.dumps(
            self.as_json(sections), separators=(",", ":"), ensure_ascii=False, allow_nan=False
        )
        return text.encode("utf-8")

    def as_json(self, sections: Iterable[Section] | None = None) -> dict[str, Any]:
        """Returns the JSON object of a bundle's manifest, with its keys in a fixed order.

        Args:
            sections: the sections of the file; None leaves out the key ``sections``.

        Example:
            >>> manifest = ark.bundle.read_bundle("mlp.arkbin").manifest
            >>> manifest.as_json()["program"]
            'mlp'
        """
        result: dict[str, Any] = {
            "format": VERSION,
            "producer": self.producer,
            "program": self.program,
            "target": _members(self.target),
            "entry": self.entry,
            "arena": self.arena,
            "buffers": [_buffer_json(buffer) for buffer in self.buffers],
            "tasks": [_task_json(task) for task in self.tasks],
            "bodies": [_body_json(body) for body in self.bodies],
            "intermediates": [list(vars(value).values()) for value in self.intermediates],
            "semaphores": [_members(semaphore) for semaphore in self.semaphores],
            **({"ranks": self.ranks} if self.ranks > 1 else {}),
            **({"packets": self.packets} if self.packets else {}),
            **({"domains": list(self.domains)} if self.domains else {}),
            **({"network": self.network} if self.network != "nccl" else {}),
            "statistics": _sorted(self.statistics),
            "options": _sorted(self.options),
        }
        if self.origin is not None:
            result["origin"] = {
                "kind": self.origin.kind,
                "entries": _sorted(self.origin.entries),
                "tensors": self.origin.tensors,
            }
        if sections is not None:
            result["sections"] = {
                section.name: {
                    "offset": section.offset,
                    "size": section.size,
                    "sha256": section.sha256,
                }
                for section in sections
            }
        return result


def _task_json(task: Task) -> dict[str, Any]:
    result = _members(task)
    del result["unit"]
    return result if task.unit is None else {**result, "unit": task.unit.as_json()}


def _members(record: Target | Task | Semaphore) -> dict[str, Any]:
    # The keys of a file are the fields of the record.
    return {
        name: list(cast("tuple[Any, ...]", value)) if isinstance(value, tuple) else value
        for name, value in vars(record).items()
    }


def _body_json(body: Body) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": body.name,
        "footprints": [
            [operand.as_json() for operand in footprint] for footprint in body.footprints
        ],
    }
    if body.stamps:
        result["stamps"] = True
    return result


def _buffer_json(buffer: Buffer) -> dict[str, Any]:
    result: dict[str, Any] = {
        "name": buffer.name,
        "kind": buffer.kind,
        "dtype": buffer.dtype.name,
        "shape": list(buffer.shape),
        "bytes": buffer.bytes,
    }
    if buffer.kind == "scalar" and buffer.maximum is not None:
        result["max"] = buffer.maximum
    if buffer.kind == "state":
        result["init"] = buffer.init
        if buffer.stop:
            result["stop"] = True
    if buffer.kind == "constant":
        result["offset"] = buffer.offset
    if buffer.alignment != ALIGNMENT:
        result["alignment"] = buffer.alignment
    return result


def _sorted(value: Any) -> Any:
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        return {key: _sorted(mapping[key]) for key in sorted(mapping)}
    if isinstance(value, list):
        return [_sorted(item) for item in cast("list[Any]", value)]
    return value

"""The report of a compiled program, for people and for programs."""

from __future__ import annotations

import html
from collections import Counter
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from ...bundle import Opcode
from ...units import counted, duration, listed, size

if TYPE_CHECKING:
    from ...bundle import Bundle


@dataclass(frozen=True)
class Report:
    """Figures of one program; ``str()`` returns them as a table.

    Attributes:
        program: the name of the program.
        target: backend and architecture, as ``cpu (x86_64)``.
        proven: True if the compiler proved the schedule.
        sms, lanes: number of SMs and lanes of the schedule.
        tasks, bodies: number of tasks, and of the bodies that they share.
        vctas, instructions: number of vCTAs, and of instructions of the schedule.
        waits, signals, barriers, prefetches, semaphores: number of each in the schedule.
        arena_bytes: size of the arena; `largest_live_set` is its lower bound, in bytes.
        memory_limit: the option `memory` of the compilation, in bytes for each rank; None if no
            limit was set.
        parameter_bytes, state_bytes, constant_bytes, input_bytes, output_bytes: total size of the
            buffers of each kind.
        kernel_bytes: size of the kernel's image.
        registers, spill_bytes, shared_bytes: for GPUs, registers per thread, bytes of spills per
            thread, and bytes of shared memory per CTA; None if they are not known.
        assembler: for cuda, the assembler of the PTX: ``ptxas``, ``nvjitlink``, or ``driver``,
            which assembles at load, so that registers and spills are not known; None for other
            backends.
        scalar_registers: for AMD GPUs, registers per warp; else None.
        flops, traffic_bytes: floating-point operations and bytes of memory traffic of one
            iteration, as the tasks declare them.
        predicted_ns: predicted time of one iteration in ns.
        bound_in_place, bound_copied: bytes of the bound parameters that are used in place, and of
            the copied ones.
        sharing: the way in which the processes of ranks share memory of their GPUs; None if the
            ranks are not processes or have no GPUs.
        signature: the signer of the bundle's file; None if the file is not signed or there is no
            file.
        task_ops: the sequences of ops in tasks, each with the number of tasks that have it, in the
            order of the first such task.

    Example:
        >>> report = exe.report()
        >>> report.program, report.proven
        ('mlp', True)
    """

    program: str
    target: str
    producer: str
    proven: bool
    sms: int
    lanes: int
    tasks: int
    bodies: int
    vctas: int
    instructions: int
    waits: int
    signals: int
    barriers: int
    prefetches: int
    semaphores: int
    arena_bytes: int
    largest_live_set: int
    parameter_bytes: int
    state_bytes: int
    constant_bytes: int
    input_bytes: int
    output_bytes: int
    kernel_bytes: int
    flops: int
    traffic_bytes: int
    predicted_ns: int
    memory_limit: int | None = None
    registers: int | None = None
    scalar_registers: int | None = None
    spill_bytes: int | None = None
    shared_bytes: int | None = None
    assembler: str | None = None
    bound_in_place: int = 0
    bound_copied: int = 0
    signature: str | None = None
    sharing: str | None = None
    task_ops: tuple[tuple[tuple[str, ...], int], ...] = ()

    def as_dict(self) -> dict[str, Any]:
        """Returns the figures by name, as values that JSON can hold.

        Example:
            >>> exe.report().as_dict()["tasks"]
            1
        """
        return asdict(self)

    def _rows(self) -> list[tuple[str, str]]:
        """Returns the table's rows: names and texts."""
        bodies = counted(self.bodies, "body", "bodies")
        signals = counted(self.signals, "signal")
        return [
            ("target", f"{self.target}, {counted(self.sms, 'SM')}, {counted(self.lanes, 'lane')}"),
            ("schedule", "proven" if self.proven else "not proven"),
            ("tasks", f"{self.tasks:,} of {bodies}"),
            ("vCTAs", f"{self.vctas:,}"),
            ("instructions", f"{self.instructions:,}"),
            ("waits", f"{self.waits:,} ({signals}, {counted(self.semaphores, 'semaphore')})"),
            ("barriers", f"{self.barriers:,}"),
            ("prefetches", f"{self.prefetches:,}"),
            ("arena", self.arena),
            ("parameters", f"{size(self.parameter_bytes)}{self._bound()}"),
            ("states", size(self.state_bytes)),
            ("constants", size(self.constant_bytes)),
            ("inputs, outputs", f"{size(self.input_bytes)}, {size(self.output_bytes)}"),
            ("kernel", f"{size(self.kernel_bytes)}{self._resources()}"),
            *self._assembled(),
            ("work", f"{self.flops / 1e9:.3g} GFLOP, {size(self.traffic_bytes)} moved"),
            ("predicted time", duration(self.predicted_ns)),
            *([] if self.sharing is None else [("memory of ranks", self.sharing)]),
            *([] if self.signature is None else [("signature", self.signature)]),
        ]

    def __str__(self) -> str:
        rows = self._rows()
        width = max(len(name) for name, _ in rows)
        lines = [f"{self.program} ({self.producer})"]
        lines += [f"  {name:<{width}}  {text}" for name, text in rows]
        if self.task_ops:
            lines.append("  ops of the tasks")
            lines += [f"  {times:>{width},} x {listed(ops)}" for ops, times in self.task_ops]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><th>{html.escape(name)}</th><td>{html.escape(text)}</td></tr>"
            for name, text in self._rows()
        )
        ops = "".join(
            f"<li>{times:,} × {html.escape(listed(ops))}</li>" for ops, times in self.task_ops
        )
        items = f"<p>ops of the tasks</p><ul>{ops}</ul>" if ops else ""
        title = html.escape(f"{self.program} ({self.producer})")
        return f"<p>{title}</p><table><tbody>{rows}</tbody></table>{items}"

    @property
    def arena(self) -> str:
        """Returns the size of the arena, its ratio to the largest live set, and the memory limit,
        as text.

        Example:
            >>> exe.report().arena
            '0 B'
        """
        if not self.largest_live_set:
            return size(self.arena_bytes)
        ratio = self.arena_bytes / self.largest_live_set
        limit = "" if self.memory_limit is None else f", limit {size(self.memory_limit)}"
        return f"{size(self.arena_bytes)} ({ratio:.2f} x the largest live set{limit})"

    def _resources(self) -> str:
        """Returns the kernel's registers, spills and shared memory in words, if they are known."""
        words = [
            text
            for value, text in (
                (self.registers, f"{self.registers} registers"),
                (self.scalar_registers, f"{self.scalar_registers} scalar registers"),
                (self.spill_bytes, f"{size(self.spill_bytes or 0)} spilled"),
                (self.shared_bytes, f"{size(self.shared_bytes or 0)} of shared memory"),
            )
            if value is not None
        ]
        return f" ({', '.join(words)})" if words else ""

    def _assembled(self) -> list[tuple[str, str]]:
        """Returns the row of the kernel's assembler, if it was not the default one."""
        if self.assembler is None or self.assembler == "ptxas":
            return []
        later = "at load, so that registers and spills are not known"
        return [("assembler", f"driver, {later}" if self.assembler == "driver" else self.assembler)]

    def _bound(self) -> str:
        if not self.bound_in_place + self.bound_copied:
            return ""
        return f" ({size(self.bound_in_place)} in place, {size(self.bound_copied)} copied)"


def make_report(bundle: Bundle, in_place: int = 0, copied: int = 0) -> Report:
    """Returns the report of a bundle; `in_place` and `copied` are bytes of bound parameters."""
    manifest, tables = bundle.manifest, bundle.tables
    counts = np.bincount(tables.instructions[:, 0], minlength=len(Opcode)).tolist()
    bytes_of = {
        kind: sum(buffer.bytes for buffer in manifest.of_kind(kind))
        for kind in ("parameter", "state", "constant", "input", "output")
    }
    target = manifest.target
    assembler = manifest.options.get("assembler")

    def resource(name: str) -> int | None:
        return int(manifest.statistics[name]) if name in manifest.statistics else None

    return Report(
        program=manifest.program,
        target=f"{target.backend} ({target.arch})",
        producer=manifest.producer,
        proven=manifest.proven,
        sms=target.sms,
        lanes=len(tables.lanes),
        tasks=len(manifest.tasks),
        bodies=len(manifest.bodies),
        vctas=sum(task.vctas for task in manifest.tasks),
        instructions=len(tables.instructions),
        waits=counts[Opcode.WAIT],
        signals=counts[Opcode.SIGNAL],
        barriers=counts[Opcode.BARRIER],
        prefetches=counts[Opcode.PREFETCH],
        semaphores=len(manifest.semaphores),
        arena_bytes=manifest.arena,
        largest_live_set=int(manifest.statistics.get("largest_live_set", 0)),
        parameter_bytes=bytes_of["parameter"],
        state_bytes=bytes_of["state"],
        constant_bytes=bytes_of["constant"],
        input_bytes=bytes_of["input"],
        output_bytes=bytes_of["output"],
        kernel_bytes=bundle.sections["kernel"].nbytes,
        flops=sum(task.flops for task in manifest.tasks),
        traffic_bytes=sum(task.bytes for task in manifest.tasks),
        predicted_ns=predicted_ns(bundle),
        memory_limit=resource("memory_limit"),
        registers=resource("registers"),
        scalar_registers=resource("scalar_registers"),
        spill_bytes=resource("spill_bytes"),
        assembler=assembler if isinstance(assembler, str) else None,
        shared_bytes=None if target.backend == "cpu" else target.shared_memory,
        bound_in_place=in_place,
        bound_copied=copied,
        signature=None if bundle.signature is None else str(bundle.signature),
        task_ops=tuple(Counter(task.ops for task in manifest.tasks if task.ops).items()),
    )


def predicted_ns(bundle: Bundle) -> int:
    """Returns the predicted time of one iteration in ns."""
    stated = bundle.manifest.statistics.get("predicted_ns", 0)
    return int(stated) or bundle.tables.predicted_ns

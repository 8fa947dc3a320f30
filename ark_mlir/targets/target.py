"""The machine to compile for, as the compiler sees it."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields, replace

from .. import ir
from ..errors import InvalidUsageError
from ..passmanager import PassManager

_FIELD = re.compile(r'(\w+) = ("[^"]*"|-?\w+)')


@dataclass(frozen=True)
class Target:
    """A machine; the fields are those of ``#ark.target`` (dialects/ark/ArkAttrs.td).

    Attributes:
        backend: ``cpu``, ``cuda`` or ``hip``.
        arch: ``sm_90a``, ``gfx942`` …; ``host`` for cpu.
        sms: streaming multiprocessors; worker threads on cpu.
        warps: warps of one persistent CTA.
        shared_memory: bytes that the vCTAs of one SM share.
        bandwidth: streaming read, GB/s.
        flops: dense matrix rate, GFLOP/s.
        handoff: one SM-to-SM signal, ns.
        barrier: one grid barrier, ns.
        overhead: fixed cost of starting a vCTA, ns.
        gpu: the text of an ``#ark.gpu`` if the architecture's facts differ from what ark knows of
            ``arch``; else empty.
    """

    backend: str
    arch: str
    sms: int
    warps: int
    shared_memory: int
    bandwidth: int
    flops: int
    handoff: int
    barrier: int
    overhead: int
    gpu: str = ""

    @property
    def mlir(self) -> str:
        """The attribute's text.

        Example:
            >>> look_up("cpu:2").mlir[:46]
            '#ark.target<backend = cpu, arch = "host", sms '
        """
        parts = (
            f'{field.name} = "{self.arch}"'
            if field.name == "arch"
            else f"{field.name} = {getattr(self, field.name)}"
            for field in fields(self)
            if field.name != "gpu" or self.gpu
        )
        return f"#ark.target<{', '.join(parts)}>"

    def share(self, count: int) -> Target:
        """An equal share of the machine for each of `count` ranks.

        Raises InvalidUsageError if the machine has fewer SMs than ranks.

        Example:
            >>> look_up("cuda:sm_90a").share(2).sms
            66
        """
        if self.sms < count:
            raise InvalidUsageError(f"{count} ranks cannot share the {self.sms} SMs of {self}")
        return replace(
            self,
            sms=self.sms // count,
            bandwidth=max(self.bandwidth // count, 1),
            flops=max(self.flops // count, 1),
        )

    @classmethod
    def parse(cls, text: str) -> Target:
        """The target that an attribute's text spells; raises InvalidUsageError on any other."""
        device, _, gpu = text.partition(", gpu = ")
        found = {name: value.strip('"') for name, value in _FIELD.findall(device)}
        try:
            return cls(
                **{
                    field.name: found[field.name]
                    if field.name in ("backend", "arch")
                    else int(found[field.name])
                    for field in fields(cls)
                    if field.name != "gpu"
                },  # pyright: ignore[reportArgumentType] - which of them are text is checked above
                gpu=gpu.strip().removesuffix(">"),
            )
        except (KeyError, ValueError):
            raise InvalidUsageError(f"{text!r} is not an #ark.target") from None

    def __str__(self) -> str:
        return f"cpu:{self.sms}" if self.backend == "cpu" else f"{self.backend}:{self.arch}"


@functools.cache
def look_up(name: str) -> Target:
    """The machine that a name with an architecture, or the text of an attribute, stands for.

    Raises InvalidUsageError where the name is not known.

    Example:
        >>> look_up("cuda:sm_90a").sms
        132
    """
    # The compiler's own table answers: an empty module is given the target.
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.create()
        try:
            option = "{target={" + name + "}}"
            manager = PassManager.parse(f"builtin.module(ark-assign-target{option})")
            manager.run(module.operation)  # pyright: ignore[reportUnknownMemberType]
        except (ir.MLIRError, ValueError) as error:
            raise InvalidUsageError(_reason(name, error)) from None
        return Target.parse(str(module.operation.attributes["ark.target"]))


def _reason(name: str, error: ir.MLIRError | ValueError) -> str:
    if isinstance(error, ir.MLIRError) and error.error_diagnostics:
        return error.error_diagnostics[0].message
    return f"target {name!r} cannot be parsed"

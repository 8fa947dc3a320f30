"""``Target``: the machine to compile for."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass, fields, replace

from .. import ir
from ..errors import InvalidUsageError
from ..passmanager import PassManager

_FIELD = re.compile(r'(\w+) = ("[^"]*"|-?\w+)')
_CUDA = re.compile(r"cuda:sm_(\d+)[af]?")
# Targets whose PTX runs on all later GPUs, and targets whose code runs on one architecture only.
_PORTABLE = (80, 86, 89)
_EXACT = (90, 100)


@dataclass(frozen=True)
class Target:
    """A machine; the fields are those of ``#ark.target`` (dialects/ark/ArkAttrs.td).

    Attributes:
        backend: ``cpu``, ``cuda`` or ``hip``.
        arch: the architecture, such as ``sm_90a`` or ``gfx942``; ``host`` for cpu.
        sms: number of streaming multiprocessors; of worker threads on cpu.
        warps: number of warps of the persistent CTA of an SM.
        shared_memory: bytes of shared memory of an SM.
        bandwidth: bandwidth of streaming reads, in GB/s.
        flops: rate of dense matrix products, in GFLOP/s.
        handoff: time of a signal from one SM to another, in ns.
        barrier: time of a grid barrier, in ns.
        overhead: fixed cost of starting a vCTA, in ns.
        gpu: the text of an ``#ark.gpu`` whose facts differ from the known facts of `arch`; empty
            for the known facts.

    Example:
        >>> look_up("cuda:sm_90a").arch
        'sm_90a'
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
        """Returns the text of the attribute.

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
        """Returns an equal share of the machine for each of `count` ranks.

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
        """Returns the target that the text of an ``#ark.target`` describes.

        Raises InvalidUsageError if `text` is not an ``#ark.target``.
        """
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
    """Returns the target with a name, such as ``cuda:sm_90a``, or of the text of an attribute.

    Raises InvalidUsageError if the name is unknown.

    Example:
        >>> look_up("cuda:sm_90a").sms
        132
    """
    # Only the C++ compiler knows the targets: a pass assigns the target to an empty module.
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
    if not isinstance(error, ir.MLIRError) or not error.error_diagnostics:
        return f"target {name!r} cannot be parsed"
    found = _CUDA.fullmatch(name)
    hint = f"; {_advice(int(found[1]))}" if found else ""
    return error.error_diagnostics[0].message + hint


def _advice(number: int) -> str:
    """Returns how programs run on an NVIDIA GPU, such as 120, whose target ark does not know."""
    if number in _EXACT:
        return f"use cuda:sm_{number}a"
    older = [each for each in _PORTABLE if each <= number]
    if not older:
        return "ark needs a GPU of compute capability 8.0 or newer"
    if older[-1] == number:
        return f"use cuda:sm_{number}"
    return (
        f"the nearest older one is cuda:sm_{older[-1]}, whose PTX (ARK_ASSEMBLER=driver) also runs "
        f"on sm_{number}"
    )

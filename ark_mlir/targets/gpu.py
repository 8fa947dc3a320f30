"""Backends whose kernels are not made yet."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from .. import ir
from ..errors import UnsupportedError
from .backend import Code
from .target import Target


@dataclass(frozen=True)
class Gpu:
    """A backend whose programs can be scheduled and proven, but not yet made into a kernel."""

    name: str
    find: Callable[[], Target]

    @property
    def last_stage(self) -> str:
        """The schedule and its proof."""
        return "synchronization"

    def detect(self) -> Target:
        """The GPU present."""
        return self.find()

    def target_options(self, cpu: str) -> dict[str, str]:
        """None: the processor of the host does not matter."""
        del cpu
        return {}

    def fingerprint(self, cpu: str) -> str:
        """The backend's name: there is nothing to depend on yet."""
        del cpu
        return self.name

    def emit(self, module: ir.Operation, cpu: str, opt_level: int, line_info: bool) -> Code:
        """Raises UnsupportedError."""
        del module, cpu, opt_level, line_info
        raise UnsupportedError(
            f"this version makes kernels for cpu and cuda; for {self.name} it schedules and "
            "proves a program (ark check, ark-opt --ark-compile-to=synchronization)"
        )

"""The unit of a pipeline to which a task belongs, as an entry of the manifest."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..json_checks import Node

_LARGEST = 2**31 - 1


@dataclass(frozen=True)
class Unit:
    """The part of a pipeline's work to which a task belongs.

    Attributes:
        stage: number of the stage of the pipeline.
        microbatch: number of the microbatch.
        backward: True for the backward pass of the microbatch.

    Example:
        >>> print(ark.bundle.Unit(stage=0, microbatch=3, backward=True))
        B3
    """

    stage: int
    microbatch: int
    backward: bool

    def __str__(self) -> str:
        return f"{'B' if self.backward else 'F'}{self.microbatch}"

    def as_json(self) -> list[int]:
        """Returns the entry of a manifest.

        Example:
            >>> ark.bundle.Unit(stage=0, microbatch=3, backward=True).as_json()
            [0, 3, 1]
        """
        return [self.stage, self.microbatch, int(self.backward)]


def parse_unit(node: Node) -> Unit:
    """Returns the unit in an entry of a manifest; raises an error at a malformed one."""
    parts = [item.integer(0, _LARGEST) for item in node.items()]
    if len(parts) != 3 or parts[2] > 1:
        raise node.error("expected stage, microbatch, and 1 for backward or 0 for forward")
    return Unit(parts[0], parts[1], bool(parts[2]))

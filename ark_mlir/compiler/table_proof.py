"""The proof of a bundle's tables.

The proof decodes the tables that the kernel reads, converts them back to a schedule and proves it:
docs/schedule.md, "The proof of a bundle".
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from .._mlir_libs import _ark
from ..errors import VerificationError

if TYPE_CHECKING:
    from ..bundle import Bundle

__all__ = ["TableProof", "prove"]

# The message of a verifier begins with the op's name.
_OP_PREFIX = re.compile(r"^'([\w.]+)' op ")


@dataclass(frozen=True)
class TableProof:
    """The figures of a successful proof of a bundle.

    Attributes:
        vctas: number of vCTAs of all tasks.
        cells: number of cells: sets of bytes that each vCTA accesses as a whole or not at all.
        accesses: number of accesses of vCTAs to cells.
        seconds: duration of the proof.
    """

    vctas: int
    cells: int
    accesses: int
    seconds: float


def prove(bundle: Bundle) -> TableProof:
    """Proves the schedule in the tables of a bundle.

    The schedule must have no race and no deadlock, must not read a byte of the arena before it is
    written, and must not access an operand out of bounds. The proof uses only the tables and the
    footprints in the manifest. The kernel is neither loaded nor run.

    Raises:
        VerificationError: the proof failed. The message names the bundle and the instruction, and
            for a race both vCTAs with their SMs and the bytes.

    Example:
        >>> prove(ark.bundle.read_bundle("mlp.arkbin")).vctas
        2
    """
    start = time.perf_counter()
    manifest, sections = bundle.manifest, bundle.sections
    names = ("instructions", "lanes", "tasks", "operands")
    problems, vctas, cells, accesses = _ark.prove_tables(
        bundle.where, manifest.encode(()), *(bytes(sections[name]) for name in names)
    )
    if problems:
        raise _error(problems)
    return TableProof(vctas, cells, accesses, time.perf_counter() - start)


def _error(problems: list[tuple[str, str, bool]]) -> VerificationError:
    (location, message, _), *others = problems
    match = _OP_PREFIX.match(message)
    return VerificationError(
        _OP_PREFIX.sub("", message),
        location=location or None,
        op=match.group(1) if match else None,
        notes=[f"{where}: {text}" if where else text for where, text, _ in others],
    )

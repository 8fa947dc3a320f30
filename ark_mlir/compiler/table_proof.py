"""The proof of a bundle's tables.

What a kernel walks is decoded from the bytes, turned into a schedule again and proven:
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

# MLIR starts the message of a verifier with the op it is about.
_OP_PREFIX = re.compile(r"^'([\w.]+)' op ")


@dataclass(frozen=True)
class TableProof:
    """The result of proving a bundle.

    Attributes:
        vctas: vCTAs of all tasks.
        cells: parts of buffers whose bytes all vCTAs treat alike.
        accesses: visits of vCTAs to these.
        seconds: how long it took.
    """

    vctas: int
    cells: int
    accesses: int
    seconds: float


def prove(bundle: Bundle) -> TableProof:
    """Proves the schedule that the tables of a bundle say: no race, no wait that never ends,
    no byte of the arena read before it was written, no operand out of its value.

    Goes by the tables and by what the manifest declares of bodies, not by the program that they
    were made of. It neither loads nor runs the kernel.

    Raises:
        VerificationError: the tables cannot be proven. It names the bundle, the instruction, and
            of a race both vCTAs with their SMs and the bytes.

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
        notes=[f"{place}: {text}" if place else text for place, text, _ in others],
    )

"""The programs that the calling thread runs: short ones of one lane with small buffers."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ...bundle import Bundle

__all__ = ["SHORT_NS", "SMALL_BYTES", "fits_the_caller"]

# The calling thread runs a lane only if its predicted time is below this limit, since Ctrl-C waits
# for the end of the lane. The prediction may be wrong by a factor, not by a thousand.
SHORT_NS = 100_000
# Bodies keep tiles on the stack, and tiles are parts of buffers, with up to four times the bytes if
# 8-bit elements are widened to fp32. The limit assumes a stack of 1 MiB, which threads of Python
# have with musl; with glibc they have 8 MiB. Four tiles of whole buffers fit on such a stack.
SMALL_BYTES = 1 << 16


def fits_the_caller(bundle: Bundle) -> bool:
    """Returns True if the calling thread may run one iteration of a bundle for cpu.

    The program has one lane, takes at most 100 µs by its prediction, and has buffers and an arena
    of at most 64 KiB together. A predicted time of zero is no prediction.

    Example:
        >>> fits_the_caller(ark.compile(count, target="cpu:1").bundle)
        True
    """
    manifest = bundle.manifest
    nbytes = manifest.arena + sum(buffer.bytes for buffer in manifest.buffers)
    return (
        len(bundle.tables.lanes) == 1
        and nbytes <= SMALL_BYTES
        and 0 < bundle.tables.predicted_ns <= SHORT_NS
    )

"""The time limit of a kernel's waits."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from ... import knobs
from ...backends import backend_info
from ..cpu import host
from .report import predicted_ns

if TYPE_CHECKING:
    from ...bundle import Bundle

# A wait lasts as long as the awaited work, and several times longer on a busy machine.
_LIMIT_FACTOR = 50
_FLOPS_PER_NS = 20
_BYTES_PER_NS = 5
_MAX_TIMEOUT_NS = 1 << 62


class WaitTimeout:
    """The time that one wait of a kernel of `bundle` may last."""

    def __init__(self, bundle: Bundle) -> None:
        self._bundle = bundle

    def nanoseconds(self) -> int:
        """Returns ``ARK_TIMEOUT`` in nanoseconds if it is set, else the default of the program.

        The default of a long program is a multiple of its expected time on the available cores, so
        that a busy machine causes no HangError.
        """
        seconds = knobs.TIMEOUT.override()
        return self._default_nanoseconds if seconds is None else _nanoseconds(seconds)

    @functools.cached_property
    def _default_nanoseconds(self) -> int:
        return _nanoseconds(self._default_seconds())

    def _default_seconds(self) -> float:
        backend = self._bundle.manifest.target.backend
        seconds = backend_info(backend).wait_seconds
        if seconds is None:
            seconds = knobs.TIMEOUT.default
        return max(seconds, _LIMIT_FACTOR * self._expected_ns() / 1e9)

    def _expected_ns(self) -> float:
        crowding = 1.0
        if not backend_info(self._bundle.manifest.target.backend).is_gpu:
            crowding = max(crowding, len(self._bundle.tables.lanes) / host.cores())
        if predicted := predicted_ns(self._bundle):
            return predicted * crowding
        # Without a prediction, the estimate assumes that slow tasks run one after the other.
        return sum(
            task.flops / _FLOPS_PER_NS + task.bytes / _BYTES_PER_NS
            for task in self._bundle.manifest.tasks
        )


def _nanoseconds(seconds: float) -> int:
    return int(min(seconds * 1e9, _MAX_TIMEOUT_NS))

"""The membership of this process in a world, which `ark.distributed.init` sets.

The runtime finds the member through this module, since it does not import `ark.distributed`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...bundle import Bundle
    from ..executable import Executable


class Membership(Protocol):
    """The interface of a rank; `ark.distributed.Member` is one."""

    rank: int
    world_size: int
    process: int

    def load(self, bundle: Bundle, devices: Sequence[int] | None = None) -> Executable:
        """Returns the executable of this rank for a bundle that every rank has read."""
        ...


_member: Membership | None = None


def current() -> Membership | None:
    """Returns the membership of this process: that of the last `init`, or None after `finalize`.

    A fork of a rank has no membership.
    """
    return None if _member is None or _member.process != os.getpid() else _member


def set_current(member: Membership | None) -> None:
    """Sets the result of `current`."""
    global _member
    _member = member

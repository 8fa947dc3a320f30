"""The membership of this process in a world, as `ark.distributed.init` makes it.

The runtime and the compiler ask here, so that neither depends on how processes meet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...bundle import Bundle
    from ..executable import Executable


class Membership(Protocol):
    """The interface of a rank; `ark.distributed.Member` is one."""

    rank: int
    world_size: int
    process: int

    def load(self, bundle: Bundle) -> Executable:
        """Returns the part that this rank has of a bundle which every rank has read."""
        ...


_member: Membership | None = None


def current() -> Membership | None:
    """Returns the membership of this process, or None outside of `init` and `finalize`.

    A fork of a rank is no rank itself.
    """
    return None if _member is None or _member.process != os.getpid() else _member


def set_current(member: Membership | None) -> None:
    """Sets the result of `current`."""
    global _member
    _member = member

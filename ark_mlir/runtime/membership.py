"""Whether this process is one rank of a world, as `ark.distributed.init` makes it.

The runtime and the compiler ask here, so that neither depends on how processes meet.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..distributed import Member

_member: Member | None = None


def current() -> Member | None:
    """This process's membership, or None outside of `init` and `finalize`.

    A fork of a rank is no rank itself.
    """
    return None if _member is None or _member.process != os.getpid() else _member


def set_current(member: Member | None) -> None:
    """What `current` gives from now on."""
    global _member
    _member = member

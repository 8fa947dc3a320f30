"""The membership of this process in a world, which `ark.distributed.init` sets.

The runtime finds the member through this module, since it does not import `ark.distributed`.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from ...bundle import Bundle
    from ..executable import Executable


class Answer(Protocol):
    """The control message of one rank in a collective call."""

    @property
    def body(self) -> object:
        """Returns a value that JSON can hold."""
        ...


class Call(Protocol):
    """The interface of a collective call; `ark.distributed` has one."""

    def all_gather(self, phase: str, body: object = None) -> Sequence[Answer]:
        """Sends a control message to all ranks; returns those of all ranks, in the order of ranks.

        Raises RankFailedError if another rank fails, ends, or does not join the phase in time.
        """
        ...


class Membership(Protocol):
    """The interface of a rank; `ark.distributed.Member` is one."""

    rank: int
    world_size: int
    process: int

    def load(self, bundle: Bundle, devices: Sequence[int] | None = None) -> Executable:
        """Returns the executable of this rank for a bundle that every rank has read."""
        ...

    def collective_call(self, name: str) -> AbstractContextManager[Call]:
        """Begins a collective call; an error in the block is sent to the other ranks."""
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

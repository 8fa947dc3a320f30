"""The memory of states, which several executables may share."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from typing import TYPE_CHECKING, TypeVar

from ...errors import InvalidUsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ...bundle import Buffer
    from ..drivers.interface import Driver, Memory

T = TypeVar("T")

_numbers = itertools.count()


class SharedStates:
    """The states of one executable, and of all executables that share them.

    The memory is freed when the last of these executables is closed or garbage-collected.

    Attributes:
        name: the program whose executable allocated the memory.
        memories: the memory of each state, by name.
        lock: held by the thread that uses the memory in `run`, `bind`, `reset` or `close`, of any
            executable that shares the states.
        holder: the identifier of the thread that holds the lock; zero if no thread does.
        closed: True if the executable that allocated the memory is closed.
        interrupted: True in a forked child if a thread of the parent held the lock at the fork.
        number: a thread that takes two of these locks takes them in the order of their numbers.
    """

    def __init__(self, name: str, memories: Mapping[str, Memory]) -> None:
        self.name = name
        self.memories: dict[str, Memory] = dict(memories)
        self.lock = threading.Lock()
        self.holder = 0
        self.closed = False
        self.interrupted = False
        self.number = next(_numbers)
        self._users: set[object] = set()

    @classmethod
    def allocate(
        cls, driver: Driver, name: str, buffers: Iterable[Buffer], alignment: int
    ) -> SharedStates:
        """Allocates zeroed memory for some states; raises DeviceError if there is not enough."""
        memories: dict[str, Memory] = {}
        try:
            for buffer in buffers:
                memories[buffer.name] = driver.allocate(
                    buffer.bytes, alignment, lasting=True, rank=buffer.rank
                )
        except BaseException:
            _free(memories)
            raise
        return cls(name, memories)

    def call_locked(self, program: str, work: Callable[[], T]) -> T:
        """Returns `work()`, called with the lock held for a program.

        Raises InvalidUsageError if this thread already has the lock. A signal handler, or a
        finalizer in the garbage collector, may call an executable within a call of the same
        executable, and would otherwise wait for itself.
        """
        thread = threading.get_ident()
        if self.holder == thread:
            self.refuse_holder(program)
        with self.lock:
            try:
                self.holder = thread
                return work()
            finally:
                self.holder = 0

    def refuse_holder(self, program: str) -> None:
        """Raises InvalidUsageError if this thread is the holder of the lock."""
        if self.lock.locked():
            raise InvalidUsageError(
                f"a signal handler or a finalizer uses the executable {program!r} within a call "
                "of this executable, or of one that shares its states"
            )

    def renew_lock(self) -> None:
        """Replaces the lock in a forked child if a thread of the parent held it."""
        if self.lock.locked() and self.holder != threading.get_ident():
            self.lock, self.holder, self.interrupted = threading.Lock(), 0, True

    def join(self, user: object) -> None:
        """Adds a user, and keeps the memory until the user leaves."""
        self._users.add(user)

    def leave(self, user: object) -> None:
        """Removes a user, and frees the memory if no user is left; may be called again."""
        self._users.discard(user)
        if not self._users:
            memories, self.memories = self.memories, {}
            _free(memories)


def _free(memories: Mapping[str, Memory]) -> None:
    """Frees all memories, even if freeing one of them raises an error."""
    with ExitStack() as stack:
        for memory in memories.values():
            stack.callback(memory.free)

"""The memory of states, which several executables may share."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Generator, Mapping
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

from ..errors import InvalidUsageError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from ..bundle import Buffer
    from .driver import Driver, Memory

_numbers = itertools.count()


class SharedStates:
    """The states of one executable, and of all executables that share them.

    The memory is given back when the last of these executables is closed or dropped.

    Attributes:
        name: the program that the memory was made for.
        memories: the memory of each state, by name.
        lock: held by the thread that uses the memory: a run, `bind`, `reset`, `close`. It is the
            lock of every executable that shares the states, so that their calls take turns.
        holder: the identifier of that thread; zero where no thread holds the lock.
        closed: whether the executable that the memory was made for is closed.
        number: two of these locks are taken in the order of their numbers.
    """

    def __init__(self, name: str, memories: Mapping[str, Memory]) -> None:
        self.name = name
        self.memories: dict[str, Memory] = dict(memories)
        self.lock = threading.Lock()
        self.holder = 0
        self.closed = False
        self.number = next(_numbers)
        self._users: set[object] = set()

    @classmethod
    def allocate(
        cls, driver: Driver, name: str, buffers: Iterable[Buffer], alignment: int
    ) -> SharedStates:
        """Zeroed memory for some states; raises DeviceError where there is not enough."""
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

    @contextmanager
    def turn(self, program: str) -> Generator[None]:
        """Holds the lock for a program; raises InvalidUsageError where this thread has it.

        That thread would wait for itself: a signal handler, or a finalizer that the garbage
        collector calls, uses the executable within a call of the same executable.
        """
        thread = threading.get_ident()
        if self.holder == thread:
            self.refuse_holder(program)
        with self.lock:
            try:
                self.holder = thread
                yield
            finally:
                self.holder = 0

    def refuse_holder(self, program: str) -> None:
        """Raises InvalidUsageError where `holder`, which is this thread, has the lock."""
        if self.lock.locked():
            raise InvalidUsageError(
                f"the executable {program!r} is used within a call of its own, or of one that "
                "shares its states: by a signal handler, or by a finalizer"
            )

    def join(self, user: object) -> None:
        """Keeps the memory until `user` leaves."""
        self._users.add(user)

    def leave(self, user: object) -> None:
        """Frees the memory if no other user is left; may be called again."""
        self._users.discard(user)
        if not self._users:
            memories, self.memories = self.memories, {}
            _free(memories)


def _free(memories: Mapping[str, Memory]) -> None:
    """Frees all memories, also if one of them fails."""
    with ExitStack() as stack:
        for memory in memories.values():
            stack.callback(memory.free)

"""Communicators: the collective calls of the processes of a world.

All ranks have a communicator for the world and one for each program. A run, for example, is a
collective call. A collective call has phases: in each phase, every rank sends a control message and
receives those of all others. All ranks number the collective calls of a communicator alike.
A rank that fails in a collective call sends the reason to the others. All ranks can then begin the
next collective call.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ..errors import RankFailedError
from .links import ControlMessage

if TYPE_CHECKING:
    from .links import Links

__all__ = ["CollectiveCall", "Communicator"]

ControlMessages = list[ControlMessage]


class Communicator:
    """The collective calls of all ranks for one purpose, such as a program.

    Args:
        links: the connections to the other ranks.
        number: the id of the communicator, which is the same on all ranks.
        timeout: the limit for a wait for other ranks, in seconds.
    """

    def __init__(self, links: Links, number: int, timeout: float) -> None:
        self.links = links
        self.number = number
        self.timeout = timeout
        self._calls = 0

    @contextmanager
    def collective_call(self, name: str) -> Generator[CollectiveCall]:
        """Begins the next collective call; an error in the block is sent to the other ranks.

        `name` stands for the call in errors, such as ``run 'mlp'``. Raises InvalidUsageError in a
        fork of the rank.
        """
        self.links.check_process()
        self._calls += 1
        call = CollectiveCall(self, self._calls, name)
        try:
            yield call
        except BaseException as error:
            failed = f"rank {self.links.rank} failed: {str(error) or type(error).__name__}"
            # If this rank failed because another rank failed, the message names that rank.
            self.links.fail(self.number, call.number, call.problem or failed)
            # Files that come with control messages of this call are closed at once.
            call.forget(call.number + 1)
            raise

    def all_others_left(self) -> bool:
        """Returns True if all other ranks have left the communicator."""
        links = self.links
        with links.monitor.lock:
            return all(
                links.mailbox(peer, self.number).left or peer in links.gone for peer in links.peers
            )

    def leave(self, reason: str) -> None:
        """Tells the other ranks that this rank makes no more collective calls."""
        self.links.leave(self.number, reason)


class CollectiveCall:
    """A collective call; one thread at a time may use it.

    Attributes:
        number: the index of the call, from one on.
        name: the name of the call in errors.
        timeout: the limit for a wait for other ranks, in seconds.
        problem: the failure of another rank that made this rank raise, or None.
    """

    def __init__(self, communicator: Communicator, number: int, name: str) -> None:
        self._communicator = communicator
        self._links = communicator.links
        self.number = number
        self.name = name
        self.timeout = communicator.timeout
        self.problem: str | None = None
        self.forget(number)

    def forget(self, number: int) -> None:
        """Drops the control messages of calls before the call `number`."""
        with self._links.monitor.lock:
            for peer in self._links.peers:
                self._links.mailbox(peer, self._communicator.number).forget(number)

    def all_gather(
        self,
        phase: str,
        body: object = None,
        *,
        file: int | None = None,
        timeout: float | None = -1,
        first: Callable[[ControlMessages], None] | None = None,
    ) -> ControlMessages:
        """Sends a control message to all ranks; returns those of all ranks, in the order of ranks.

        Args:
            phase: the name of the phase, which is the same on all ranks.
            body: the control message of this rank, a value that JSON can hold.
            file: a file descriptor that is sent with the control message.
            timeout: the limit of the wait in seconds; by default the timeout of the world. None
                sets no limit, except that a wait for a rank whose process is stopped has the
                timeout of the world.
            first: rank 0 calls this function with all control messages before another rank returns.

        Raises RankFailedError if another rank fails, ends, or does not join the phase in time.
        """
        host = self._links.rank == 0 and first is not None
        if not host:
            self._send(phase, body, file)
        received = self._await_messages(phase, self.timeout if timeout == -1 else timeout)
        messages = [*received, ControlMessage(self._links.rank, body, file)]
        messages.sort(key=lambda message: message.sender)
        if host and first is not None:
            first(messages)
            self._send(phase, body, file)
        return messages

    def find_failure(self) -> str | None:
        """Returns the reason why another rank cannot end this call; None if all others can."""
        with self._links.monitor.lock:
            return next(filter(None, map(self._failure_of, self._links.peers)), None)

    def messages_at(self, phase: str) -> ControlMessages:
        """Returns the control messages of the ranks that have reached a phase before this rank."""
        with self._links.monitor.lock:
            mailboxes = (
                self._links.mailbox(peer, self._communicator.number) for peer in self._links.peers
            )
            messages = [mailbox.messages.get((self.number, phase)) for mailbox in mailboxes]
        return [message for message in messages if message is not None]

    def _send(self, phase: str, body: object, file: int | None) -> None:
        self._links.send_to_all(
            self._communicator.number, self.number, phase, self.name, body, file
        )

    def _await_messages(self, phase: str, timeout: float | None) -> ControlMessages:
        limit = self.timeout if timeout is None else timeout
        begin = time.monotonic()
        received: ControlMessages = []
        missing: list[int] = []

        def have_all_arrived() -> bool:
            nonlocal received, missing
            received, missing = self._take_messages(phase)
            return not missing

        left = limit
        # Ctrl-C does not interrupt a wait without a limit on every system.
        while not self._links.monitor.wait_for(have_all_arrived, min(left, 1.0)):
            if timeout is None and not any(map(self._links.is_stopped, missing)):
                begin = time.monotonic()
            left = begin + limit - time.monotonic()
            if left <= 0:
                raise RankFailedError(
                    f"{self._cannot_continue} {self._names(missing)} did not join {self.name} "
                    f"within {limit:g} s",
                    notes=self._describe_missing(missing),
                )
        return received

    def _take_messages(self, phase: str) -> tuple[ControlMessages, list[int]]:
        """Removes and returns the control messages of a phase if all have arrived, and returns the
        missing ranks otherwise.

        Control messages stay in their mailboxes until all have arrived, so that their files are
        closed with the mailboxes if the call fails.
        """
        missing: list[int] = []
        for peer in self._links.peers:
            mailbox = self._links.mailbox(peer, self._communicator.number)
            if (self.number, phase) in mailbox.messages:
                continue
            problem = self._failure_of(peer)
            if not problem and mailbox.call > self.number:
                problem = f"{self._links.name(peer)} has continued with {mailbox.name}"
            if problem:
                self.problem = problem
                raise RankFailedError(f"{self._cannot_continue} {problem}")
            missing.append(peer)
        if missing:
            return [], missing
        mailboxes = (
            self._links.mailbox(peer, self._communicator.number) for peer in self._links.peers
        )
        return [mailbox.messages.pop((self.number, phase)) for mailbox in mailboxes], []

    def _failure_of(self, peer: int) -> str | None:
        mailbox = self._links.mailbox(peer, self._communicator.number)
        return mailbox.failed.get(self.number) or mailbox.left or self._links.gone.get(peer)

    @property
    def _cannot_continue(self) -> str:
        return f"rank {self._links.rank} cannot continue:"

    def _names(self, ranks: list[int]) -> str:
        return ", ".join(map(self._links.name, ranks))

    def _describe_missing(self, ranks: list[int]) -> list[str]:
        """Returns notes on the present state of the missing ranks."""
        stopped = [
            f"{self._links.name(rank)} is stopped, by a signal or a debugger"
            for rank in filter(self._links.is_stopped, ranks)
        ]
        with self._links.monitor.lock:
            return stopped + [
                f"{self._links.name(rank)} waits for others to {mailbox.name}"
                for rank in ranks
                for mailbox in self._links.mailboxes(rank)
                if mailbox.messages and mailbox.call
            ]

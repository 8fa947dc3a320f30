"""The connections and control messages between the processes of a world.

Every rank has a socket to every other rank, so that it notices at once when one of them ends. A
rank that receives a malformed control message, or whose receiver thread fails, leaves the world and
tells the others the reason.
"""

from __future__ import annotations

import contextlib
import errno
import math
import os
import selectors
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, cast

from ..errors import InvalidUsageError
from ..monitor import Monitor
from .frames import DamagedFrameError, Frame, receive_frame

__all__ = ["ControlMessage", "Links"]

_LONGEST_REASON = 4000
_FAILED = "failed"
_LEFT = "left"
# Stands for the id of a communicator in the control message of a rank that leaves the world.
_WORLD = -1
# Errors of a socket whose other end is closed.
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


@dataclass(frozen=True)
class ControlMessage:
    """The control message of one rank in one phase of a collective call."""

    sender: int
    body: Any
    file: int | None = None


@dataclass
class Mailbox:
    """The unread control messages of one peer in one communicator, and the progress of that peer.

    Attributes:
        call: the latest collective call that the peer took part in.
        name: the name of that call.
        messages: unread control messages, by call and phase.
        failed: the reasons why the peer left a call early, by call.
        left: the reason why the peer has left, and sends no more control messages; or None.
        first: the first call whose control messages are kept.
    """

    call: int = 0
    name: str = ""
    messages: dict[tuple[int, str], ControlMessage] = field(
        default_factory=dict[tuple[int, str], ControlMessage]
    )
    failed: dict[int, str] = field(default_factory=dict[int, str])
    left: str | None = None
    first: float = 0

    def keep(self, call: int, phase: str, message: ControlMessage) -> None:
        """Stores a control message until it is read; drops it if its call is over."""
        self._drop((call, phase))
        self.messages[call, phase] = message
        if call < self.first:
            self._drop((call, phase))

    def forget(self, call: float) -> None:
        """Drops control messages and failures of calls before `call`, also those still to come."""
        self.first = max(self.first, call)
        for key in [key for key in self.messages if key[0] < call]:
            self._drop(key)
        for old in [number for number in self.failed if number < call]:
            del self.failed[old]

    def _drop(self, key: tuple[int, str]) -> None:
        dropped = self.messages.pop(key, None)
        if dropped is not None and dropped.file is not None:
            os.close(dropped.file)


class Links:
    """The sockets of one rank to all others, and a thread that receives their control messages.

    Args:
        rank: the index of this rank.
        sockets: connected `SOCK_SEQPACKET` sockets, by rank.
        processes: the processes by rank, for error messages: process ids, or text for processes on
            other hosts.
        timeout: the limit for a rank to accept a control message, in seconds.

    Attributes:
        shares_host: True if the ranks can send each other file descriptors of shared memory.
    """

    shares_host = True

    def __init__(
        self,
        rank: int,
        sockets: Mapping[int, socket.socket],
        processes: Mapping[int, int | str],
        timeout: float,
    ) -> None:
        self.rank = rank
        self._process = os.getpid()
        self.peers = sorted(sockets)
        self.processes = dict(processes)
        # Guards `mailboxes` and `gone`, and is notified of every change.
        self.monitor = Monitor()
        self.gone: dict[int, str] = {}
        self._mailboxes: dict[tuple[int, int], Mailbox] = {}
        self._sockets = dict(sockets)
        self._sending = threading.Lock()
        self._wake, self._waker = socket.socketpair()
        for each in self._sockets.values():
            each.settimeout(timeout)
        self._thread = threading.Thread(target=self._receive, name="ark:ranks", daemon=True)
        self._thread.start()

    def check_process(self) -> None:
        """Raises InvalidUsageError in a fork of the rank, which has no receiver thread."""
        if os.getpid() != self._process:
            raise InvalidUsageError(
                f"this process is a fork of rank {self.rank} and cannot act as a rank; use ark in "
                "the rank itself, or spawn the other process instead of forking it"
            )

    def mailbox(self, peer: int, communicator: int) -> Mailbox:
        """Returns the mailbox of `peer` in a communicator; the lock must be held."""
        return self._mailboxes.setdefault((peer, communicator), Mailbox())

    def mailboxes(self, peer: int) -> list[Mailbox]:
        """Returns the mailboxes of `peer` in all communicators; the lock must be held."""
        return [mailbox for (sender, _), mailbox in self._mailboxes.items() if sender == peer]

    def name(self, peer: int) -> str:
        """Returns the name of a rank in messages, with its index and its process."""
        return f"rank {peer} (process {self.processes[peer]})"

    def is_stopped(self, peer: int) -> bool:
        """Returns True if a signal or a debugger has stopped the process of a rank."""
        try:
            with open(f"/proc/{self.processes[peer]}/stat", "rb") as file:
                # The state follows the name in parentheses, which may hold any byte.
                return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
        except (OSError, IndexError):
            return False  # the process has ended, which the receiver notices, or it is hidden

    # -- sending -----------------------------------------------------------------------------

    def send_to_all(
        self, communicator: int, call: int, phase: str, name: str, body: object, file: int | None
    ) -> None:
        """Sends the control message of this rank in a phase of a collective call to all others."""
        self._broadcast(
            {
                "communicator": communicator,
                "call": call,
                "phase": phase,
                "name": name,
                "body": body,
            },
            file,
        )

    def fail(self, communicator: int, call: int, reason: str) -> None:
        """Tells all others that this rank leaves a collective call early."""
        text = reason[:_LONGEST_REASON]
        self._broadcast(
            {"communicator": communicator, "call": call, "phase": _FAILED, "body": text}
        )

    def leave(self, communicator: int, reason: str) -> None:
        """Tells all others that this rank will send no more control messages in a communicator."""
        text = reason[:_LONGEST_REASON]
        self._broadcast({"communicator": communicator, "call": 0, "phase": _LEFT, "body": text})

    def close(self, reason: str) -> None:
        """Tells all others that this rank leaves the world; may be called again."""
        self.leave(_WORLD, reason)
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join()
        self._shut_down()
        for each in (*self._sockets.values(), self._wake, self._waker):
            each.close()
        with self.monitor.lock:
            for mailbox in self._mailboxes.values():
                mailbox.forget(math.inf)

    def _shut_down(self) -> None:
        """Ends the connections, even if a fork of this process still holds the sockets."""
        for each in self._sockets.values():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _broadcast(self, message: Mapping[str, object], file: int | None = None) -> None:
        with Frame(message, file) as frame, self._sending:
            for peer in self._sockets:
                try:
                    self._send(peer, frame)
                except TimeoutError:
                    self._give_up(peer, "accepts no control messages")
                except OSError as error:
                    # The receiver notices the end of a rank after the last control messages.
                    if error.errno not in _GONE:
                        self._give_up(peer, f"cannot be sent a control message: {error.strerror}")

    def _send(self, peer: int, frame: Frame) -> None:
        """Sends one control message; raises the OSError of the socket if it cannot be sent."""
        frame.send(self._sockets[peer])

    def _give_up(self, peer: int, reason: str) -> None:
        """Ends the connection to a rank that could not be sent a control message."""
        self._depart(peer, f"{self.name(peer)} {reason}")
        with contextlib.suppress(OSError):
            self._sockets[peer].shutdown(socket.SHUT_RDWR)

    # -- receiving ---------------------------------------------------------------------------

    def _receive(self) -> None:
        """Receives control messages in a thread.

        If the thread fails, the rank leaves the world, so that no other rank waits for it.
        """
        try:
            self._receive_until_closed()
        except DamagedFrameError as error:
            self._break_off(str(error))
        except BaseException as error:
            self._break_off(f"rank {self.rank} can receive no more control messages: {error!r}")

    def _break_off(self, reason: str) -> None:
        for peer in self.peers:
            self._depart(peer, reason)
        try:
            self.leave(_WORLD, f"has failed: {reason}")
        finally:
            self._shut_down()

    def _receive_until_closed(self) -> None:
        with selectors.DefaultSelector() as selector:
            selector.register(self._wake, selectors.EVENT_READ, None)
            for peer, each in self._sockets.items():
                selector.register(each, selectors.EVENT_READ, peer)
            while True:
                for key, _ in selector.select():
                    if key.data is None:
                        return
                    if not self._receive_from(key.data):
                        selector.unregister(key.fileobj)

    def _receive_from(self, peer: int) -> bool:
        """Receives one control message of a peer; returns False if no more can come."""
        try:
            received = receive_frame(self._sockets[peer])
        except DamagedFrameError as error:
            raise DamagedFrameError(
                f"{self.name(peer)} sent a malformed control message: {error}"
            ) from None
        except ConnectionResetError:
            return True  # the peer ended before it had read all, and may have sent some itself
        except OSError as error:
            self._depart(
                peer, f"no control message of {self.name(peer)} can be read: {error.strerror}"
            )
            return False
        if received is None:
            self._depart(peer, f"{self.name(peer)} has ended")
            return False
        if not _is_message(received.message, received.file):
            if received.file is not None:
                os.close(received.file)
            raise DamagedFrameError(
                f"{self.name(peer)} sent a malformed control message: fields are wrong"
            )
        self._deliver(peer, received.message, received.file)
        return True

    def _depart(self, peer: int, reason: str) -> None:
        with self.monitor.lock:
            self.gone.setdefault(peer, reason)
            self.monitor.notify_all()

    def _deliver(self, peer: int, message: dict[str, Any], file: int | None) -> None:
        communicator, call, phase = message["communicator"], message["call"], message["phase"]
        if communicator == _WORLD:
            self._depart(peer, f"{self.name(peer)} {message['body']}")
            return
        with self.monitor.lock:
            mailbox = self.mailbox(peer, communicator)
            if phase == _LEFT:
                mailbox.left = f"{self.name(peer)} {message['body']}"
            elif phase == _FAILED:
                mailbox.failed[call] = message["body"]
            else:
                mailbox.call, mailbox.name = call, message["name"]
                mailbox.keep(call, phase, ControlMessage(peer, message["body"], file))
            self.monitor.notify_all()


def _is_message(value: object, file: int | None) -> bool:
    """Returns True if a value has the fields of a control message that `Links` sends."""
    if not isinstance(value, dict):
        return False
    fields = cast("dict[object, object]", value)
    ends = fields.get("phase") in (_FAILED, _LEFT)
    names = ("phase", "body") if ends else ("phase", "name")
    return (
        "body" in fields
        and not (ends and file is not None)
        and all(type(fields.get(name)) is int for name in ("communicator", "call"))
        and all(isinstance(fields.get(name), str) for name in names)
    )

"""The messages that pass between the processes of a world.

Every rank has a socket to every other one, so that each sees at once which of them ends. A rank
that receives what is no message, or whose receiver fails, leaves the world and tells the others
why.
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
from .frames import DamagedFrameError, Frame, receive_frame

__all__ = ["Links", "Message"]

_LONGEST_REASON = 4000
_FAILED = "failed"
_LEFT = "left"
# In place of a circle: the rank leaves the world.
_WORLD = -1
# Errors of a socket whose other end is closed.
_GONE = (errno.EPIPE, errno.ECONNRESET, errno.ENOTCONN)


@dataclass(frozen=True)
class Message:
    """The message of one rank in one phase of a turn."""

    sender: int
    body: Any
    file: int | None = None


@dataclass
class Box:
    """The messages of one rank in one circle that this rank has not read, and where that rank is.

    Attributes:
        turn: the latest turn that it took part in.
        doing: what it called that turn.
        messages: by turn and phase.
        failed: why it left a turn early, by turn.
        left: why it will say nothing more.
    """

    turn: int = 0
    doing: str = ""
    messages: dict[tuple[int, str], Message] = field(default_factory=dict[tuple[int, str], Message])
    failed: dict[int, str] = field(default_factory=dict[int, str])
    left: str | None = None

    def keep(self, turn: int, phase: str, message: Message) -> None:
        """Stores a message until it is asked for."""
        self._drop((turn, phase))
        self.messages[turn, phase] = message

    def forget(self, turn: float) -> None:
        """Drops what belongs to turns before this one."""
        for key in [key for key in self.messages if key[0] < turn]:
            self._drop(key)
        for old in [number for number in self.failed if number < turn]:
            del self.failed[old]

    def _drop(self, key: tuple[int, str]) -> None:
        dropped = self.messages.pop(key, None)
        if dropped is not None and dropped.file is not None:
            os.close(dropped.file)


class Links:
    """The sockets of one rank to all others, and a thread that receives.

    Args:
        rank: this one.
        sockets: connected packet sockets, by rank.
        processes: process ids by rank, for messages.
        patience: how long a rank may take to accept a message, in seconds.
    """

    def __init__(
        self,
        rank: int,
        sockets: Mapping[int, socket.socket],
        processes: Mapping[int, int],
        patience: float,
    ) -> None:
        self.rank = rank
        self._process = os.getpid()
        self.peers = sorted(sockets)
        self.processes = dict(processes)
        # Held to look at boxes and departures; told of every change.
        self.changed = threading.Condition()
        self.gone: dict[int, str] = {}
        self._boxes: dict[tuple[int, int], Box] = {}
        self._sockets = dict(sockets)
        self._sending = threading.Lock()
        self._wake, self._waker = socket.socketpair()
        for each in self._sockets.values():
            each.settimeout(patience)
        self._thread = threading.Thread(target=self._receive, name="ark:ranks", daemon=True)
        self._thread.start()

    def check_process(self) -> None:
        """Raises InvalidUsageError in a fork, where nothing receives."""
        if os.getpid() != self._process:
            raise InvalidUsageError(
                f"this process is a fork of rank {self.rank}, and no rank itself; use ark in the "
                "rank, or start the other process by spawning it"
            )

    def box(self, peer: int, circle: int) -> Box:
        """Returns the box of `peer` in a circle; `changed` must be held."""
        return self._boxes.setdefault((peer, circle), Box())

    def boxes(self, peer: int) -> list[Box]:
        """Returns the boxes of `peer` in all circles; `changed` must be held."""
        return [box for (sender, _), box in self._boxes.items() if sender == peer]

    def name(self, peer: int) -> str:
        """A rank in words."""
        return f"rank {peer} (process {self.processes[peer]})"

    def is_stopped(self, peer: int) -> bool:
        """Returns True if a signal or a debugger has stopped the process of a rank."""
        try:
            with open(f"/proc/{self.processes[peer]}/stat", "rb") as file:
                # The state follows the name, which may hold any byte.
                return file.read().rpartition(b")")[2].split()[0] in (b"T", b"t")
        except (OSError, IndexError):
            return False  # it has ended, which the receiver finds out, or hides from this process

    # -- sending -----------------------------------------------------------------------------

    def say(
        self, circle: int, turn: int, phase: str, doing: str, body: object, file: int | None
    ) -> None:
        """Tells all others what this rank has to say in one phase of a turn."""
        self._broadcast(
            {"circle": circle, "turn": turn, "phase": phase, "doing": doing, "body": body}, file
        )

    def fail(self, circle: int, turn: int, reason: str) -> None:
        """Tells all others that this rank leaves a turn early."""
        text = reason[:_LONGEST_REASON]
        self._broadcast({"circle": circle, "turn": turn, "phase": _FAILED, "body": text})

    def leave(self, circle: int, reason: str) -> None:
        """Tells all others that this rank will say nothing more in a circle."""
        text = reason[:_LONGEST_REASON]
        self._broadcast({"circle": circle, "turn": 0, "phase": _LEFT, "body": text})

    def close(self, reason: str) -> None:
        """Tells all others that this rank goes, and why; may be called again."""
        self.leave(_WORLD, reason)
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join()
        self._shut_down()
        for each in (*self._sockets.values(), self._wake, self._waker):
            each.close()
        with self.changed:
            for box in self._boxes.values():
                box.forget(math.inf)

    def _shut_down(self) -> None:
        """Ends the connections, also where a fork of this process holds the sockets, too."""
        for each in self._sockets.values():
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def _broadcast(self, message: Mapping[str, object], file: int | None = None) -> None:
        with Frame(message, file) as frame, self._sending:
            for peer, each in self._sockets.items():
                try:
                    frame.send(each)
                except TimeoutError:
                    self._give_up(peer, "takes no messages")
                except OSError as error:
                    # The receiver finds out that a rank is gone, after what that one said last.
                    if error.errno not in _GONE:
                        self._give_up(peer, f"cannot be sent a message: {error.strerror}")

    def _give_up(self, peer: int, why: str) -> None:
        """Ends the connection to a rank that has not been sent a message."""
        self._depart(peer, f"{self.name(peer)} {why}")
        with contextlib.suppress(OSError):
            self._sockets[peer].shutdown(socket.SHUT_RDWR)

    # -- receiving ---------------------------------------------------------------------------

    def _receive(self) -> None:
        """Receives messages in a thread; however the thread ends, no rank waits for this one in
        vain."""
        try:
            self._receive_until_closed()
        except DamagedFrameError as error:
            self._break_off(str(error))
        except BaseException as error:
            self._break_off(f"rank {self.rank} can receive no more messages: {error!r}")

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
                    if not self._take(key.data):
                        selector.unregister(key.fileobj)

    def _take(self, peer: int) -> bool:
        """Receives one message; False where there will be no more."""
        try:
            received = receive_frame(self._sockets[peer])
        except DamagedFrameError as error:
            raise DamagedFrameError(f"{self.name(peer)} sent what is no message: {error}") from None
        except ConnectionResetError:
            return True  # it left something unread; what it said itself is still to be read
        except OSError as error:
            self._depart(peer, f"{self.name(peer)} cannot be heard: {error.strerror}")
            return False
        if received is None:
            self._depart(peer, f"{self.name(peer)} has ended")
            return False
        if not _is_message(received.message, received.file):
            if received.file is not None:
                os.close(received.file)
            raise DamagedFrameError(f"{self.name(peer)} sent what is no message: fields are wrong")
        self._deliver(peer, received.message, received.file)
        return True

    def _depart(self, peer: int, reason: str) -> None:
        with self.changed:
            self.gone.setdefault(peer, reason)
            self.changed.notify_all()

    def _deliver(self, peer: int, message: dict[str, Any], file: int | None) -> None:
        circle, turn, phase = message["circle"], message["turn"], message["phase"]
        if circle == _WORLD:
            self._depart(peer, f"{self.name(peer)} {message['body']}")
            return
        with self.changed:
            box = self.box(peer, circle)
            if phase == _LEFT:
                box.left = f"{self.name(peer)} {message['body']}"
            elif phase == _FAILED:
                box.failed[turn] = message["body"]
            else:
                box.turn, box.doing = turn, message["doing"]
                box.keep(turn, phase, Message(peer, message["body"], file))
            self.changed.notify_all()


def _is_message(value: object, file: int | None) -> bool:
    """Returns True if `Links` of a rank can have sent the value."""
    if not isinstance(value, dict):
        return False
    fields = cast("dict[object, object]", value)
    ends = fields.get("phase") in (_FAILED, _LEFT)
    words = ("phase", "body") if ends else ("phase", "doing")
    return (
        "body" in fields
        and not (ends and file is not None)
        and all(type(fields.get(name)) is int for name in ("circle", "turn"))
        and all(isinstance(fields.get(name), str) for name in words)
    )

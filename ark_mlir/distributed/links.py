"""What passes between the processes of a world: small messages, and files too large for one.

Every rank has a socket to every other one, so that each sees at once which of them ends. A message
is one packet; what is larger goes with it as an anonymous file, which no name leaves behind.
"""

from __future__ import annotations

import contextlib
import json
import os
import selectors
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ..errors import InvalidUsageError

__all__ = ["Links", "Message", "as_file", "contents"]

_PACKET = 1 << 16
_LONGEST_TEXT = 4000
_FAILED = "failed"
_LEFT = "left"


@dataclass(frozen=True)
class Message:
    """What one rank says in one phase of a turn."""

    sender: int
    body: Any
    file: int | None = None


@dataclass
class Box:
    """What one rank has said in one circle, and not been asked for.

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

    def forget(self, turn: int) -> None:
        """Drops what belongs to turns before this one."""
        for key in [key for key in self.messages if key[0] < turn]:
            file = self.messages.pop(key).file
            if file is not None:
                os.close(file)
        for old in [number for number in self.failed if number < turn]:
            del self.failed[old]


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
        """What `peer` said in a circle; `changed` must be held."""
        return self._boxes.setdefault((peer, circle), Box())

    def boxes(self, peer: int) -> list[Box]:
        """What `peer` said in all circles; `changed` must be held."""
        return [box for (sender, _), box in self._boxes.items() if sender == peer]

    def name(self, peer: int) -> str:
        """A rank in words."""
        return f"rank {peer} (process {self.processes[peer]})"

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
        text = reason[:_LONGEST_TEXT]
        self._broadcast({"circle": circle, "turn": turn, "phase": _FAILED, "body": text})

    def leave(self, circle: int, reason: str) -> None:
        """Tells all others that this rank will say nothing more in a circle."""
        self._broadcast({"circle": circle, "turn": 0, "phase": _LEFT, "body": reason})

    def close(self, reason: str) -> None:
        """Tells all others that this rank goes, and why; may be called again."""
        self._broadcast({"circle": -1, "turn": 0, "phase": _LEFT, "body": reason})
        with contextlib.suppress(OSError):
            self._waker.send(b"x")
        self._thread.join()
        for each in (*self._sockets.values(), self._wake, self._waker):
            # Also where a fork of this process holds the socket, too.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _broadcast(self, message: Mapping[str, object], file: int | None = None) -> None:
        data = json.dumps(message).encode()
        files = [] if file is None else [file]
        with self._sending:
            for peer, each in self._sockets.items():
                try:
                    socket.send_fds(each, [data], files)
                except OSError as error:
                    if isinstance(error, TimeoutError):
                        self._depart(peer, f"{self.name(peer)} takes no messages")
                    # Else it is gone, which the receiver finds out and says.

    # -- receiving ---------------------------------------------------------------------------

    def _receive(self) -> None:
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
            data, files, _, _ = socket.recv_fds(
                self._sockets[peer], _PACKET, 1, socket.MSG_CMSG_CLOEXEC
            )
        except ConnectionResetError:
            return True  # it left something unread; what it said itself is still to be read
        except OSError:
            data, files = b"", []
        if not data:
            self._depart(peer, f"{self.name(peer)} has ended")
            return False
        self._deliver(peer, json.loads(data), files[0] if files else None)
        return True

    def _depart(self, peer: int, reason: str) -> None:
        with self.changed:
            self.gone.setdefault(peer, reason)
            self.changed.notify_all()

    def _deliver(self, peer: int, message: dict[str, Any], file: int | None) -> None:
        circle, turn, phase = message["circle"], message["turn"], message["phase"]
        if circle < 0:
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
                box.messages[turn, phase] = Message(peer, message["body"], file)
            self.changed.notify_all()


def as_file(data: bytes | memoryview) -> int:
    """An anonymous file with these bytes; the caller closes it."""
    file = os.memfd_create("ark_message", os.MFD_CLOEXEC)
    try:
        view = memoryview(data).cast("B")
        while view:
            view = view[os.write(file, view) :]
    except BaseException:
        os.close(file)
        raise
    return file


def contents(file: int) -> bytes:
    """The bytes of a file that came with a message."""
    # Its offset is that of every rank that has it open.
    size, parts = os.fstat(file).st_size, list[bytes]()
    while (done := sum(map(len, parts))) < size:
        parts.append(os.pread(file, size - done, done))
    return b"".join(parts)

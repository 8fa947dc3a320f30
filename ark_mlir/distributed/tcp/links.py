"""Links to ranks over TCP.

A bridge carries the datagrams of a local socket pair over a channel, so that `Links` has a Unix
socket for every rank. A file that comes with a control message is copied: the content of the file
follows the control message in blocks, so that a file may have any size. File descriptors of shared
memory cannot be sent.
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import threading
from collections.abc import Mapping
from typing import Any

from ...errors import ArkError
from ...monitor import Monitor
from ..frames import (
    DamagedFrameError,
    Frame,
    Received,
    append,
    as_file,
    parse_text,
    receive_frame,
)
from ..links import Links
from .channel import Channel

__all__ = ["TcpLinks", "shut_down"]

_HEADER = struct.Struct("<QQ")
_NO_FILE = (1 << 64) - 1
_CLOSE_SECONDS = 2.0
# The most bytes of a block of a file. Each end holds a whole block in memory.
_BLOCK = 16 << 20


class TcpLinks(Links):
    """Links to ranks that are connected by channels; see :class:`ark_mlir.distributed.links.Links`.

    Args:
        rank: the index of this rank.
        channels: the channels to the other ranks.
        processes: the processes of all ranks, for error messages.
        timeout: the limit for a rank to accept a control message, in seconds.
    """

    shares_host = False

    def __init__(
        self,
        rank: int,
        channels: Mapping[int, Channel],
        processes: Mapping[int, str],
        timeout: float,
    ) -> None:
        self._bridges = {peer: _Bridge(channel, timeout) for peer, channel in channels.items()}
        sockets = {peer: bridge.near for peer, bridge in self._bridges.items()}
        super().__init__(rank, sockets, processes, timeout)
        for bridge in self._bridges.values():
            bridge.start()

    def close(self, reason: str) -> None:
        """See :meth:`Links.close`; waits until the last control messages are sent."""
        super().close(reason)
        for bridge in self._bridges.values():
            bridge.join()

    def _broadcast(self, message: Mapping[str, object], file: int | None = None) -> None:
        super()._broadcast(message, file)
        # The caller may hold the GIL afterwards, as torch's rendezvous does while it waits for the
        # other ranks. The threads of the bridges could then not send the control message.
        for bridge in self._bridges.values():
            bridge.wait_until_carried()

    def _send(self, peer: int, frame: Frame) -> None:
        super()._send(peer, frame)
        self._bridges[peer].sent += 1


class _Bridge:
    """Two threads that carry control messages between a channel and a socket of this process.

    Args:
        channel: the channel to the peer.
        timeout: the limit for :meth:`wait_until_carried`, in seconds.

    Attributes:
        near: the socket for `Links`.
        sent: the number of control messages that `Links` has sent to `near`.
    """

    def __init__(self, channel: Channel, timeout: float) -> None:
        self._channel = channel
        self._timeout = timeout
        self.sent = 0
        self._carried = 0
        self._ended = False
        self._monitor = Monitor()  # guards `_carried` and `_ended`
        self.near, self._far = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self._threads = [
            threading.Thread(target=work, name="ark:tcp", daemon=True)
            for work in (self._carry_out, self._carry_in)
        ]

    def start(self) -> None:
        """Starts the threads."""
        self._channel.link.settimeout(None)
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        """Waits until all control messages of this process are sent, and ends the connection."""
        self._threads[0].join(_CLOSE_SECONDS)
        shut_down(self._channel.link)
        self._threads[1].join(_CLOSE_SECONDS)
        self._channel.close()
        self._far.close()

    def wait_until_carried(self) -> None:
        """Waits until the operating system has accepted all control messages that `Links` has sent.

        Returns earlier, without an error, if the connection ends, or if a slow peer takes longer
        than `timeout`. `Links` reports the end of the connection. The wait for the peer's answer
        reports a slow peer.
        """
        sent = self.sent
        self._monitor.wait_for(lambda: self._ended or self._carried >= sent, self._timeout)

    def _carry_out(self) -> None:
        """Sends the control messages of `Links` to the peer, until `Links` closes its socket."""
        # If the channel fails, the peer notices the end of the connection.
        with contextlib.suppress(DamagedFrameError, ArkError, OSError):
            self._carry_messages()
        with self._monitor.lock:
            self._ended = True
            self._monitor.notify_all()
        with contextlib.suppress(OSError):
            self._channel.link.shutdown(socket.SHUT_WR)

    def _carry_messages(self) -> None:
        while (received := receive_frame(self._far)) is not None:
            try:
                self._carry(received)
            finally:
                if received.file is not None:
                    os.close(received.file)
            with self._monitor.lock:
                self._carried += 1
                self._monitor.notify_all()

    def _carry(self, received: Received) -> None:
        file = received.file
        nbytes = _NO_FILE if file is None else _size_of(file)
        text = json.dumps(received.message).encode()
        self._channel.send(_HEADER.pack(len(text), nbytes) + text)
        if file is not None:
            for begin in range(0, nbytes, _BLOCK):
                self._channel.send(os.pread(file, min(_BLOCK, nbytes - begin), begin))

    def _carry_in(self) -> None:
        """Passes the control messages of the peer to `Links`, until the peer ends."""
        try:
            while (data := self._channel.receive()) is not None:
                self._pass_on(data)
        except DamagedFrameError as error:
            self._tell(f"sent {error}")
        except ArkError as error:
            self._tell(f"sent a control message that cannot be passed on: {error}")
        except OSError:
            pass  # `Links` notices the end of the socket
        shut_down(self._far)

    def _pass_on(self, data: bytes) -> None:
        if len(data) < _HEADER.size:
            raise DamagedFrameError("a control message without a header")
        length, nbytes = _HEADER.unpack_from(data)
        if length != len(data) - _HEADER.size:
            raise DamagedFrameError("a control message whose length is wrong")
        message = parse_text(data[_HEADER.size :])
        file = None if nbytes == _NO_FILE else self._receive_file(nbytes)
        try:
            self._send(message, file)
        finally:
            if file is not None:
                os.close(file)

    def _receive_file(self, nbytes: int) -> int:
        """Receives the blocks of a file, and returns the file.

        Memory is allocated block by block: a peer that announces a large file and sends none of it
        costs no memory.
        """
        file = as_file(b"")
        try:
            while nbytes > 0:
                block = self._channel.receive(_BLOCK)
                if block is None:
                    raise DamagedFrameError("the connection ended within a file")
                if len(block) != min(_BLOCK, nbytes):
                    raise DamagedFrameError(
                        f"{len(block)} bytes of a file with {nbytes} bytes left"
                    )
                append(file, block)
                nbytes -= len(block)
        except BaseException:
            os.close(file)
            raise
        return file

    def _tell(self, reason: str) -> None:
        """Sends `Links` the reason why the connection to the peer has ended."""
        with contextlib.suppress(OSError):
            self._send({"communicator": -1, "call": 0, "phase": "left", "body": reason}, None)

    def _send(self, message: Any, file: int | None) -> None:
        with Frame(message, file) as frame:
            frame.send(self._far)


def _size_of(file: int) -> int:
    """Returns the size of a file of `as_file`, in bytes.

    Raises DamagedFrameError for other files, such as shared memory.
    """
    if "memfd:ark_message" not in os.readlink(f"/proc/self/fd/{file}"):
        raise DamagedFrameError("a file descriptor of shared memory, which another host cannot use")
    return os.fstat(file).st_size


def shut_down(link: socket.socket) -> None:
    """Ends a connection, also if a thread waits for it; does nothing if it has ended."""
    with contextlib.suppress(OSError):
        link.shutdown(socket.SHUT_RDWR)

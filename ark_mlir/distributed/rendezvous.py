"""Rendezvous of the processes of one job: all other ranks connect to rank 0.

Rank 0 listens on a Unix socket in the abstract namespace, which uses no file and no port, and
leaves nothing behind when a process ends. Rank 0 sends every pair of other ranks a socket that
connects them.

Any process of the host can connect to the socket of rank 0. Rank 0 asks the kernel for the user of
each process that connects, and reads nothing from processes of other users. It closes the
connection of a process that sends no valid greeting, and continues to wait for ranks.
"""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import selectors
import socket
import struct
import time
from dataclasses import dataclass
from typing import Any, cast

from ..errors import ArkError, DeviceError, InvalidUsageError, RankFailedError, UnsupportedError
from .frames import DamagedFrameError, close_files, parse_object
from .launcher import Identity
from .links import Links
from .refusals import name_ranks, raise_refusal, refusal

__all__ = ["connect_ranks"]

# The version of the protocol. Increase it whenever the control messages between ranks change. The
# form of the greeting must not change, so that ranks of different versions can report the
# difference.
_PROTOCOL = 4
_DATAGRAM = 1 << 16
_RETRY_SECONDS = 0.01
# The most file descriptors that Linux passes with one control message (SCM_MAX_FD).
_MOST_FILES = 253
# Each rank receives a socket to every other rank except rank 0, to which it is connected.
_MOST_RANKS = _MOST_FILES + 2
# Limit of the connections without a greeting. Beyond the limit, the oldest is closed.
_MOST_UNIDENTIFIED = 2 * _MOST_RANKS
# Limit of the rejected processes that an error names.
_MOST_NOTES = 4


def connect_ranks(identity: Identity, timeout: float) -> Links:
    """Waits until all ranks of the job are connected, and returns the links to them.

    Raises:
        RankFailedError: ranks, which the error names, did not join within `timeout` seconds or
            ended.
        InvalidUsageError: ranks disagree about the world, or two processes have the same rank.
        UnsupportedError: the world has more than 255 ranks.
        DeviceError: the system provides no socket.
    """
    if identity.size > _MOST_RANKS:
        raise UnsupportedError(f"a world of {identity.size} processes; the limit is {_MOST_RANKS}")
    if identity.size == 1:
        return Links(0, {}, {}, timeout)
    deadline = time.monotonic() + timeout
    if identity.rank == 0:
        return _RankZero(identity, timeout, deadline).gather()
    return _join(identity, timeout, deadline)


def _address(identity: Identity) -> str:
    digest = hashlib.sha256(f"{os.getuid()}\0{identity.job}".encode()).hexdigest()[:32]
    return f"\0ark-{digest}"


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)


def _credentials(link: socket.socket) -> tuple[int, int]:
    """Returns the process id and the user id at the other end."""
    data = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, user, _ = struct.unpack("3i", data)
    return process, user


@dataclass(frozen=True)
class _Greeting:
    """The first control message of a rank."""

    protocol: int
    rank: int
    size: int

    @staticmethod
    def read(message: dict[str, Any]) -> _Greeting:
        """Returns the greeting in a control message; raises DamagedFrameError if there is none."""
        numbers = [message.get(name) for name in ("protocol", "rank", "size")]
        if not all(type(number) is int for number in numbers):
            raise DamagedFrameError("a greeting without protocol, rank and size")
        return _Greeting(*cast("list[int]", numbers))


class _RankZero:
    """The rendezvous at rank 0, which waits for the other ranks."""

    def __init__(self, identity: Identity, timeout: float, deadline: float) -> None:
        self._identity = identity
        self._timeout = timeout
        self._deadline = deadline
        self._links: dict[int, socket.socket] = {}
        self._processes = {0: os.getpid()}
        # Connections of this user without a greeting yet, the oldest first.
        self._unidentified: list[socket.socket] = []
        self._refused: list[str] = []

    def gather(self) -> Links:
        """Waits for all ranks, and returns the links to them."""
        with _new_socket() as listener, selectors.DefaultSelector() as selector:
            try:
                self._open(listener)
                selector.register(listener, selectors.EVENT_READ)
                while self._missing:
                    self._step(listener, selector)
                self._introduce()
            except BaseException as error:
                self._report_failure(error)
                raise
            finally:
                for link in self._unidentified:
                    link.close()
        return Links(0, self._links, self._processes, self._timeout)

    @property
    def _missing(self) -> list[int]:
        return [rank for rank in range(1, self._identity.size) if rank not in self._links]

    def _open(self, listener: socket.socket) -> None:
        try:
            listener.bind(_address(self._identity))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DeviceError(f"cannot wait for other ranks: {error.strerror}") from None
            raise InvalidUsageError(
                f"another process waits as rank 0 of the same job ({self._identity.job}); give "
                "each job its own MASTER_PORT, or job="
            ) from None
        listener.listen(self._identity.size)
        listener.setblocking(False)

    def _step(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        events = selector.select(max(0.0, self._deadline - time.monotonic()))
        for key, _ in events:
            link = key.fileobj
            assert isinstance(link, socket.socket)
            if link is listener:
                self._accept(listener, selector)
            elif link in self._unidentified:
                self._unidentified.remove(link)
                selector.unregister(link)
                self._welcome(link, selector)
            elif link in self._links.values():
                self._lose(link)
        # Checked after every event, so that a stream of events cannot postpone the deadline.
        if self._missing and time.monotonic() >= self._deadline:
            raise RankFailedError(
                f"{name_ranks(self._missing)} of {self._identity.size} did not join within "
                f"{self._timeout:g} s (job: {self._identity.job})",
                notes=self._refused,
            )

    def _accept(self, listener: socket.socket, selector: selectors.BaseSelector) -> None:
        try:
            link, _ = listener.accept()
        except (BlockingIOError, ConnectionAbortedError):
            return  # the process has closed its connection again
        except OSError as error:
            raise DeviceError(f"cannot connect to other ranks: {error.strerror}") from None
        process, user = _credentials(link)
        if user != os.getuid():
            self._refuse(link, f"process {process} belongs to user {user}")
            return
        link.setblocking(False)
        self._unidentified.append(link)
        selector.register(link, selectors.EVENT_READ)
        if len(self._unidentified) > _MOST_UNIDENTIFIED:
            oldest = self._unidentified.pop(0)
            selector.unregister(oldest)
            self._refuse(oldest, f"process {_credentials(oldest)[0]} sent no greeting")

    def _refuse(self, link: socket.socket, reason: str) -> None:
        link.close()
        if reason not in self._refused and len(self._refused) < _MOST_NOTES:
            self._refused.append(reason)

    def _welcome(self, link: socket.socket, selector: selectors.BaseSelector) -> None:
        """Reads the greeting of a process, and accepts the process as a rank or rejects it."""
        process, _ = _credentials(link)
        try:
            received = _receive(link, files=0)
            if received is None:
                link.close()
                return
            greeting = _Greeting.read(received[0])
            self._check(greeting, process)
        except (DamagedFrameError, OSError) as error:
            self._refuse(link, f"process {process} sent no valid greeting: {error}")
            return
        except ArkError as error:
            _send(link, refusal(error))
            link.close()
            raise
        selector.register(link, selectors.EVENT_READ)
        self._links[greeting.rank] = link
        self._processes[greeting.rank] = process
        for each in self._links.values():
            # These control messages are progress reports: a rank whose queue is full misses them.
            _send(each, {"missing": self._missing})

    def _lose(self, link: socket.socket) -> None:
        """Raises RankFailedError for a rank that ended or sent something before all had joined.

        A rank sends nothing between its greeting and the answer of rank 0.
        """
        rank = next(rank for rank, each in self._links.items() if each is link)
        try:
            ended = _receive(link, files=0) is None
        except (DamagedFrameError, OSError):
            ended = False
        event = "ended" if ended else "sent a malformed control message"
        raise RankFailedError(
            f"rank {rank} (process {self._processes[rank]}) {event} before all had joined"
        )

    def _check(self, greeting: _Greeting, process: int) -> None:
        rank, size = greeting.rank, greeting.size
        if greeting.protocol != _PROTOCOL:
            raise InvalidUsageError(
                f"rank {rank} (process {process}) has another version of ark than rank 0"
            )
        if size != self._identity.size:
            raise InvalidUsageError(
                f"rank {rank} (process {process}) has world_size {size}, and rank 0 "
                f"(process {os.getpid()}) has world_size {self._identity.size}"
            )
        if not 0 < rank < size:
            raise DamagedFrameError(f"there is no rank {rank} that joins a world of {size}")
        if rank in self._processes:
            raise InvalidUsageError(
                f"two processes are rank {rank}: {self._processes[rank]} and {process}"
            )

    def _introduce(self) -> None:
        """Sends every rank a socket to each of the others."""
        others = sorted(self._links)
        ends: dict[int, list[socket.socket]] = {rank: [] for rank in others}
        processes = [self._processes[rank] for rank in range(self._identity.size)]
        try:
            for first in others:
                for second in (rank for rank in others if rank > first):
                    pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                    ends[first].append(pair[0])
                    ends[second].append(pair[1])
            for rank in others:
                # The loop above created the sockets of each rank in the order of its peers.
                self._send_introduction(rank, processes, ends[rank])
        except OSError as error:
            raise DeviceError(f"cannot connect ranks to each other: {error.strerror}") from None
        finally:
            for each in (end for pair in ends.values() for end in pair):
                each.close()

    def _send_introduction(
        self, rank: int, processes: list[int], ends: list[socket.socket]
    ) -> None:
        link = self._links[rank]
        link.settimeout(self._timeout)
        try:
            _send_or_raise(link, {"processes": processes}, ends)
        except (BrokenPipeError, ConnectionResetError):
            pass  # all ranks notice its end by their sockets to it
        except TimeoutError:
            raise RankFailedError(
                f"rank {rank} (process {self._processes[rank]}) accepts no control messages"
            ) from None

    def _report_failure(self, error: BaseException) -> None:
        for link in (*self._links.values(), *self._unidentified):
            _send(link, refusal(error))
            link.close()


def _join(identity: Identity, timeout: float, deadline: float) -> Links:
    """Joins the job as a rank other than 0."""
    link = _connect(identity, timeout, deadline)
    try:
        _send(link, {"protocol": _PROTOCOL, "rank": identity.rank, "size": identity.size})
        processes, files = _await_introduction(link, identity, timeout, deadline)
    except BaseException:
        link.close()
        raise
    peers = [rank for rank in range(1, identity.size) if rank != identity.rank]
    sockets = {0: link}
    for peer, file in zip(peers, files, strict=True):
        sockets[peer] = socket.socket(fileno=file)
    return Links(identity.rank, sockets, dict(enumerate(processes)), timeout)


def _await_introduction(
    link: socket.socket, identity: Identity, timeout: float, deadline: float
) -> tuple[list[int], list[int]]:
    """Returns the process ids of all ranks, and the sockets to all except rank 0 and this one."""
    missing: list[int] = []
    while True:
        # One second more than rank 0 waits, so that its list of the missing ranks arrives.
        link.settimeout(max(0.001, deadline + 1 - time.monotonic()))
        try:
            received = _receive(link, _MOST_FILES)
        except TimeoutError:
            raise RankFailedError(
                f"{name_ranks(missing or [0])} of {identity.size} did not join within "
                f"{timeout:g} s (job: {identity.job})"
            ) from None
        except (DamagedFrameError, OSError) as error:
            raise RankFailedError(f"rank 0 sent a malformed control message: {error}") from None
        if received is None:
            raise RankFailedError("rank 0 ended before all had joined")
        message, files = received
        if "processes" in message and len(files) == identity.size - 2:
            return message["processes"], files
        close_files(files)
        raise_refusal(message, identity.rank)
        if "missing" not in message:
            raise RankFailedError("rank 0 sent a malformed control message")
        missing = message["missing"]


def _connect(identity: Identity, timeout: float, deadline: float) -> socket.socket:
    address = _address(identity)
    while True:
        link = _new_socket()
        # A non-blocking connect fails if the queue of rank 0 is full; the loop then tries again. A
        # blocking one could wait beyond the deadline.
        link.setblocking(False)
        try:
            link.connect(address)
        except (ConnectionRefusedError, FileNotFoundError, BlockingIOError):
            link.close()  # rank 0 does not listen yet
        except BaseException:
            link.close()
            raise
        else:
            _, user = _credentials(link)
            if user == os.getuid():
                link.settimeout(timeout)
                return link
            link.close()
            raise InvalidUsageError(f"user {user} waits as rank 0 of this job ({identity.job})")
        if time.monotonic() >= deadline:
            raise RankFailedError(
                f"rank 0 of {identity.size} did not join within {timeout:g} s (job: {identity.job})"
            )
        time.sleep(_RETRY_SECONDS)


def _send(link: socket.socket, message: object) -> None:
    """Sends a control message whose loss does no harm; ignores errors of the socket."""
    with contextlib.suppress(OSError):
        _send_or_raise(link, message, [])


def _send_or_raise(link: socket.socket, message: object, ends: list[socket.socket]) -> None:
    socket.send_fds(link, [json.dumps(message).encode()], [end.fileno() for end in ends])


def _receive(link: socket.socket, files: int) -> tuple[dict[str, Any], list[int]] | None:
    """Returns a control message and its files, or None if the other end is closed.

    Args:
        link: the socket.
        files: the largest number of files that may come with the control message.

    Raises:
        DamagedFrameError: the control message is not a JSON object, or has more files. The files
            are closed.
        OSError: the socket cannot be read.
    """
    try:
        data, taken, flags, _ = socket.recv_fds(link, _DATAGRAM, files, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return None
    received = list(taken)
    try:
        if not data:
            close_files(received)
            return None
        if flags & socket.MSG_TRUNC:
            raise DamagedFrameError(f"a datagram of more than {_DATAGRAM} bytes")
        if flags & socket.MSG_CTRUNC:
            raise DamagedFrameError(f"more than {files} files, or too many files are open")
        return parse_object(data), received
    except BaseException:
        close_files(received)
        raise

"""How the processes of one job find each other: rank 0 waits at a place that all know.

The place is a Unix socket whose name the kernel keeps, not a file, so that nothing is left behind
however a process ends, and no port is taken. Rank 0 hands every two others a socket between them.
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
from typing import Any

from ..errors import ArkError, DeviceError, InvalidUsageError, RankFailedError
from .launcher import Identity
from .links import Links

__all__ = ["meet"]

# Both ends have to speak alike.
_PROTOCOL = 1
_PACKET = 1 << 16
_RETRY_SECONDS = 0.01


def meet(identity: Identity, timeout: float) -> Links:
    """Waits until all ranks of the job are there; links to them.

    Raises:
        RankFailedError: some did not come within `timeout` seconds, or ended; it names them.
        InvalidUsageError: ranks disagree about the world, or two are the same one.
    """
    if identity.size == 1:
        return Links(0, {}, {}, timeout)
    deadline = time.monotonic() + timeout
    if identity.rank == 0:
        return _Host(identity, timeout, deadline).gather()
    return _join(identity, timeout, deadline)


def _address(identity: Identity) -> str:
    digest = hashlib.sha256(f"{os.getuid()}\0{identity.job}".encode()).hexdigest()[:32]
    return f"\0ark-{digest}"


def _new_socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET | socket.SOCK_CLOEXEC)


def _credentials(link: socket.socket) -> tuple[int, int]:
    """Process and user at the other end."""
    data = link.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
    process, user, _ = struct.unpack("3i", data)
    return process, user


class _Host:
    """Rank 0, while the others come."""

    def __init__(self, identity: Identity, timeout: float, deadline: float) -> None:
        self._identity = identity
        self._timeout = timeout
        self._deadline = deadline
        self._links: dict[int, socket.socket] = {}
        self._processes = {0: os.getpid()}
        # Those that came and have not said who they are.
        self._strangers: list[socket.socket] = []

    def gather(self) -> Links:
        """Links to all ranks, when they have come."""
        with _new_socket() as door, selectors.DefaultSelector() as selector:
            self._open(door)
            selector.register(door, selectors.EVENT_READ)
            try:
                while self._missing:
                    self._step(door, selector)
                self._introduce()
            except BaseException as error:
                self._send_home(error)
                raise
        return Links(0, self._links, self._processes, self._timeout)

    @property
    def _missing(self) -> list[int]:
        return [rank for rank in range(1, self._identity.size) if rank not in self._links]

    def _open(self, door: socket.socket) -> None:
        try:
            door.bind(_address(self._identity))
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise DeviceError(f"cannot wait for other ranks: {error.strerror}") from None
            raise InvalidUsageError(
                f"another process waits as rank 0 of the same job ({self._identity.job}); give "
                "each job its own MASTER_PORT, or job="
            ) from None
        door.listen(self._identity.size)
        door.setblocking(False)

    def _step(self, door: socket.socket, selector: selectors.BaseSelector) -> None:
        events = selector.select(max(0.0, self._deadline - time.monotonic()))
        if not events and time.monotonic() >= self._deadline:
            raise RankFailedError(
                f"{_ranks(self._missing)} of {self._identity.size} did not come within "
                f"{self._timeout:g} s ({self._identity.job})"
            )
        for key, _ in events:
            link = key.fileobj
            assert isinstance(link, socket.socket)
            if link is door:
                with contextlib.suppress(BlockingIOError):
                    stranger, _ = door.accept()
                    self._strangers.append(stranger)
                    selector.register(stranger, selectors.EVENT_READ)
            elif link in self._strangers:
                self._welcome(link, selector)
            else:
                rank = next(rank for rank, each in self._links.items() if each is link)
                raise RankFailedError(
                    f"rank {rank} (process {self._processes[rank]}) ended before all had come"
                )

    def _welcome(self, link: socket.socket, selector: selectors.BaseSelector) -> None:
        self._strangers.remove(link)
        process, user = _credentials(link)
        hello = _receive(link)[0]
        if user != os.getuid() or not hello:
            selector.unregister(link)
            link.close()
            return
        try:
            self._check(hello, process)
        except ArkError as error:
            _send(link, _problem(error))
            link.close()
            raise
        self._links[hello["rank"]] = link
        self._processes[hello["rank"]] = process
        for each in self._links.values():
            _send(each, {"missing": self._missing})

    def _check(self, hello: dict[str, Any], process: int) -> None:
        rank, size = hello["rank"], hello["size"]
        if hello["protocol"] != _PROTOCOL:
            raise InvalidUsageError(
                f"rank {rank} (process {process}) has another version of ark than rank 0"
            )
        if size != self._identity.size:
            raise InvalidUsageError(
                f"rank {rank} (process {process}) is in a world of {size} ranks, and rank 0 "
                f"(process {os.getpid()}) in one of {self._identity.size}"
            )
        if rank in self._processes:
            raise InvalidUsageError(
                f"two processes are rank {rank}: {self._processes[rank]} and {process}"
            )

    def _introduce(self) -> None:
        """Sends everybody a socket to each of the others."""
        others = sorted(self._links)
        ends: dict[int, list[socket.socket]] = {rank: [] for rank in others}
        for first in others:
            for second in (rank for rank in others if rank > first):
                pair = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
                ends[first].append(pair[0])
                ends[second].append(pair[1])
        processes = [self._processes[rank] for rank in range(self._identity.size)]
        try:
            for rank in others:
                # In order of rank: the pairs above are made in this order for each of their ends.
                _send(self._links[rank], {"processes": processes}, ends[rank])
        finally:
            for each in (end for mine in ends.values() for end in mine):
                each.close()

    def _send_home(self, error: BaseException) -> None:
        for link in (*self._links.values(), *self._strangers):
            _send(link, _problem(error))
            link.close()


def _join(identity: Identity, timeout: float, deadline: float) -> Links:
    """What all ranks but 0 do."""
    link = _connect(identity, timeout, deadline)
    missing: list[int] = []
    try:
        _send(link, {"protocol": _PROTOCOL, "rank": identity.rank, "size": identity.size})
        while True:
            # Rank 0 names who is missing, if it is given the time to.
            link.settimeout(max(0.001, deadline + 1 - time.monotonic()))
            try:
                message, files = _receive(link)
            except TimeoutError:
                raise RankFailedError(
                    f"{_ranks(missing or [0])} of {identity.size} did not come within "
                    f"{timeout:g} s ({identity.job})"
                ) from None
            if not message:
                raise RankFailedError("rank 0 ended before all had come")
            if "problem" in message:
                kind = InvalidUsageError if message["usage"] else RankFailedError
                raise kind(f"rank {identity.rank} cannot go on: {message['problem']}")
            missing = message.get("missing", missing)
            if "processes" in message:
                break
    except BaseException:
        link.close()
        raise
    peers = [rank for rank in range(1, identity.size) if rank != identity.rank]
    sockets = {0: link}
    for peer, file in zip(peers, files, strict=True):
        sockets[peer] = socket.socket(fileno=file)
    processes: list[int] = message["processes"]
    return Links(identity.rank, sockets, dict(enumerate(processes)), timeout)


def _connect(identity: Identity, timeout: float, deadline: float) -> socket.socket:
    address = _address(identity)
    while True:
        link = _new_socket()
        try:
            link.connect(address)
        except (ConnectionRefusedError, FileNotFoundError, BlockingIOError):
            link.close()  # it is not there yet
        except BaseException:
            link.close()
            raise
        else:
            _, user = _credentials(link)
            if user == os.getuid():
                return link
            link.close()
            raise InvalidUsageError(f"user {user} waits as rank 0 of this job ({identity.job})")
        if time.monotonic() >= deadline:
            raise RankFailedError(
                f"rank 0 of {identity.size} did not come within {timeout:g} s ({identity.job})"
            )
        time.sleep(_RETRY_SECONDS)


def _send(link: socket.socket, message: object, ends: list[socket.socket] | None = None) -> None:
    # One that is gone is found by who waits for it.
    with contextlib.suppress(OSError):
        socket.send_fds(link, [json.dumps(message).encode()], [e.fileno() for e in ends or []])


def _receive(link: socket.socket) -> tuple[dict[str, Any], list[int]]:
    """A message and its files; an empty one where the other end is gone."""
    try:
        data, files, _, _ = socket.recv_fds(link, _PACKET, 253, socket.MSG_CMSG_CLOEXEC)
    except ConnectionResetError:
        return {}, []
    return (json.loads(data) if data else {}), list(files)


def _problem(error: BaseException) -> dict[str, object]:
    text = str(error) if isinstance(error, ArkError) else f"rank 0 failed: {error!r}"
    return {"problem": text, "usage": isinstance(error, InvalidUsageError)}


def _ranks(numbers: list[int]) -> str:
    words = ", ".join(map(str, numbers))
    return f"rank {words}" if len(numbers) == 1 else f"ranks {words}"

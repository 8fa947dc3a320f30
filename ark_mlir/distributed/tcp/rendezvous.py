"""Rendezvous over TCP: all other ranks connect to rank 0, then to each other.

Rank 0 listens at an address that all ranks know. Every other rank listens at a port that the system
chooses. Any process can connect to these ports. A rank closes the connection to a process that does
not prove within a few seconds that it has the secret, and continues to wait for the other ranks.
"""

from __future__ import annotations

import contextlib
import json
import os
import queue
import socket
import threading
import time
from collections.abc import Generator, Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from ... import knobs
from ...errors import ArkError, DeviceError, InvalidUsageError, RankFailedError
from ..frames import DamagedFrameError, parse_object
from ..launcher import Identity
from ..refusals import name_ranks, raise_refusal, refusal
from .channel import Channel, connect_channel
from .links import TcpLinks, shut_down

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Endpoint", "connect_ranks_over_tcp"]

_PROTOCOL = 4
_SHORTEST_SECRET = 32
_MAKE_SECRET = "`(umask 077; openssl rand -hex 32 > FILE)` makes a secret"
# The limit for a process to prove that it has the secret.
_GREETING_SECONDS = 5.0
_LONGEST_GREETING = 4096
_LONGEST_INTRODUCTION = 1 << 20
_RETRY_SECONDS = 0.05
# Limit of the connections whose process has not proven that it has the secret. Further connections
# are closed at once.
_MOST_UNIDENTIFIED = 64
_MOST_NOTES = 4
# The system probes an idle connection, and ends it some 20 s after the other host is gone.
_KEEP_ALIVE = {
    socket.TCP_KEEPIDLE: 5, socket.TCP_KEEPINTVL: 5, socket.TCP_KEEPCNT: 3,
    socket.TCP_USER_TIMEOUT: 20_000, socket.TCP_NODELAY: 1,
}  # fmt: skip


@dataclass(frozen=True)
class Endpoint:
    """The address of rank 0, to which all other ranks connect, and the secret of the job.

    Attributes:
        host, port: the address of rank 0.
        secret: the secret of the job.
    """

    host: str
    port: int
    secret: bytes = field(repr=False)

    @staticmethod
    def parse(address: str, secret: str | None = None) -> Endpoint:
        """Returns the endpoint at an address ``HOST:PORT``.

        Args:
            address: the address of rank 0.
            secret: the secret; None reads the file that ARK_SECRET_FILE names.

        Raises InvalidUsageError if `address` is malformed, or if the secret is missing, too short,
        or in a file that other users can read.

        Example:
            >>> Endpoint.parse("[::1]:29600", "0123456789abcdef" * 2)
            Endpoint(host='::1', port=29600)
        """
        host, _, port = address.rpartition(":")
        if not host or not port.isdecimal() or not 0 < int(port) < 1 << 16:
            raise InvalidUsageError(f"address {address!r} is not HOST:PORT")
        text = _read_secret() if secret is None else secret
        if len(text) < _SHORTEST_SECRET:
            raise InvalidUsageError(
                f"the secret has {len(text)} characters; it needs at least {_SHORTEST_SECRET}",
                notes=[_MAKE_SECRET],
            )
        return Endpoint(host.strip("[]"), int(port), text.encode())


def _read_secret() -> str:
    path = knobs.SECRET_FILE.get()
    if path is None:
        raise InvalidUsageError(
            "ranks that connect over TCP need a secret: pass secret=, or set ARK_SECRET_FILE",
            notes=[_MAKE_SECRET],
        )
    try:
        with open(path) as file:
            found = os.fstat(file.fileno())
            if found.st_uid not in (0, os.getuid()) or found.st_mode & 0o077:
                raise InvalidUsageError(
                    f"other users can read the secret: chmod 600 {path}", location=path
                )
            return file.read().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidUsageError(f"the secret cannot be read: {error}", location=path) from None


class _Peer(NamedTuple):
    """A process that has proven that it has the secret."""

    channel: Channel
    greeting: dict[str, Any]
    host: str


def connect_ranks_over_tcp(identity: Identity, endpoint: Endpoint, timeout: float) -> TcpLinks:
    """Waits until all ranks of the job are connected, and returns the links to them.

    Raises:
        RankFailedError: ranks, which the error names, did not join within `timeout` seconds or
            ended.
        InvalidUsageError: ranks disagree about the world or the secret, two processes have the same
            rank, or the address is not of this host at rank 0.
        DeviceError: the system provides no socket.
    """
    deadline = time.monotonic() + timeout
    if identity.rank == 0:
        return _gather(identity, endpoint, timeout, deadline)
    return _join(identity, endpoint, timeout, deadline)


def _greeting(identity: Identity, port: int = 0) -> dict[str, Any]:
    return {
        "protocol": _PROTOCOL,
        "rank": identity.rank,
        "size": identity.size,
        "port": port,
        "process": f"{os.getpid()} at {socket.gethostname()}",
    }


# ---------------------------------------------------------------------------- rank 0


def _gather(identity: Identity, endpoint: Endpoint, timeout: float, deadline: float) -> TcpLinks:
    channels: dict[int, Channel] = {}
    with _Listener(endpoint.host, endpoint.port, identity, endpoint.secret) as listener:
        try:
            peers = listener.admit(range(1, identity.size), timeout, deadline, channels)
            process = _greeting(identity)["process"]
            processes = {0: process} | {
                rank: peer.greeting["process"] for rank, peer in peers.items()
            }
            addresses = [[peers[rank].host, peers[rank].greeting["port"]] for rank in sorted(peers)]
            text = {
                "addresses": addresses,
                "processes": [processes[r] for r in range(identity.size)],
            }
            for channel in channels.values():
                _send(channel, text)
        except BaseException as error:
            for channel in channels.values():
                with contextlib.suppress(OSError):
                    _send(channel, refusal(error))
                channel.close()
            raise
    return TcpLinks(0, channels, processes, timeout)


class _Listener:
    """A port to which ranks connect. Each connection has a thread that exchanges the greetings.

    Args:
        host, port: the address; with port 0, the system chooses a port.
        identity: this rank.
        secret: the secret of the job.
    """

    def __init__(self, host: str, port: int, identity: Identity, secret: bytes) -> None:
        self._identity = identity
        self._secret = secret
        self._peers: queue.Queue[_Peer] = queue.Queue()
        self._unidentified = threading.Semaphore(_MOST_UNIDENTIFIED)
        self._refused: list[str] = []
        try:
            family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
            self._socket = socket.create_server((host, port), family=family, backlog=64)
        except OSError as error:
            raise InvalidUsageError(
                f"rank {identity.rank} cannot wait at {host}:{port}: {error.strerror}"
            ) from None
        self.port = int(self._socket.getsockname()[1])
        self._socket.settimeout(_RETRY_SECONDS)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._socket.close()

    def admit(
        self,
        ranks: Iterable[int],
        timeout: float,
        deadline: float,
        channels: dict[int, Channel],
    ) -> dict[int, _Peer]:
        """Waits for ranks, and adds their channels to `channels`."""
        missing = set(ranks)
        peers: dict[int, _Peer] = {}
        while missing:
            self._accept()
            with contextlib.suppress(queue.Empty):
                while True:
                    peer = self._peers.get_nowait()
                    try:
                        rank = self._check(peer, missing)
                    except ArkError as error:
                        with contextlib.suppress(OSError):
                            _send(peer.channel, refusal(error))
                        peer.channel.close()
                        raise
                    missing.discard(rank)
                    peers[rank], channels[rank] = peer, peer.channel
            if missing and time.monotonic() >= deadline:
                raise RankFailedError(
                    f"{name_ranks(sorted(missing))} of {self._identity.size} did not join within "
                    f"{timeout:g} s (rank {self._identity.rank} waits at port {self.port})",
                    notes=self._refused,
                )
        return peers

    def _accept(self) -> None:
        try:
            link, address = self._socket.accept()
        except (TimeoutError, ConnectionAbortedError):
            return
        except OSError as error:
            raise DeviceError(f"cannot connect to other ranks: {error.strerror}") from None
        if not self._unidentified.acquire(blocking=False):
            link.close()
            return
        threading.Thread(
            target=self._greet, args=(link, str(address[0])), name="ark:listener", daemon=True
        ).start()

    def _greet(self, link: socket.socket, host: str) -> None:
        """Receives the greeting of a process; closes the connection if it lacks the secret."""
        try:
            _keep_alive(link)
            with _limited(link):
                channel = connect_channel(link, self._secret, connects=False)
                greeting = _receive(channel, _LONGEST_GREETING)
                if greeting is None or not _is_greeting(greeting):
                    raise DamagedFrameError("no greeting of a rank")
                _send(channel, _greeting(self._identity))
            self._peers.put(_Peer(channel, greeting, host))
        except (DamagedFrameError, OSError) as error:
            link.close()
            note = f"a process at {host} did not prove that it has the secret: {error}"
            if note not in self._refused and len(self._refused) < _MOST_NOTES:
                self._refused.append(note)
        finally:
            self._unidentified.release()

    def _check(self, peer: _Peer, missing: set[int]) -> int:
        identity, greeting = self._identity, peer.greeting
        rank, name = greeting["rank"], f"rank {greeting['rank']} (process {greeting['process']})"
        if greeting["protocol"] != _PROTOCOL:
            raise InvalidUsageError(f"{name} has another version of ark than rank {identity.rank}")
        if greeting["size"] != identity.size:
            raise InvalidUsageError(
                f"{name} has world_size {greeting['size']}, and rank {identity.rank} has "
                f"world_size {identity.size}"
            )
        if rank not in missing:
            raise InvalidUsageError(f"{name}: another process has this rank")
        return rank


# ---------------------------------------------------------------------------- other ranks


def _join(identity: Identity, endpoint: Endpoint, timeout: float, deadline: float) -> TcpLinks:
    channels: dict[int, Channel] = {}
    with contextlib.ExitStack() as on_error:
        on_error.callback(lambda: [channel.close() for channel in channels.values()])
        link = _connect(endpoint.host, endpoint.port, 0, deadline, timeout)
        # The interface that reaches rank 0 also reaches the other ranks.
        with _Listener(link.getsockname()[0], 0, identity, endpoint.secret) as listener:
            channels[0] = _introduce(link, identity, 0, endpoint.secret, listener.port)
            addresses, processes = _await_addresses(channels[0], identity, timeout, deadline)
            for rank in range(1, identity.rank):
                host, port = addresses[rank - 1]
                each = _connect(host, port, rank, deadline, timeout)
                channels[rank] = _introduce(each, identity, rank, endpoint.secret, listener.port)
            listener.admit(range(identity.rank + 1, identity.size), timeout, deadline, channels)
        on_error.pop_all()
    return TcpLinks(identity.rank, channels, dict(enumerate(processes)), timeout)


def _connect(host: str, port: int, rank: int, deadline: float, timeout: float) -> socket.socket:
    while True:
        try:
            link = socket.create_connection((host, port), max(0.01, deadline - time.monotonic()))
        except OSError as error:
            if time.monotonic() + _RETRY_SECONDS >= deadline:
                raise RankFailedError(
                    f"rank {rank} did not join within {timeout:g} s: {host}:{port}: {error}"
                ) from None
            time.sleep(_RETRY_SECONDS)
        else:
            _keep_alive(link)
            return link


def _introduce(
    link: socket.socket, identity: Identity, rank: int, secret: bytes, port: int
) -> Channel:
    """Returns the channel to a rank that has proven that it has the secret."""
    try:
        with _limited(link):
            channel = connect_channel(link, secret, connects=True)
            _send(channel, _greeting(identity, port))
            answer = _receive(channel, _LONGEST_GREETING)
        if answer is None:
            raise DamagedFrameError("it has closed the connection")
        if answer.get("rank") != rank:
            raise DamagedFrameError("it is another rank")
        return channel
    except (DamagedFrameError, OSError) as error:
        link.close()
        raise InvalidUsageError(
            f"the process that waits as rank {rank} did not prove that it has the secret of this "
            f"job: {error}",
            notes=["all ranks need the same secret"],
        ) from None


def _await_addresses(
    channel: Channel, identity: Identity, timeout: float, deadline: float
) -> tuple[list[tuple[str, int]], list[str]]:
    """Returns the addresses of the ranks from 1 on, and the processes of all ranks."""
    # One second more than rank 0 waits, so that its list of the missing ranks arrives.
    channel.link.settimeout(max(0.01, deadline + 1 - time.monotonic()))
    try:
        message = _receive(channel, _LONGEST_INTRODUCTION)
    except TimeoutError:
        raise RankFailedError(f"other ranks did not join within {timeout:g} s") from None
    except (DamagedFrameError, OSError) as error:
        raise RankFailedError(f"rank 0 sent a malformed control message: {error}") from None
    if message is None:
        raise RankFailedError("rank 0 ended before all had joined")
    raise_refusal(message, identity.rank)
    addresses = [(str(host), int(port)) for host, port in message["addresses"]]
    return addresses, [str(process) for process in message["processes"]]


# -------------------------------------------------------------------- control messages


def _keep_alive(link: socket.socket) -> None:
    """Enables TCP keep-alive, so that the end of the other host ends the connection."""
    link.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
    for option, value in _KEEP_ALIVE.items():
        link.setsockopt(socket.IPPROTO_TCP, option, value)


@contextlib.contextmanager
def _limited(link: socket.socket) -> Generator[None]:
    """Ends the connection if the block takes longer than the limit for a greeting.

    The timeout of a socket does not suffice, since it begins again with every received byte.
    """
    link.settimeout(_GREETING_SECONDS)
    timer = threading.Timer(_GREETING_SECONDS, shut_down, [link])
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()


def _send(channel: Channel, message: object) -> None:
    channel.send(json.dumps(message).encode())


def _receive(channel: Channel, longest: int) -> dict[str, Any] | None:
    data = channel.receive(longest)
    if data is None:
        return None
    return parse_object(data)


def _is_greeting(message: dict[str, Any]) -> bool:
    numbers = all(type(message.get(name)) is int for name in ("protocol", "rank", "size", "port"))
    return numbers and isinstance(message.get("process"), str)

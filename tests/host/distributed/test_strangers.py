"""Connections from other programs to rank 0 during the rendezvous neither end rank 0 nor delay
it."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.distributed import rendezvous
from ark_mlir.distributed.launcher import Identity

Connect = Callable[[], socket.socket]


@pytest.fixture
def connect(come: Any) -> Iterator[Connect]:
    """``connect()`` returns a socket to rank 0 of the job of `come`, once it listens."""
    opened: list[socket.socket] = []

    def run() -> socket.socket:
        link = rendezvous._new_socket()
        opened.append(link)
        deadline = time.monotonic() + 100
        while True:
            try:
                link.connect(rendezvous._address(Identity(1, 2, 1, come.job)))
            except ConnectionRefusedError:
                assert time.monotonic() < deadline
                time.sleep(0.001)
            else:
                return link

    yield run
    for link in opened:
        link.close()


def is_refused(link: socket.socket) -> bool:
    """True if rank 0 closes the connection without sending anything."""
    link.settimeout(100)
    try:
        return link.recv(1000) == b""
    except ConnectionResetError:
        return True


def greeting(**changes: object) -> bytes:
    fields = {"protocol": rendezvous._PROTOCOL, "rank": 1, "size": 2, **changes}
    return json.dumps({key: value for key, value in fields.items() if value is not None}).encode()


@pytest.mark.parametrize(
    "data",
    [
        b"\x00\xff",
        b"{",
        b"[" * 60_000,
        b" " * 70_000,
        b"[1]",
        b"null",
        greeting(rank=None),
        greeting(rank="1"),
        greeting(rank=[1]),
        greeting(rank=True),
        greeting(rank=0),
        greeting(rank=-1),
        greeting(rank=2),
        greeting(size=1.5),
        greeting(protocol={}),
    ],
)
def test_garbage_of_the_same_user(
    come: Any, connect: Connect, in_threads: Callable[..., None], data: bytes
) -> None:
    """Rank 0 closes the connection of the sender, and still connects to rank 1."""
    found: list[Any] = []

    def disturb() -> None:
        link = connect()
        link.send(data)
        assert is_refused(link)
        found.extend(come((1, 2)))

    in_threads(lambda: found.extend(come((0, 2))), disturb)
    assert sorted(link.peers for link in found) == [[0], [1]]


def test_files_with_garbage_are_closed(
    come: Any, connect: Connect, in_threads: Callable[..., None]
) -> None:
    def opened() -> int:
        with os.scandir("/proc/self/fd") as files:
            return sum("ark_unwanted" in os.readlink(file) for file in files if file.is_symlink())

    file = os.memfd_create("ark_unwanted")

    def disturb() -> None:
        for data in (b"garbage", greeting(), greeting(rank=7)):
            link = connect()
            socket.send_fds(link, [data], [file] * 100)
            assert is_refused(link)
            assert opened() == 1
        come((1, 2))

    in_threads(lambda: come((0, 2)), disturb)
    os.close(file)


def test_nothing_is_read_of_another_user(
    come: Any,
    connect: Connect,
    in_threads: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rank 0 asks the kernel for the user of a process before it reads a byte from it."""
    credentials, receive = rendezvous._credentials, rendezvous._receive
    foreign = threading.Event()
    read: list[object] = []

    def as_foreign(link: socket.socket) -> tuple[int, int]:
        process, user = credentials(link)
        return process, user + 1 if foreign.is_set() else user

    def record(link: socket.socket, files: int) -> Any:
        received = receive(link, files)
        read.append(received)
        return received

    monkeypatch.setattr(rendezvous, "_credentials", as_foreign)
    monkeypatch.setattr(rendezvous, "_receive", record)

    def disturb() -> None:
        foreign.set()
        link = connect()
        # Rank 0 does not read, so the connection may be closed before the greeting is sent.
        with contextlib.suppress(BrokenPipeError):
            link.send(greeting())
        assert is_refused(link)
        assert read == []
        foreign.clear()
        come((1, 2))

    in_threads(lambda: come((0, 2)), disturb)
    # Rank 0 reads only the greeting of rank 1; rank 1 reads two answers.
    assert len(read) == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process of another user")
def test_a_process_of_another_user(
    come: Any, connect: Connect, in_threads: Callable[..., None]
) -> None:
    """Garbage, silence and greetings of another user's process have no effect."""
    address = rendezvous._address(Identity(1, 2, 1, come.job))
    program = f"""
import os, socket
os.setuid(65534)
silent = []
for data in (b"garbage", {greeting()!r}, b""):
    link = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    link.connect({address!r})
    try:
        if data:
            link.send(data)
        assert link.recv(1000) == b""
    except (BrokenPipeError, ConnectionResetError):
        pass
    silent.append(link)
"""

    def disturb() -> None:
        connect().close()  # rank 0 listens now
        subprocess.run([sys.executable, "-c", program], check=True, timeout=100)
        come((1, 2))

    found: list[Any] = []
    in_threads(lambda: found.extend(come((0, 2))), disturb)
    assert [link.peers for link in found] == [[1]]


def test_the_flood_does_not_keep_rank_0(come: Any, connect: Connect) -> None:
    """Rank 0 gives up at its deadline, even if strangers keep it busy, and the error names them."""
    over = threading.Event()

    def flood() -> None:
        while not over.is_set():
            link = connect_or_none()
            if link is not None:
                with link, contextlib.suppress(OSError):  # rank 0 may have closed the other end
                    link.send(b"garbage")

    def connect_or_none() -> socket.socket | None:
        link = rendezvous._new_socket()
        link.settimeout(1)
        try:
            link.connect(rendezvous._address(Identity(1, 2, 1, come.job)))
        except OSError:
            link.close()
            return None
        return link

    thread = threading.Thread(target=flood)
    thread.start()
    try:
        begin = time.monotonic()
        (error,) = come((0, 2), timeout=0.5)
        took = time.monotonic() - begin
    finally:
        over.set()
        thread.join()
    assert isinstance(error, ark.RankFailedError)
    assert "rank 1 of 2 did not join within 0.5 s" in str(error)
    assert f"process {os.getpid()} sent no valid greeting" in str(error)
    assert took < 5


def test_silent_ones_are_bounded(
    come: Any,
    connect: Connect,
    in_threads: Callable[..., None],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Rank 0 keeps a limited number of silent connections, and closes the oldest ones."""
    monkeypatch.setattr(rendezvous, "_MOST_UNIDENTIFIED", 3)

    def disturb() -> None:
        silent = [connect() for _ in range(5)]
        assert is_refused(silent[0])
        assert is_refused(silent[1])
        come((1, 2))
        assert all(is_refused(link) for link in silent[2:])

    in_threads(lambda: come((0, 2)), disturb)


def test_a_rank_of_another_version_gets_an_error(come: Any, connect: Connect) -> None:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.extend(come((0, 2))))
    thread.start()
    link = connect()
    link.send(greeting(protocol=rendezvous._PROTOCOL - 1))
    link.settimeout(100)
    answer = json.loads(link.recv(10_000))
    thread.join()
    assert isinstance(results[0], ark.InvalidUsageError)
    assert "rank 1" in str(results[0])
    assert "has another version of ark than rank 0" in answer["problem"]


def test_a_rank_that_sends_too_early(come: Any, connect: Connect) -> None:
    results: list[Any] = []
    thread = threading.Thread(target=lambda: results.extend(come((0, 3))))
    thread.start()
    link = connect()
    link.send(greeting(size=3))
    link.settimeout(100)
    link.recv(10_000)
    link.send(b"garbage")
    thread.join()
    assert isinstance(results[0], ark.RankFailedError)
    assert "rank 1" in str(results[0])
    assert "sent a malformed control message before all had joined" in str(results[0])


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (b"garbage", "rank 0 sent a malformed control message: text that is not JSON"),
        (b"{}", "rank 0 sent a malformed control message"),
        (b'{"processes": [1, 2]}', None),
        (b'{"problem": "no room"}', "rank 1 cannot continue: no room"),
    ],
)
def test_answers_of_rank_0(come: Any, answer: bytes, reason: str | None) -> None:
    with rendezvous._new_socket() as door:
        door.bind(rendezvous._address(Identity(0, 2, 0, come.job)))
        door.listen()
        results: list[Any] = []
        thread = threading.Thread(target=lambda: results.extend(come((1, 2))))
        thread.start()
        link, _ = door.accept()
        assert json.loads(link.recv(1000))["rank"] == 1
        link.send(answer)
        thread.join()
        link.close()
    if reason is None:
        assert results[0].peers == [0]
    else:
        assert isinstance(results[0], ark.RankFailedError)
        assert str(results[0]).startswith(reason)


def test_worlds_too_large_for_the_kernel() -> None:
    with pytest.raises(ark.UnsupportedError, match="a world of 256 processes; the limit is 255"):
        rendezvous.connect_ranks(Identity(0, 256, 0, "large"), 1)

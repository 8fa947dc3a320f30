"""Control messages: all sizes, damaged control messages, and receivers that fail."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.distributed import frames, links
from ark_mlir.distributed.communicator import Communicator

Pair = tuple[socket.socket, socket.socket]
KIB, MIB = 1 << 10, 1 << 20


@pytest.fixture
def pair() -> Iterator[Pair]:
    both = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    yield both
    for each in both:
        each.close()


@pytest.fixture
def no_leaks() -> Iterator[None]:
    """Checks that every file descriptor that a test opens is closed at its end."""
    before = set(os.listdir("/proc/self/fd"))
    yield
    assert set(os.listdir("/proc/self/fd")) <= before


def exchange(pair: Pair, message: object, file: int | None = None) -> frames.Received:
    with frames.Frame(message, file) as frame:
        frame.send(pair[0])
    received = frames.receive_frame(pair[1])
    assert received is not None
    return received


@pytest.mark.parametrize(
    "size",
    [
        0,
        1,
        64 * KIB - 16,
        64 * KIB - 15,
        64 * KIB - 14,
        64 * KIB - 1,
        64 * KIB,
        300 * KIB,
        20 * MIB,
    ],
)
def test_every_size(no_leaks: None, pair: Pair, size: int) -> None:
    """A packet holds up to 64 KiB less the header, including JSON's quotes."""
    message = "x" * size
    assert exchange(pair, message).message == message
    given = frames.as_file(b"given")
    received = exchange(pair, message, given)
    assert received.message == message
    assert received.file is not None
    assert frames.contents(received.file) == b"given"
    os.close(given)
    os.close(received.file)


def test_the_largest_message(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "LONGEST_TEXT", 100_002)
    assert exchange(pair, "x" * 100_000).message == "x" * 100_000
    with pytest.raises(ark.UnsupportedError, match="has 100003 bytes"):
        frames.Frame("x" * 100_001)
    with frames.Frame("x" * 100_000) as frame:
        frame.send(pair[0])
    monkeypatch.setattr(frames, "LONGEST_TEXT", 100_001)
    with pytest.raises(frames.DamagedFrameError, match="100002 bytes of text; at most"):
        frames.receive_frame(pair[1])


def test_no_temporary_file_can_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> int:
        raise OSError(24, "Too many open files")

    monkeypatch.setattr(os, "memfd_create", refuse)
    with pytest.raises(ark.DeviceError, match="cannot pass 70002 bytes to other ranks: Too many"):
        frames.Frame("x" * 70_000)


def packet(text: bytes, *, magic: bytes = b"ark\x02", flags: int = 0, length: int = -1) -> bytes:
    length = len(text) if length < 0 else length
    return magic + bytes([flags]) + length.to_bytes(8, "little") + text


@pytest.mark.parametrize(
    ("data", "count", "reason"),
    [
        (b"x", 0, "1 bytes without the header of a frame"),
        (packet(b"{}", magic=b"ark\x01"), 0, "15 bytes without the header of a frame"),
        (packet(b"{}")[:-1], 0, "1 bytes of text instead of 2"),
        (packet(b"{}") + b"}", 0, "3 bytes of text instead of 2"),
        (packet(b'{"a'), 0, "text that is not JSON"),
        (packet(b"\xff\xfe"), 0, "text that is not JSON"),
        (packet(b"[" * 60_000), 0, "text that is not JSON"),
        (packet(b"{}", flags=4), 0, "flags 0x4 are unknown"),
        (packet(b"{}", flags=2), 0, "0 files instead of 1"),
        (packet(b"{}"), 1, "1 files instead of 0"),
        (packet(b"{}", flags=2), 3, "its file descriptors are lost"),
        (packet(b"{}", flags=1), 1, "text both in the datagram and in a file"),
        (packet(b"", flags=1, length=3), 1, "2 bytes of text instead of 3"),
        (packet(b"", flags=1, length=1 << 40), 1, "1099511627776 bytes of text; at most"),
        (packet(b" " * 70_000), 0, "a datagram of more than 65536 bytes"),
    ],
)
def test_damaged_frames(no_leaks: None, pair: Pair, data: bytes, count: int, reason: str) -> None:
    """Each damaged message is rejected with its reason, and no file descriptor stays open."""
    file = frames.as_file(b"{}")
    socket.send_fds(pair[0], [data], [file] * count)
    with pytest.raises(frames.DamagedFrameError, match=reason):
        frames.receive_frame(pair[1])
    os.close(file)


def test_a_file_without_a_packet_is_closed(no_leaks: None, pair: Pair) -> None:
    file = frames.as_file(b"{}")
    socket.send_fds(pair[0], [b""], [file])
    assert frames.receive_frame(pair[1]) is None
    os.close(file)


# ---------------------------------------------------------------------------- in a world


def meet_in(link: links.Links, **options: Any) -> list[Any]:
    with Communicator(link, 1, 100).collective_call("talk") as call:
        return [word.body for word in call.all_gather("begin", **options)]


@pytest.mark.parametrize("size", [64 * KIB - 1, 64 * KIB, 300 * KIB, 20 * MIB])
def test_ranks_exchange_every_size(
    come: Callable[..., Any], in_threads: Callable[..., None], size: int
) -> None:
    world = come(*((rank, 3) for rank in range(3)))
    expected = [str(rank) * size for rank in range(3)]

    def talk(link: links.Links) -> None:
        assert meet_in(link, body=expected[link.rank]) == expected

    in_threads(*(lambda link=link: talk(link) for link in world))


def error_of(link: links.Links) -> str:
    """Returns the error of a rank, which may have received all messages of the first phase
    before."""

    def talk() -> None:
        with Communicator(link, 1, 100).collective_call("talk") as call:
            call.all_gather("begin")
            call.all_gather("end")

    with pytest.raises(ark.RankFailedError) as caught:
        talk()
    return str(caught.value)


GOOD = {"communicator": 1, "call": 1, "phase": "begin", "name": "talk", "body": 1}


@pytest.mark.parametrize(
    "data",
    [
        b"garbage",
        packet(json.dumps(GOOD).encode())[:-5],
        packet(b" " * 70_000),
        *(
            packet(json.dumps(message).encode())
            for message in (
                [],
                {**GOOD, "call": "1"},
                {**GOOD, "communicator": True},
                {**GOOD, "name": None},
                {**GOOD, "phase": "failed", "body": 3},
                {key: value for key, value in GOOD.items() if key != "body"},
            )
        ),
    ],
)
def test_invalid_messages_end_the_world(
    come: Callable[..., Any], in_threads: Callable[..., None], data: bytes
) -> None:
    """All ranks fail at once, although their timeout is 100 s."""
    world = come(*((rank, 3) for rank in range(3)))
    world[1]._sockets[2].send(data)
    errors: dict[int, str] = {}

    def talk(link: links.Links) -> None:
        errors[link.rank] = error_of(link)

    in_threads(*(lambda link=link: talk(link) for link in world))
    cause = f"rank 1 (process {os.getpid()}) sent a malformed control message: "
    assert errors[2].startswith(f"rank 2 cannot continue: {cause}")
    for rank in (0, 1):
        # The error names the cause, whichever rank reports it first.
        assert errors[rank].startswith(f"rank {rank} cannot continue: ")
        assert cause in errors[rank]


def test_a_receiver_that_fails(
    come: Callable[..., Any], in_threads: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """No rank waits for a rank whose receiver thread has ended."""
    world = come((0, 2), (1, 2))
    deliver = links.Links._deliver

    def fail(self: links.Links, *message: Any) -> None:
        if self.rank == 1:
            raise MemoryError("no more")
        deliver(self, *message)

    monkeypatch.setattr(links.Links, "_deliver", fail)
    errors: dict[int, str] = {}

    def talk(link: links.Links) -> None:
        errors[link.rank] = error_of(link)

    in_threads(*(lambda link=link: talk(link) for link in world))
    reason = "rank 1 can receive no more control messages: MemoryError('no more')"
    assert errors[1] == f"rank 1 cannot continue: {reason}"
    assert errors[0].startswith("rank 0 cannot continue: rank 1 ")
    assert errors[0].endswith(reason)


def test_a_message_that_cannot_be_sent(
    come: Callable[..., Any], in_threads: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    """An unexpected socket error is raised by the sender and by the other ranks."""
    world = come((0, 2), (1, 2))
    send = frames.Frame.send

    def refuse(self: frames.Frame, link: socket.socket) -> None:
        if link is world[0]._sockets[1]:
            raise OSError(90, "Message too long")
        send(self, link)

    monkeypatch.setattr(frames.Frame, "send", refuse)
    errors: dict[int, str] = {}

    def talk(link: links.Links) -> None:
        errors[link.rank] = error_of(link)

    in_threads(*(lambda link=link: talk(link) for link in world))
    assert errors[0].endswith("cannot be sent a control message: Message too long")
    assert errors[1].endswith("has ended")


def test_a_message_that_is_too_large(
    come: Callable[..., Any], in_threads: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    world = come((0, 2), (1, 2))
    monkeypatch.setattr(frames, "LONGEST_TEXT", 100_000)

    def large() -> None:
        with pytest.raises(ark.UnsupportedError, match="bytes; the limit is 100000"):
            meet_in(world[0], body="x" * 100_000)

    def small() -> None:
        assert "rank 0 failed: a control message has 100" in error_of(world[1])

    in_threads(large, small)


def test_unclaimed_files_are_closed(
    no_leaks: None, come: Callable[..., Any], in_threads: Callable[..., None]
) -> None:
    world = come((0, 2), (1, 2))
    file = frames.as_file(b"unread")
    for _ in range(2):
        world[0].send_to_all(1, 1, "begin", "talk", None, file)
    os.close(file)
    assert world[1].monitor.wait_for(lambda: world[1].mailbox(0, 1).messages, 100)
    for link in world:
        link.close("is done")

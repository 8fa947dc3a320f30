"""Ranks that connect over TCP, on the loopback interface."""

from __future__ import annotations

import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir import knobs
from ark_mlir.distributed.communicator import Communicator
from ark_mlir.distributed.frames import DamagedFrameError, as_file, contents
from ark_mlir.distributed.launcher import Identity
from ark_mlir.distributed.links import Links
from ark_mlir.distributed.tcp import links as tcp_links
from ark_mlir.distributed.tcp import rendezvous
from ark_mlir.distributed.tcp.channel import Channel, connect_channel
from ark_mlir.distributed.tcp.links import TcpLinks
from ark_mlir.distributed.tcp.rendezvous import Endpoint, connect_ranks_over_tcp

SCENARIOS = Path(__file__).parent / "engine_scenarios.py"
SECRET = "0123456789abcdef" * 2

Launch = Callable[..., "list[Any]"]
ConnectAll = Callable[..., "list[Any]"]


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def port() -> int:
    return free_port()


@pytest.fixture
def connect_all(port: int) -> Iterator[ConnectAll]:
    """``connect_all((rank, size), ..., secrets={}, timeout=60)`` returns the links or the error of
    each rank."""
    opened: list[Links] = []

    def run(
        *identities: tuple[int, int], secrets: dict[int, str] | None = None, timeout: float = 60
    ) -> list[Any]:
        results: list[Any] = [None] * len(identities)

        def work(number: int, rank: int, size: int) -> None:
            secret = (secrets or {}).get(rank, SECRET)
            endpoint = Endpoint.parse(f"127.0.0.1:{port}", secret)
            try:
                results[number] = connect_ranks_over_tcp(
                    Identity(rank, size, rank, "job"), endpoint, timeout
                )
                opened.append(results[number])
            except ark.ArkError as error:
                results[number] = error

        threads = [
            threading.Thread(target=work, args=(number, *identity))
            for number, identity in enumerate(identities)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return results

    yield run
    for link in opened:
        link.close("is done")


def pair() -> tuple[Channel, Channel]:
    """Two connected channels, and nothing else."""
    near, far = socket.socketpair()
    channels: list[Channel] = []
    thread = threading.Thread(
        target=lambda: channels.append(connect_channel(far, SECRET.encode(), connects=False))
    )
    thread.start()
    first = connect_channel(near, SECRET.encode(), connects=True)
    thread.join()
    return first, channels[0]


# ---------------------------------------------------------------------------- messages


def test_messages_arrive_in_order_in_both_directions() -> None:
    first, second = pair()
    for number in range(3):
        first.send(b"a" * number)
        second.send(b"b" * number)
    assert [second.receive() for _ in range(3)] == [b"", b"a", b"aa"]
    assert [first.receive() for _ in range(3)] == [b"", b"b", b"bb"]
    first.close()
    assert second.receive() is None


def test_a_sent_message_needs_no_thread_of_its_sender(monkeypatch: pytest.MonkeyPatch) -> None:
    """The system has the message when the sender goes on, which may hold the GIL from then on."""
    first, second = pair()
    send = Channel.send

    def send_late(channel: Channel, data: bytes) -> None:
        time.sleep(0.2)
        send(channel, data)

    monkeypatch.setattr(Channel, "send", send_late)
    links = TcpLinks(0, {1: first}, {1: "1"}, timeout=60)
    links.send_to_all(0, 1, "loaded", "the load", None, None)
    readable, _, _ = select.select([second.link], [], [], 0)
    assert readable == [second.link]
    links.close("is done")


def test_a_sender_does_not_wait_for_a_connection_that_has_ended() -> None:
    first, second = pair()
    links = TcpLinks(0, {1: first}, {1: "1"}, timeout=60)
    second.close()
    begin = time.monotonic()
    for call in range(3):
        links.send_to_all(0, call, "loaded", "the load", None, None)
    links.close("is done")
    assert time.monotonic() - begin < 30


@pytest.mark.parametrize("position", [0, 8, 12, 20, 49])
def test_a_message_that_was_changed(position: int) -> None:
    """A change of any byte is noticed: of the length, of the data, of the tag."""
    first, second = pair()
    near, far = socket.socketpair()
    first.link, link = near, first.link
    first.send(b"0123456789")
    data = bytearray(far.recv(1000))
    data[position] ^= 1
    link.sendall(data)
    link.shutdown(socket.SHUT_WR)
    with pytest.raises(DamagedFrameError):
        second.receive()


@pytest.mark.parametrize("order", [[0, 0], [1, 0], [1]])
def test_a_message_that_was_repeated_or_dropped(order: list[int]) -> None:
    first, second = pair()
    near, far = socket.socketpair()
    first.link, link = near, first.link
    packets: list[bytes] = []
    for text in (b"one", b"two"):
        first.send(text)
        packets.append(far.recv(1000))
    for number in order:
        link.sendall(packets[number])
    for expected in (b"one", b"two")[: order[0] == 0]:
        assert second.receive() == expected
    with pytest.raises(DamagedFrameError, match="not authentic"):
        second.receive()


def test_a_message_of_the_other_direction() -> None:
    first, second = pair()
    near, far = socket.socketpair()
    first.link, link = near, first.link
    first.send(b"mine")
    first.link = link
    second.link.sendall(far.recv(1000))
    with pytest.raises(DamagedFrameError, match="not authentic"):
        first.receive()


def test_a_length_beyond_the_limit_is_not_read() -> None:
    first, second = pair()
    first.link.sendall(struct.pack("<Q", 1 << 62))
    with pytest.raises(DamagedFrameError, match="the limit is 100"):
        second.receive(100)


# ---------------------------------------------------------------------------- rendezvous


@pytest.mark.parametrize("size", [2, 4])
def test_all_ranks_find_each_other(connect_all: ConnectAll, size: int) -> None:
    """Every rank gets the messages of all others, with long texts and the contents of files."""
    links = connect_all(*((rank, size) for rank in range(size)))
    long = "x" * (1 << 20)
    for link in links:
        file = as_file(b"from %d" % link.rank)
        link.send_to_all(7, 1, "hello", "greet", [link.rank, long], file)
        os.close(file)
    for link in links:
        assert link.peers == [rank for rank in range(size) if rank != link.rank]
        for peer in link.peers:
            mailbox = link.mailbox(peer, 7)
            assert link.monitor.wait_for(lambda mailbox=mailbox: mailbox.messages, 60)
            said = mailbox.messages.pop((1, "hello"))
            assert (said.sender, said.body) == (peer, [peer, long])
            assert contents(said.file) == b"from %d" % peer
            os.close(said.file)


@pytest.mark.parametrize("nbytes", [0, 999, 1000, 1001, 2500])
def test_a_file_of_any_size(
    connect_all: ConnectAll, monkeypatch: pytest.MonkeyPatch, nbytes: int
) -> None:
    """A file longer than a block comes in several messages of the channel; another one follows."""
    monkeypatch.setattr(tcp_links, "_BLOCK", 1000)
    sent: list[int] = []
    send = Channel.send

    def note(channel: Channel, data: bytes) -> None:
        sent.append(len(data))
        send(channel, data)

    first, second = connect_all((0, 2), (1, 2))
    monkeypatch.setattr(Channel, "send", note)
    data = bytes(range(251)) * 10
    file = as_file(data[:nbytes])
    first.send_to_all(7, 1, "hello", "greet", "with a file", file)
    first.send_to_all(7, 1, "hello again", "greet", "without one", None)
    os.close(file)
    mailbox = second.mailbox(0, 7)
    assert second.monitor.wait_for(lambda: len(mailbox.messages) == 2, 60)
    said, next_one = (mailbox.messages.pop((1, phase)) for phase in ("hello", "hello again"))
    assert (said.body, next_one.body, next_one.file) == ("with a file", "without one", None)
    assert contents(said.file) == data[:nbytes]
    os.close(said.file)
    assert max(sent) <= 1000
    assert len(sent) == 2 + -(-nbytes // 1000)


@pytest.mark.parametrize(
    ("parts", "failure"),
    [
        ([b"x" * 1000, b"x" * 400], "sent 400 bytes of a file with 500 bytes left"),
        ([b"x" * 1001], "sent a block of 1001 bytes; the limit is 1000"),
        ([b""], "sent 0 bytes of a file with 1500 bytes left"),
        ([b"x" * 1000], "sent the connection ended within a file"),
    ],
)
def test_a_file_whose_parts_are_wrong(
    monkeypatch: pytest.MonkeyPatch, parts: list[bytes], failure: str
) -> None:
    monkeypatch.setattr(tcp_links, "_BLOCK", 1000)
    first, second = pair()
    links = TcpLinks(1, {0: second}, {0: "1"}, timeout=60)
    text = b"{}"
    first.send(struct.pack("<QQ", len(text), 1500) + text)
    for part in parts:
        first.send(part)
    first.link.shutdown(socket.SHUT_WR)
    with (
        Communicator(links, 0, 60).collective_call("wait") as call,
        pytest.raises(ark.RankFailedError) as caught,
    ):
        call.all_gather("phase")
    assert failure in str(caught.value)
    links.close("is done")


def test_a_rank_that_leaves(connect_all: ConnectAll) -> None:
    first, second = connect_all((0, 2), (1, 2))
    second.close("has had enough")
    with (
        Communicator(first, 0, 60).collective_call("wait") as call,
        pytest.raises(ark.RankFailedError) as caught,
    ):
        call.all_gather("phase")
    assert "rank 1 (process" in str(caught.value)
    assert "has had enough" in str(caught.value)


def test_a_connection_that_is_cut(connect_all: ConnectAll) -> None:
    first, second = connect_all((0, 2), (1, 2))
    second._bridges[0]._channel.link.shutdown(socket.SHUT_RDWR)
    for links in (first, second):
        with (
            Communicator(links, 0, 60).collective_call("wait") as call,
            pytest.raises(ark.RankFailedError),
        ):
            call.all_gather("phase")


def test_memory_of_the_host_is_not_sent(connect_all: ConnectAll) -> None:
    first, _ = connect_all((0, 2), (1, 2))
    file = os.memfd_create("ark_arena")
    first.send_to_all(7, 1, "memory", "share", None, file)
    os.close(file)
    assert first.monitor.wait_for(lambda: first.gone, 60)


def test_missing_ranks_are_named(connect_all: ConnectAll) -> None:
    for error in connect_all((0, 3), (2, 3), timeout=1):
        assert isinstance(error, ark.RankFailedError)
        assert "rank 1 of 3 did not join within 1 s" in str(error)
    (error,) = connect_all((1, 3), timeout=0.2)
    assert "rank 0 did not join within 0.2 s" in str(error)


def test_worlds_of_different_sizes(connect_all: ConnectAll) -> None:
    for error in connect_all((0, 2), (1, 3)):
        assert isinstance(error, ark.InvalidUsageError)
        assert "world_size 3" in str(error)


def test_another_secret(connect_all: ConnectAll) -> None:
    """Rank 0 does not listen to a process with another secret, and names it when time is up."""
    first, second = connect_all((0, 2), (1, 2), secrets={1: SECRET[::-1]}, timeout=2)
    assert isinstance(first, ark.RankFailedError)
    assert "rank 1 of 2 did not join" in str(first)
    assert "did not prove that it has the secret" in "".join(first.notes)
    assert isinstance(second, ark.InvalidUsageError)
    assert "did not prove that it has the secret" in str(second)


def test_strangers_do_not_prevent_a_rendezvous(
    connect_all: ConnectAll, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Silent connections and garbage, before a rank comes."""
    monkeypatch.setattr(rendezvous, "_GREETING_SECONDS", 1.0)
    strangers: list[socket.socket] = []

    def disturb() -> None:
        for number in range(20):
            strangers.append(connect(port))
            if number % 2:
                strangers[-1].sendall(b"GET / HTTP/1.1\r\n\r\n" * 10)

    results: list[Any] = []
    host = threading.Thread(target=lambda: results.extend(connect_all((0, 2))))
    host.start()
    disturb()
    (second,) = connect_all((1, 2))
    host.join()
    assert [type(each).__name__ for each in (*results, second)] == ["TcpLinks"] * 2
    for stranger in strangers:
        stranger.close()


def test_a_slow_stranger(
    connect_all: ConnectAll, port: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that sends a byte now and then does not keep its connection."""
    monkeypatch.setattr(rendezvous, "_GREETING_SECONDS", 0.5)
    results: list[Any] = []
    host = threading.Thread(target=lambda: results.extend(connect_all((0, 2), timeout=60)))
    host.start()
    stranger = connect(port)
    begin = time.monotonic()
    with pytest.raises(OSError, match=r"reset|pipe"):  # noqa: PT012 - which byte is refused is open
        while time.monotonic() - begin < 30:
            stranger.sendall(b"a")
            time.sleep(0.1)
    monkeypatch.undo()
    (second,) = connect_all((1, 2))
    host.join()
    assert [type(each).__name__ for each in (*results, second)] == ["TcpLinks"] * 2
    stranger.close()


def connect(port: int) -> socket.socket:
    """Connects to a port as soon as somebody listens."""
    deadline = time.monotonic() + 20
    while True:
        try:
            return socket.create_connection(("127.0.0.1", port))
        except OSError:
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_an_address_that_is_taken(connect_all: ConnectAll, port: int) -> None:
    with socket.create_server(("127.0.0.1", port)):
        (error,) = connect_all((0, 2), timeout=1)
    assert isinstance(error, ark.InvalidUsageError)
    assert f"rank 0 cannot wait at 127.0.0.1:{port}" in str(error)


# ---------------------------------------------------------------------------- arguments


@pytest.mark.parametrize("address", ["host", ":1", "host:", "host:0", "host:70000", "host:x"])
def test_addresses_that_are_none(address: str) -> None:
    with pytest.raises(ark.InvalidUsageError, match="is not HOST:PORT"):
        ark.distributed.init(0, 2, address=address, secret=SECRET)


def test_secrets(tmp_path: Path) -> None:
    with pytest.raises(ark.InvalidUsageError, match="need a secret"):
        ark.distributed.init(0, 2, address="localhost:1")
    with pytest.raises(ark.InvalidUsageError, match="has 5 characters"):
        ark.distributed.init(0, 2, address="localhost:1", secret="short")
    file = tmp_path / "secret"
    file.write_text(f"{SECRET}\n")
    file.chmod(0o640)
    with knobs.scope(ARK_SECRET_FILE=str(file)):
        with pytest.raises(ark.InvalidUsageError, match="other users can read the secret"):
            Endpoint.parse("localhost:1")
        file.chmod(0o600)
        assert Endpoint.parse("localhost:1").secret == SECRET.encode()
        assert SECRET not in repr(Endpoint.parse("localhost:1"))
    with (
        knobs.scope(ARK_SECRET_FILE=str(tmp_path / "none")),
        pytest.raises(ark.InvalidUsageError, match="the secret cannot be read"),
    ):
        Endpoint.parse("localhost:1")


# ---------------------------------------------------------------------------- programs


@pytest.mark.parametrize("engine", ["torch", "mscclpp", "nccl"])
def test_a_program_runs_with_an_engine(
    launch_ranks: Launch, tmp_path: Path, engine: str, port: int
) -> None:
    """Processes that exchange messages over TCP alone."""
    address = f"127.0.0.1:{port}"
    results = launch_ranks(SCENARIOS, engine, "", str(tmp_path), address, size=3)
    assert results == [[[0.0, 0.0, []], True]] * 3


def test_a_program_without_an_engine(launch_ranks: Launch, tmp_path: Path, port: int) -> None:
    address = f"127.0.0.1:{port}"
    for (kind, text), clean in launch_ranks(SCENARIOS, "none", "none", str(tmp_path), address):
        assert kind == "UnsupportedError"
        assert "cannot share memory of a host for cuda: pass engine=" in text
        assert clean


def test_a_killed_rank(launch_ranks: Launch, tmp_path: Path, port: int) -> None:
    """The end of a process closes its connections, so the other rank detects it immediately."""
    address = f"127.0.0.1:{port}"
    survivor, killed = launch_ranks(SCENARIOS, "nccl", "killed", str(tmp_path), address)
    assert killed == -signal.SIGKILL
    (kind, text), _ = survivor
    assert kind == "RankFailedError"
    assert "rank 1 (process" in text
    assert "has ended" in text

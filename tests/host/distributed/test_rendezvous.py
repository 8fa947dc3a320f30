"""The rendezvous of ranks, with threads instead of processes."""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Callable
from typing import Any

import pytest
from interrupts import interrupt_everywhere

import ark_mlir as ark
from ark_mlir.distributed import rendezvous
from ark_mlir.distributed.communicator import Communicator
from ark_mlir.distributed.frames import as_file, contents
from ark_mlir.distributed.links import Links

Come = Callable[..., "list[Any]"]


@pytest.mark.parametrize("size", [1, 2, 8])
def test_all_ranks_find_each_other(come: Come, size: int) -> None:
    links = come(*((rank, size) for rank in range(size)))
    for rank, link in enumerate(links):
        assert (link.rank, link.peers) == (rank, [r for r in range(size) if r != rank])
    # Each message arrives at every other rank, with the right sender.
    for link in links:
        file = as_file(b"from %d" % link.rank)
        link.send_to_all(7, 1, "hello", "greet", link.rank, file)
        os.close(file)
    for link in links:
        for peer in link.peers:
            mailbox = link.mailbox(peer, 7)
            assert link.monitor.wait_for(lambda mailbox=mailbox: mailbox.messages, 100)
            message = mailbox.messages.pop((1, "hello"))
            assert (message.sender, message.body) == (peer, peer)
            assert contents(message.file) == b"from %d" % peer
            os.close(message.file)


def test_missing_ranks_are_named(come: Come) -> None:
    for error in come((0, 4), (2, 4), timeout=1):
        assert isinstance(error, ark.RankFailedError)
        assert "ranks 1, 3 of 4 did not join within 1 s" in str(error)
    (error,) = come((1, 4), timeout=0.1)
    assert "rank 0 of 4 did not join within 0.1 s" in str(error)


def test_worlds_of_different_sizes(come: Come) -> None:
    for error in come((0, 2), (1, 3)):
        assert isinstance(error, ark.InvalidUsageError)
        assert "has world_size 3, and rank 0" in str(error)
        assert "has world_size 2" in str(error)


def test_two_processes_of_one_rank(come: Come) -> None:
    errors = come((0, 3), (1, 3), (1, 3))
    assert all(isinstance(error, ark.InvalidUsageError) for error in errors)
    assert "two processes are rank 1" in str(errors[0])


def test_two_processes_that_listen_as_rank_0(come: Come, monkeypatch: pytest.MonkeyPatch) -> None:
    refused = threading.Event()
    opened, stepped = rendezvous._RankZero._open, rendezvous._RankZero._step

    def open_door(self: Any, door: socket.socket) -> None:
        try:
            opened(self, door)
        except ark.ArkError:
            refused.set()
            raise

    def step(*arguments: Any) -> None:
        assert refused.wait(100)  # the other process binds the name while this one tries to connect
        stepped(*arguments)

    monkeypatch.setattr(rendezvous._RankZero, "_open", open_door)
    monkeypatch.setattr(rendezvous._RankZero, "_step", step)
    errors = come((0, 2), (0, 2), timeout=0.1)
    kinds = sorted(type(error).__name__ for error in errors)
    assert kinds == ["InvalidUsageError", "RankFailedError"]
    assert any("waits as rank 0 of the same job" in str(error) for error in errors)


def test_a_rank_that_ends_before_the_rendezvous(
    come: Come, monkeypatch: pytest.MonkeyPatch
) -> None:
    send = rendezvous._send

    def send_and_end(link: socket.socket, message: Any) -> None:
        send(link, message)
        if "protocol" in message:
            link.shutdown(socket.SHUT_RDWR)

    monkeypatch.setattr(rendezvous, "_send", send_and_end)
    host, guest = come((0, 3), (1, 3))
    assert "ended before all had joined" in str(host)
    assert "ended before all had joined" in str(guest)


def test_collective_calls(come: Come, in_threads: Callable[..., None]) -> None:
    """One rank fails, another one goes on alone; both then detect the difference."""
    links = come((0, 2), (1, 2))
    first, second = (Communicator(link, 3, 100) for link in links)

    def one() -> None:
        def divide() -> None:
            with first.collective_call("divide") as call:
                call.all_gather("begin", 1)
                raise ZeroDivisionError("by zero")

        with pytest.raises(ZeroDivisionError):
            divide()
        with first.collective_call("add") as call:
            assert [word.body for word in call.all_gather("begin", 2)] == [2, 3]
        with first.collective_call("end") as call:
            call.all_gather("begin")

    def other() -> None:
        with second.collective_call("divide") as call:
            assert [word.body for word in call.all_gather("begin", 5)] == [1, 5]
            with pytest.raises(ark.RankFailedError, match="rank 0 failed: by zero"):
                call.all_gather("end")
            assert call.find_failure() == "rank 0 failed: by zero"
        with second.collective_call("add") as call:
            call.all_gather("begin", 3)
            with pytest.raises(ark.RankFailedError, match="has continued with end"):
                call.all_gather("middle")
        with second.collective_call("end") as call:
            call.all_gather("begin")
            assert call.find_failure() is None

    in_threads(one, other)


def test_rank_0_creates_shared_resources_first(come: Come, in_threads: Callable[..., None]) -> None:
    links = come(*((rank, 3) for rank in range(3)))
    done: list[int] = []

    def take(link: Links) -> None:
        def prepare(words: Any) -> None:
            assert [word.body for word in words] == [0, 1, 2]
            assert done == []
            done.append(0)

        with Communicator(link, 1, 100).collective_call("prepare") as call:
            call.all_gather("begin", link.rank, first=prepare)
            assert done == [0]

    in_threads(*(lambda link=link: take(link) for link in links))


def test_a_rank_that_takes_no_messages(come: Come) -> None:
    """The rank behaves as if stopped: its queue is full, and senders time out."""
    first, second = come((0, 2), (1, 2))
    with second.monitor.lock:  # its receiver thread is blocked
        first._sockets[1].settimeout(0.05)
        while not first.gone:
            first.send_to_all(1, 1, "hello", "greet", "x" * 4000, None)
        assert first.gone[1].endswith("accepts no control messages")


def test_an_interrupt_at_any_point_does_not_stop_the_receiver(come: Come) -> None:
    """Ctrl-C during a poll of the other ranks once left a lock acquired: the receiver thread waited
    for it, and the end of the world for the thread."""
    first, second = come((0, 2), (1, 2))
    mailbox = first.mailbox(1, 1)
    with Communicator(first, 1, 60).collective_call("poll") as call:
        for line in interrupt_everywhere(call.find_failure):
            second.send_to_all(1, 1, f"phase {line}", "poll", None, None)
            assert first.monitor.wait_for(
                lambda line=line: (1, f"phase {line}") in mailbox.messages, 10
            )
    for link in (first, second):
        link.close("is done")

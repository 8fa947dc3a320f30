"""Interrupts of threads that wait for each other: no lock may stay acquired."""

from __future__ import annotations

import threading
import time

import pytest
from interrupts import interrupt_everywhere, is_free

from ark_mlir.monitor import Monitor


def test_an_interrupt_leaves_a_condition_locked() -> None:
    """The reason for :class:`Monitor`: this test shows that `interrupt_everywhere` finds it."""
    lock = threading.Lock()
    condition = threading.Condition(lock)

    def enter() -> None:
        with condition:
            pass

    assert not all(is_free(lock) for _ in interrupt_everywhere(enter))


def test_no_interrupt_leaves_a_monitor_locked() -> None:
    monitor = Monitor()

    def use() -> None:
        with monitor.lock:
            monitor.notify_all()
        monitor.wait_for(lambda: False, 0.001)

    interrupts = 0
    for _ in interrupt_everywhere(use):
        assert is_free(monitor.lock)
        interrupts += 1
    assert interrupts > 5


def test_a_wait_ends_with_a_change() -> None:
    monitor = Monitor()
    values: list[int] = []

    def change() -> None:
        for value in range(3):
            time.sleep(0.02)
            with monitor.lock:
                values.append(value)
                monitor.notify_all()

    thread = threading.Thread(target=change)
    thread.start()
    assert monitor.wait_for(lambda: len(values) == 3, 60)
    thread.join()


def test_all_waiting_threads_see_a_change() -> None:
    monitor = Monitor()
    done = False
    seen: list[bool] = []
    threads = [
        threading.Thread(target=lambda: seen.append(monitor.wait_for(lambda: done, 60)))
        for _ in range(8)
    ]
    for thread in threads:
        thread.start()
    with monitor.lock:
        done = True
        monitor.notify_all()
    for thread in threads:
        thread.join()
    assert seen == [True] * 8


@pytest.mark.parametrize("seconds", [0, 0.01, -1])
def test_a_wait_without_a_change(seconds: float) -> None:
    assert not Monitor().wait_for(lambda: False, seconds)
    assert Monitor().wait_for(lambda: True, seconds)

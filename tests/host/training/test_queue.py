"""A queue feeds batches to steps: equal bits, bounds, and errors of iterators."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from fit_program import batch, build

import ark_mlir as ark
from ark_mlir.training import Queue, Trainer

Array = np.ndarray[Any, Any]
STEPS = 9


def batches(first: int) -> Iterator[dict[str, Array]]:
    return map(batch, itertools.count(first))


def make(source: Any, **options: Any) -> Trainer:
    program, loop = build()
    return Trainer(program, loop, source, target="cpu:1", **options)


def weights(trainer: Trainer) -> bytes:
    return trainer.state_arrays()["w"].tobytes()


@pytest.fixture(scope="module")
def whole() -> tuple[Array, bytes]:
    """The losses and the weights of all steps, without a queue."""
    with make(batch) as trainer:
        return trainer.run(STEPS), weights(trainer)


@pytest.mark.parametrize("resident", [False, True])
@pytest.mark.parametrize("capacity", [1, 8])
def test_the_bits_are_those_without_a_queue(
    whole: tuple[Array, bytes], capacity: int, resident: bool, tmp_path: Path
) -> None:
    """The losses stay the same after a save and a load, which move the queue to another step."""
    path = tmp_path / "fit.safetensors"
    first_steps: list[int] = []

    def source(first: int) -> Iterator[dict[str, Array]]:
        first_steps.append(first)
        return batches(first)

    options: dict[str, Any] = {"save": path, "save_every": 2, "resident": resident}
    with make(Queue(source, capacity), **options) as trainer:
        begin = np.concatenate([trainer.run(2), trainer.run(3)])
        assert first_steps == [0]
        trainer.run(2)
        trainer.load(path)
        assert trainer.step == 7
        end = trainer.run(STEPS - 7)
        assert first_steps == [0]
        assert weights(trainer) == whole[1]
    assert np.array_equal(begin, whole[0][:5])
    assert np.array_equal(end, whole[0][7:])
    with make(Queue(source, capacity), **options) as again:
        again.load(path)
        assert again.step == STEPS
        again.run(1)
        assert first_steps == [0, STEPS]


def test_the_thread_makes_batches_during_a_launch() -> None:
    """While a step runs, the thread fills the queue up to its capacity, and no further."""
    made: list[int] = []

    def source(first: int) -> Iterator[dict[str, int]]:
        for step in itertools.count(first):
            made.append(step)
            yield {"step": step}

    with Queue(source, capacity=3) as queue:
        assert queue.take(0) == {"step": 0}
        wait_until(lambda: len(made) >= 4)
        time.sleep(0.05)
        # Three are in the queue; the iterable is asked for the next when one is taken.
        assert made == [0, 1, 2, 3]
        assert all(queue.is_ready(step) == (step == 1) for step in range(5))
        assert queue.take(1) == {"step": 1}
        wait_until(lambda: len(made) == 5)
        assert queue.take(7) == {"step": 7}  # not the next step: the queue begins again


def wait_until(holds: Any) -> None:
    deadline = time.monotonic() + 20
    while not holds():
        assert time.monotonic() < deadline
        time.sleep(0.005)


def test_a_queue_that_runs_dry(tmp_path: Path) -> None:
    """The step waits, then the error names it; the states are those of the step before."""
    path, go = tmp_path / "fit.safetensors", threading.Event()

    def source(first: int) -> Iterator[dict[str, Array]]:
        for step in itertools.count(first):
            if step == 5:
                assert go.wait(20)
            yield batch(step)

    with make(Queue(source, timeout=0.3), save=path, save_every=2) as trainer:
        with pytest.raises(ark.HangError, match=r"no batch for step 5 within 0\.3 s"):
            trainer.run(STEPS)
        assert trainer.step == len(trainer.losses) == 5
        go.set()
        trainer.run(STEPS - 5)  # a late batch still serves the step
        kept = weights(trainer)
    with make(batch) as other:
        other.load(path)
        assert other.step == STEPS
        assert weights(other) == kept


def test_errors_of_the_iterable(tmp_path: Path) -> None:
    path = tmp_path / "fit.safetensors"

    def broken(first: int) -> Iterator[dict[str, Array]]:
        for step in range(first, 4):
            yield batch(step)
        raise OSError(f"cannot read the file of step {4}")

    def wrong(first: int) -> Iterator[dict[str, Array]]:
        for step in itertools.count(first):
            yield {**batch(step), "x": np.zeros((7, 5), np.float32)} if step == 4 else batch(step)

    cases: tuple[tuple[Any, type[Exception], str], ...] = (
        (broken, OSError, "cannot read the file of step 4"),
        (wrong, ark.InvalidUsageError, r"batch of step 4: 'x' is float32\[7, 5\], not"),
        (lambda first: map(batch, range(first, 4)), ark.InvalidUsageError, "ended before step 4"),
        (lambda first: None, ark.InvalidUsageError, "the queue returned a NoneType"),
        (lambda first: {"x": 1}, ark.InvalidUsageError, "expected an iterable of batches"),
    )
    for source, error, message in cases:
        with make(Queue(source), save=path, save_every=1) as trainer:
            with pytest.raises(error, match=message):
                trainer.run(STEPS)
            assert trainer.step in (0, 3, 4)
            reached = trainer.step
        if reached:
            with make(batch) as other:
                other.load(path)
                assert other.step == reached


def test_ctrl_c_while_the_queue_is_dry(tmp_path: Path) -> None:
    path = tmp_path / "fit.safetensors"
    done = threading.Event()

    def source(first: int) -> Iterator[dict[str, Array]]:
        yield from map(batch, range(first, 3))
        wait_until(lambda: len(trainer.losses) == 3)
        os.kill(os.getpid(), signal.SIGINT)
        done.wait(20)

    with make(Queue(source), save=path) as trainer:
        with pytest.raises(KeyboardInterrupt):
            trainer.run(STEPS)
        done.set()
        assert trainer.step == 3
    with make(batch) as other:
        other.load(path)
        assert other.step == 3


def test_wrong_arguments() -> None:
    for arguments, message in (
        (([],), "batches is a list; expected a function"),
        ((batches, 0), "capacity must be a positive integer, not 0"),
        ((batches, 4, 0), "timeout must be positive, in seconds, not 0"),
    ):
        with pytest.raises(ark.InvalidUsageError, match=message):
            Queue(*arguments)  # type: ignore[arg-type]
    queue = Queue(batches)
    queue.close()
    with pytest.raises(ark.InvalidUsageError, match="the queue is closed"):
        queue.take(0)
    with pytest.raises(ark.InvalidUsageError, match=r"or an ark\.training\.Queue, not 3"):
        make(3)

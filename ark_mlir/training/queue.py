"""``Queue``: a thread that makes the batches of later steps while the kernel runs earlier ones."""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import TYPE_CHECKING, Any, cast

from ..errors import HangError, InvalidUsageError, a_type

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["Queue"]

# The time after which a waiting thread looks whether Ctrl-C was pressed, or the queue was closed.
_SECONDS_BETWEEN_LOOKS = 0.1


class Queue:
    """A bounded queue of batches, which a thread fills from an iterator while steps run.

    Pass a queue to a :class:`Trainer` instead of a function. The thread waits while the queue has
    `capacity` batches. A launch takes the batches that are ready, at least one.

    Args:
        batches: a function of the number of the first step that returns an iterable of the batches
            from that step on. The training calls it when it begins and when it resumes; if equal
            steps get equal batches, a resumed training has the bits of one that went on. The
            iterable is used by the thread.
        capacity: the largest number of batches in the queue.
        timeout: the number of seconds that a step waits for its batch.

    Raises InvalidUsageError if an argument has a wrong type or value.

    Example:
        >>> def batches(first):
        ...     for step in range(first, 1000):
        ...         yield {"x": np.full(4, step % 3, np.float32)}
        >>> with ark.Program("fit") as program:
        ...     loop = ark.training.Loop(steps=20)
        ...     w = ark.state("w", (4,), init=1.0)
        ...     loss = ark.reduce_sum(w * loop.input("x", (4,)), keepdims=False) ** 2.0
        ...     ark.optim.SGD([w], lr=0.01).step(ark.gradients(loss, [w]), skip=loop.end(loss))
        >>> queue = ark.training.Queue(batches, capacity=8)
        >>> with ark.training.Trainer(program, loop, queue, target="cpu:2") as trainer:
        ...     losses = trainer.run(30)
        >>> len(losses)
        30
    """

    def __init__(
        self,
        batches: Callable[[int], Iterable[Mapping[str, Any]]],
        capacity: int = 16,
        timeout: float = 60.0,
    ) -> None:
        if not callable(batches):  # pyright: ignore[reportUnnecessaryComparison]
            raise InvalidUsageError(
                f"batches is {a_type(batches)}; expected a function of the number of the first "
                "step that returns an iterable, such as lambda first: iter(...)"
            )
        if not _is_positive(capacity, int):
            raise InvalidUsageError(f"capacity must be a positive integer, not {capacity!r}")
        if not _is_positive(timeout, int, float):
            raise InvalidUsageError(f"timeout must be positive, in seconds, not {timeout!r}")
        self._batches, self._capacity, self._timeout = batches, capacity, float(timeout)
        self._feed: _Feed | None = None
        self._closed = False

    def take(
        self, step: int, interrupted: Callable[[], bool] = lambda: False
    ) -> Mapping[str, Any] | None:
        """Returns the batch of a step, and removes it from the queue.

        If `step` does not follow the step of the last call, the queue begins again at `step`.

        Args:
            step: the number of the step.
            interrupted: a function that is called while there is no batch; the method returns None
                when the function returns True.

        Raises:
            HangError: no batch came within the time limit.
            InvalidUsageError: the iterable has ended, or the queue is closed.
            Exception: the error of the iterable, if it raised one.

        >>> queue = ark.training.Queue(lambda first: ({"n": n} for n in range(first, 9)))
        >>> queue.take(5), queue.take(6), queue.take(0)
        ({'n': 5}, {'n': 6}, {'n': 0})
        >>> queue.close()
        """
        feed = self._feed_at(step)
        deadline = time.monotonic() + self._timeout
        with feed.changed:
            while not feed.batches:
                if feed.ended:
                    raise self._end(feed, step)
                if interrupted():
                    return None
                left = deadline - time.monotonic()
                if left <= 0:
                    raise HangError(
                        f"the queue had no batch for step {step} within {self._timeout:g} s; make "
                        "batches faster, or pass a larger timeout to ark.training.Queue"
                    )
                feed.changed.wait(min(left, _SECONDS_BETWEEN_LOOKS))
            feed.next_step += 1
            feed.changed.notify_all()
            return feed.batches.popleft()

    def is_ready(self, step: int) -> bool:
        """Returns True if :meth:`take` would return the batch of a step without waiting.

        Args:
            step: the number of the step.

        >>> queue = ark.training.Queue(lambda first: ({"n": n} for n in range(first, 9)))
        >>> queue.is_ready(3)
        False
        """
        feed = self._feed
        if feed is None:
            return False
        with feed.changed:
            return feed.next_step == step and bool(feed.batches)

    def close(self) -> None:
        """Ends the thread, after the batch that it makes; may be called again.

        >>> ark.training.Queue(lambda first: []).close()
        """
        self._closed = True
        self._stop()

    def _stop(self) -> None:
        if self._feed is not None:
            self._feed.stop()
            self._feed = None

    def _feed_at(self, step: int) -> _Feed:
        if self._closed:
            raise InvalidUsageError("the queue is closed; make a new ark.training.Queue")
        if self._feed is None or self._feed.next_step != step:
            self._stop()
            self._feed = _Feed(self._batches, step, self._capacity)
        return self._feed

    def _end(self, feed: _Feed, step: int) -> BaseException:
        """Returns the error of a step after the last batch."""
        error = feed.error
        self._stop()  # another call begins again
        if error is not None:
            return error
        return InvalidUsageError(
            f"the batches of the queue ended before step {step}; run fewer steps, or return an "
            "iterable that does not end"
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        value: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self.close()


class _Feed:
    """The thread and the batches of a queue since it began at a step.

    Attributes:
        changed: guards all other attributes, and tells of their changes.
        batches: the batches that no step has taken.
        next_step: the step of the first of them.
        ended: True if the thread makes no more batches.
        error: the error of the iterable.
    """

    def __init__(
        self, batches: Callable[[int], Iterable[Mapping[str, Any]]], first: int, capacity: int
    ) -> None:
        self.changed = threading.Condition()
        self.batches: deque[Mapping[str, Any]] = deque()
        self.next_step = first
        self.ended = False
        self.error: BaseException | None = None
        self._stopped = False
        self._capacity = capacity
        # The thread must not keep the process alive if the iterable never returns.
        threading.Thread(
            target=self._work, args=(batches, first), name="ark-batches", daemon=True
        ).start()

    def stop(self) -> None:
        """Ends the thread when the iterable returns."""
        with self.changed:
            self._stopped = True
            self.changed.notify_all()

    def _work(self, batches: Callable[[int], Iterable[Mapping[str, Any]]], first: int) -> None:
        error: BaseException | None = None
        try:
            self._fill(_iterate(batches(first)))
        except BaseException as raised:
            error = raised  # raised by the step that needs the batch
        with self.changed:
            self.ended, self.error = True, error
            self.changed.notify_all()

    def _fill(self, batches: Iterator[Mapping[str, Any]]) -> None:
        for batch in batches:
            with self.changed:
                self.batches.append(batch)
                self.changed.notify_all()
                while len(self.batches) >= self._capacity and not self._stopped:
                    self.changed.wait()
                if self._stopped:
                    return


def _is_positive(value: object, *kinds: type) -> bool:
    if isinstance(value, bool) or not isinstance(value, kinds):
        return False
    return cast("int | float", value) > 0


def _is_iterable(value: object) -> bool:
    return isinstance(value, Iterable) and not isinstance(value, Mapping)


def _iterate(batches: Iterable[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    if not _is_iterable(batches):
        raise InvalidUsageError(
            f"the function of the queue returned {a_type(batches)}; expected an iterable of batches"
        )
    return iter(batches)

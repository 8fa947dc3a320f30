"""``Engine``: continuous batching, in which sequences begin and end independently of each other."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from ..errors import InvalidUsageError, UnsupportedError
from .batches import Answer
from .config import as_count
from .engine_programs import EnginePrograms
from .generation import GenerativeModel
from .options import MAX_ENDS
from .pages import Pages, make_pool
from .requests import Choice, Messages, Request

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords, CompileOptions
    from ..targets import Target
    from ..typing import TokenRow

__all__ = ["Completion", "Engine"]


@dataclass(frozen=True)
class Completion:
    """The answer to one request of an :class:`Engine`.

    Attributes:
        number: the number of the request, which :meth:`Engine.submit` returned.
        prompt: number of tokens of the prompt.
        tokens: the new tokens, with the one that ended the answer.
        text: the text of the answer for a text or a conversation, else None.
        reason: ``"stop"`` if a token or a stop string ended the answer, ``"length"`` if the answer
            has the maximum number of tokens.
        slot: the slot in which the sequence was decoded; -1 if no token was wanted.
        steps: the numbers of the first and the last step that the sequence took part in.

    Example:
        >>> model = ark.models.load(decoder_folder, max_length=24)
        >>> engine = ark.models.Engine(model, slots=2).compile("cpu")
        >>> (done,) = engine.run([([1, 20, 3], 4)])
        >>> done.number, done.prompt, len(done.tokens) <= 4
        (0, 3, True)
    """

    number: int
    prompt: int
    tokens: list[int]
    text: str | None
    reason: Literal["stop", "length"]
    slot: int
    steps: tuple[int, int]


@dataclass
class _Sequence:
    """A sequence in a slot.

    Attributes:
        tokens: the prompt and the new tokens.
        read: number of tokens whose keys and values are in the cache.
        ready: True if the device has the position of the sequence and its next token.
        pages: the pages of the sequence, or None if the caches have no pages.
    """

    number: int
    request: Request
    answer: Answer
    tokens: list[int]
    first_step: int
    read: int = 0
    ready: bool = False
    pages: Pages | None = None

    @property
    def left(self) -> int:
        """Returns the number of tokens that may still be generated."""
        return self.request.count - len(self.answer.tokens)

    def add(self, read: int, tokens: list[int]) -> bool:
        """Adds new tokens after `read` tokens in the cache; returns True if the answer is
        complete."""
        # A sequence whose tokens were read in part has no next token.
        self.read, self.ready = read, bool(tokens)
        self.tokens += tokens
        self.answer.add(tokens)
        return self.answer.complete or not self.left

    def complete(self, slot: int, step: int) -> Completion:
        """Returns the answer."""
        return Completion(
            self.number,
            self.request.prompt.size,
            self.answer.tokens,
            _text(self.answer),
            "stop" if self.answer.complete else "length",
            slot,
            (self.first_step, step),
        )


def _text(answer: Answer) -> str | None:
    result = answer.result()
    return result if isinstance(result, str) else None


class Engine:
    """Decodes many requests in a fixed number of slots (continuous batching).

    A slot is a row of the programs with its own position. A request waits until a slot is free; its
    sequence leaves the slot when it ends, and the next request takes the slot in the following
    step, while the other slots go on. Requests start in the order of their submission, each in the
    lowest free slot, so that equal requests give equal tables. The idea is that of iteration-level
    scheduling (Yu et al., 2022).

    A step is one launch. If a slot has a prompt to read, the step reads up to `chunk` tokens of
    each slot: prompts and new tokens share launches. Otherwise a step generates up to `burst`
    tokens of each slot, and ends early when a sequence ends. While a slot has a request with a stop
    string, such a step generates one token of each slot, since only the host knows stop strings.

    Args:
        model: a decoder of ``ark.models.load``, on one rank.
        slots: number of sequences that are decoded at once.
        chunk: number of tokens of a prompt that a step reads.
        burst: maximum number of tokens of a slot that a step generates. A caller that submits
            requests between steps waits for at most this number of tokens.
        page_size: number of positions of a page of the caches, a divisor of the model's
            ``max_length`` and a multiple of `chunk`. By default, each slot has ``max_length``
            positions of its own.
        pages: number of pages of all slots; by default as many as ``max_length`` positions of each
            slot need.

    With pages, a request also waits until enough pages are free for its prompt and its new tokens.
    Prompts that begin with the same tokens share the pages that these tokens fill: the engine reads
    such a page once, counts the sequences that use it, and keeps it for later requests until its
    memory is needed.

    A launch reads ``slots * chunk`` tokens of prompts, or `slots` new tokens. Of a model that was
    loaded with ``keep_quantized=True``, a launch of more than 16 tokens widens the weights in
    memory, which takes longer than reading them.

    Attributes:
        slots: number of slots.
        steps: number of steps so far.

    The engine decodes greedily. It compiles programs of its own; the model needs no compilation.
    Raises InvalidUsageError if an argument is not positive, `page_size` does not fit the
    model and `chunk`, or the model comes from bundles, and UnsupportedError if several ranks share
    the model.

    Example:
        >>> model = ark.models.load(decoder_folder, max_length=24)
        >>> engine = ark.models.Engine(model, slots=2, chunk=4).compile("cpu")
        >>> table = engine.run([([1, 20, 3], 8), ([7], 3), ([9, 4], 5)], stop=())
        >>> [(row.number, row.prompt, len(row.tokens), row.slot) for row in table]
        [(0, 3, 8, 0), (1, 1, 3, 1), (2, 2, 5, 1)]
    """

    def __init__(
        self,
        model: GenerativeModel,
        *,
        slots: int = 8,
        chunk: int = 16,
        burst: int = 16,
        page_size: int | None = None,
        pages: int | None = None,
    ) -> None:
        if model.ranks:
            raise UnsupportedError("an engine runs on one rank; load the model without ranks")
        if model.slots is None:
            raise InvalidUsageError(
                "the model comes from bundles, which have no programs of slots; load the folder "
                "with ark.models.load"
            )
        self.slots = as_count(slots, "slots")
        self.steps = 0
        self._model = model
        self._chunk = min(as_count(chunk, "chunk"), model.max_length)
        self._burst = as_count(burst, "burst")
        self._pool = make_pool(page_size, pages, self.slots, self._chunk, model.max_length)
        builder = model.slots
        if self._pool is not None:
            # Page 0 belongs to the slots without a sequence.
            builder = replace(builder, pages=(self._pool.count + 1, self._pool.size))
        programs = {
            "read": builder.build_read(self.slots, self._chunk),
            "step": builder.build_step(self.slots),
        }
        for program in programs.values():
            program.origin = model.programs["decode"].origin
        self._programs = EnginePrograms(model.name, programs, model.parameters)
        self._waiting: deque[tuple[int, Request]] = deque()
        self._active: list[_Sequence | None] = [None] * self.slots
        # The answers that no call has returned.
        self._done: list[Completion] = []
        self._submitted = 0

    def compile(
        self,
        target: str | Target | None = None,
        options: CompileOptions | None = None,
        **overrides: Unpack[CompileKeywords],
    ) -> Self:
        """Compiles the programs and binds the parameters; returns the engine.

        Args:
            target, options, overrides: arguments of ``ark.compile``.

        Sequences in slots go on with the new programs, which read their tokens again. Raises the
        errors of ``ark.compile``; the engine then has no programs, and keeps its sequences and
        requests.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> engine = ark.models.Engine(model, slots=2).compile("cpu:2")
        """
        # The caches of new programs are empty.
        for _, sequence in self._sequences():
            sequence.read, sequence.ready = 0, False
            if sequence.pages is not None:
                sequence.pages.published = 0
        if self._pool is not None:
            self._pool.forget()
        self._programs.compile(target, options, **overrides)
        return self

    @property
    def waiting(self) -> int:
        """Returns the number of requests that wait for a slot.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> engine = ark.models.Engine(model, slots=2)
            >>> for prompt in ([1], [2], [3]):
            ...     _ = engine.submit(prompt, 4)
            >>> engine.waiting
            3
        """
        return len(self._waiting)

    @property
    def active(self) -> int:
        """Returns the number of sequences in slots.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> ark.models.Engine(model, slots=2).active
            0
        """
        return sum(sequence is not None for sequence in self._active)

    def submit(
        self,
        prompt: str | Messages | TokenRow,
        max_new_tokens: int,
        **choice: Unpack[Choice],
    ) -> int:
        """Adds a request to those that wait, and returns its number, counted from 0.

        Args:
            prompt, max_new_tokens: arguments of :meth:`GenerativeModel.generate`.
            choice: keywords of :class:`Choice`. The engine supports ``stop``.

        Any number of requests may wait. Raises the errors of :meth:`GenerativeModel.generate`, such
        as InvalidUsageError for a prompt that exceeds the model's ``max_length`` with its new
        tokens, and UnsupportedError for a temperature or ``reference``.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> engine = ark.models.Engine(model, slots=2).compile("cpu")
            >>> engine.submit([1, 20, 3], 4), engine.submit([7], 4)
            (0, 1)
        """
        request = self._model.request(prompt, max_new_tokens, choice)
        if choice.get("temperature", 0.0) > 0 or request.reference:
            raise UnsupportedError(
                "an engine decodes greedily on a device; pass temperature=0 and reference=False, "
                "or call model.generate"
            )
        if self._pool is not None:
            needed = self._pool.needed(request.prompt.size + request.count)
            if request.count and needed > self._pool.count:
                raise InvalidUsageError(
                    f"prompt and new tokens need {needed} pages of {self._pool.size} positions, "
                    f"and the engine has {self._pool.count}; pass more pages to ark.models.Engine"
                )
        number = self._submitted
        self._waiting.append((number, request))
        self._submitted += 1
        return number

    def step(self) -> list[Completion]:
        """Admits requests to free slots, runs a launch, and returns the answers that it completed.

        The answers are ordered by slot; those of requests without new tokens come first. Without a
        sequence, there is no launch. If the run fails, the engine keeps its sequences, requests and
        answers, and the next call repeats the step. Raises the errors of a run, and
        InvalidUsageError if the engine is not compiled.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> engine = ark.models.Engine(model, slots=2).compile("cpu")
            >>> number = engine.submit([1, 20, 3], 2, stop=())
            >>> len(engine.step()), len(engine.step()), engine.active
            (0, 1, 0)
        """
        self._advance()
        return self._take_answers()

    def run(
        self,
        requests: Iterable[tuple[str | Messages | TokenRow, int]] = (),
        **choice: Unpack[Choice],
    ) -> list[Completion]:
        """Submits requests and runs steps until none waits; returns the answers by number.

        Args:
            requests: pairs of arguments of :meth:`submit`: prompt and maximum number of new tokens.
            choice: keywords of :meth:`submit`, for each of these requests.

        The result has the answers to requests that were submitted before, too. If a request is
        wrong, none of `requests` waits; the errors of :meth:`submit` then name its number in
        `requests`. Also raises the errors of :meth:`step`: the next call of either method goes on,
        and returns the answers that were completed before, too.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> engine = ark.models.Engine(model, slots=2).compile("cpu")
            >>> [len(row.tokens) for row in engine.run([([1, 20, 3], 4), ([7], 2)], stop=())]
            [4, 2]
        """
        self._submit_all(list(requests), choice)
        while self._waiting or self.active:
            self._advance()
        return sorted(self._take_answers(), key=lambda completion: completion.number)

    def _submit_all(
        self, requests: Sequence[tuple[str | Messages | TokenRow, int]], choice: Choice
    ) -> None:
        """Submits all requests, or none of them if an exception interrupts the submission."""
        waiting, submitted = len(self._waiting), self._submitted
        try:
            for number, request in enumerate(requests):
                self._submit_numbered(number, request, choice)
        except BaseException:
            while len(self._waiting) > waiting:
                self._waiting.pop()
            self._submitted = submitted
            raise

    def _submit_numbered(
        self, number: int, request: tuple[str | Messages | TokenRow, int], choice: Choice
    ) -> None:
        """Submits a request; errors call it ``requests[number]``."""
        name = f"requests[{number}]"
        try:
            prompt, count = request
        except (TypeError, ValueError):
            raise InvalidUsageError(
                f"{name} must be a pair of a prompt and a number of new tokens"
            ) from None
        try:
            self.submit(prompt, count, **choice)
        except (InvalidUsageError, UnsupportedError) as error:
            raise type(error)(
                f"{name}: {error.message}",
                location=error.location,
                op=error.op,
                notes=error.notes,
            ) from None

    def _advance(self) -> None:
        """Admits requests to free slots, and runs a launch if a slot has a sequence."""
        self._admit()
        sequences = self._sequences()
        if not sequences:
            return
        reads = not all(sequence.ready for _, sequence in sequences)
        for _, sequence in sequences:
            # If the launch fails, the device may have other positions than the sequences.
            sequence.ready = False
        new = self._read() if reads else self._generate()
        for slot, sequence in sequences:
            ended = sequence.add(*new[slot])
            if self._pool is not None and sequence.pages is not None:
                prompt = sequence.request.prompt.tolist()
                self._pool.publish(sequence.pages, prompt, sequence.read)
                if ended:
                    self._pool.release(sequence.pages)
            if ended:
                self._done.append(sequence.complete(slot, self.steps))
                self._active[slot] = None
        self.steps += 1

    def _take_answers(self) -> list[Completion]:
        """Returns the answers that no call has returned."""
        done, self._done = self._done, []
        return done

    def _admit(self) -> None:
        """Moves requests to free slots, and answers requests without new tokens."""
        free = [slot for slot, sequence in enumerate(self._active) if sequence is None]
        while self._waiting and (free or not self._waiting[0][1].count):
            number, request = self._waiting[0]
            sequence = _Sequence(
                number, request, Answer.of(request), request.prompt.tolist(), self.steps
            )
            if request.count and not self._take_pages(sequence):
                return
            self._waiting.popleft()
            if request.count:
                self._active[free.pop(0)] = sequence
            else:
                self._done.append(sequence.complete(-1, self.steps))

    def _take_pages(self, sequence: _Sequence) -> bool:
        """Takes pages for a sequence; returns False if too few are free."""
        if self._pool is None:
            return True
        positions = len(sequence.tokens) + sequence.request.count
        sequence.pages = self._pool.take(sequence.tokens, positions)
        if sequence.pages is None:
            return False
        sequence.read = sequence.pages.shared
        return True

    def _table(self) -> dict[str, Any]:
        """Returns the pages of each slot as an input; unused entries are page 0."""
        if self._pool is None:
            return {}
        pages = np.zeros((self.slots, self._model.max_length // self._pool.size), np.int32)
        for slot, sequence in self._sequences():
            numbers = sequence.pages.numbers if sequence.pages is not None else []
            pages[slot, : len(numbers)] = numbers
        return {"pages": pages}

    def _sequences(self) -> list[tuple[int, _Sequence]]:
        """Returns the slots that have a sequence, and these sequences."""
        return [(slot, each) for slot, each in enumerate(self._active) if each is not None]

    def _read(self) -> dict[int, tuple[int, list[int]]]:
        """Reads a part of each sequence; returns the arguments of :meth:`_Sequence.add` by slot."""
        ids = np.zeros((self.slots, self._chunk), np.int32)
        begins, counts = np.zeros(self.slots, np.int32), np.ones(self.slots, np.int32)
        for slot, sequence in self._sequences():
            # At the end of the cache, tokens that were read before are read again, since the
            # program writes `chunk` keys.
            begin = min(sequence.read, self._model.max_length - self._chunk)
            if self._pool is not None:
                # The keys that the program writes lie in one page.
                begin -= begin % self._chunk
            part = sequence.tokens[begin : begin + self._chunk]
            ids[slot, : len(part)] = part
            begins[slot], counts[slot] = begin, len(part)
        inputs: dict[str, Any] = {"ids": ids, "begin": begins, **self._table()}
        if self._chunk > 1:
            inputs["last"] = counts - 1
        tokens = np.asarray(self._programs.executable("read").run(inputs)["token"]).tolist()
        new: dict[int, tuple[int, list[int]]] = {}
        for slot, sequence in self._sequences():
            read = int(begins[slot] + counts[slot])
            # A part of a prompt that is not the last one has no next token.
            new[slot] = read, [tokens[slot]] if read == len(sequence.tokens) else []
        return new

    def _generate(self) -> dict[int, tuple[int, list[int]]]:
        """Generates tokens of each sequence, until one ends; returns the arguments of
        :meth:`_Sequence.add` by slot."""
        sequences = self._sequences()
        active = np.zeros(self.slots, np.int32)
        ends = np.full((self.slots, MAX_ENDS), -1, np.int32)
        for slot, sequence in sequences:
            active[slot], ends[slot] = 1, sequence.request.inputs["ends"]
        # Only the host knows stop strings.
        whole = all(sequence.request.stops is None for _, sequence in sequences)
        count = min(sequence.left for _, sequence in sequences) if whole else 1
        executable = self._programs.executable("step")
        inputs = {"active": active, "ends": ends, **self._table()}
        executable.run(inputs, iterations=min(count, self._burst))
        positions, tokens = executable.states["position"], executable.states["tokens"]
        new: dict[int, tuple[int, list[int]]] = {}
        for slot, sequence in sequences:
            end = int(positions[slot])
            new[slot] = end, tokens[slot, sequence.read : end].tolist()
        return new

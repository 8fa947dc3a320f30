"""``GenerativeModel``: decoders that generate tokens."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, overload

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from ..text import ChatTemplate, GrowingText, Tokenizer
from .batches import Answer, Timing, as_batch
from .config import as_count
from .generation_config import Sizes
from .model import Model, as_tokens
from .options import MAX_ENDS, sampling_inputs
from .program_runs import CompiledRun, InterpretedRun, RunProgram
from .requests import Choice, Messages, Request, is_conversation, split_stops
from .weights import Arrays

if TYPE_CHECKING:
    from typing_extensions import Self, Unpack

    from ..compiler import CompileKeywords, CompileOptions
    from ..frontend import Program
    from ..targets import Target
    from ..typing import TokenRow
    from .slots import SlotPrograms

__all__ = ["Choice", "GenerativeModel", "Timing"]

# Target duration of one launch of `stream`, in seconds: short enough for a reader, long against the
# cost of a launch.
_LAUNCH_SECONDS = 0.03
_RANKS_BURST = 4


class GenerativeModel(Model):
    """A decoder. See :meth:`generate`.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        positions: maximum number of tokens of a sequence of this model.
        max_length: maximum number of tokens of a sequence of the programs.
        batch: number of prompts that run at once in :meth:`generate_batch`.
        ends: the end-of-text tokens of the folder's configuration.
        timing: durations of the last :meth:`generate`, or None.
        slots: builds the programs of an :class:`Engine`; None if the model comes from bundles or
            several ranks share it.

    Example:
        >>> model = ark.models.load(decoder_folder, max_length=24)
        >>> sorted(model.programs), model.vocabulary
        (['decode', 'prefill'], 37)
    """

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Program],
        parameters: Arrays,
        sizes: Sizes,
        ends: Sequence[int] = (),
    ) -> None:
        super().__init__(name, programs, parameters)
        self.vocabulary = sizes.vocabulary
        self.positions = sizes.positions
        self.max_length = sizes.max_length
        self.batch = sizes.batch
        self.ends = tuple(ends)
        self.timing: Timing | None = None
        self.slots: SlotPrograms | None = None
        self._chunk = sizes.chunk
        self._samples = sizes.sampling
        # A generation is several runs on one set of states, which no other call may interrupt.
        self._generating = threading.Lock()
        # The thread with an open stream.
        self._streaming: int | None = None

    @overload
    def generate(
        self, prompt: str | Messages, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> str: ...
    @overload
    def generate(
        self, prompt: TokenRow, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> list[int]: ...
    def generate(
        self, prompt: str | Messages | TokenRow, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> str | list[int]:
        """Generates tokens that continue a prompt, in one launch after the prompt.

        Args:
            prompt: a text; the messages of a conversation, for which the folder has a chat
                template; or token ids, one row. Texts need the package tokenizers, and the file
                ``tokenizer.json`` in the folder.
            max_new_tokens: maximum number of new tokens.
            choice: keywords of :class:`Choice`: ``stop``, ``temperature``, ``top_k``, ``top_p``,
                ``seed`` and ``reference``.

        Returns a text for a text or a conversation, and a list of tokens for tokens. The list
        includes the token that ended it; the text does not include the stop string. Raises
        InvalidUsageError if the prompt is empty, a token is not in the vocabulary, prompt and new
        tokens exceed :attr:`max_length`, an option is invalid, or the model is not compiled.
        Raises UnsupportedError if a package is missing. Calls from several threads run one after
        the other.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24).compile("cpu")
            >>> len(model.generate([1, 20, 3], max_new_tokens=8, stop=()))
            8
        """
        request = self.request(prompt, max_new_tokens, choice)
        if request.text is not None:
            return "".join(self._deltas(request))
        if request.stops or not request.count:
            return list(self._tokens(request))
        if request.reference:
            return self._continue(request, InterpretedRun(self))
        with self._exclusive():
            return self._continue(request, CompiledRun(self))

    @overload
    def stream(
        self, prompt: str | Messages, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> Iterator[str]: ...
    @overload
    def stream(
        self, prompt: TokenRow, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> Iterator[int]: ...
    def stream(
        self, prompt: str | Messages | TokenRow, max_new_tokens: int, **choice: Unpack[Choice]
    ) -> Iterator[str] | Iterator[int]:
        """Yields what :meth:`generate` returns while the model generates it.

        Args:
            prompt, max_new_tokens, choice: arguments of :meth:`generate`.

        Returns an iterator of deltas of text, or of tokens. Until it is exhausted or closed, calls
        of other threads wait. A launch takes a few hundredths of a second. Raises the errors of
        :meth:`generate`; the call itself raises the errors of the arguments. The iterator raises
        InvalidUsageError if another stream of the model is open in its thread.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24).compile("cpu")
            >>> sum(1 for token in model.stream([1, 20, 3], 8, stop=()))
            8
        """
        request = self.request(prompt, max_new_tokens, choice)
        return self._tokens(request) if request.text is None else self._deltas(request)

    def generate_batch(
        self,
        prompts: Sequence[str | Messages | TokenRow],
        max_new_tokens: int,
        **choice: Unpack[Choice],
    ) -> list[str | list[int]]:
        """Generates the answers to several prompts, :attr:`batch` at a time.

        Args:
            prompts: a list of prompts of :meth:`generate`, of any lengths.
            max_new_tokens, choice: arguments of :meth:`generate`, for each prompt.

        Returns for each prompt what :meth:`generate` returns. The prompts of a batch are rows of
        the programs: a row that has ended waits for the others. :attr:`timing` is that of all
        batches. Products of several rows may round differently from those of one row, so that
        tokens whose logits are almost equal may differ from those of :meth:`generate`. Raises the
        errors of :meth:`generate`, with the number of the prompt.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24, batch=2).compile("cpu")
            >>> [len(row) for row in model.generate_batch([[1, 20, 3], [7]], 8, stop=())]
            [8, 8]
        """
        return list(self.stream_batch(prompts, max_new_tokens, **choice))

    def stream_batch(
        self,
        prompts: Sequence[str | Messages | TokenRow],
        max_new_tokens: int,
        **choice: Unpack[Choice],
    ) -> Iterator[str | list[int]]:
        """Yields what :meth:`generate_batch` returns, each answer when its batch has ended.

        Args:
            prompts, max_new_tokens, choice: arguments of :meth:`generate_batch`.

        The call itself raises the errors of the arguments, of all prompts.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24, batch=2).compile("cpu")
            >>> answers = model.stream_batch([[1, 20, 3], [7], [9]], 8, stop=())
            >>> len(next(answers))
            8
        """
        if isinstance(prompts, str) or is_conversation(prompts):
            raise InvalidUsageError("prompts must be a list of prompts, not one; pass [prompt]")
        requests = [
            self._numbered(number, prompt, max_new_tokens, choice)
            for number, prompt in enumerate(prompts)
        ]
        return self._answers(requests)

    def _answers(self, requests: Sequence[Request]) -> Iterator[str | list[int]]:
        total: Timing | None = None
        for begin in range(0, len(requests), self.batch):
            with self._exclusive():
                answers, timing = self._run_batch(requests[begin : begin + self.batch])
                total = timing if total is None else total + timing
                self.timing = total
            for answer in answers:
                yield answer.result()

    def _numbered(
        self, number: int, prompt: str | Messages | TokenRow, count: int, choice: Choice
    ) -> Request:
        try:
            return self.request(prompt, count, choice)
        except InvalidUsageError as error:
            raise InvalidUsageError(f"prompts[{number}]: {error.message}") from None

    def _run_batch(self, requests: Sequence[Request]) -> tuple[list[Answer], Timing]:
        answers = [Answer.of(request) for request in requests]
        first = requests[0]
        read = sum(request.prompt.size for request in requests)
        timing = Timing(read, 0.0, 0, 0.0, len(answers))
        if not first.count:
            return answers, timing
        run: RunProgram = InterpretedRun(self) if first.reference else CompiledRun(self)
        prompts, inputs = as_batch(requests, self.batch)
        start = prompts.shape[-1] - 1
        # Only the host knows stop strings: without them, all tokens are one launch.
        whole = all(request.stops is None for request in requests)
        for before, made in self._bursts(prompts, inputs, first.count, run, whole=whole):
            tokens = run.state("tokens")[:, start + before : start + made].tolist()
            for answer, row in zip(answers, tokens, strict=False):
                answer.add(row)
            if all(answer.complete for answer in answers):
                break
        if self.timing is not None:
            timing = replace(
                timing,
                prompt_seconds=self.timing.prompt_seconds,
                tokens=sum(len(answer.tokens) - 1 for answer in answers),
                seconds=self.timing.seconds,
            )
        return answers, timing

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Returns the tokenizer of the folder; raises the errors of :class:`Tokenizer`."""
        return Tokenizer(self.name)

    @cached_property
    def template(self) -> ChatTemplate:
        """Returns the chat template of the folder; raises the errors of :class:`ChatTemplate`."""
        return ChatTemplate(self.name)

    def encode(self, prompt: str | Messages | TokenRow) -> NDArray[np.int32]:
        """Returns the tokens of a prompt, as :meth:`generate` reads them.

        Raises InvalidUsageError if the prompt is neither a text, nor messages, nor tokens of the
        vocabulary, and UnsupportedError if a package is missing.

        Example:
            >>> ark.models.load(decoder_folder).encode([1, 20, 3])
            array([ 1, 20,  3], dtype=int32)
        """
        ids: object = prompt
        if isinstance(prompt, str):
            ids = self.tokenizer.encode(prompt)
        elif is_conversation(prompt):
            # The template has the special tokens.
            ids = self.tokenizer.encode(self.template.render(prompt), special=False)
        (row,) = as_tokens([ids], self.vocabulary)
        return row

    def request(
        self, prompt: str | Messages | TokenRow, max_new_tokens: int, choice: Choice
    ) -> Request:
        """Checks the arguments of :meth:`generate` and returns them as a request; raises its
        errors.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24)
            >>> model.request([1, 20, 3], 8, {"stop": ()}).count
            8
        """
        unknown = set(choice) - set(Choice.__annotations__)
        if unknown:
            raise InvalidUsageError(
                f"unknown option {', '.join(sorted(unknown))}; known are "
                f"{', '.join(Choice.__annotations__)}"
            )
        tokens, stops = split_stops(choice.get("stop"))
        inputs = {"ends": self._ends(tokens)}
        inputs.update(
            self._choice(
                choice.get("temperature", 0.0), choice.get("top_k", 0), choice.get("top_p", 1.0),
                choice.get("seed", 0),
            )
        )  # fmt: skip
        if self.batch > 1:
            inputs["padding"] = np.zeros(self.batch, np.int32)
        row = self.encode(prompt)
        count = as_count(max_new_tokens, "max_new_tokens", 0)
        self._check(row.size, count)
        reference = bool(choice.get("reference", False))
        if reference and not self.programs:
            raise InvalidUsageError("the model comes from bundles, which cannot be interpreted")
        text = None
        if stops or isinstance(prompt, str) or is_conversation(prompt):
            text = GrowingText(self.tokenizer.decode, stops)
        is_text = isinstance(prompt, str) or is_conversation(prompt)
        return Request(
            row, inputs, count, reference, text if is_text else None, text if stops else None
        )

    def _deltas(self, request: Request) -> Iterator[str]:
        """Yields deltas of text."""
        text = request.text
        if text is None:
            return
        for token in self._tokens(request):
            delta = text.add(token)
            if delta:
                yield delta
            if text.stopped:
                return
        if rest := text.end():
            yield rest

    def _tokens(self, request: Request) -> Iterator[int]:
        """Yields tokens, up to the token that completes a stop string."""
        if not request.count:
            return
        run: RunProgram = InterpretedRun(self) if request.reference else CompiledRun(self)
        with self._exclusive(stream=True):
            for token in self._launches(request, run):
                yield token
                if request.text is None and request.stops is not None:
                    request.stops.add(token)
                    if request.stops.stopped:
                        return

    def _launches(self, request: Request, run: RunProgram) -> Iterator[int]:
        """Yields tokens from launches that each take about `_LAUNCH_SECONDS`."""
        start = request.prompt.size - 1
        for before, made in self._bursts(request.prompt, request.inputs, request.count, run):
            yield from run.state("tokens")[0, start + before : start + made].tolist()

    def _bursts(
        self,
        prompts: NDArray[np.int32],
        inputs: Mapping[str, Any],
        count: int,
        run: RunProgram,
        *,
        whole: bool = False,
    ) -> Iterator[tuple[int, int]]:
        """Runs prompts and launches, and yields the numbers of new tokens before and after each.

        Launches take about `_LAUNCH_SECONDS`; with `whole`, one launch has all tokens.
        """
        start = time.perf_counter()
        size = prompts.shape[-1]
        self._prefill(prompts, inputs, run)
        waited = time.perf_counter() - start
        self.timing = Timing(size, waited, 0, 0.0)
        seconds, made, burst = 0.0, 1, count if whole else 1
        yield 0, 1
        while made < count and not run.state("done"):
            # If each rank is a process, all processes must run the same launches.
            burst = min(_RANKS_BURST if self.ranks and not whole else burst, count - made)
            start = time.perf_counter()
            run("decode", inputs, burst)
            took = time.perf_counter() - start
            before, made = made, int(run.state("position")) - size + 1
            seconds += took
            self.timing = Timing(size, waited, made - 1, seconds)
            burst = max(1, burst // 2) if took > _LAUNCH_SECONDS else burst * 2
            yield before, made

    def _continue(self, request: Request, run: RunProgram) -> list[int]:
        start = time.perf_counter()
        prompt = request.prompt
        self._prefill(prompt, request.inputs, run)
        first = time.perf_counter()
        if request.count > 1 and not run.state("done"):
            run("decode", request.inputs, request.count - 1)
        made = int(run.state("position")) - prompt.size
        self.timing = Timing(prompt.size, first - start, made, time.perf_counter() - first)
        # Entry i of the state is the token after position i: the first new token is at size - 1.
        return run.state("tokens")[0, prompt.size - 1 : prompt.size + made].tolist()

    @contextlib.contextmanager
    def _exclusive(self, *, stream: bool = False) -> Generator[None]:
        """Excludes other generations of the model.

        Raises InvalidUsageError in a thread with an open stream, which would wait for itself.
        """
        me = threading.get_ident()
        if self._streaming == me:
            raise InvalidUsageError(
                "a stream of this model is open in this thread; exhaust it or call its close()"
            )
        with self._generating:
            self._streaming = me if stream else None
            try:
                yield
            finally:
                self._streaming = None

    @property
    def reached(self) -> int:
        """Returns the position of the next token of the current run; any thread may read it."""
        return int(self.executable("decode").peek("position"))

    def _check(self, prompt: int, count: int) -> None:
        limit = self.max_length
        if not prompt:
            raise InvalidUsageError("the prompt has no token")
        if prompt + count > limit:
            if not self.programs:
                remedy = "compile the folder with a larger max_length (--set max_length=N)"
            elif limit < self.positions:
                remedy = "load the model with a larger max_length (--set max_length=N)"
            else:
                remedy = "the model has no more positions"
            raise InvalidUsageError(
                f"{prompt} tokens and {count} new ones exceed max_length {limit}; {remedy}"
            )

    def _ends(self, tokens: object) -> NDArray[np.int32]:
        chosen = self.ends if tokens is None else tokens
        (row,) = as_tokens([np.atleast_1d(np.asarray(chosen))], self.vocabulary, "stop")
        if row.size > MAX_ENDS:
            raise InvalidUsageError(f"stop has {row.size} tokens; the limit is {MAX_ENDS}")
        ends = np.full(MAX_ENDS, -1, np.int32)
        ends[: row.size] = row
        return ends

    def _choice(self, temperature: float, top_k: int, top_p: float, seed: int) -> dict[str, Any]:
        """Returns the inputs for sampling; none if the model was loaded without it."""
        arrays = sampling_inputs(temperature, top_k, top_p, seed)
        if self._samples:
            return arrays
        if arrays["temperature"] > 0:
            remedy = "load the model with sampling=True, or pass temperature=0"
            if not self.programs:
                remedy = "compile the folder with --set sampling=true, or pass temperature=0"
            raise InvalidUsageError(f"temperature {temperature} needs sampling; {remedy}")
        return {}

    def compile(
        self,
        target: str | Target | None = None,
        options: CompileOptions | None = None,
        **overrides: Unpack[CompileKeywords],
    ) -> Self:
        """Compiles both programs, which share states and parameters; see :meth:`Model.compile`.

        >>> model = ark.models.load(decoder_folder).compile("cpu:2")
        >>> sorted(model.programs)
        ['decode', 'prefill']
        """
        return super().compile(target, options, **overrides)

    def _bind(self, name: str) -> None:
        """Binds the parameters once: a copy on a GPU serves both programs."""
        if name == "prefill":
            super()._bind(name)
        else:
            self.executables[name].share_states(self.executables["prefill"], parameters=True)

    def _prefill(
        self, prompt: NDArray[np.int32], common: Mapping[str, Any], run: RunProgram
    ) -> None:
        """Runs a prompt, or a row of tokens for each sequence, in chunks; the last chunk computes
        the first new token."""
        chunk, begin, size = self._chunk, 0, prompt.shape[-1]
        prompts = np.broadcast_to(prompt, (self.batch, size))
        while begin < size:
            # The last chunk overlaps the one before, instead of extending beyond the prompt.
            begin = max(0, min(begin, size - chunk))
            part = prompts[:, begin : begin + chunk]
            ids = np.zeros((self.batch, chunk), np.int32)
            ids[:, : part.shape[1]] = part
            inputs: dict[str, Any] = {**common, "ids": ids, "begin": np.int32(begin)}
            if chunk > 1:
                inputs["last"] = np.int32(part.shape[1] - 1)
            run("prefill", inputs)
            begin += chunk

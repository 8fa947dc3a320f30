"""``GenerativeModel``: decoders that generate tokens."""

from __future__ import annotations

import contextlib
import threading
import time
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, Unpack

from ..errors import InvalidUsageError
from ..text import ChatTemplate, GrowingText, Tokenizer
from .config import Config, as_count, read_config
from .model import Model, as_tokens
from .options import MAX_ENDS, sampling_inputs
from .requests import Choice, Messages, Request, is_conversation, split_stops
from .weights import Arrays

if TYPE_CHECKING:
    from ..compiler import CompileKeywords, CompileOptions
    from ..frontend import Program
    from ..targets import Target
    from ..typing import Path as PathLike
    from ..typing import TokenRow

__all__ = ["Choice", "GenerativeModel", "Sizes", "Timing", "read_ends"]

_GENERATION = "generation_config.json"


# The duration of a launch of a stream: short for a reader, and much longer than its overhead.
_LAUNCH_SECONDS = 0.03
_RANKS_BURST = 4


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder's programs.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        positions: maximum number of tokens of a sequence of the model.
        max_length: maximum number of tokens of a sequence of the programs.
        chunk: number of tokens of a prompt per run of ``prefill``.
        sampling: True if the programs can sample tokens.
    """

    vocabulary: int
    positions: int
    max_length: int
    chunk: int
    sampling: bool


@dataclass(frozen=True)
class Timing:
    """Durations of the parts of a generation.

    Attributes:
        prompt: number of tokens of the prompt.
        prompt_seconds: seconds until the first new token.
        tokens: number of new tokens after the first one.
        seconds: seconds for the new tokens after the first one.
    """

    prompt: int
    prompt_seconds: float
    tokens: int
    seconds: float

    def __str__(self) -> str:
        text = f"prompt: {self.prompt} tokens in {self.prompt_seconds:.3g} s"
        if not self.tokens:
            return text
        return f"{text}; then {self.tokens / self.seconds:.4g} tokens/s"


class GenerativeModel(Model):
    """A decoder. See :meth:`generate`.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        positions: maximum number of tokens of a sequence of this model.
        max_length: maximum number of tokens of a sequence of the programs.
        ends: the end-of-text tokens of the folder's configuration.
        timing: durations of the last :meth:`generate`, or None.

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
        self.ends = tuple(ends)
        self.timing: Timing | None = None
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
        request = self._request(prompt, max_new_tokens, choice)
        if request.text is not None:
            return "".join(self._deltas(request))
        if request.stops or not request.count:
            return list(self._tokens(request))
        if request.reference:
            return self._continue(request, _Interpreted(self))
        with self._exclusive():
            return self._continue(request, _Compiled(self))

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
        request = self._request(prompt, max_new_tokens, choice)
        return self._tokens(request) if request.text is None else self._deltas(request)

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

    def _request(
        self, prompt: str | Messages | TokenRow, max_new_tokens: int, choice: Choice
    ) -> Request:
        """Checks the arguments of a generation."""
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
        run: RunProgram = _Interpreted(self) if request.reference else _Compiled(self)
        with self._exclusive(stream=True):
            for token in self._launches(request, run):
                yield token
                if request.text is None and request.stops is not None:
                    request.stops.add(token)
                    if request.stops.stopped:
                        return

    def _launches(self, request: Request, run: RunProgram) -> Iterator[int]:
        """Yields tokens from launches that each take about `_LAUNCH_SECONDS`."""
        start = time.perf_counter()
        size, count = request.prompt.size, request.count
        self._prefill(request.prompt, request.inputs, run)
        waited = time.perf_counter() - start
        self.timing = Timing(size, waited, 0, 0.0)
        seconds, made, burst = 0.0, 1, 1
        yield int(run.state("tokens")[0, size - 1])
        while made < count and not run.state("done"):
            # If each rank is a process, all processes must run the same launches.
            burst = min(burst if not self.ranks else _RANKS_BURST, count - made)
            start = time.perf_counter()
            run("decode", request.inputs, burst)
            took = time.perf_counter() - start
            before, made = made, int(run.state("position")) - size + 1
            seconds += took
            self.timing = Timing(size, waited, made - 1, seconds)
            burst = max(1, burst // 2) if took > _LAUNCH_SECONDS else burst * 2
            yield from run.state("tokens")[0, size - 1 + before : size - 1 + made].tolist()

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
            more = limit < self.positions
            remedy = (
                "load the model with a larger max_length"
                if more
                else "the model has no more positions"
            )
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
            raise InvalidUsageError(
                f"temperature {temperature} needs sampling; load the model with sampling=True, or "
                "pass temperature=0"
            )
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
        """Runs the prompt in chunks; the last one computes the first new token."""
        chunk, begin = self._chunk, 0
        while begin < prompt.size:
            # The last chunk overlaps the one before, instead of extending beyond the prompt.
            begin = max(0, min(begin, prompt.size - chunk))
            part = prompt[begin : begin + chunk]
            row = np.zeros((1, chunk), np.int32)
            row[0, : part.size] = part
            inputs: dict[str, Any] = {**common, "ids": row, "begin": np.int32(begin)}
            if chunk > 1:
                inputs["last"] = np.int32(part.size - 1)
            run("prefill", inputs)
            begin += chunk


class RunProgram(Protocol):
    """Runs both programs of a decoder on one set of states."""

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """Runs the program `name` in one launch."""
        ...

    def state(self, name: str) -> NDArray[Any]:
        """Returns the current value of a state."""
        ...


class _Interpreted:
    """Runs the programs in the interpreter."""

    def __init__(self, model: GenerativeModel) -> None:
        self.model = model
        self.states: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`RunProgram`."""
        from ..reference import run

        arrays = {**self.model.parameters_of(name), **inputs}
        program = self.model.programs[name]
        _, self.states = run(
            program, arrays, self.states, iterations=iterations, return_states=True
        )

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`RunProgram`."""
        return self.states[name]


class _Compiled:
    """Runs the compiled programs on the device."""

    def __init__(self, model: GenerativeModel) -> None:
        # The states of an earlier sequence need no reset: they are overwritten before each read.
        self.model = model

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`RunProgram`."""
        self.model.executable(name).run(dict(inputs), iterations=iterations)

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`RunProgram`."""
        return self.model.executable("decode").states[name]


def read_ends(folder: PathLike, config: Config, vocabulary: int) -> tuple[int, ...]:
    """Returns the end-of-text tokens; ``generation_config.json`` takes precedence."""
    sources = [config]
    if (Path(folder) / _GENERATION).is_file():
        sources.insert(0, read_config(folder, _GENERATION))
    for source in sources:
        if source.entries.get("eos_token_id") is None:
            continue
        tokens = source.counts("eos_token_id")
        if len(tokens) > MAX_ENDS:
            raise source.error(f"{len(tokens)} end-of-text tokens; the limit is {MAX_ENDS}")
        for token in tokens:
            if token >= vocabulary:
                raise source.error(
                    f"'eos_token_id' has token {token}, but the vocabulary has {vocabulary} entries"
                )
        return tokens
    return ()

"""Loading and running decoders."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self, Unpack

from ..errors import InvalidUsageError
from ..frontend import Program
from ..runtime.ranks.membership import current
from .config import Config, as_count, as_float_dtype, read_config
from .decoder import DecoderConfig, build_decode, build_prefill, divide
from .model import Model, as_tokens
from .progress import MAX_ENDS
from .sampling import sampling_inputs
from .weights import Arrays, assign, check_layers, check_shapes, read_weights

if TYPE_CHECKING:
    from ..compiler import CompileKeywords, CompileOptions
    from ..targets import Target
    from ..typing import DTypeLike, TokenRow

__all__ = ["GenerativeModel", "Timing", "load_decoder"]

_GENERATION = "generation_config.json"


@dataclass(frozen=True)
class Timing:
    """Durations of the parts of a generation.

    Attributes:
        prompt: tokens of the prompt.
        prompt_seconds: until the first new token was there.
        tokens: new tokens after the first.
        seconds: for those.
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
        vocabulary: how many tokens there are.
        positions: how many tokens a sequence of this model may have at most.
        ends: the tokens that end a text, as the folder's configuration has them.
        timing: of the last :meth:`generate`, or None.

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
        vocabulary: int,
        positions: int,
        ends: Sequence[int] = (),
    ) -> None:
        super().__init__(name, programs, parameters)
        self.vocabulary = vocabulary
        self.positions = positions
        self.ends = tuple(ends)
        self.timing: Timing | None = None
        # Prompt and continuation are several runs on one set of states.
        self._generating = threading.Lock()

    def generate(
        self,
        ids: TokenRow,
        max_new_tokens: int,
        *,
        stop: int | Sequence[int] | None = None,
        temperature: float = 0.0,
        top_k: int = 0,
        top_p: float = 1.0,
        seed: int = 0,
        reference: bool = False,
    ) -> list[int]:
        """The continuation of a prompt: after the prompt, one launch for all tokens.

        Args:
            ids: the prompt's token ids, one row.
            max_new_tokens: how many tokens to add at most.
            stop: a token, or several, that end the continuation and are its last; by default
                :attr:`ends`. ``()`` for none.
            temperature: zero takes the most probable token. Above zero tokens are sampled, with
                logits divided by the temperature; the model must be loaded with ``sampling=True``.
            top_k: samples among so many of the most probable tokens only; zero for all.
            top_p: of those, samples among the fewest whose probabilities add up to this share.
            seed: equal seeds give equal tokens; :mod:`ark_mlir.models.sampling` says how.
            reference: computes with the float64 interpreter instead of the compiled programs.

        Returns the new tokens. Raises InvalidUsageError on an empty prompt, tokens outside
        of the vocabulary, more tokens than the model was loaded for, or senseless options.
        Calls from several threads follow each other.

        Example:
            >>> model = ark.models.load(decoder_folder, max_length=24).compile("cpu")
            >>> len(model.generate([1, 20, 3], max_new_tokens=8, stop=()))
            8
        """
        inputs = {"ends": self._ends(stop)}
        inputs.update(self._choice(temperature, top_k, top_p, seed))
        (prompt,) = as_tokens([ids], self.vocabulary)
        count = as_count(max_new_tokens, "max_new_tokens", 0)
        self._check(prompt.size, count)
        if not count:
            return []
        if reference:
            return self._continue(prompt, inputs, count, _Interpreted(self))
        with self._generating:
            return self._continue(prompt, inputs, count, _Compiled(self))

    def _continue(
        self, prompt: NDArray[np.int32], inputs: Mapping[str, Any], count: int, run: Run
    ) -> list[int]:
        start = time.perf_counter()
        self._prefill(prompt, inputs, run)
        first = time.perf_counter()
        if count > 1 and not run.state("done"):
            run("decode", inputs, count - 1)
        made = int(run.state("position")) - prompt.size
        self.timing = Timing(prompt.size, first - start, made, time.perf_counter() - first)
        # What follows the prompt's last token is new, up to the token that waits to be read.
        return run.state("tokens")[0, prompt.size - 1 : prompt.size + made].tolist()

    @property
    def reached(self) -> int:
        """The place of the next token of the run under way, which another thread may ask for."""
        return int(self.executable("decode").glance("position"))

    def _check(self, prompt: int, count: int) -> None:
        limit = self.max_length
        if not prompt:
            raise InvalidUsageError("the prompt has no token")
        if prompt + count > limit:
            more = limit < self.positions
            remedy = (
                "load the model with a larger one" if more else "the model has no more positions"
            )
            raise InvalidUsageError(
                f"{prompt} tokens and {count} new ones exceed max_length {limit}; {remedy}"
            )

    def _ends(self, stop: int | Sequence[int] | None) -> NDArray[np.int32]:
        tokens = self.ends if stop is None else stop
        (row,) = as_tokens([np.atleast_1d(np.asarray(tokens))], self.vocabulary, "stop")
        if row.size > MAX_ENDS:
            raise InvalidUsageError(f"{row.size} tokens to stop at; {MAX_ENDS} are possible")
        ends = np.full(MAX_ENDS, -1, np.int32)
        ends[: row.size] = row
        return ends

    def _choice(self, temperature: float, top_k: int, top_p: float, seed: int) -> dict[str, Any]:
        """Inputs that say how tokens are chosen."""
        arrays = sampling_inputs(temperature, top_k, top_p, seed)
        if "temperature" in self.programs["decode"].inputs:
            return arrays
        if arrays["temperature"] > 0:
            raise InvalidUsageError(
                "this model takes the most probable token only; load it with sampling=True"
            )
        return {}

    def compile(
        self,
        target: str | Target | None = None,
        options: CompileOptions | None = None,
        **overrides: Unpack[CompileKeywords],
    ) -> Self:
        """See :meth:`Model.compile`; both programs work on the same states."""
        super().compile(target, options, **overrides)
        self.executables["decode"].share_states(self.executables["prefill"])
        return self

    @property
    def max_length(self) -> int:
        """Tokens that a sequence may have."""
        return self.programs["decode"].states["layers.0.key"].shape[2]

    def _prefill(self, prompt: NDArray[np.int32], common: Mapping[str, Any], run: Run) -> None:
        """Runs the prompt in chunks, which gives the first new token."""
        chunk = self.programs["prefill"].inputs["ids"].shape[1]
        begin = 0
        while begin < prompt.size:
            # The last chunk goes back over tokens already seen rather than past the end.
            begin = max(0, min(begin, prompt.size - chunk))
            part = prompt[begin : begin + chunk]
            row = np.zeros((1, chunk), np.int32)
            row[0, : part.size] = part
            inputs: dict[str, Any] = {**common, "ids": row, "begin": np.int32(begin)}
            if chunk > 1:
                inputs["last"] = np.int32(part.size - 1)
            run("prefill", inputs)
            begin += chunk


class Run(Protocol):
    """Both programs of a decoder, on one set of states."""

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """Runs one of them, in one launch."""
        ...

    def state(self, name: str) -> NDArray[Any]:
        """Returns the present value of a state."""
        ...


class _Interpreted:
    """A decoder that runs in the interpreter."""

    def __init__(self, model: GenerativeModel) -> None:
        self.model = model
        self.states: dict[str, NDArray[Any]] = {}

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`Run`."""
        from ..reference import run

        arrays = {**self.model.parameters_of(name), **inputs}
        program = self.model.programs[name]
        _, self.states = run(
            program, arrays, self.states, iterations=iterations, return_states=True
        )

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`Run`."""
        return self.states[name]


class _Compiled:
    """On the device."""

    def __init__(self, model: GenerativeModel) -> None:
        # What an earlier sequence left is overwritten before it is read.
        self.model = model

    def __call__(self, name: str, inputs: Mapping[str, Any], iterations: int = 1) -> None:
        """See :class:`Run`."""
        self.model.executable(name).run(dict(inputs), iterations=iterations)

    def state(self, name: str) -> NDArray[Any]:
        """See :class:`Run`."""
        return self.model.executable("decode").states[name]


def load_decoder(
    folder: str | os.PathLike[str],
    config: Config,
    *,
    max_length: int = 512,
    chunk: int = 32,
    dtype: DTypeLike | None = None,
    sampling: bool = False,
    tensor_parallel: int = 1,
) -> GenerativeModel:
    """A decoder from a Hugging Face folder; called through ``ark.models.load``.

    Args:
        max_length: tokens that a sequence may have, as far as the model has positions.
        chunk: tokens of a prompt that run at once.
        dtype: of parameters and hidden states; by default the configuration's.
        sampling: whether ``generate`` can sample tokens.
        tensor_parallel: how many ranks share the attention heads and the MLP; see
            ``ark_mlir.models.sharding`` for which parts, and in which order they are summed. It
            divides the numbers of heads, of key and value heads, and the MLP's width. All ranks
            run in this process; after ``ark.distributed.init``, whose world has to have as many,
            each in its own: then every one of them compiles, and generates the same tokens.
    """
    sizes = DecoderConfig.read(config)
    tensors = read_weights(folder)
    check_layers(config, tensors, ["model.layers."])
    check_shapes(sizes.shapes(), tensors, os.fspath(folder))
    element = as_float_dtype(
        dtype or config.entries.get("dtype") or config.word("torch_dtype", "fp32")
    )
    limit = min(as_count(max_length, "max_length"), sizes.positions)
    common: dict[str, Any] = {"max_length": limit, "dtype": element, "sampling": bool(sampling)}
    part = min(as_count(chunk, "chunk"), limit)

    def build(sizes: DecoderConfig) -> dict[str, Program]:
        return {
            "prefill": build_prefill(sizes, chunk=part, **common),
            "decode": build_decode(sizes, **common),
        }

    programs = build(sizes)
    weights = assign(programs["decode"].parameters, tensors, os.fspath(folder))
    model = GenerativeModel(
        os.fspath(folder),
        programs,
        weights,
        sizes.vocabulary,
        sizes.positions,
        _read_ends(folder, config, sizes.vocabulary),
    )
    ranks = as_count(tensor_parallel, "tensor_parallel")
    if ranks > 1:
        of_rank = [build(sizes_of_rank) for sizes_of_rank in _own(divide(sizes, ranks))]
        model.ranks = {name: [built[name] for built in of_rank] for name in programs}
    return model


def _own(parts: list[DecoderConfig]) -> list[DecoderConfig]:
    """The parts that this process runs: one where it is a rank, else all."""
    member = current()
    if member is None:
        return parts
    if len(parts) != member.world_size:
        raise InvalidUsageError(
            f"tensor_parallel {len(parts)} in a world of {member.world_size} ranks"
        )
    return [parts[member.rank]]


def _read_ends(folder: str | os.PathLike[str], config: Config, vocabulary: int) -> tuple[int, ...]:
    """The tokens that end a text; those of the configuration for generation take precedence."""
    sources = [config]
    if (Path(folder) / _GENERATION).is_file():
        sources.insert(0, read_config(folder, _GENERATION))
    for source in sources:
        if source.entries.get("eos_token_id") is None:
            continue
        tokens = source.counts("eos_token_id")
        if len(tokens) > MAX_ENDS:
            raise source.error(f"{len(tokens)} tokens end a text; {MAX_ENDS} are possible")
        for token in tokens:
            if token >= vocabulary:
                raise source.error(
                    f"'eos_token_id' has token {token}, the vocabulary {vocabulary} entries"
                )
        return tokens
    return ()

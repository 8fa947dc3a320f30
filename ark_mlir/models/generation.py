"""``GenerativeModel``, and the loader of decoders."""

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
from .decoder_states import MAX_ENDS
from .model import Model, as_tokens
from .moe import stack_experts
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
        prompt: number of tokens of the prompt.
        prompt_seconds: seconds until the first new token.
        tokens: number of new tokens after the first.
        seconds: seconds for the new tokens after the first.
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
        vocabulary: int,
        positions: int,
        ends: Sequence[int] = (),
    ) -> None:
        super().__init__(name, programs, parameters)
        self.vocabulary = vocabulary
        self.positions = positions
        self.ends = tuple(ends)
        self.timing: Timing | None = None
        # A generation is several runs on one set of states, which no other call may interrupt.
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
        """Generates tokens that continue a prompt, in one launch after the prompt.

        Args:
            ids: token ids of the prompt, one row.
            max_new_tokens: maximum number of new tokens.
            stop: a token or several tokens that end the text; the result includes the token. By
                default :attr:`ends`; ``()`` for none.
            temperature: 0 is greedy decoding. Above 0, tokens are sampled from logits divided by
                the temperature; the model must be loaded with ``sampling=True``.
            top_k: top-k sampling: the number of most probable tokens to keep; 0 keeps all.
            top_p: nucleus sampling: the cumulative probability, as a share of that of the `top_k`
                tokens, up to which the most probable tokens are kept; 1.0 keeps all.
            seed: random seed; equal seeds give equal tokens (:mod:`ark_mlir.models.sampling`).
            reference: True computes with the float64 interpreter instead of the compiled programs.

        Returns the list of new tokens. Raises InvalidUsageError if the prompt is empty, a token is
        not in the vocabulary, prompt and new tokens exceed :attr:`max_length`, an option is
        invalid, or the model is not compiled. Calls from several threads run one after the other.

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
        self, prompt: NDArray[np.int32], inputs: Mapping[str, Any], count: int, run: RunProgram
    ) -> list[int]:
        start = time.perf_counter()
        self._prefill(prompt, inputs, run)
        first = time.perf_counter()
        if count > 1 and not run.state("done"):
            run("decode", inputs, count - 1)
        made = int(run.state("position")) - prompt.size
        self.timing = Timing(prompt.size, first - start, made, time.perf_counter() - first)
        # Entry i of the state is the token after position i: the first new token is at size - 1.
        return run.state("tokens")[0, prompt.size - 1 : prompt.size + made].tolist()

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

    def _ends(self, stop: int | Sequence[int] | None) -> NDArray[np.int32]:
        tokens = self.ends if stop is None else stop
        (row,) = as_tokens([np.atleast_1d(np.asarray(tokens))], self.vocabulary, "stop")
        if row.size > MAX_ENDS:
            raise InvalidUsageError(f"{row.size} stop tokens; the limit is {MAX_ENDS}")
        ends = np.full(MAX_ENDS, -1, np.int32)
        ends[: row.size] = row
        return ends

    def _choice(self, temperature: float, top_k: int, top_p: float, seed: int) -> dict[str, Any]:
        """Returns the inputs for sampling; none if the model was loaded without it."""
        arrays = sampling_inputs(temperature, top_k, top_p, seed)
        if "temperature" in self.programs["decode"].inputs:
            return arrays
        if arrays["temperature"] > 0:
            raise InvalidUsageError(
                "this model supports greedy decoding only; load it with sampling=True"
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

    @property
    def max_length(self) -> int:
        """Returns the maximum number of tokens of a sequence."""
        return self.programs["decode"].states["layers.0.key"].shape[2]

    def _prefill(
        self, prompt: NDArray[np.int32], common: Mapping[str, Any], run: RunProgram
    ) -> None:
        """Runs the prompt in chunks; the last one computes the first new token."""
        chunk = self.programs["prefill"].inputs["ids"].shape[1]
        begin = 0
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
    """Loads a decoder from a Hugging Face folder; use it through ``ark.models.load``.

    Args:
        max_length: maximum number of tokens of a sequence, limited by the model's positions.
        chunk: number of tokens of a prompt per run of ``prefill``.
        dtype: dtype of parameters and hidden states; by default that of the configuration.
        sampling: True if ``generate`` can sample tokens.
        tensor_parallel: number of ranks that share the attention heads, the MLP and the vocabulary
            head; see ``ark_mlir.models.sharding``. It must divide the number of heads, the number
            of key heads and the MLP's width. All ranks run in this process: with ``cuda``, each on
            a GPU of its own, or all on one with ``compile(devices=[0])``. After
            ``ark.distributed.init``, each rank runs in its own process: the world must have this
            number of ranks, and each of them must compile and generate.
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
    if sizes.experts is not None:
        tensors = stack_experts(sizes.experts, sizes.layers, tensors, os.fspath(folder))
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
    """Returns the parts that this process runs: its own if it is a rank, else all."""
    member = current()
    if member is None:
        return parts
    if len(parts) != member.world_size:
        raise InvalidUsageError(
            f"tensor_parallel {len(parts)} in a world of {member.world_size} ranks"
        )
    return [parts[member.rank]]


def _read_ends(folder: str | os.PathLike[str], config: Config, vocabulary: int) -> tuple[int, ...]:
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

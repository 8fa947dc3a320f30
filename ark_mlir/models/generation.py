"""Loading and running decoders."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray
from typing_extensions import Self

from ..dtypes import DType
from ..errors import InvalidUsageError
from ..frontend import Program
from .config import Config, as_count, as_float_dtype
from .decoder import DecoderConfig, build_decode, build_prefill, rope_tables
from .model import Model, as_tokens
from .progress import MAX_ENDS
from .weights import Arrays, assign, read_weights

__all__ = ["GenerativeModel", "load_decoder"]


class GenerativeModel(Model):
    """A decoder. See :meth:`generate`."""

    def __init__(
        self, name: str, programs: Mapping[str, Program], parameters: Arrays, vocabulary: int
    ) -> None:
        super().__init__(name, programs, parameters)
        self.vocabulary = vocabulary

    def generate(
        self,
        ids: object,
        max_new_tokens: int,
        *,
        stop: int | None = None,
        reference: bool = False,
    ) -> list[int]:
        """The most probable continuation of a prompt.

        Args:
            ids: the prompt's token ids, one row.
            max_new_tokens: how many tokens to add at most.
            stop: a token that ends the continuation, and is its last.
            reference: computes with the float64 interpreter instead of the compiled programs.

        Returns the new tokens. Raises InvalidUsageError on an empty prompt, tokens outside
        of the vocabulary, or more tokens than the model was loaded for.

        Example:
            >>> model.generate([1, 15043, 3186], max_new_tokens=8)
        """
        (prompt,) = as_tokens([ids], self.vocabulary)
        count = as_count(max_new_tokens, "max_new_tokens", 0)
        self._check(prompt.size, count)
        if not count:
            return []
        ends = np.full(MAX_ENDS, -1, np.int32)
        if stop is not None:
            ends[0] = stop
        run = _Interpreted(self) if reference else _Compiled(self)
        self._prefill(prompt, ends, run)
        if count > 1 and not run.state("done"):
            run("decode", {"ends": ends}, count - 1)
        # What follows the prompt's last token is new, up to the token that waits to be read.
        return run.state("tokens")[0, prompt.size - 1 : int(run.state("position"))].tolist()

    def _check(self, prompt: int, count: int) -> None:
        limit = self.max_length
        if not prompt:
            raise InvalidUsageError("the prompt has no token")
        if prompt + count > limit:
            raise InvalidUsageError(
                f"{prompt} tokens and {count} new ones exceed max_length {limit}; "
                "load the model with a larger one"
            )

    def compile(self, target: str | None = None, **options: Any) -> Self:
        """See :meth:`Model.compile`; both programs work on the same states."""
        super().compile(target, **options)
        self.executables["decode"].share_states(self.executables["prefill"])
        return self

    @property
    def max_length(self) -> int:
        """Tokens that a sequence may have."""
        return self.programs["decode"].states["layers.0.key"].shape[2]

    def _prefill(self, prompt: NDArray[np.int32], ends: NDArray[np.int32], run: Run) -> None:
        """Runs the prompt in chunks, which gives the first new token."""
        chunk = self.programs["prefill"].inputs["ids"].shape[1]
        begin = 0
        while begin < prompt.size:
            # The last chunk goes back over tokens already seen rather than past the end.
            begin = max(0, min(begin, prompt.size - chunk))
            part = prompt[begin : begin + chunk]
            row = np.zeros((1, chunk), np.int32)
            row[0, : part.size] = part
            inputs: dict[str, Any] = {"ids": row, "begin": np.int32(begin), "ends": ends}
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
        """What a state holds now."""
        ...


class _Interpreted:
    """In the interpreter."""

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
        self.model = model
        # Nothing of an earlier sequence is read, but the next one must be repeatable.
        model.executable("prefill").reset()

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
    qk_norm: bool,
    max_length: int = 512,
    chunk: int = 32,
    dtype: DType | str | None = None,
) -> GenerativeModel:
    """A decoder from a Hugging Face folder; see ``ark.models.llama.load``."""
    sizes = DecoderConfig.read(config, qk_norm=qk_norm)
    element = as_float_dtype(
        dtype or config.entries.get("dtype") or config.word("torch_dtype", "fp32")
    )
    limit = min(as_count(max_length, "max_length"), sizes.positions)
    programs = {
        "prefill": build_prefill(
            sizes, chunk=min(as_count(chunk, "chunk"), limit), max_length=limit, dtype=element
        ),
        "decode": build_decode(sizes, max_length=limit, dtype=element),
    }
    needed = dict(programs["decode"].parameters)
    tables = {
        f"rope.{part}": table.astype(element.numpy)
        for part, table in zip(("cos", "sin"), rope_tables(sizes, limit), strict=True)
    }
    wanted = {name: argument for name, argument in needed.items() if name not in tables}
    weights = assign(wanted, read_weights(folder), os.fspath(folder))
    return GenerativeModel(os.fspath(folder), programs, {**weights, **tables}, sizes.vocabulary)

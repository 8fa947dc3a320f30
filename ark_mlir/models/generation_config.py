"""The sizes of a decoder's programs, and the end-of-text tokens of a model folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from .config import Config, read_config
from .options import MAX_ENDS

if TYPE_CHECKING:
    from ..typing import Path as PathLike

__all__ = ["Sizes", "read_ends"]

_GENERATION = "generation_config.json"


@dataclass(frozen=True)
class Sizes:
    """The sizes of a decoder's programs.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        positions: maximum number of tokens of a sequence of the model.
        max_length: maximum number of tokens of a sequence of the programs.
        chunk: number of tokens of a prompt per run of ``prefill``.
        sampling: True if the programs can sample tokens.
        batch: number of rows of the programs.
    """

    vocabulary: int
    positions: int
    max_length: int
    chunk: int
    sampling: bool
    batch: int = 1


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

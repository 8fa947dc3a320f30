"""``EmbeddingModel``: encoders that compute vectors of sentences."""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from ..text import Tokenizer
from .model import Model, as_rows, as_tokens
from .weights import Arrays

if TYPE_CHECKING:
    from ..frontend import Program
    from ..typing import TokenRows

__all__ = ["EmbeddingModel", "EmbeddingSizes"]


@dataclass(frozen=True)
class EmbeddingSizes:
    """The sizes of an encoder's program.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        types: number of token types.
        batch, length: maximum numbers of prompts of a run, and of tokens of a prompt.
        width: the shape of the result for one prompt.
        inputs: the names of the program's inputs.
    """

    vocabulary: int
    types: int
    batch: int
    length: int
    width: tuple[int, ...]
    inputs: tuple[str, ...]


class EmbeddingModel(Model):
    """An encoder of sentences. See :meth:`embed`.

    Attributes:
        vocabulary: number of tokens of the vocabulary.
        types: number of token types, such as the sentences of a pair.
        batch, length: maximum numbers of prompts of a run, and of tokens of a prompt.

    Example:
        >>> model = ark.models.load(folder, batch=2, length=12)
        >>> type(model).__name__, model.programs["embed"].outputs["embedding"].shape
        ('EmbeddingModel', (2, 16))
    """

    def __init__(
        self,
        name: str,
        programs: Mapping[str, Program],
        parameters: Arrays,
        sizes: EmbeddingSizes,
    ) -> None:
        super().__init__(name, programs, parameters)
        self.vocabulary = sizes.vocabulary
        self.types = sizes.types
        self.batch, self.length = sizes.batch, sizes.length
        self._inputs, self._width = sizes.inputs, sizes.width

    @cached_property
    def tokenizer(self) -> Tokenizer:
        """Returns the tokenizer of the folder; raises the errors of :class:`Tokenizer`."""
        return Tokenizer(self.name)

    def embed(
        self,
        ids: TokenRows | Sequence[str],
        mask: TokenRows | None = None,
        types: TokenRows | None = None,
        *,
        reference: bool = False,
    ) -> NDArray[np.float32]:
        """Returns one vector for each prompt.

        Args:
            ids: token ids, a matrix or rows of any lengths; or texts, which need the package
                tokenizers and the file ``tokenizer.json`` in the folder. Prompts run in batches of
                the program's size.
            mask: 1 for each id that is a token and 0 for padding; by default all are tokens.
            types: the number of the sentence in a pair for each id; by default 0, the first.
            reference: True computes with the float64 interpreter instead of the compiled program.

        The result is fp32 ``[prompts, hidden]`` (float64 with `reference`). With pooling ``none``,
        it is ``[prompts, length, hidden]``, and its values at padding are undefined. Raises
        InvalidUsageError if a prompt is empty, is longer than the program's `length`, or has an
        unknown token or type, or if the model is not compiled, and UnsupportedError if a package
        is missing.

        Example:
            >>> model = ark.models.load(folder, length=12).compile("cpu")
            >>> model.embed([[2, 3, 5], [7, 11]]).shape  # (prompts, hidden)
            (2, 16)
        """
        rows = as_tokens(self._encoded(ids), self.vocabulary)
        masks = _as_masks(mask, rows)
        kinds = self._as_types(types, rows)
        batch, length = self.batch, self.length
        prompts = [
            _trimmed(n, *parts, length)
            for n, parts in enumerate(zip(rows, masks, kinds, strict=True))
        ]
        parts: list[NDArray[Any]] = []
        for begin in range(0, len(prompts), batch):
            chunk = prompts[begin : begin + batch]
            arrays = _padded(chunk, batch, length)
            inputs = {name: arrays[name] for name in self._inputs}
            result = self.run("embed", inputs, reference=reference)
            parts.append(result["embedding"][: len(chunk)])
        if not parts:
            return np.zeros((0, *self._width), np.float32)
        return np.concatenate(parts)

    def _encoded(self, ids: TokenRows | Sequence[str]) -> object:
        if isinstance(ids, str):
            raise InvalidUsageError("ids must be a list of texts, not one text; pass [text]")
        if isinstance(ids, Sequence) and any(isinstance(each, str) for each in ids):
            if not all(isinstance(each, str) for each in ids):
                raise InvalidUsageError("ids must be texts or rows of tokens, not both")
            return [self.tokenizer.encode(str(text)) for text in ids]
        return ids

    def _as_types(self, types: object, rows: list[NDArray[np.int32]]) -> list[NDArray[np.int32]]:
        if types is None:
            return [np.zeros(row.shape, np.int32) for row in rows]
        kinds = as_rows(types, "types")
        if [kind.shape for kind in kinds] != [row.shape for row in rows]:
            raise InvalidUsageError("types must have a row for each row of ids, of the same length")
        for number, row in enumerate(kinds):
            if not np.isin(row, range(self.types)).all():
                raise InvalidUsageError(f"types[{number}] must be from 0 to {self.types - 1}")
        return [kind.astype(np.int32) for kind in kinds]


def _as_masks(mask: object, rows: list[NDArray[np.int32]]) -> list[NDArray[np.bool_]]:
    if mask is None:
        return [np.ones(row.shape, np.bool_) for row in rows]
    try:
        masks = [np.asarray(m) for m in mask]  # type: ignore[attr-defined]
    except (TypeError, ValueError):
        raise InvalidUsageError("mask must be rows of zeros and ones") from None
    if [m.shape for m in masks] != [row.shape for row in rows]:
        raise InvalidUsageError("mask must have a row for each row of ids, of the same length")
    for number, row in enumerate(masks):
        if row.dtype.kind not in "biu" or not np.isin(row, (0, 1)).all():
            raise InvalidUsageError(f"mask[{number}] must hold zeros and ones")
    return [m.astype(np.bool_) for m in masks]


# Ids, mask and types of one prompt.
_Prompt = tuple[NDArray[np.int32], NDArray[np.bool_], NDArray[np.int32]]


def _trimmed(
    number: int,
    ids: NDArray[np.int32],
    mask: NDArray[np.bool_],
    types: NDArray[np.int32],
    length: int,
) -> _Prompt:
    """Returns a prompt without the padding at its end."""
    if not mask.any():
        raise InvalidUsageError(f"prompt {number} has no token")
    used = int(np.flatnonzero(mask)[-1]) + 1
    if used > length:
        raise InvalidUsageError(
            f"prompt {number} has {used} tokens, the program's limit is {length}; "
            f"load the model with length={used} or more, or cut the prompt"
        )
    return ids[:used], mask[:used], types[:used]


def _padded(prompts: list[_Prompt], batch: int, length: int) -> dict[str, NDArray[Any]]:
    ids = np.zeros((batch, length), np.int32)
    mask = np.zeros((batch, length), np.bool_)
    types = np.zeros((batch, length), np.int32)
    for number, parts in enumerate(prompts):
        for array, row in zip((ids, mask, types), parts, strict=True):
            array[number, : row.size] = row
    return {"ids": ids, "mask": mask, "types": types}

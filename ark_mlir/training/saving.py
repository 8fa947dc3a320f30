"""Files of training states: ranks replace their files together, and load those of one step."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InvalidUsageError
from ..paths import as_path
from ..runtime.arrays.safetensors import read_safetensors, write_safetensors

if TYPE_CHECKING:
    from ..frontend import Argument
    from ..runtime.ranks.membership import Membership

__all__ = ["HISTORY", "StateFiles"]

Arrays = Mapping[str, NDArray[Any]]
HISTORY = "training.losses"
"""The tensor of the losses of all steps, in a file of states."""


@dataclass(frozen=True)
class StateFiles:
    """Reads and writes the files of the states of a training.

    Ranks write a file beside the former one, wait until all ranks have written theirs, and then
    replace the former one. A rank that is lost at any moment thus leaves a step that all ranks
    have.

    Attributes:
        name: the name of the program, for errors.
        step: the name of the state with the number of steps.
        states: the states of the program, by name.
        member: the membership of a rank whose program has several ranks, or None.
    """

    name: str
    step: str
    states: Mapping[str, Argument]
    member: Membership | None

    def save(self, path: str | os.PathLike[str] | None, arrays: Arrays) -> None:
        """Writes a file of states; a collective call of all ranks.

        Args:
            path: the file; None in a rank that writes no file.
            arrays: the states and the losses, by name.

        Raises OSError if the file cannot be written; the former one then stays, in all ranks.
        Raises InvalidUsageError if ranks save after different steps, and RankFailedError if
        another rank fails before it has written its file.
        """
        if self.member is None:
            write_safetensors(as_path(path, "the file to write"), arrays, durable=True)
            return
        with self.member.collective_call(f"save {self.name!r}") as call:
            file = None if path is None else as_path(path, "the file to write")
            if file is not None:
                write_safetensors(_unfinished(file), arrays, durable=True)
            step = int(arrays[self.step])
            for rank, answer in enumerate(call.all_gather("written", step)):
                if answer.body != step:
                    raise InvalidUsageError(
                        f"rank {self.member.rank} saves step {step}, and rank {rank} saves step "
                        f"{answer.body}"
                    )
            if file is not None:
                os.replace(_unfinished(file), file)

    def load(self, path: str | os.PathLike[str], *, missing: bool = False) -> Arrays | None:
        """Returns a copy of the states and losses of a file; a collective call of all ranks.

        Ranks read the newest step of which all of them have a file.

        Args:
            path: the file.
            missing: True returns None if no rank has saved.

        Raises InvalidUsageError if a file cannot be read or has other states than the program, or
        if the ranks have no step in common. Raises RankFailedError if another rank fails.
        """
        file = as_path(path, "the file to read")
        if self.member is None:
            if missing and not file.exists():
                return None
            return _copy(self._read(file))
        with self.member.collective_call(f"load {self.name!r}") as call:
            found = self._find(file)
            mine: Any = [sorted(found), file.exists()]
            answers: list[Any] = [each.body for each in call.all_gather("steps", mine)]
            common = [step for step in found if all(step in steps for steps, _ in answers)]
            if missing and not common and not any(finished for _, finished in answers):
                return None
            if not common:
                raise InvalidUsageError(
                    f"the ranks have no saved step in common: {_describe(answers)}",
                    location=str(file),
                )
            source, arrays = found[max(common)]
            copied = _copy(arrays)
            # Ranks may read one file, so that no rank renames it before all ranks have read it.
            call.all_gather("read")
            _finish(file, source)
            return copied

    def _find(self, file: Path) -> dict[int, tuple[Path, Arrays]]:
        """Returns the files of this rank and their arrays, by step."""
        there = [each for each in (_unfinished(file), file) if each.exists()]
        read = [(each, self._read(each)) for each in there]
        return {int(arrays[self.step]): (each, arrays) for each, arrays in read}

    def _read(self, file: Path) -> Arrays:
        """Returns the tensors of a file, which map it."""
        arrays = read_safetensors(file)
        if HISTORY not in arrays:
            raise InvalidUsageError(
                "is not a file of training states, which Trainer.save writes", location=str(file)
            )
        self._check(file, arrays)
        return arrays

    def _check(self, file: Path, arrays: Arrays) -> None:
        """Raises InvalidUsageError, which names the first difference to the program's states."""
        given = set(arrays) - {HISTORY}
        for name in sorted(given ^ set(self.states)):
            has, lacks = ("file", "program") if name in given else ("program", "file")
            raise InvalidUsageError(
                f"the {has} has the state {name!r}, and the {lacks} does not", location=str(file)
            )
        for name, state in self.states.items():
            array = arrays[name]
            if array.shape != state.shape or array.dtype != state.dtype.numpy:
                raise InvalidUsageError(
                    f"state {name!r} is {array.dtype}{list(array.shape)}, in the program "
                    f"{state.dtype}{list(state.shape)}",
                    location=str(file),
                )


def _copy(arrays: Arrays) -> Arrays:
    """Returns copies, since the next save may replace the mapped file."""
    return {name: np.array(array) for name, array in arrays.items()}


def _unfinished(file: Path) -> Path:
    """Returns the path of a file that other ranks may not have; no pattern of models matches it."""
    return file.with_name(f"{file.name}.next")


def _finish(file: Path, source: Path) -> None:
    """Makes `source` the file of the rank, and removes the one that other ranks do not have."""
    if source == file:
        _unfinished(file).unlink(missing_ok=True)
        return
    # If ranks share a file, the first of them has renamed it.
    with contextlib.suppress(FileNotFoundError):
        os.replace(source, file)


def _describe(answers: list[Any]) -> str:
    """Returns the saved steps of each rank, for a message."""
    texts = [" and ".join(map(str, steps)) or "none" for steps, _ in answers]
    return ", ".join(f"rank {rank} has {text}" for rank, text in enumerate(texts))

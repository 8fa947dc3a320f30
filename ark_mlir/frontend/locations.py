"""Locations in the user's Python, as MLIR locations of ops.

An op's location is a ``NameLoc`` with the op's name around the user's ``file:line:column``. Up to
three callers of that line follow as call sites, so that an error inside a layer's ``forward`` also
shows which layer it is.
"""

from __future__ import annotations

import itertools
import os
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from types import FrameType

from .. import ir

__all__ = ["Frame", "placed", "to_location", "user_frames"]

# Frames in these folders and files are skipped. ark_mlir.models and other files of
# ark_mlir.training are not among them: they use the frontend as a program of a user does.
_PACKAGE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
_OURS = (
    *(
        os.path.join(_PACKAGE, folder, "")
        for folder in ("frontend", "compiler", "optim", "pytorch", "reference")
    ),
    os.path.join(_PACKAGE, "training", "loop.py"),
)
_INSTALLED = tuple(os.sep + folder + os.sep for folder in ("site-packages", "dist-packages"))
_CALLERS = 3
_PLACED: ContextVar[tuple[Frame, ...]] = ContextVar("ark_placed", default=())


@dataclass(frozen=True)
class Frame:
    """A line of Python on the stack; lines and columns count from one, and 0 means unknown."""

    file: str
    line: int
    column: int

    def __str__(self) -> str:
        return f"{self.file}:{self.line}"


@contextmanager
def placed(frames: Sequence[Frame]) -> Generator[None, None, None]:
    """Makes `frames`, innermost first, the location of all ops that the ``with`` block creates.

    Converters of other forms of a program use it. Empty `frames` have no effect.
    """
    token = _PLACED.set(tuple(frames) or _PLACED.get())
    try:
        yield
    finally:
        _PLACED.reset(token)


def user_frames(callers: int = _CALLERS) -> list[Frame]:
    """Returns the innermost frame outside of the frontend and up to `callers` of its callers.

    The list ends at module level, and before code of installed packages, such as a test runner.
    """
    if given := _PLACED.get():
        return list(given[: 1 + callers])
    frame: FrameType | None = sys._getframe(1)  # pyright: ignore[reportPrivateUsage]
    while frame is not None and _is_internal(frame.f_code.co_filename):
        frame = frame.f_back
    frames: list[Frame] = []
    while frame is not None and len(frames) <= callers:
        if frames and _is_foreign(frame.f_code.co_filename):
            break
        frames.append(_position(frame))
        if frame.f_code.co_name == "<module>":
            break
        frame = frame.f_back
    return frames or [Frame("<unknown>", 0, 0)]


def _is_internal(file: str) -> bool:
    # Functions of PyTorch call Tensor.__torch_function__.
    return file.startswith(_OURS) or any(f"{folder}torch{os.sep}" in file for folder in _INSTALLED)


def _is_foreign(file: str) -> bool:
    return file.startswith("<frozen") or any(folder in file for folder in _INSTALLED)


def _position(frame: FrameType) -> Frame:
    return Frame(frame.f_code.co_filename, frame.f_lineno, _column(frame))


def _column(frame: FrameType) -> int:
    if sys.version_info < (3, 11):  # Python 3.10 keeps lines only
        return 0
    positions = itertools.islice(frame.f_code.co_positions(), frame.f_lasti // 2, None)
    column = next(positions, (None, None, None, None))[2]
    return 0 if column is None else column + 1


def to_location(name: str, frames: list[Frame], context: ir.Context) -> ir.Location:
    """Returns a ``NameLoc`` around `frames`, as described at the top of this module."""
    files = [ir.Location.file(f.file, f.line, f.column, context=context) for f in frames]
    location = files[0]
    if len(files) > 1:
        location = ir.Location.callsite(location, files[1:], context=context)
    return ir.Location.name(name, location, context=context)

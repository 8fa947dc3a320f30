"""Temporary files and folders for external tools."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import CompileError
from ..permissions import find_weakness


@contextmanager
def scratch_folder() -> Generator[Path]:
    """Creates a temporary folder and deletes it after the block, unless the process is killed.

    An OSError in the block becomes a CompileError that names the file, or the temporary folder if
    the disk is full. Tools write code to the folder, so CompileError is also raised if another user
    could replace the code.
    """
    with _explained(), tempfile.TemporaryDirectory(prefix="ark-") as folder:
        if reason := find_weakness(Path(folder)):
            raise CompileError(f"no safe folder for temporary files: {reason}", location=folder)
        yield Path(folder)


@contextmanager
def scratch_file() -> Generator[IO[bytes]]:
    """Creates a temporary file without a name, which vanishes even if the process is killed.

    A tool that inherits the descriptor reads the file as ``/dev/fd/<number>``. An OSError in the
    block becomes a CompileError, as in `scratch_folder`.
    """
    with _explained(), tempfile.TemporaryFile(prefix="ark-") as file:
        yield file


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as error:
        path = error.filename or tempfile.tempdir
        raise CompileError(error.strerror or str(error), location=path) from None

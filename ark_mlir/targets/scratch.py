"""Folders for the input and output of tools that are programs."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import CompileError
from ..permissions import weakness


@contextmanager
def scratch_folder() -> Generator[Path]:
    """A folder that is gone after the block, unless the process is killed in it.

    Raises CompileError where a file of the block cannot be written or read, or a tool not be run;
    it names the file, or the folder of the disk that is full. Raises it also where another user
    could put another folder in the place of this one, since what tools leave here is code.
    """
    with _explained(), tempfile.TemporaryDirectory(prefix="ark-") as folder:
        if reason := weakness(Path(folder)):
            raise CompileError(f"no safe folder for temporary files: {reason}", location=folder)
        yield Path(folder)


@contextmanager
def scratch_file() -> Generator[IO[bytes]]:
    """A file without a name, which is gone after the block, however the process ends.

    A tool that is given its descriptor reads it as ``/dev/fd/<number>``. Raises as
    `scratch_folder` does.
    """
    with _explained(), tempfile.TemporaryFile(prefix="ark-") as file:
        yield file


@contextmanager
def _explained() -> Generator[None]:
    try:
        yield
    except OSError as error:
        place = error.filename or tempfile.tempdir
        raise CompileError(error.strerror or str(error), location=place) from None

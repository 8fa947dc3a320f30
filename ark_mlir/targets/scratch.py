"""Where tools that are programs find their input and leave their output."""

from __future__ import annotations

import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

from ..errors import CompileError


@contextmanager
def scratch_folder() -> Generator[Path]:
    """A folder that is gone after the block.

    Raises CompileError where a file of the block cannot be written or read, or a tool not be run;
    it names the file, or the folder of the disk that is full.
    """
    try:
        with tempfile.TemporaryDirectory(prefix="ark-") as folder:
            yield Path(folder)
    except OSError as error:
        place = error.filename or tempfile.tempdir
        raise CompileError(error.strerror or str(error), location=place) from None

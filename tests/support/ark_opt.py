"""The ``ark-opt`` of the build, which has the passes and the backend of tests."""

from __future__ import annotations

import shutil
import sys
from pathlib import Path


def find_ark_opt() -> str | None:
    """Returns the path of ``ark-opt``, beside the Python of the tests or on the search path."""
    return shutil.which("ark-opt", path=str(Path(sys.executable).parent)) or shutil.which("ark-opt")

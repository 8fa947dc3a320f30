"""Runs the scripts of benchmarks."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).parents[3] / "benchmarks"


def run_benchmark(
    name: str, *arguments: object, prelude: str = "", timeout: int = 500
) -> subprocess.CompletedProcess[str]:
    """Runs a script in a separate process on one thread, after some statements."""
    script = f"import sys; sys.path.insert(0, {str(FOLDER)!r}); import {name}\n{prelude}\n"
    return subprocess.run(
        [sys.executable, "-c", f"{script}sys.exit({name}.main())", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )

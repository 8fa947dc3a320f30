"""A slice of the soak of tables: mutants are refused, and bundles as compiled are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "soak" / "mutate_tables.py"


def test_mutants_of_tables_are_refused() -> None:
    result = subprocess.run(
        [sys.executable, SCRIPT, "--count", "120", "--seed", "7"],
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    assert " 0 failures" in result.stdout

"""The tiers of tests: which tests `make test` leaves out, and `make check-pythons` runs.

`make test` runs one shard of the slow tests, and each commit another shard: over n commits, each
case of a test with interval n runs once; see rotation.py. `make test-all` runs all tests.
"""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from .rotation import ROTATION

HOST = Path(__file__).parent
# Sets the shard, for runs that repeat the choice of another commit.
SHARD_VARIABLE = "ARK_TEST_SHARD"

# Folders and files of tests/host whose tests run with every version of Python. These tests cover
# arrays, threads, signals, ctypes and the bindings, which differ between versions, in a minute.
QUICK = (
    "bundle",
    "e2e/test_lanes.py",
    "e2e/test_stop.py",
    "frontend",
    "runtime",
    "test_json_checks.py",
    "testing",
    "tuning",
)
# Tests that make each call of a vendor's driver fail, and models of protocols, take minutes.
NOT_QUICK = ("runtime/cuda", "runtime/gpu", "runtime/ranks")


def find_shard() -> int:
    """Returns the number of commits of the repository, or that of ARK_TEST_SHARD; 0 without git."""
    if shard := os.environ.get(SHARD_VARIABLE):
        return int(shard)
    command = ["git", "-C", str(HOST), "rev-list", "--count", "HEAD"]
    try:
        result = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return 0
    return int(result.stdout)


def is_due(name: str, case: int, shard: int) -> bool:
    """Returns True if `make test` runs a case of a test.

    Args:
        name: the test, as in `ROTATION`.
        case: the index of the case among all cases of the test.
        shard: the result of :func:`find_shard`.
    """
    interval, first = ROTATION.get(name, (1, 0))
    return interval > 0 and (shard - first - case) % interval == 0

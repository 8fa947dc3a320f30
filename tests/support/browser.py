"""A browser that draws a page of `ark show`."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

_BROWSER = next(filter(None, map(shutil.which, ("chromium", "google-chrome", "chrome"))), None)

needs_browser = pytest.mark.skipif(
    _BROWSER is None, reason="no chromium on this machine: lib/tools/install_browser.sh"
)


def drawn_by_browser(page: Path) -> str:
    """Returns the text of a page after its script has run."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        result = subprocess.run(
            [
                *(_BROWSER or "", "--headless=new", "--no-sandbox", "--disable-gpu"),
                *("--virtual-time-budget=8000", "--dump-dom"),
                f"--user-data-dir={profile}",
                f"file://{page}",
            ],
            capture_output=True,
            text=True,
            timeout=500,
            check=True,
        )
    return result.stdout

"""Only the descriptions of machines name architectures; passes ask the target for its abilities."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[2]
# A name as a string literal, or its beginning.
NAME = re.compile(r"""["'](sm_|gfx)\w*["']""")
COMMENT = re.compile(r"//.*|#.*")
FOLDERS = {"dialects": ("*.cpp", "*.h"), "passes": ("*.cpp", "*.h"), "lib": ("*.cpp", "*.h")}
# The files with the descriptions.
DESCRIBED = {"dialects/ark/ArkKnownTargets.cpp"}


def find_names(text: str) -> list[str]:
    """Returns the lines of code that name an architecture."""
    return [line.strip() for line in text.splitlines() if NAME.search(COMMENT.sub("", line))]


def test_names() -> None:
    found = {
        str(path.relative_to(ROOT)): lines
        for folder, patterns in FOLDERS.items()
        for pattern in patterns
        for path in sorted((ROOT / folder).rglob(pattern))
        if (lines := find_names(path.read_text()))
    }
    assert set(found) == DESCRIBED, found


def test_the_search_finds_names() -> None:
    assert find_names('if (arch == "sm_90a")') == ['if (arch == "sm_90a")']
    assert find_names('arch.consume_front("sm_")')
    assert find_names('if (!arch.starts_with("gfx9")) {')
    assert not find_names('/// Bulk copies begin with "sm_90".')
    assert not find_names("target.hasCopy(CopyKind::Bulk)")

"""Every check in a lit test is read: some RUN line passes its prefix to FileCheck."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
FOLDERS = ("analysis", "dialects", "lib", "passes", "pipelines", "python")
# Words in capitals before a colon that are no checks.
KEYWORDS = {"RUN", "DEFINE", "REDEFINE", "REQUIRES", "UNSUPPORTED", "XFAIL", "END"}
CHECK = re.compile(
    r"^\s*(?://|#)\s*(?P<prefix>[A-Z][A-Z\d_-]*?)"
    r"(?:-(?:NEXT|SAME|NOT|DAG|LABEL|EMPTY|COUNT-\d+))?(?:\{LITERAL\})?:",
    re.MULTILINE,
)
CONTINUED = re.compile(r"\\\n\s*(?://|#)\s*RUN:")
PREFIXES = re.compile(r"--?check-prefix(?:es)?[ =](\S+)")


def read_prefixes(text: str) -> set[str]:
    """Returns the prefixes of the checks that FileCheck reads."""
    prefixes: set[str] = set()
    for line in CONTINUED.sub("", text).splitlines():
        if "FileCheck" in line:
            given = [match.strip("'\"") for match in PREFIXES.findall(line)]
            prefixes |= {prefix for each in given or ["CHECK"] for prefix in each.split(",")}
    return prefixes


def unread_checks(text: str) -> set[str]:
    """Returns the prefixes of checks that no RUN line reads."""
    written = {match["prefix"] for match in CHECK.finditer(text)}
    return written - read_prefixes(text) - KEYWORDS


def lit_tests() -> list[Path]:
    files = [path for folder in FOLDERS for path in sorted((TESTS / folder).rglob("*"))]
    return [path for path in files if path.suffix in (".mlir", ".test", ".py") and path.is_file()]


def test_every_check_is_read() -> None:
    texts = {path: path.read_text(encoding="utf-8") for path in lit_tests()}
    tests = {path: text for path, text in texts.items() if "RUN:" in text}
    assert len(tests) > 200
    unread = {path.name: unread_checks(text) for path, text in tests.items()}
    assert not {name: checks for name, checks in unread.items() if checks}


@pytest.mark.parametrize(
    ("text", "unread"),
    [
        ("// RUN: ark-opt %s | FileCheck %s\n// CHECK: a\n// CHECK-NEXT: b\n", set()),
        ("// RUN: ark-opt %s | FileCheck %s\n// CHEKC: a\n", {"CHEKC"}),
        ("// RUN: ark-opt %s | FileCheck %s --check-prefix=A\n// A: a\n// CHECK: b\n", {"CHECK"}),
        (
            "// RUN: ark-opt %s \\\n// RUN: | FileCheck --check-prefixes=A,B\n// B-SAME: b\n",
            set(),
        ),
        ("// RUN: ark-opt %s -o /dev/null\n// CHECK-LABEL: a\n", {"CHECK"}),
    ],
)
def test_checks_that_are_not_read_are_found(text: str, unread: set[str]) -> None:
    assert unread_checks(text) == unread

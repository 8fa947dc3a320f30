"""Every numbered constraint of a verifier has a test, and every tested constraint is documented.

Constraints are documented in .td files as ``- (task_c1) ...``. A lit test names the constraint that
it breaks: in the error that it expects, or in the name of its function or program if the error
names no constraint.
"""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[2]
LABEL = r"[a-z][a-z_]*_c\d+"
DOCUMENTED = re.compile(rf"^\s*- \(({LABEL})\)", re.MULTILINE)
IN_ERROR = re.compile(rf"\(({LABEL})\)")
IN_NAME = re.compile(rf"@({LABEL})(?=_?[a-zA-Z]*\b)")
EXPECTED = ("expected-error", "CHECK")


def find_documented() -> dict[str, Path]:
    """Returns the labels in .td files, and the file of each."""
    return {
        label: path
        for folder in ("dialects", "passes")
        for path in sorted((ROOT / folder).rglob("*.td"))
        for label in DOCUMENTED.findall(path.read_text())
    }


def find_tested_in(text: str) -> set[str]:
    """Returns the labels that a lit test names if it expects an error."""
    lines = text.splitlines()
    errors = [line for line in lines if any(word in line for word in EXPECTED)]
    found = {label for line in errors for label in IN_ERROR.findall(line)}
    for section in re.split(r"^// -----", text, flags=re.MULTILINE):
        if "expected-error" in section:
            found |= set(IN_NAME.findall(section))
    return found


def find_tested() -> dict[str, Path]:
    """Returns the labels that lit tests name, and a file of each."""
    return {
        label: path
        for path in sorted((ROOT / "tests").rglob("*.mlir"))
        for label in find_tested_in(path.read_text())
    }


def test_a_label_belongs_to_one_file() -> None:
    """Ops of one file share constraints. In two files a label would name two constraints, of which
    one could lack a test."""
    paths = [path for folder in ("dialects", "passes") for path in (ROOT / folder).rglob("*.td")]
    labels = Counter(label for path in paths for label in set(DOCUMENTED.findall(path.read_text())))
    assert [label for label, count in labels.items() if count > 1] == []


def test_every_constraint_has_a_test() -> None:
    known = find_tested()
    missing = {label: path for label, path in find_documented().items() if label not in known}
    assert not missing, "no lit test breaks: " + ", ".join(
        f"{label} of {path.relative_to(ROOT)}" for label, path in sorted(missing.items())
    )


def test_every_tested_constraint_is_documented() -> None:
    known = find_documented()
    unknown = {label: path for label, path in find_tested().items() if label not in known}
    assert not unknown, "no .td file documents: " + ", ".join(
        f"{label} of {path.relative_to(ROOT)}" for label, path in sorted(unknown.items())
    )


def test_the_search_finds_labels() -> None:
    """The searches of the tests above find something."""
    text = """
// expected-error @below {{is wrong (task_c1)}}
// -----
func.func @region_c2() {
  // expected-error @below {{region size 0 is not positive}}
}
// -----
func.func @region_c1() {
}
"""
    assert find_tested_in(text) == {"task_c1", "region_c2"}
    assert len(find_documented()) > 100

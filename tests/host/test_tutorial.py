"""The blocks of the tutorial, of docs/how-to and of README.md run and print the shown text.

All blocks of a document, or of the tutorial's chapters, run in order, in one folder: ``python``
blocks in one namespace, ``sh`` blocks in a shell. A ``text`` block is what the block before it
prints, where ``...`` stands for anything. A Python block that starts with a comment such as
``# mlp.py`` is that file, so that messages name its lines. ``<!-- needs a b -->`` before a block
skips it where the Python packages a or b are not installed.
"""

from __future__ import annotations

import contextlib
import doctest
import importlib.util
import io
import os
import re
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

ROOT = Path(__file__).parents[2]


def pages(folder: str) -> list[str]:
    return sorted(str(path.relative_to(ROOT)) for path in (ROOT / folder).glob("*.md"))


# Pages whose blocks run in one folder and namespace; chapters of the tutorial depend on earlier
# ones.
DOCUMENTS = {
    "index": ["docs/index.md"],
    "tutorial": pages("docs/tutorial"),
    "README": ["README.md"],
    **{Path(guide).stem: [guide] for guide in pages("docs/how-to")},
}
_FENCE = re.compile(
    r"^(?:<!-- needs (?P<needs>[\w ]+) -->\n)?```(?P<kind>\w*)\n(?P<text>.*?)^```$", re.M | re.S
)
_FILE = re.compile(r"# (\w+\.py)\n")


@dataclass(frozen=True)
class Block:
    """One fenced block, and its expected output if that is shown."""

    location: str
    kind: str
    text: str
    needs: tuple[str, ...]
    shown: str | None


def read_blocks(document: str) -> list[Block]:
    """Returns the runnable blocks of a document."""
    content = (ROOT / document).read_text(encoding="utf-8")
    matches = list(_FENCE.finditer(content))
    blocks: list[Block] = []
    for index, match in enumerate(matches):
        if match["kind"] not in ("python", "sh"):
            continue
        after = matches[index + 1] if index + 1 < len(matches) else None
        shown = after["text"] if after is not None and after["kind"] == "text" else None
        line = content.count("\n", 0, match.start("text")) + 1
        needs = tuple((match["needs"] or "").split())
        blocks.append(Block(f"{document}:{line}", match["kind"], match["text"], needs, shown))
    return blocks


def run_python(block: Block, namespace: dict[str, Any]) -> str:
    file = _FILE.match(block.text)
    if file:
        Path(file[1]).write_text(block.text, encoding="utf-8")
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(block.text, file[1] if file else block.location, "exec"), namespace)
    return output.getvalue()


def run_shell(block: Block) -> str:
    if block.text.startswith("make "):  # installs, builds and tests, which runs this test again
        return ""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    result = subprocess.run(
        ["bash", "-euc", block.text],
        env={**os.environ, "PATH": path},
        capture_output=True,
        text=True,
        timeout=500,
        check=False,
    )
    fails = (block.shown or "").startswith("ark: error: ")
    assert result.returncode == int(fails), f"{block.location}: {result.stderr}"
    assert not (result.stderr and result.stdout), f"{block.location}: {result.stderr}"
    return result.stdout + result.stderr


def is_shown(output: str, shown: str) -> bool:
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    return doctest.OutputChecker().check_output(shown, output, flags)


@pytest.mark.parametrize("documents", DOCUMENTS.values(), ids=DOCUMENTS)
def test_blocks_print_the_shown_output(
    documents: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    blocks = [block for document in documents for block in read_blocks(document)]
    assert blocks
    namespace: dict[str, Any] = {"__name__": "__main__"}
    for block in blocks:
        if any(importlib.util.find_spec(name) is None for name in block.needs):
            continue
        try:
            output = run_python(block, namespace) if block.kind == "python" else run_shell(block)
        except Exception as error:
            raise AssertionError(f"{block.location}: {error}") from error
        if block.shown is not None:
            assert is_shown(output, block.shown), f"{block.location} prints\n{output}"


def anchors(document: Path) -> set[str]:
    """Returns the anchors of the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w -]", "", text.lower()).replace(" ", "-") for text in headings}


def dead_links(document: str) -> list[str]:
    """Returns relative links to missing files, and links to headings that a document does not
    have."""
    page = ROOT / document
    dead: list[str] = []
    for link in re.findall(r"\]\(([^)]+)\)", page.read_text(encoding="utf-8")):
        path, _, anchor = link.partition("#")
        target = page.parent / path if path else page
        if "://" not in link and not (
            target.exists() and (not anchor or anchor in anchors(target))
        ):
            dead.append(link)
    return dead


@pytest.mark.parametrize(
    "document",
    [
        "README.md",
        *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "benchmarks/README.md",
        "benchmarks/log.md",
    ],
)
def test_links_lead_somewhere(document: str) -> None:
    assert dead_links(document) == []


def test_output_that_is_not_printed_is_noticed() -> None:
    """The comparison of blocks fails for other output."""
    assert is_shown("a  1 b\n", "a ... b\n")
    assert not is_shown("a 1 c\n", "a ... b\n")
    assert not is_shown("", "a\n")


@pytest.mark.parametrize(
    ("name", "last"),
    [("mlp", "largest difference from the float64 interpreter: "), ("edit_schedule", "all ")],
)
def test_examples(run_example: Callable[[str], str], name: str, last: str) -> None:
    assert run_example(name).startswith(last)

"""One word for one thing: words that docs/glossary.md replaced do not come back. Comments,
docstrings and paragraphs begin with their subject."""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

import pytest
from prose import find_first_lines

ROOT = Path(__file__).parents[2]
FOLDERS = ("ark_mlir", "benchmarks", "dialects", "docs", "examples", "lib", "passes", "tests")
# Records of measurements keep the words of their time.
RECORDS = ROOT / "benchmarks" / "results"
SUFFIXES = {".c", ".cpp", ".cu", ".def", ".h", ".js", ".md", ".mlir", ".py", ".td", ".test", ".txt"}
# Each pattern with the words to use instead.
REPLACED = {
    r"\b[Pp]ieces?\b|[a-z]Pieces?\b|\b[Pp]ieces?_|_pieces?\b": "partition, chunk, slice, unit",
    r"AskFor\w+|ark_ask\w*": "prefetch, request",
    r"JamResults|MoveBits|NumberLines|PlaceVotes|KernelCompleter|beginAnew": "see the glossary",
    r"\bfills_registers\b|\bcrowded\b": "high_pressure",
    r"\b(by chance|whoever|whomever|anew)\b": "at random; the noun; again",
    r"\brow of (the|a) (instruction|lane|task|operand)s? table\b": "entry",
    r"\b([Gg]ives?|[Gg]iven|[Gg]iving) back\b|\bgive_back\b": "release, free",
    r"\b[Ww]hat (it|each) (has|holds|needs)\b": "the noun: contents, entries, requirements",
    r"\b[Ll]ooks? (now and then|at peers)\b|\blook_at_peers\b": "poll",
    r"\b([Tt]he|[Ii]ts|[Tt]heir) begin\b": "start",
    r"\bhelp=\"(of|what|which) ": "the noun: target of, sentences to",
    r"\b(that|which|it|value|size) is no (multiple|number|product|tensor|list)\b": "is not a",
    r"\bark_(meet_\w+|gather|stay|answer|tell_begin|stamp|claim)\b": "see the texts of the kernel",
    r"\bkHalf\b|\bint64_t numSums\b": "a name with its unit, such as kHalfBytes; accumulators",
    r"\bark_(begin|end|prefetch|prefetch_next|stream|packets)_run\b|_after_item\b": "work_item",
    r"kF32Parts|[gG]etPartBytes|PartProducts|\bbf16 parts?\b": "terms, whose sum is the f32 number",
    r"AttentionOwnRows|getOwn(Rows|Columns|Keys|Words|Accumulators)\b": "per thread",
    r"InputSharers|Chosen(Matrix|Matrices)|getChosen\b": "SiblingTasks; gathered matrices",
    r"\bStringRef what\b|\bchar \*what\b": "the noun: message, opName, role",
    r"\b(warp|quad)('s)? lanes?\b|\boddLanes\b|other lanes than": "thread of a warp",
    r"[hH]and[_-]?[oO]ver|numHandOver": "hand-off, hand off",
    r"\badd(Parts)\b|kMaxPartsBytes|kPartsPerRow|copiedPart": "partial sums, copies",
}
# The same for sources of Python and for pages.
REPLACED_IN_PYTHON = {
    r"\b([Hh]ands?|[Hh]anded|[Hh]anding) over\b": "hand off, hand-off",
    r"(?i)\b(im)?patien(ce|t)\b": "timeout, time limit",
    r"\bsettled?\b|_settle\b": "synchronize, converge; the noun of what is released or exchanged",
    r"\b[Ss]harers?\b": "borrower",
    r"\bself\._?what\b|[(,] ?what: |\bfor what(, \w+)? in\b": "label, name, title",
    r"\b(RUNS_ALONE|runs_alone|left_alone|_alone\(\))": "exclusive; the noun",
    r"\b(Member|Communicator)\.turn\b|\bTurn\b\(|_turns?\b(?<!in_turn)": "collective call; shard",
}
# Ranks that are processes exchange control messages; a message has data of tensors.
MESSAGE = (
    r"\b([Aa]|no|one|more|last|all|unread|malformed|received|encoded|every|its|their|other) "
    r"messages?\b"
)
# The driver is ark's; the vendor's driver is the library of NVIDIA or AMD.
DRIVER = (
    r"\b([Tt]he|[Aa]|[Tt]his) (CUDA )?driver (assembles|cannot|chooses|compiles|maps|may|queues|"
    r"refuses|rejects|reports|waits|is too old)\b"
    r"|\b[Cc]alls? of (the|a) driver\b|stand-in for (the|a|its) driver\b"
)
# Folders in which an index or a position of an element is meant, and never a place.
INDICES = ("ark_mlir", "benchmarks", "docs/extensions", "examples", "tests")
PLACE = (
    r"\bplaces\b|(?<!in)(?<!last)_places?\b"
    r"|(?<!in )(?<!last )\bplace\b(?=\s*[\[\](),=.}]| (?:for|in|if)\b)"
)
# Folders in which a thread of a warp is meant, and never a lane of the schedule.
THREADS = (
    "benchmarks/handoff.cu",
    "passes/target/attention",
    "passes/target/matrix_units/MatrixInstruction.h",
    "passes/target/matrix_units/MatrixInstruction.cpp",
    "tests/support/emulation/products.cpp",
    "tests/support/emulation/warps.cpp",
    "tests/support/emulation/warpgroups.cpp",
)
# A comment, a docstring or a paragraph does not begin with a pronoun or a word whose noun is in
# another one.
_VERBS = (
    "is|are|was|were|has|have|had|does|do|did|can|cannot|could|may|might|must|should|will|would|"
    "also|only|then|not|means?|needs?|makes?|takes?|gives?|keeps?|holds?|happens?|lets?|leaves?|"
    "ran|crash|crashes|computes?|rounds?|avoids?|ensures?|allows?|works?|shows?"
)
NEIGHBOUR = re.compile(
    r"(It|They|Them|Its|Their|He|She|Those|Such|So|Also|Otherwise|Hence|Thus|Therefore|Moreover|"
    r"Likewise|Consequently|But|However,|Instead,|The (former|latter)|The same (for|as|with|in)|"
    r"(This|These) (sentence|statement|paragraph|rule)s?|"
    rf"(This|That|These|Both|Each|Either|Neither|Another) ({_VERBS}))(?!\w)"
)
# A docstring begins with a verb or a noun.
QUESTION = re.compile(r"(Whether|What|Where|When|How|Why|Who)\b")


def find_files() -> list[Path]:
    """Returns the texts of the repository, without records and this file."""
    try:
        listed = subprocess.run(
            ["git", "ls-files", "--", *FOLDERS], cwd=ROOT, capture_output=True, check=True
        )
        paths = [ROOT / name for name in listed.stdout.decode().splitlines()]
    except (OSError, subprocess.CalledProcessError):
        paths = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    return sorted(
        path
        for path in paths
        if path.suffix in SUFFIXES
        and path.is_file()
        and path != Path(__file__)
        and RECORDS not in path.parents
    )


FILES = find_files()


@cache
def read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def find_words(pattern: str, paths: list[Path]) -> list[str]:
    found = re.compile(pattern)
    return [
        f"{path.relative_to(ROOT)}:{number}: {match[0]}"
        for path in paths
        if re.search(found.pattern, read(path), re.MULTILINE)
        for number, line in enumerate(read(path).splitlines(), start=1)
        if (match := found.search(line))
    ]


@pytest.mark.parametrize("pattern", REPLACED)
def test_replaced_words(pattern: str) -> None:
    assert find_words(pattern, FILES) == [], f"use instead: {REPLACED[pattern]}"


@pytest.mark.parametrize("pattern", REPLACED_IN_PYTHON)
def test_replaced_words_in_python(pattern: str) -> None:
    paths = [path for path in FILES if path.suffix in (".py", ".md")]
    assert find_words(pattern, paths) == [], f"use instead: {REPLACED_IN_PYTHON[pattern]}"


def test_threads_of_a_warp_are_no_lanes() -> None:
    paths = [path for path in FILES if str(path.relative_to(ROOT)).startswith(THREADS)]
    assert len(paths) >= len(THREADS)
    assert find_words(r"\b[Ll]anes?\b|[a-z]Lanes?\b", paths) == []


def test_indices_are_no_places() -> None:
    paths = [path for path in FILES if str(path.relative_to(ROOT)).startswith(INDICES)]
    assert len(paths) > len(INDICES)
    assert find_words(PLACE, paths) == []


def test_ranks_exchange_control_messages() -> None:
    paths = [path for path in FILES if ROOT / "ark_mlir" / "distributed" in path.parents]
    assert len(paths) > 10
    assert find_words(MESSAGE, paths) == [], "use instead: control message"


def test_the_library_of_a_vendor_is_the_vendors_driver() -> None:
    paths = [path for path in FILES if path.suffix in (".py", ".md") and path.name != "log.md"]
    assert find_words(DRIVER, paths) == [], "use instead: NVIDIA's driver, the vendor's driver"


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    paths = [path for path in FILES if path.suffix == ".py"]
    assert find_words(rf'^\s*[rf]?"""{QUESTION.pattern}', paths) == []


def test_comments_of_declarations_begin_with_a_verb_or_a_noun() -> None:
    paths = [path for path in FILES if path.suffix in (".cpp", ".h", ".td")]
    first = re.compile(rf"(?:^|\n)(?!\s*///)[^\n]*\n\s*/// {QUESTION.pattern}")
    assert [str(path.relative_to(ROOT)) for path in paths if first.search(read(path))] == []


def find_dependent_beginnings(path: Path, text: str) -> list[str]:
    """Returns the beginnings of comments, docstrings and paragraphs that need a neighbour."""
    # Most files have no such words at all, and are not parsed.
    if not re.search(rf"(?m)(^[\s\W\d]*|# |// ){NEIGHBOUR.pattern}", text):
        return []
    return [
        f"{path}:{number}: {line}"
        for number, line in find_first_lines(path, text)
        if NEIGHBOUR.match(line)
    ]


def test_beginnings_need_no_neighbour() -> None:
    found = [line for path in FILES for line in find_dependent_beginnings(path, read(path))]
    assert found == [], "name the subject: a reader may begin here"


@pytest.mark.parametrize(
    ("name", "text", "numbers"),
    [
        ("a.py", '"""Adds.\n\nIt is fast.\n"""\n', [3]),
        ("a.py", "# Adds\n# It is one comment.\n\n# Both are ints.\n", [4]),
        ("a.py", "x = 1  # These are seconds\ny = '# It is text'\n", [1]),
        ("a.py", "# These settings help.\n# Each task has one.\n", []),
        ("a.md", "It is.\nIt goes on.\n\n- Such a list\n  It goes on.\n", [1, 4]),
        ("a.md", "```\nIt is code.\n```\n\nThis page is short.\n", []),
        ("a.cpp", "/// Adds.\n/// It goes on.\n\n/// So it adds.\nint a; // Also one\n", [4, 5]),
        ("a.h", 'const char *a = "// It is text";\n', []),
    ],
)
def test_the_search_finds_beginnings(name: str, text: str, numbers: list[int]) -> None:
    found = find_dependent_beginnings(Path(name), text)
    assert [int(line.split(":")[1]) for line in found] == numbers


def test_the_search_finds_words() -> None:
    for pattern, text in zip(REPLACED, ("kPieces_of numPieces", "AskForLine"), strict=False):
        assert re.search(pattern, text)
    assert re.search(PLACE, "arguments[place]")
    assert re.search(PLACE, "for place in order")
    assert not re.search(PLACE, "is read in place.")
    assert not re.search(PLACE, "used_in_place(")
    assert not re.search(PLACE, "units in the last place.")
    assert not re.search(PLACE, "in_the_last_place(")
    assert re.search(PLACE, "test_an_interrupt_at_each_place(")
    assert not re.search(PLACE, "takes the place of")
    assert QUESTION.match("Whether it is so.")
    assert not QUESTION.match("Whatever")

"""The prose of a repository: the first lines of comments, of docstrings and of paragraphs."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterable, Iterator
from pathlib import Path

# Files whose comments begin with ``//``.
C_LIKE = {".c", ".cpp", ".cu", ".def", ".h", ".js", ".mlir", ".td"}
_C_COMMENT = re.compile(r"^\s*///? ?(?!/)(.*)|[;{},)]\s+// (.*)")
_FENCE = re.compile(r"^\s*```")
# An item of a list in a page.
_ITEM = re.compile(r"^\s*(?:[-*]|\d+\.) +(.*)")
Line = tuple[int, str]


def find_first_lines(path: Path, text: str) -> list[Line]:
    """Returns the first line of each comment, docstring and paragraph, with its number."""
    if path.suffix == ".py":
        return sorted([*_in_docstrings(text), *_in_python_comments(text)])
    if path.suffix == ".md":
        return list(_in_page(text))
    return list(_in_c_comments(text)) if path.suffix in C_LIKE else []


def _first_of_paragraphs(lines: Iterable[Line]) -> Iterator[Line]:
    before = ""
    for number, line in lines:
        if line.strip() and not before.strip():
            yield number, line.strip()
        before = line


def _in_docstrings(text: str) -> Iterator[Line]:
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            doc = ast.get_docstring(node)
            if doc is not None:
                yield from _first_of_paragraphs(enumerate(doc.splitlines(), node.body[0].lineno))


def _in_python_comments(text: str) -> Iterator[Line]:
    """Yields the comments; consecutive lines of comments are one comment."""
    before = 0
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type != tokenize.COMMENT:
            continue
        number = token.start[0]
        has_own_line = token.line.lstrip().startswith("#")
        if not (has_own_line and before == number - 1):
            yield number, token.string.lstrip("# ")
        if has_own_line:
            before = number


def _in_c_comments(text: str) -> Iterator[Line]:
    """Yields the first lines of paragraphs in ``//`` comments."""
    found: list[Line] = []
    for number, line in enumerate(text.splitlines(), 1):
        match = _C_COMMENT.search(line)
        if match is None:
            found.append((number, ""))
        elif match[2] is not None:
            found += [(number, ""), (number, match[2]), (number, "")]
        else:
            found.append((number, match[1]))
    return _first_of_paragraphs(found)


def _in_page(text: str) -> Iterator[Line]:
    """Yields the first lines of paragraphs and of items of lists, outside of code."""
    found: list[Line] = []
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        is_fence = _FENCE.match(line) is not None
        is_code ^= is_fence
        item = _ITEM.match(line)
        if is_fence or is_code:
            found.append((number, ""))
        elif item is not None:
            found += [(number, ""), (number, item[1])]
        else:
            found.append((number, line))
    return _first_of_paragraphs(found)

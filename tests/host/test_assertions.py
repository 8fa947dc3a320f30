"""Every test can fail: it asserts something, itself or in a function that it calls."""

from __future__ import annotations

import ast
import functools
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]
PYTHON = sorted(TESTS.rglob("*.py"))
# Attributes and functions that make a test fail.
CHECKS = {"raises", "warns", "fail", "deprecated_call"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True)
class Source:
    """A file: its functions by name, those that are methods, and its imports."""

    functions: dict[str, list[Function]]
    methods: frozenset[str]
    imports: frozenset[str]


@functools.cache
def source(path: Path) -> Source:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    found: dict[str, list[Function]] = {}
    methods: set[str] = set()
    imports: set[str] = set()
    for scope in (tree, *(node for node in tree.body if isinstance(node, ast.ClassDef))):
        for node in scope.body:
            # Inner functions belong to the function around them.
            if isinstance(node, Function):
                found.setdefault(node.name, []).append(node)
                methods |= {node.name} if scope is not tree else set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            imports |= {*(node.module or "").split("."), *(each.name for each in node.names)}
        elif isinstance(node, ast.Import):
            imports |= {part for each in node.names for part in each.name.split(".")}
    return Source(found, frozenset(methods), frozenset(imports))


@functools.cache
def helpers(path: Path) -> tuple[Path, ...]:
    """Returns the files whose functions a test may call: its own, conftest.py files above it, and
    its imports."""
    above = [folder / "conftest.py" for folder in path.parents if folder.is_relative_to(TESTS)]
    imported = [each for each in PYTHON if each.stem in source(path).imports]
    return (path, *(each for each in above if each.exists()), *imported)


def calls(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    """Returns the called names, and the ``x`` of ``x.name()`` ('' if it is not a name)."""
    for each in ast.walk(node):
        if isinstance(each, ast.Call):
            if isinstance(each.func, ast.Name):
                yield each.func.id, None
            elif isinstance(each.func, ast.Attribute):
                owner = each.func.value
                yield each.func.attr, owner.id if isinstance(owner, ast.Name) else ""


def checks(node: ast.AST) -> bool:
    """Returns True if the code itself contains an assertion."""
    for each in ast.walk(node):
        if isinstance(each, ast.Assert):
            return True
        if isinstance(each, ast.Raise) and "AssertionError" in ast.dump(each):
            return True
        # A program that fails is an error.
        if isinstance(each, ast.keyword) and ast.unparse(each) == "check=True":
            return True
    return any(name in CHECKS or name.startswith("assert_") for name, _ in calls(node))


def callees(function: Function, path: Path) -> Iterator[tuple[Function, Path]]:
    """Returns functions of this repository's tests that a function calls, as far as names tell."""
    for name, owner in set(calls(function)):
        for file in helpers(path):
            known = source(file)
            is_function = owner is None or owner == file.stem
            if is_function or name in known.methods:
                yield from ((each, file) for each in known.functions.get(name, []))


def asserts(function: Function, path: Path, seen: tuple[Function, ...] = ()) -> bool:
    """Returns True if a function asserts, itself or in a function that it calls."""
    if checks(function):
        return True
    return any(
        asserts(callee, file, (*seen, function))
        for callee, file in callees(function, path)
        if callee is not function and callee not in seen
    )


def without_assertion(path: Path) -> list[str]:
    return [
        name
        for name, found in source(path).functions.items()
        if name.startswith("test_")
        for function in found
        if not asserts(function, path)
    ]


def holds_always(node: ast.Assert) -> bool:
    """Returns True for an assertion of a constant, of a tuple, or that a length is at least
    zero."""
    test = node.test
    if isinstance(test, ast.Constant):
        return bool(test.value)
    if isinstance(test, ast.Tuple):
        return bool(test.elts)
    if isinstance(test, ast.Compare) and len(test.ops) == 1:
        right = test.comparators[0]
        is_zero = isinstance(right, ast.Constant) and right.value == 0
        of_length = isinstance(test.left, ast.Call) and ast.unparse(test.left.func) == "len"
        same = ast.unparse(test.left) == ast.unparse(right) and not any(calls(test))
        return (isinstance(test.ops[0], ast.GtE) and is_zero and of_length) or (
            isinstance(test.ops[0], (ast.Eq, ast.Is)) and same
        )
    return False


def empty_assertions(path: Path) -> list[str]:
    return [
        f"{path.name}:{node.lineno}"
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Assert) and holds_always(node)
    ]


FILES = sorted(each for each in PYTHON if each.name.startswith("test_"))


@pytest.mark.parametrize("path", FILES, ids=[str(path.relative_to(TESTS)) for path in FILES])
def test_every_test_asserts(path: Path) -> None:
    assert without_assertion(path) == []
    assert empty_assertions(path) == []


def test_no_test_is_taken_from_another_file() -> None:
    """Code that several files share is in a module of tests/support, or a fixture."""
    for path in PYTHON:
        names = {name for name in source(path).imports if name.startswith("test_")}
        assert not names, path
        assert "runpy" not in source(path).imports, path


def test_a_test_without_an_assertion_is_found(tmp_path: Path) -> None:
    path = tmp_path / "test_it.py"
    path.write_text(
        "def test_runs():\n    print(1)\n\n"
        "def helper():\n    assert True\n\n"
        "def test_by_a_helper():\n    helper()\n\n"
        "def test_by_an_exception():\n    with pytest.raises(ValueError):\n        int('x')\n\n"
        "def test_ignores_the_status():\n    subprocess.run(['false'], check=False)\n",
        encoding="utf-8",
    )
    assert without_assertion(path) == ["test_runs", "test_ignores_the_status"]
    assert empty_assertions(path) == ["test_it.py:5"]


@pytest.mark.parametrize(
    ("text", "empty"),
    [
        ("assert 1", True),
        ("assert (a == b, 'they differ')", True),
        ("assert len(a) >= 0", True),
        ("assert a == a", True),
        ("assert a.b is a.b", True),
        ("assert f() == f()", False),
        ("assert len(a) >= 1", False),
        ("assert a == b", False),
        ("assert False", False),
    ],
)
def test_assertions_that_always_hold_are_found(text: str, empty: bool) -> None:
    (statement,) = ast.parse(text).body
    assert isinstance(statement, ast.Assert)
    assert holds_always(statement) == empty

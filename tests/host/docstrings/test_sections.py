"""The docstring of each public function describes every parameter and every error.

A docstring describes a parameter by an entry of ``Args`` or by its name in backticks. It describes
an error if it names the class. A reference such as ``:func:`add``` includes what the docstring of
that function describes.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from public_namespaces import NAMESPACES

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

OPS = "ark_mlir.frontend.ops."
# Parameters without a description, by function; each with the reason.
EXCEPTIONS = {
    # docs/reference/ops.md describes `name` once for all ops.
    OPS: {"name"},
    # A subclass defines the parameters.
    "ark_mlir.frontend.module.Module.forward": {"args", "kwargs"},
}
# Classes whose methods only the package calls.
INTERNAL = {
    "Backend", "Driver", "Knob", "Member", "Memory", "MscclppMemory", "NcclMemory",
    "Program", "TorchSymmetricMemory",
}  # fmt: skip

Function = Callable[..., Any]


def public_values() -> Iterator[Any]:
    for suffix in NAMESPACES:
        module = importlib.import_module(f"ark_mlir{suffix}")
        yield from (getattr(module, name) for name in module.__all__)


def public_members(kind: type) -> list[Any]:
    """Returns the public members of a class and of its bases in ark."""
    bases = [
        base
        for base in kind.__mro__
        if base.__module__.startswith("ark_mlir") and base.__name__ not in INTERNAL
    ]
    return [v for base in bases for k, v in vars(base).items() if not k.startswith("_")]


def public_functions() -> dict[str, Function]:
    """Returns the public functions, and the public methods that a public class defines, by name."""
    found: dict[str, Function] = {}
    for value in public_values():
        members = [value]
        if inspect.isclass(value):
            hidden = value.__name__ in INTERNAL or not value.__module__.startswith("ark_mlir")
            members = [] if hidden else public_members(value)
        for member in members:
            function = inspect.unwrap(getattr(member, "__func__", member))
            if inspect.isfunction(function):
                found[f"{function.__module__}.{function.__qualname__}"] = function
    return found


FUNCTIONS = public_functions()


def referenced(doc: str) -> Iterator[str]:
    """Yields the docstrings to which a docstring refers."""
    for path in re.findall(r":(?:func|meth|class):`~?([\w.]+)`", doc):
        name = path.removeprefix("ark_mlir.")
        exact = [function for key, function in FUNCTIONS.items() if key.endswith(f".{name}")]
        yield from (function.__doc__ or "" for function in exact)


def describe(function: Function) -> str:
    """Returns the docstring of a function with the docstrings to which it refers."""
    texts = [function.__doc__ or ""]
    for text in texts:
        texts += [other for other in referenced(text) if other not in texts]
    return "\n".join(texts)


def describes(doc: str, parameter: str) -> bool:
    entry = rf"^\s+(?:\*{{0,2}}\w+, )*\*{{0,2}}{parameter}(?:, \*{{0,2}}\w+)*:"
    code = rf"`[^`\n]*\b{parameter}\b[^`\n]*`"
    return bool(re.search(f"{entry}|{code}", doc, re.MULTILINE))


def raised_errors(function: Function) -> set[str]:
    """Returns the classes of the errors that the body of a function raises itself."""
    names: set[str] = set()
    for node in ast.walk(ast.parse(textwrap.dedent(inspect.getsource(function)))):
        if isinstance(node, ast.Raise) and node.exc is not None:
            error = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = error.attr if isinstance(error, ast.Attribute) else getattr(error, "id", "")
            if name.endswith("Error"):
                names.add(name)
    return names


def test_public_functions_are_found() -> None:
    assert f"{OPS}linear.matmul" in FUNCTIONS
    assert "ark_mlir.runtime.runs.Runs.run" in FUNCTIONS
    assert f"{OPS}reductions.reduce_sum" in FUNCTIONS


@pytest.mark.parametrize("name", sorted(FUNCTIONS))
def test_docstrings_describe_parameters_and_errors(name: str) -> None:
    function = FUNCTIONS[name]
    doc = describe(function)
    exempt = set().union(*(names for key, names in EXCEPTIONS.items() if name.startswith(key)))
    parameters = set(inspect.signature(function).parameters) - {"self", "cls"} - exempt
    assert {each for each in parameters if not describes(doc, each)} == set(), "not described"
    assert {each for each in raised_errors(function) if each not in doc} == set(), "not named"


@pytest.mark.parametrize(
    ("doc", "parameter", "expected"),
    [
        ("Args:\n    x: a tensor.", "x", True),
        ("Args:\n    a, b: tensors.", "b", True),
        ("Args:\n    **options: more.", "options", True),
        ("Returns the bits of `x`.", "x", True),
        ("Returns ``a / b``.", "b", True),
        ("Returns the maximum of x.", "x", False),
        ("Args:\n    xs: tensors.", "x", False),
    ],
)
def test_a_parameter_is_described(doc: str, parameter: str, expected: bool) -> None:
    assert describes(doc, parameter) is expected


def test_a_raised_error_is_found() -> None:
    assert raised_errors(raises_two) == {"ValueError", "InvalidUsageError"}


def raises_two(flag: bool) -> None:
    if flag:
        raise ValueError
    raise ark.InvalidUsageError("no flag")

"""Every example in a docstring of the package runs, and prints the output that it shows.

Examples of one docstring share a namespace: that of its module, with ``ark``, ``np`` and the names
of contexts.py. ``...`` in what is shown stands for anything.
"""

from __future__ import annotations

import ast
import builtins
import doctest
import importlib
import importlib.util
import inspect
import pkgutil
import types
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from public_namespaces import NAMESPACES

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark

from . import contexts

PACKAGE = Path(ark.__file__).parent
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# Packages that a module needs at import, and further packages that an example needs.
NEEDS = {"ark_mlir.pytorch": "torch"}
PACKAGES = {
    "ark_mlir.bundle.reader.sign_bundle": "cryptography",
    "ark_mlir.pytorch": "torch",
    "ark_mlir.text.chat": "jinja2",
    "ark_mlir.text.tokenizer": "tokenizers",
    "ark_mlir.training.torch_trainer": "torch",
}
# Examples that need a GPU and PyTorch. tests/gpu runs them, too, without the compiler.
GPU = {"ark_mlir.runtime.executable.Executable.check"}
# Methods that only the package calls.
INTERNAL = {"ark_mlir.runtime.executable.Executable.from_parts"}
# Classes whose methods and properties only the package uses.
WITHOUT_METHODS = (
    "Backend", "Driver", "Knob", "Member", "Memory", "MscclppMemory", "NcclMemory", "Program",
    "Topology", "TorchSymmetricMemory",
)  # fmt: skip
# Classes that users do not create: interfaces, and records that ark returns.
RECORDS = {
    "Backend", "Candidate", "CheckResult", "Code", "Driver", "Evaluation", "Fault", "Launch",
    "LinkUse", "Memory", "Outcome", "Step", "Stop", "TaskCost", "TaskProfile",
}  # fmt: skip
# Modules whose examples run inside of a program, with the size of its world.
INSIDE = {
    "ark_mlir.frontend.ops.collectives": 2,
    "ark_mlir.frontend.ops": None,
    "ark_mlir.frontend.arguments": None,
    "ark_mlir.frontend.custom": None,
    "ark_mlir.frontend.tensor": None,
    "ark_mlir.frontend.planner": None,
    "ark_mlir.frontend.gradients": None,
    "ark_mlir.frontend.trainable": None,
    "ark_mlir.optim": None,
    "ark_mlir.training.decoder": None,
    "ark_mlir.training.encoder": None,
    "ark_mlir.training.loop": None,
}


def modules() -> Iterator[types.ModuleType]:
    for info in pkgutil.walk_packages([str(PACKAGE)], "ark_mlir."):
        name = info.name
        if name.endswith("__main__") or "._mlir_libs" in name or not in_source(name):
            continue
        if all(
            importlib.util.find_spec(package)
            for module, package in NEEDS.items()
            if name.startswith(module)
        ):
            yield importlib.import_module(name)


def in_source(name: str) -> bool:
    """Returns True if a module is part of this repository, and not of MLIR's bindings."""
    path = PACKAGE.joinpath(*name.split(".")[1:])
    return path.with_suffix(".py").exists() or (path / "__init__.py").exists()


def examples() -> list[doctest.DocTest]:
    finder = doctest.DocTestFinder()
    found: dict[str, doctest.DocTest] = {}
    for module in (ark, *modules()):
        for test in finder.find(module, module.__name__):
            if test.examples:
                found[test.name] = test
    return list(found.values())


EXAMPLES = examples()


class Needed(ast.NodeVisitor):
    """Collects names that code reads before it assigns them."""

    def __init__(self) -> None:
        self.names: set[str] = set()
        self._bound: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Store):
            self._bound.add(node.id)
        elif node.id not in self._bound:
            self.names.add(node.id)

    def visit_Assign(self, node: ast.Assign) -> None:
        for each in (node.value, *node.targets):
            self.visit(each)

    def visit_alias(self, node: ast.alias) -> None:
        self._bound.add((node.asname or node.name).partition(".")[0])

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self._bound.add(node.name)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        self._bound.add(node.name)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        """Ignores the parameters of the lambda."""

    def _visit_comprehension(self, node: Any) -> None:
        for generator in node.generators:
            for each in (generator.iter, generator.target, *generator.ifs):
                self.visit(each)
        self.generic_visit(node)

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension


def needed_names(test: doctest.DocTest) -> set[str]:
    visitor = Needed()
    for example in test.examples:
        visitor.visit(ast.parse(example.source))
    return {name for name in visitor.names - set(test.globs) if not hasattr(builtins, name)}


def run(test: doctest.DocTest, names: dict[str, Any]) -> dict[str, Any]:
    """Runs the examples of a docstring; returns the names that they define."""
    globs = {**test.globs, "ark": ark, "np": np, **names}
    given = dict(globs)
    report: list[str] = []
    copy = doctest.DocTest(
        test.examples, globs, test.name, test.filename, test.lineno, test.docstring
    )
    runner = doctest.DocTestRunner(verbose=False, optionflags=FLAGS)
    failed = runner.run(copy, out=report.append, clear_globs=False).failed
    assert not failed, "".join(report)
    return {name: value for name, value in globs.items() if given.get(name) is not value}


def context_of(name: str) -> str | None:
    return next((module for module in INSIDE if name.startswith(f"{module}.")), None)


@pytest.fixture(scope="session")
def workplace(tmp_path_factory: pytest.TempPathFactory, tiny: Any) -> contexts.Workplace:
    made = contexts.Workplace(tmp_path_factory.mktemp("examples"), tiny.write_model)
    made.write_files()
    return made


@pytest.mark.parametrize("test", EXAMPLES, ids=[test.name for test in EXAMPLES])
def test_examples_run(
    test: doctest.DocTest, workplace: contexts.Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    if test.name in GPU and (missing := contexts.missing_for_gpu()):
        pytest.skip(f"needs {missing}")
    for prefix, package in PACKAGES.items():
        if test.name.startswith(prefix):
            pytest.importorskip(package, reason=f"{package} is not installed")
    monkeypatch.chdir(workplace.folder)
    # A world of one rank, which ends with the example.
    for name, value in {"RANK": "0", "WORLD_SIZE": "1"}.items():
        monkeypatch.setenv(name, value)
    inside = context_of(test.name)
    if test.name in GPU:
        run(test, workplace.names_on_gpu())
    elif inside is None:
        run(test, {name: workplace[name] for name in needed_names(test) if name in workplace})
    else:
        with contexts.building(INSIDE[inside]) as declare:
            known = needed_names(test) & set(contexts.TENSORS)
            declare(run(test, {name: contexts.TENSORS[name](name) for name in known}))
    assert ark.distributed.current() is None


def test_every_example_is_found() -> None:
    """The finder sees every docstring, and no example has a directive that skips it."""
    written: dict[str, int] = {}
    for path in PACKAGE.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert "doctest: +SKIP" not in text, path
        name = ".".join(("ark_mlir", *path.relative_to(PACKAGE).with_suffix("").parts))
        name = name.removesuffix(".__init__")
        lacking = [package for module, package in NEEDS.items() if name.startswith(module)]
        count = text.count(">>> ")
        if count and all(map(importlib.util.find_spec, lacking)):
            written[str(path)] = count
    found = dict.fromkeys(written, 0)
    for test in EXAMPLES:
        assert test.filename is not None
        found[test.filename] += len(test.examples)
    assert found == written


def names_without_examples() -> list[str]:
    """Public functions, classes and errors whose docstring shows no example."""
    lacking: list[str] = []
    for suffix in NAMESPACES:
        module = importlib.import_module(f"ark_mlir{suffix}")
        for name in module.__all__:
            value = getattr(module, name)
            if callable(value) and not is_plain(value) and ">>> " not in (value.__doc__ or ""):
                lacking.append(f"{module.__name__}.{name}")
    return lacking


def methods_of(value: object) -> Iterator[Callable[..., Any]]:
    """Yields the public methods that a class defines, except overrides of methods with examples."""
    if not inspect.isclass(value) or value.__name__ in WITHOUT_METHODS:
        return
    for name, member in vars(value).items():
        function = inspect.unwrap(getattr(member, "__func__", member)) if callable(member) else None
        bases = [getattr(base, name, None) for base in value.__bases__]
        described = any(">>> " in (getattr(base, "__doc__", None) or "") for base in bases)
        if inspect.isfunction(function) and not name.startswith("_") and not described:
            yield function


def methods_without_examples() -> list[str]:
    """Methods of public classes whose docstring shows no example."""
    lacking: set[str] = set()
    for suffix in NAMESPACES:
        module = importlib.import_module(f"ark_mlir{suffix}")
        for name in module.__all__:
            for method in methods_of(getattr(module, name)):
                path = f"{method.__module__}.{method.__qualname__}"
                if path not in INTERNAL and ">>> " not in (method.__doc__ or ""):
                    lacking.add(path)
    return sorted(lacking)


def is_plain(value: object) -> bool:
    """Returns True for objects that users do not call: errors, warnings, interfaces, records that
    ark returns, and names of types."""
    if not inspect.isclass(value):
        return not inspect.isroutine(value)
    is_error = issubclass(value, (ark.ArkError, Warning)) and value is not ark.ArkError
    return is_error or value.__name__ in RECORDS


def test_public_names_have_examples() -> None:
    assert names_without_examples() == []


def test_public_methods_have_examples() -> None:
    assert methods_without_examples() == []

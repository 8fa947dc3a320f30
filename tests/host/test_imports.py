"""Imports inside of the package have no cycles and follow the order of the layers in
docs/architecture.md.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "ark_mlir"

# Modules that every package may import.
BASE = {
    "backends",
    "devices",
    "dtypes",
    "errors",
    "interruption",
    "json_checks",
    "knobs",
    "monitor",
    "paths",
    "permissions",
    "pins",
    "progress",
    "spellings",
    "tools",
    "typing",
    "units",
}
# Packages that the modules of a package import at import time (docs/architecture.md).
USES = {
    "bundle": set[str](),
    "cli": set[str](),
    "compiler": {"bundle", "dialects", "distributed", "mlir", "targets", "tuning"},
    "dialects": set[str](),
    "distributed": {"bundle", "runtime"},
    "frontend": {"dialects", "mlir"},
    "http": {"text"},
    "mlir": set[str](),
    "models": {"bundle", "frontend", "runtime", "text"},
    "optim": {"frontend"},
    "pytorch": {"compiler", "frontend", "runtime"},
    "reference": {"dialects", "frontend", "mlir"},
    "runtime": {"bundle"},
    "show": {"bundle", "runtime", "simulation"},
    "simulation": {"bundle", "tuning"},
    "targets": set[str](),
    "testing": {"bundle", "runtime"},
    "text": set[str](),
    "training": {"compiler", "frontend", "models", "optim", "pytorch", "runtime", "text"},
    "tuning": {"bundle"},
}
# Operators of a Tensor call ops, and ops make Tensors: tensor.py imports ops when it is called.
TENSORS_AND_OPS = {"builder", "operands", "tensor", "ops"}


@dataclass(frozen=True)
class Module:
    """A file of the package; `name` is dotted and begins with ``ark_mlir``."""

    name: str
    path: Path

    def resolve(self, node: ast.ImportFrom) -> str:
        """Returns the absolute name of the module that a statement imports from."""
        if node.level == 0:
            return node.module or ""
        parts = self.name.split(".")
        if self.path.name != "__init__.py":
            parts.pop()
        parts = parts[: len(parts) - node.level + 1]
        return ".".join([*parts, *([node.module] if node.module else [])])


def find_modules() -> dict[str, Module]:
    found: dict[str, Module] = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        parts = path.relative_to(ROOT).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = Module(name, path)
    return found


MODULES = find_modules()


def statements(node: ast.AST, in_functions: bool) -> Iterator[ast.ImportFrom]:
    """Yields the imports of a module, but not those for type checkers."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            continue
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef) and not in_functions:
            continue
        if isinstance(child, ast.ImportFrom):
            yield child
        yield from statements(child, in_functions)


def imported(module: Module, in_functions: bool) -> set[str]:
    """Returns the modules of the package that a module imports."""
    found: set[str] = set()
    for node in statements(ast.parse(module.path.read_text(encoding="utf-8")), in_functions):
        source = module.resolve(node)
        for alias in node.names:
            name = f"{source}.{alias.name}"
            found |= {name if name in MODULES else source} & MODULES.keys()
    return found - {module.name}


def find_cycle(edges: Mapping[str, set[str]]) -> list[str]:
    """Returns the modules of a cycle in their order; empty if there is none."""
    done: set[str] = set()

    def visit(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name not in done:
            for other in sorted(edges[name]):
                if cycle := visit(other, [*path, name]):
                    return cycle
            done.add(name)
        return []

    return next((cycle for name in edges if (cycle := visit(name, []))), [])


def documented_uses() -> dict[str, set[str]]:
    """Returns the packages that a package may use by docs/architecture.md, at import."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    found: dict[str, set[str]] = {}
    for name, cell in re.findall(r"^\| `ark_mlir/(\w+)` \|[^|]*\|([^|]*)\|", text, re.MULTILINE):
        parts = [part for part in cell.split(";") if not re.search("never|when called", part)]
        found[name] = set(re.findall(r"\w+", ";".join(parts))) & USES.keys()
    return found


def test_the_table_in_the_documentation() -> None:
    documented = documented_uses()
    # The bindings are generated, in part below `dialects`; commands may use everything.
    uses = {name: used - {"dialects"} for name, used in USES.items()}
    assert documented == {name: uses[name] for name in documented}
    assert uses.keys() - documented.keys() == {"cli", "dialects", "show"}


def test_cycles_are_found() -> None:
    assert find_cycle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]
    assert find_cycle({"a": {"b", "c"}, "b": {"c"}, "c": set()}) == []


def test_no_cycle_at_import() -> None:
    assert find_cycle({name: imported(module, False) for name, module in MODULES.items()}) == []


def test_no_cycle_by_calls() -> None:
    """Imports in functions count, too, except the one cycle that the operators of a Tensor need."""

    def is_known(name: str) -> bool:
        parts = name.split(".")
        return parts[1:2] == ["frontend"] and len(parts) > 2 and parts[2] in TENSORS_AND_OPS

    edges = {
        name: {
            other for other in imported(module, True) if not (is_known(name) and is_known(other))
        }
        for name, module in MODULES.items()
    }
    assert find_cycle(edges) == []


def test_imports_follow_the_data() -> None:
    wrong: list[str] = []
    packages = {name.split(".")[1] for name in MODULES if name.count(".") > 1}
    assert packages == USES.keys()
    for name, module in MODULES.items():
        own = name.split(".")[1] if "." in name else ""
        if own not in USES:
            continue
        for other in imported(module, False):
            package = other.split(".")[1] if "." in other else ""
            if package and package != own and package not in USES[own] | BASE:
                wrong.append(f"{name} imports {other}")
    assert wrong == []


def test_typing_extensions_is_for_type_checkers() -> None:
    """A machine that only runs bundles does not have the package, which MLIR's bindings need."""
    wrong = [
        name
        for name, module in MODULES.items()
        for node in statements(ast.parse(module.path.read_text(encoding="utf-8")), True)
        if node.module == "typing_extensions"
    ]
    assert wrong == []

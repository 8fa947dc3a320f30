#!/usr/bin/env python3
"""Writes type stubs of the package's compiled and generated half for `make lint`.

A working copy has the package in two places: ark_mlir/ here, and the output of the build elsewhere,
joined by an import hook that type checkers cannot follow. A partial stub package joins the two
halves for type checkers. Parameters of the generated modules have no annotations; they become
`Any`, so that strict code may call the functions.

Usage: make_typings.py <built package> <folder of stub packages>
"""

from __future__ import annotations

import ast
import shutil
import sys
from pathlib import Path

# Declarations that the bindings add to modules only at import.
ADDITIONS = {
    "ir.py": """
class MLIRError(Exception):
    message: str
    error_diagnostics: list[DiagnosticInfo]
    def __init__(self, message: str, error_diagnostics: list[DiagnosticInfo]) -> None: ...
""",
}
KEPT_DECORATORS = ("property", "setter", "deleter", "staticmethod", "classmethod")


class Stubber(ast.NodeTransformer):
    """Drops bodies, untyped decorators and values, and annotates bare parameters and results."""

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        arguments = node.args
        every = arguments.posonlyargs + arguments.args + arguments.kwonlyargs
        every += [a for a in (arguments.vararg, arguments.kwarg) if a]
        for index, argument in enumerate(every):
            if not argument.annotation and (index or argument.arg not in ("self", "cls")):
                argument.annotation = ast.Name("_Any")
        arguments.defaults = [ast.Constant(...) for _ in arguments.defaults]
        arguments.kw_defaults = [d and ast.Constant(...) for d in arguments.kw_defaults]
        if not node.returns:
            constructor = node.name == "__init__"
            node.returns = ast.Constant(None) if constructor else ast.Name("_Any")
        node.body = [ast.Expr(ast.Constant(...))]
        node.decorator_list = [d for d in node.decorator_list if is_kept(d)]
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        node.decorator_list = []
        self.generic_visit(node)
        node.body = node.body or [ast.Expr(ast.Constant(...))]
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST | list[ast.AST] | None:
        names = [t for t in node.targets if isinstance(t, ast.Name)]
        return [ast.AnnAssign(name, ast.Name("_Any"), None, 1) for name in names] or None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        return None  # docstrings and calls

    visit_Delete = visit_For = visit_If = visit_Try = visit_With = visit_Expr


def is_kept(decorator: ast.expr) -> bool:
    name = decorator.attr if isinstance(decorator, ast.Attribute) else getattr(decorator, "id", "")
    return name in KEPT_DECORATORS


def stub_of(source: str, addition: str) -> str:
    tree = ast.parse(source)
    enums = {n.name for n in tree.body if isinstance(n, ast.ClassDef) and is_enum(n)}
    # An enum's members are its values, so enum classes are kept as they are.
    tree.body = [
        result
        for node in tree.body
        for result in as_list(node if getattr(node, "name", "") in enums else Stubber().visit(node))
    ]
    text = ast.unparse(ast.fix_missing_locations(tree))
    return f"from typing import Any as _Any\n{text}\n{addition}"


def is_enum(node: ast.ClassDef) -> bool:
    names = [base.id for base in node.bases if isinstance(base, ast.Name)]
    return any(name.endswith(("Enum", "Flag")) for name in names)


def as_list(result: ast.AST | list[ast.AST] | None) -> list[ast.AST]:
    return result if isinstance(result, list) else [result] if result else []


def main() -> None:
    package, typings = Path(sys.argv[1]), Path(sys.argv[2])
    target = typings / f"{package.name}-stubs"
    shutil.rmtree(target, ignore_errors=True)
    for file in package.rglob("*.py*"):
        name = file.relative_to(package)
        out = (target / name).with_suffix(".pyi")
        if file.suffix not in (".py", ".pyi") or "__pycache__" in name.parts:
            continue
        out.parent.mkdir(parents=True, exist_ok=True)
        text = file.read_text()
        if file.suffix == ".py" and not file.with_suffix(".pyi").exists():
            text = stub_of(text, ADDITIONS.get(str(name), ""))
        out.write_text(text)
    (target / "py.typed").write_text("partial\n")


if __name__ == "__main__":
    main()

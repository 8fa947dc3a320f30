"""Annotations of the public API use types that users can import and that are specific."""

from __future__ import annotations

import ast
import builtins
import importlib
import inspect
import typing
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cache, cached_property
from pathlib import Path

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import dtypes

PACKAGE = Path(ark.__file__).parent
# Modules whose names users import.
PUBLIC = (
    "ark_mlir", "ark_mlir.bundle", "ark_mlir.compiler", "ark_mlir.distributed", "ark_mlir.dtypes",
    "ark_mlir.knobs", "ark_mlir.models", "ark_mlir.models.encoder", "ark_mlir.models.decoder",
    "ark_mlir.optim", "ark_mlir.text", "ark_mlir.training",
    "ark_mlir.pytorch", "ark_mlir.reference", "ark_mlir.runtime", "ark_mlir.show",
    "ark_mlir.targets", "ark_mlir.tuning", "ark_mlir.typing",
)  # fmt: skip
# Modules with types that the loaders of models take.
OF_LOADERS = (
    "ark_mlir.models.config", "ark_mlir.models.decoder_config", "ark_mlir.models.encoder_config",
    "ark_mlir.models.embedding", "ark_mlir.models.experts", "ark_mlir.models.generation",
    "ark_mlir.models.kept_weights", "ark_mlir.models.latent_attention",
    "ark_mlir.models.requests", "ark_mlir.models.rope", "ark_mlir.models.sharding",
    "ark_mlir.models.tensor_names",
)  # fmt: skip
# Modules with types that the commands pass to public functions.
OF_COMMANDS = ("ark_mlir.simulation",)
# Packages without public names; ark_mlir.ir is MLIR's.
FOREIGN = ("ark_mlir.ir", "torch")
# Classes that only functions of ark construct: their constructors are not public.
MADE_BY_ARK = {
    "Bundle", "EmbeddingModel", "Executable", "GenerativeModel", "Member", "Model", "Rank",
    "RankExecutable", "Resident", "ResidentWorld", "Tensor", "TorchProgram", "World",
}  # fmt: skip
# Functions that only other parts of ark call.
INTERNAL = {
    "Member.attach", "Member.collective_call", "Member.load", "MscclppMemory.allocate",
    "NcclMemory.allocate", "TorchSymmetricMemory.allocate",
}  # fmt: skip
# Interfaces that a new backend implements; its parts know each other's types.
FOR_BACKENDS = {"Driver", "Launch", "Memory"}
# Types that must stay general: `forward` of a user's module has any types, attributes hold
# anything, a capsule has no type in Python, and engines take objects of optional packages.
OPEN = {
    "DLPackArray.__dlpack__", "Module.__call__", "Module.__setattr__", "Module.forward",
    "MscclppMemory.__init__", "NcclMemory.__init__", "TorchSymmetricMemory.__init__",
    # Protocols of NumPy and PyTorch.
    "Tensor.__array_function__", "Tensor.__array_ufunc__", "Tensor.__torch_function__",
}  # fmt: skip
SAYS_NOTHING = {"Any", "object", "dict", "list", "tuple", "Callable", "Mapping", "Sequence"}


@dataclass(frozen=True)
class Name:
    """A name in a module."""

    module: str
    name: str

    def __str__(self) -> str:
        return f"{self.module}.{self.name}"


@dataclass(frozen=True)
class Source:
    """A module's syntax."""

    module: str

    @cached_property
    def path(self) -> Path | None:
        base = PACKAGE.joinpath(*self.module.split(".")[1:])
        paths = (base.with_suffix(".py"), base / "__init__.py")
        return next((path for path in paths if path.exists()), None)

    @cached_property
    def tree(self) -> ast.Module:
        assert self.path is not None
        return ast.parse(self.path.read_text(encoding="utf-8"))

    @cached_property
    def imports(self) -> dict[str, Name]:
        """Returns imported names, also those for type checkers."""
        found: dict[str, Name] = {}
        for node in ast.walk(self.tree):
            for alias in node.names if isinstance(node, ast.Import | ast.ImportFrom) else ():
                if isinstance(node, ast.ImportFrom):
                    imported = Name(self.absolute(node), alias.name)
                else:
                    imported = Name(alias.name, "")
                found.setdefault(alias.asname or alias.name, imported)
        return found

    def absolute(self, node: ast.ImportFrom) -> str:
        if not node.level:
            return node.module or ""
        parts = self.module.split(".")
        assert self.path is not None
        keep = len(parts) - node.level + (self.path.name == "__init__.py")
        return ".".join([*parts[:keep], *([node.module] if node.module else [])])

    @cached_property
    def defined(self) -> set[str]:
        names: set[str] = set()
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ClassDef | ast.FunctionDef):
                names.add(node.name)
            elif isinstance(node, ast.AnnAssign | ast.Assign):
                targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                names |= {target.id for target in targets if isinstance(target, ast.Name)}
        return names


@cache
def source(module: str) -> Source:
    return Source(module)


def definition(name: Name) -> Name:
    """Returns the definition of a name, through all imports of the name."""
    if not name.module.startswith("ark_mlir") or source(name.module).path is None:
        return name
    origin = source(name.module).imports.get(name.name)
    if origin is None or name.name in source(name.module).defined:
        return name
    if origin == name or source(str(origin)).path is not None:
        return Name(str(origin), "")  # a submodule
    return definition(origin)


@cache
def public_names() -> frozenset[Name]:
    """Returns the definitions of all public names."""
    found: set[Name] = set()
    for module in (*PUBLIC, *OF_LOADERS, *OF_COMMANDS):
        for name in importlib.import_module(module).__all__:
            value = getattr(importlib.import_module(module), name)
            home = getattr(value, "__module__", module)
            own = inspect.isclass(value) and isinstance(home, str)
            found.add(Name(home, value.__name__) if own else definition(Name(module, name)))
    return frozenset(found)


@dataclass(frozen=True)
class Annotation:
    """An annotation of a parameter, a result or an attribute."""

    module: str
    owner: str
    role: str
    text: str

    def __str__(self) -> str:
        return f"{self.module}.{self.owner}: {self.role}: {self.text}"

    def names(self) -> Iterator[Name]:
        """Yields the definitions of the names in the annotation."""
        for node in ast.walk(ast.parse(self.text, mode="eval")):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                inner = Annotation(self.module, self.owner, self.role, node.value)
                if node.value.isidentifier() and node.value in source(self.module).imports:
                    yield from inner.names()
            elif isinstance(node, ast.Name) and not hasattr(builtins, node.id):
                yield self.resolve(node.id)

    def resolve(self, name: str) -> Name:
        imports = source(self.module).imports
        return definition(imports[name] if name in imports else Name(self.module, name))


def functions_of(tree: ast.Module | ast.ClassDef) -> Iterator[ast.FunctionDef]:
    """Yields functions; for a function with overloads the overloads, and not the implementation."""
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    overloaded = {node.name for node in functions if is_overload(node)}
    yield from (node for node in functions if is_overload(node) or node.name not in overloaded)


def is_overload(node: ast.FunctionDef) -> bool:
    return any(ast.unparse(decorator) == "overload" for decorator in node.decorator_list)


def annotations_of(module: str, name: str, node: ast.FunctionDef) -> Iterator[Annotation]:
    """Returns the annotations of a function, or of each of its overloads."""
    given = node.args
    every = [*given.posonlyargs, *given.args, *given.kwonlyargs, given.vararg, given.kwarg]
    for argument in every:
        if argument is not None and argument.arg not in ("self", "cls"):
            text = ast.unparse(argument.annotation) if argument.annotation else ""
            yield Annotation(module, name, argument.arg, text)
    yield Annotation(module, name, "result", ast.unparse(node.returns) if node.returns else "")


def annotations_of_class(kind: type, node: ast.ClassDef) -> Iterator[Annotation]:
    module = kind.__module__
    for each in node.body:
        match each:
            case ast.AnnAssign(ast.Name(name), annotation) if not name.startswith("_"):
                yield Annotation(module, kind.__name__, name, ast.unparse(annotation))
    for function in functions_of(node):
        name = f"{kind.__name__}.{function.name}"
        special = function.name.startswith("__") and function.name.endswith("__")
        if function.name == "__init__" and kind.__name__ in MADE_BY_ARK:
            continue
        if name not in INTERNAL and (special or not function.name.startswith("_")):
            yield from annotations_of(module, name, function)


def public_annotations() -> Iterator[Annotation]:
    """Returns annotations of public functions and classes, and of their base classes in the
    package."""
    seen: set[object] = set()
    for public in PUBLIC:
        module = importlib.import_module(public)
        for value in (getattr(module, name) for name in module.__all__):
            if inspect.isfunction(value) and value not in seen:
                seen.add(value)
                for node in functions_of(source(value.__module__).tree):
                    if node.name == value.__name__:
                        yield from annotations_of(value.__module__, node.name, node)
            for kind in value.__mro__ if inspect.isclass(value) else ():
                known = kind in seen or kind.__name__ in FOR_BACKENDS
                if kind.__module__.startswith("ark_mlir") and not known:
                    seen.add(kind)
                    for node in source(kind.__module__).tree.body:
                        if isinstance(node, ast.ClassDef) and node.name == kind.__name__:
                            yield from annotations_of_class(kind, node)


ANNOTATIONS = list(public_annotations())


def is_reachable(name: Name) -> bool:
    if not name.module.startswith("ark_mlir") or name.module.startswith(FOREIGN):
        return True
    module = importlib.import_module(name.module)
    is_variable = isinstance(getattr(module, name.name, None), typing.TypeVar)
    return is_variable or name in public_names()


def test_the_walk_finds_annotations() -> None:
    owners = {annotation.owner for annotation in ANNOTATIONS}
    assert {
        "compile",
        "Executable.bind",
        "Runs.run",
        "matmul",
        "Argument",
        "Program.inputs",
    } <= owners
    assert len(ANNOTATIONS) > 800
    found = {
        name
        for annotation in ANNOTATIONS
        if (annotation.owner, annotation.role) == ("Program.outputs", "result")
        for name in annotation.names()
    }
    assert found == {Name("ark_mlir.frontend.program", "Output")}
    assert not is_reachable(Name("ark_mlir.runtime.running", "Runner"))


def test_types_can_be_imported() -> None:
    """A type in a public signature is public, or belongs to Python or numpy."""
    wrong = [
        f"{annotation} ({name})"
        for annotation in ANNOTATIONS
        for name in annotation.names()
        if not is_reachable(name)
    ]
    assert wrong == []


def test_annotations_are_not_too_general() -> None:
    wrong = [
        str(annotation)
        for annotation in ANNOTATIONS
        if annotation.owner not in OPEN
        and (not annotation.text or set(annotation.text.split(" | ")) & SAYS_NOTHING)
    ]
    assert wrong == []


def test_dtype_names_in_annotations_are_the_known_ones() -> None:
    names = {name for each in dtypes.ALL for name in (each.name, each.mlir, each.numpy_name)}
    assert set(typing.get_args(ark.typing.DTypeName)) == names


def test_keywords_equal_the_options() -> None:
    from ark_mlir.compiler.options import CompileKeywords

    options = {field.name: field.type for field in fields(ark.CompileOptions)}
    keywords = {
        name: getattr(kind, "__forward_arg__", kind)
        for name, kind in CompileKeywords.__annotations__.items()
    }
    assert keywords == options


@pytest.mark.parametrize(
    ("keywords", "load"),
    [
        (ark.models.EncoderOptions, ark.models.encoder.load),
        (ark.models.DecoderOptions, ark.models.decoder.load),
    ],
)
def test_options_of_models_equal_those_of_their_loaders(keywords: type, load: object) -> None:
    assert callable(load)
    parameters = inspect.signature(load).parameters.values()
    known = {p.name: p.annotation for p in parameters if p.kind is p.KEYWORD_ONLY}
    assert keywords.__annotations__.keys() == known.keys()


def test_the_package_is_marked_as_typed() -> None:
    """The marker is in the folder that the wheel takes as a whole."""
    assert (PACKAGE / "py.typed").is_file()

"""What a user gives to compile: a program, a module, a path or text."""

from __future__ import annotations

import os
from pathlib import Path

from .. import ir
from ..errors import CompileError, InvalidUsageError, UnsupportedError
from .diagnostics import to_error

Source = object  # ark.Program | ir.Module | str | os.PathLike[str]


def load_module(source: Source) -> ir.Operation:
    """A copy of the module of a program, a module, a path or MLIR text.

    Raises:
        InvalidUsageError: it is none of these, or the file cannot be read.
        CompileError: the text does not parse or verify.
        UnsupportedError: several programs were given.
    """
    if isinstance(source, list | tuple):
        raise UnsupportedError("this version compiles one program; several ranks come later")
    # A program of the frontend has a module; looked at by name, since the frontend comes
    # before the compiler.
    module = getattr(source, "module", source)
    if isinstance(module, ir.Module):
        return _verified(module.operation.clone().operation)
    if isinstance(source, str) and not source.strip():
        raise InvalidUsageError("cannot compile an empty string; expected a path or MLIR text")
    if isinstance(source, os.PathLike) or (isinstance(source, str) and not _is_text(source)):
        return _read(Path(source))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(source, str):
        return _parse(source)
    raise InvalidUsageError(
        f"cannot compile a {type(source).__name__}; expected an ark.Program, an ir.Module, the "
        "path of an .mlir file or MLIR text"
    )


def _is_text(source: str) -> bool:
    return "\n" in source or "{" in source


def _read(path: Path) -> ir.Operation:
    if not path.is_file():
        reason = "is a folder" if path.is_dir() else "there is no such file"
        raise InvalidUsageError(reason, location=str(path))
    try:
        with ir.Context():
            return ir.Module.parseFile(str(path)).operation
    except ir.MLIRError as error:
        raise to_error(CompileError, error, str(path)) from None


def _parse(text: str) -> ir.Operation:
    try:
        with ir.Context():
            return ir.Module.parse(text).operation
    except ir.MLIRError as error:
        raise to_error(CompileError, error, "MLIR text") from None


def _verified(module: ir.Operation) -> ir.Operation:
    try:
        module.verify()
    except ir.MLIRError as error:
        raise to_error(CompileError, error) from None
    return module

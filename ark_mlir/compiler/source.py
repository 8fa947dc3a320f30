"""Sources for the compiler: a program, a module, a path or text."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

from .. import ir
from ..errors import CompileError, InvalidUsageError, a_type
from ..mlir.diagnostics import to_error
from ..mlir.locations import describe
from ..mlir.parsing import parse_file, parse_text
from ..passmanager import PassManager

if TYPE_CHECKING:
    from ..typing import Source


# The mark of a module whose only program stands for the programs of all ranks.
REPRESENTATIVE = "ark.representative"


class RankProgram(NamedTuple):
    """The program of one rank of several."""

    module: ir.Operation
    name: str
    rank: int
    size: int


def load_rank_program(source: object) -> RankProgram | None:
    """Returns a copy of the program of one rank; None if `source` is not exactly one such program.

    Raises the errors of :func:`load_module`.
    """
    if isinstance(source, list | tuple):
        return None
    module = _load(source)
    programs = list(module.regions[0].blocks[0])
    size = count_ranks(module)
    if size == 1 or len(programs) != 1 or "rank" not in programs[0].operation.attributes:
        return None
    attributes = programs[0].operation.attributes
    name = ir.StringAttr(attributes["sym_name"]).value
    return RankProgram(module, name, ir.IntegerAttr(attributes["rank"]).value, size)


def load_rank_programs(programs: Sequence[bytes]) -> ir.Operation:
    """Joins the programs of all ranks, given as bytecode, into one module.

    Raises InvalidUsageError, which names both ranks, if they do not fit together.
    """
    module = _join(programs)
    _verify_ranks(module)
    return module


def load_module(source: Source | Sequence[Source]) -> ir.Operation:
    """Returns a copy of the module of a program, a module, a path or MLIR text.

    A list, with a source for each rank, becomes one module.

    Raises:
        InvalidUsageError: `source` has another type, the file does not exist, or the programs of
            several ranks do not fit together.
        CompileError: the text does not parse or verify.

    A module with the mark ``ark.representative`` raises InvalidUsageError: one program stands for
    all ranks in it, and it has no code of the other ranks.
    """
    if isinstance(source, list | tuple):
        module = join_modules([_load(each) for each in cast("Sequence[Source]", source)])
    else:
        module = _load(source)
    _verify_ranks(module)
    return module


def join_modules(modules: Sequence[ir.Operation]) -> ir.Operation:
    """Joins modules into one; ops whose names are taken are renamed."""
    if not modules:
        raise InvalidUsageError("cannot compile an empty list; expected a program for each rank")
    if len(modules) == 1:
        return modules[0]
    # Modules of different contexts cannot be mixed. Bytecode copies them exactly, with locations.
    return _join([bytecode(module) for module in modules])


def _join(modules: Sequence[bytes]) -> ir.Operation:
    with ir.Context():
        parsed = [ir.Module.parse(module).operation for module in modules]
    joined, taken = parsed[0], set[str]()
    body = joined.regions[0].blocks[0]
    for rank, module in enumerate(parsed):
        for op in list(module.regions[0].blocks[0]):
            _rename(op.operation, rank, taken)
            if module is not joined:
                body.append(op)
    return _verified(joined)


def bytecode(module: ir.Operation) -> bytes:
    """Returns the bytecode of a module, with its locations."""
    stream = io.BytesIO()
    module.write_bytecode(stream)
    return stream.getvalue()


def _rename(op: ir.Operation, rank: int, taken: set[str]) -> None:
    if "sym_name" not in op.attributes:
        return
    name = ir.StringAttr(op.attributes["sym_name"]).value
    if name in taken:
        name = f"{name}_rank{rank}"
        op.attributes["sym_name"] = ir.StringAttr.get(name, op.context)
    taken.add(name)


def count_ranks(module: ir.Operation) -> int:
    """Returns the number of ranks in a module, which has one program for each or one for all."""
    ranks = 1
    for op in module.regions[0].blocks[0]:
        if "world_size" in op.operation.attributes:
            ranks = ir.IntegerAttr(op.operation.attributes["world_size"]).value
    return ranks


def _verify_ranks(module: ir.Operation) -> None:
    if count_ranks(module) == 1 and len(list(module.regions[0].blocks[0])) == 1:
        return
    with module.context:
        try:
            manager = PassManager.parse("builtin.module(ark-verify-ranks)")
            manager.run(module)  # pyright: ignore[reportUnknownMemberType]
        except ir.MLIRError as error:
            raise to_error(InvalidUsageError, error) from None


def _load(source: object) -> ir.Operation:
    module = _load_any(source)
    if REPRESENTATIVE in module.attributes:
        raise InvalidUsageError(
            f"the module has the attribute {REPRESENTATIVE!r}: one program stands for all ranks, "
            "and the others have no code; compile the programs of all ranks, without the attribute",
            location=describe(module.location),
        )
    return module


def _load_any(source: object) -> ir.Operation:
    # Not isinstance(source, Program): the compiler does not import the frontend.
    module = getattr(source, "module", source)
    if isinstance(module, ir.Module):
        return _verified(module.operation.clone().operation)
    if isinstance(source, str) and not source.strip():
        raise InvalidUsageError("cannot compile an empty string; expected a path or MLIR text")
    if isinstance(source, os.PathLike) or (isinstance(source, str) and not _is_text(source)):
        return _read(Path(source))  # pyright: ignore[reportUnknownArgumentType]
    if isinstance(source, str):
        return parse_text(source).operation
    if any(kind.__module__.startswith("torch.") for kind in type(source).__mro__):
        raise InvalidUsageError(
            f"cannot compile {a_type(source)} of PyTorch; ark.from_torch(module, example_inputs) "
            'returns its program, and torch.compile(module, backend="ark") compiles it in place'
        )
    raise InvalidUsageError(
        f"cannot compile {a_type(source)}; expected an ark.Program, an ir.Module, the "
        "path of an .mlir file or MLIR text"
    )


def _is_text(source: str) -> bool:
    return "\n" in source or "{" in source


def _read(path: Path) -> ir.Operation:
    if not path.is_file():
        reason = "is a folder" if path.is_dir() else "there is no such file"
        raise InvalidUsageError(reason, location=str(path))
    return parse_file(path).operation


def _verified(module: ir.Operation) -> ir.Operation:
    try:
        module.verify()
    except ir.MLIRError as error:
        raise to_error(CompileError, error) from None
    return module

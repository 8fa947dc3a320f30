"""Worlds in which the program of one rank stands for the programs of all ranks.

In such a world, all ranks have one program, and a rank sends to the rank at a distance after it
what it receives from the rank at the same distance before it. The compiler then lowers two copies
of one program, each of which stands for the other ranks of the other copy
(``ark.representative``), and :mod:`.replication` makes the schedule of all ranks from them.
"""

from __future__ import annotations

import re

from .. import ir
from ..backends import backend_info
from ..targets import Target
from .options import CompileOptions
from .source import REPRESENTATIVE, count_ranks
from .stages import reached_stage

__all__ = ["MERGED_ABOVE", "NotSymmetricError", "rank_of", "representative"]

# Up to this number, the ranks of a host, the whole world compiles in seconds.
MERGED_ABOVE = 8

# The values of constants may differ: a rank adds the number of its first row to an index.
_CONSTANT = re.compile(r"(= ark\.constant) .*? : ")
# The ops that name a rank. The compiler refuses them as well (ranks_c6).
_NAMES_RANK = ("ark.send", "ark.recv", "ark.broadcast")


class NotSymmetricError(Exception):
    """The ranks of a world cannot be compiled as one; the text is the reason."""


def representative(module: ir.Operation, machine: Target, options: CompileOptions) -> ir.Operation:
    """Returns a module with the program of one rank, which stands for all ranks of `module`.

    The programs must be equal, except for the number of the rank and the values of constants.

    Args:
        module: the programs of all ranks, before the first stage; it does not change.
        machine: the target of each rank.
        options: the options of the compilation.

    Raises NotSymmetricError if the ranks differ, an op names a rank, or the options exclude it.
    """
    ranks = count_ranks(module)
    if not options.verify:
        raise NotSymmetricError("verify=False omits the proof of all ranks")
    if not backend_info(machine.backend).selects_devices:
        raise NotSymmetricError(f"the target is {machine.backend}")
    if reached_stage(module) is not None:
        raise NotSymmetricError("the module has been lowered already")
    if options.domains is not None:
        raise NotSymmetricError("the ranks have domains")
    if options.collectives == "ring":
        raise NotSymmetricError("collectives are rings")
    if options.costs is not None or options.scheduler is not None:
        raise NotSymmetricError("the schedule depends on measured costs or on a named scheduler")
    if options.tile:
        raise NotSymmetricError("tiles are chosen by the names of groups")
    programs = [op.operation for op in module.regions[0].blocks[0]]
    if ranks < 3 or len(programs) != ranks:
        raise NotSymmetricError(f"there are {len(programs)} programs of {ranks} ranks")
    by_rank = {ir.IntegerAttr(op.attributes["rank"]).value: op for op in programs}
    texts = {rank: _text(by_rank[rank]) for rank in sorted(by_rank)}
    # Constants of rank 0 are often zero, and the compiler removes additions of zero.
    chosen = 1
    for rank, text in texts.items():
        if text != texts[chosen]:
            raise NotSymmetricError(
                f"the program of rank {rank} differs from that of rank {chosen}"
            )
    for op in by_rank[chosen].regions[0].blocks[0]:
        if op.operation.name in _NAMES_RANK:
            raise NotSymmetricError(f"{op.operation.name} names a rank")
    return _alone(module, chosen)


def rank_of(module: ir.Operation) -> int:
    """Returns the rank of the only program of a module."""
    (program,) = module.regions[0].blocks[0]
    return ir.IntegerAttr(program.operation.attributes["rank"]).value


def _text(program: ir.Operation) -> str:
    """Returns the text of a program without what may differ between equal ranks."""
    copy = program.clone().operation
    number = ir.IntegerType.get_signless(64, copy.context)
    copy.attributes["rank"] = ir.IntegerAttr.get(number, 0)
    copy.attributes["sym_name"] = ir.StringAttr.get("program", copy.context)
    text = str(copy.get_asm(large_elements_limit=16))
    copy.erase()
    return _CONSTANT.sub(r"\1 : ", text)


def _alone(module: ir.Operation, rank: int) -> ir.Operation:
    """Returns a copy of a module with the program of one rank only."""
    copy = module.clone().operation
    programs = [op.operation for op in copy.regions[0].blocks[0]]
    name = programs[0].attributes["sym_name"]
    for program in programs:
        if ir.IntegerAttr(program.attributes["rank"]).value == rank:
            program.attributes["sym_name"] = name
        else:
            program.erase()
    copy.attributes[REPRESENTATIVE] = ir.UnitAttr.get(copy.context)
    return copy

"""Tile shapes that the user chooses."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping, Sequence

from .. import ir
from ..errors import InvalidUsageError
from ..mlir.locations import describe
from .tasks import programs_of

# Maximum number of names in a message, those that are most like a wrong one.
_SHOWN = 8
_RANK = re.compile(r"^rank\d+/")


def assign_tiles(module: ir.Operation, tiles: Mapping[str, Sequence[int]]) -> None:
    """Sets `tile` on the groups of a module at the stage `graph`.

    A key is the name of a group, or of an op without its dialect, such as ``matmul``. The name of
    an op stands for all groups that contain such an op and have no key of their own.

    Raises:
        InvalidUsageError: no group or op has a key as its name, or a tile has another rank than the
            group's result.
    """
    unused, known = set(tiles), set[str]()
    with module.context:
        for group in _groups(module):
            name = ir.StringAttr(group.attributes["name"]).value
            ops = {op.operation.name.removeprefix("ark.") for op in group.regions[0].blocks[0]}
            known |= {name, *ops}
            # A key without the prefix of a rank applies to the groups of all ranks.
            key = next((key for key in tiles if key in (name, _RANK.sub("", name))), None)
            key = key or next((key for key in tiles if key in ops), None)
            if key is None:
                continue
            unused.discard(key)
            _assign(group, name, tiles[key])
    if unused:
        name = min(unused)
        listed = difflib.get_close_matches(name, known, _SHOWN, 0) or sorted(known)
        raise InvalidUsageError(
            f"tile: the program has no group and no op {name!r}; it has {', '.join(listed)}"
            f"{' and others' if len(known) > len(listed) else ''}"
        )


def _assign(group: ir.Operation, name: str, tile: Sequence[int]) -> None:
    shape = ir.ShapedType(group.results[0].type).shape
    if len(shape) != len(tile):
        raise InvalidUsageError(
            f"tile {tile} does not fit the result of {name!r}, which has shape {tuple(shape)}",
            location=describe(group.location),
        )
    group.attributes["tile"] = ir.DenseI64ArrayAttr.get(tile)


def _groups(module: ir.Operation) -> Iterator[ir.Operation]:
    for program in programs_of(module):
        for op in program.regions[0].blocks[0]:
            if op.operation.name == "ark.group":
                yield op.operation

"""Decoders of several ranks at run time; this module needs no compiler.

:mod:`ark_mlir.models.sharding` builds the programs of the ranks.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from ..runtime import World

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ..typing import Inputs

__all__ = ["Replicas", "shard", "shard_array"]


def shard(whole: int, rank: int, size: int, extent: int | None = None) -> range:
    """Returns the shard of a rank of `whole` entries; each of `size` ranks has `extent` of them.

    By default shards are as short as possible. If all shards together are several times as long as
    `whole`, consecutive ranks have the same shard, as for fewer heads of keys than ranks. If they
    are longer otherwise, the last shards end at the last entry and overlap the shards before them,
    since an ``all_gather`` requires shards of one length.

    Example:
        >>> [shard(5, rank, 2) for rank in range(2)]
        [range(0, 3), range(2, 5)]
        >>> [shard(6, rank, 4, 3) for rank in range(4)]
        [range(0, 3), range(0, 3), range(3, 6), range(3, 6)]
    """
    extent = -(-whole // size) if extent is None else extent
    copies, rest = divmod(size * extent, whole)
    begin = min(rank * extent if rest else rank // copies * extent, whole - extent)
    return range(begin, begin + extent)


def shard_array(array: NDArray[Any], rank: int, size: int, shape: tuple[int, ...]) -> NDArray[Any]:
    """Returns the shard of a rank of an array, a view; the shard has the shape `shape`.

    Example:
        >>> shard_array(np.arange(6).reshape(2, 3), 1, 2, (1, 3))
        array([[3, 4, 5]])
    """
    if size == 1:
        return array
    parts = (
        shard(whole, rank, size, extent) for extent, whole in zip(shape, array.shape, strict=True)
    )
    return array[tuple(slice(each.start, each.stop) for each in parts)]


class Replicas(World):
    """A world whose ranks all have the same inputs and the same outputs."""

    @classmethod
    def of(cls, world: World) -> Replicas:
        """Returns the world of the same program, on the same devices."""
        return cls(world.bundle, world._drivers)

    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Inputs | None = None, /, **options: Any
    ) -> dict[str, Any]:
        """Runs all ranks on the same inputs and returns the outputs of rank 0."""
        return super().run(inputs, **options)[0]

    @property
    def states(self) -> Mapping[str, NDArray[Any]]:
        """Returns the states of all ranks; a name without a rank means the state of rank 0."""
        return _FirstStates(super().states)


class _FirstStates(Mapping[str, "NDArray[Any]"]):
    def __init__(self, states: Mapping[str, NDArray[Any]]) -> None:
        self._states = states

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._states[name if name in self._states else f"rank0/{name}"]

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def __len__(self) -> int:
        return len(self._states)

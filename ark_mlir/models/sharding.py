"""Tensor parallelism of decoders.

Attention heads and the inner columns of the MLP are divided among the ranks; each rank has the
whole embedding, norms and head. ``o_proj`` and ``down_proj`` compute partial sums in the dtype of
the model, which an ``all_reduce`` adds: two in each layer. It adds in fp32 in order of rank, and
rounds once; the ring algorithm begins with the rank after the one that keeps the part. All ranks
get the same bits, and so the same token.
"""

# The stubs of numpy leave the elements of arrays unknown.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from .. import frontend as ark
from ..frontend import Program, Tensor
from ..runtime import World

if TYPE_CHECKING:
    from ..typing import Inputs
    from .weights import Arrays

__all__ = ["ALONE", "Replicas", "Shard"]

# Layers with divided inputs, whose results are partial sums.
_PARTIAL = ("o_proj", "down_proj")


@dataclass(frozen=True)
class Shard:
    """One of `size` ranks that share a decoder.

    Example:
        >>> Shard(1, 2).part(np.arange(6).reshape(2, 3), (1, 3))
        array([[3, 4, 5]])
    """

    rank: int = 0
    size: int = 1

    def program(self, name: str) -> Program:
        """Returns an empty program of this rank."""
        if self.size == 1:
            return Program(name)
        return Program(name, rank=self.rank, world_size=self.size)

    def total(self, product: Tensor, layer: str) -> Tensor:
        """Returns `product`, summed over all ranks if `layer` computes partial sums."""
        if self.size == 1 or not layer.endswith(_PARTIAL):
            return product
        return ark.all_reduce(product, name=f"{layer}.sum")

    def part(self, array: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
        """Returns this rank's part of an array; the part has the shape `shape`."""
        places = tuple(
            slice(None) if extent == whole else slice(self.rank * extent, (self.rank + 1) * extent)
            for extent, whole in zip(shape, array.shape, strict=True)
        )
        return array[places]

    def parts(self, arrays: Arrays, program: Program) -> Arrays:
        """Returns the parts of a model's arrays for the parameters of this rank's program."""
        return {
            name: self.part(arrays[name], argument.shape)
            for name, argument in program.parameters.items()
        }


ALONE = Shard()


class Replicas(World):
    """A world whose ranks all have the same inputs and the same outputs."""

    def run(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, inputs: Inputs | None = None, /, **options: Any
    ) -> dict[str, Any]:
        """Runs all ranks on the same inputs and returns the outputs of rank 0."""
        return super().run(inputs, **options)[0]

    @property
    def states(self) -> Mapping[str, NDArray[Any]]:
        """The states of all ranks; a state without a rank in its name is that of rank 0."""
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

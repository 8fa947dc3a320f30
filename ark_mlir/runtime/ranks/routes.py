"""Routes: the counters on ranks of other NVLink domains that each rank signals."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from ...bundle import Opcode
from ...errors import UnsupportedError
from ..drivers.abi import RANK_COUNTERS
from .linking import link
from .rank_bundle import bytes_of_block

if TYPE_CHECKING:
    from ...bundle import Bundle

__all__ = [
    "NetworkPlan", "Routes", "check_port_limits", "count_semaphores", "find_routes", "plan_network",
]  # fmt: skip

# For each pair of a sender and a receiver in different domains, the counters on the receiver.
Routes = Mapping[tuple[int, int], tuple[int, ...]]

# The fields of a trigger have 32 bits for sizes and offsets, and 10 for the number of a semaphore.
_MOST_BYTES = 1 << 32
_MOST_SEMAPHORES = 1 << 10


class NetworkPlan(NamedTuple):
    """Requirements of a program for the network between its domains.

    Attributes:
        library: the library that copies: ``nccl`` or ``mscclpp``.
        domains: the NVLink domain of each rank; empty if all ranks are in one domain.
        routes: the counters that ranks signal; empty for ``nccl``, which reaches each counter.
    """

    library: str
    domains: tuple[int, ...]
    routes: Routes

    def others(self, rank: int) -> tuple[int, ...]:
        """Returns the ranks of the other domains."""
        own = self.domains[rank] if self.domains else 0
        return tuple(other for other, domain in enumerate(self.domains) if domain != own)


def plan_network(bundle: Bundle) -> NetworkPlan:
    """Returns the requirements of a program for the network.

    Raises the errors of `link` and `check_port_limits`.
    """
    manifest = bundle.manifest
    routes: Routes = {}
    if manifest.network == "mscclpp":
        routes = check_port_limits(bundle)
    return NetworkPlan(manifest.network, manifest.domains, routes)


def find_routes(bundle: Bundle) -> dict[tuple[int, int], tuple[int, ...]]:
    """Returns the counters of each pair of ranks in different domains, in increasing order.

    Raises the errors of `link`.
    """
    domains = bundle.manifest.domains
    routes: dict[tuple[int, int], tuple[int, ...]] = {}
    for rank, linked in enumerate(link(bundle)):
        rows = linked.bundle.tables.instructions
        for number in sorted(set[int](rows[rows[:, 0] == Opcode.SIGNAL, 1].tolist())):
            receiver = rank + number // RANK_COUNTERS
            if domains and domains[rank] != domains[receiver]:
                known = routes.get((rank, receiver), ())
                routes[rank, receiver] = (*known, number % RANK_COUNTERS)
    return routes


def count_semaphores(routes: Routes, rank: int, other: int) -> int:
    """Returns the semaphores between two ranks of different domains.

    A semaphore has a token on each of the two GPUs. The first semaphore is that of the host.
    """
    return 1 + max(len(routes.get(pair, ())) for pair in ((rank, other), (other, rank)))


def check_port_limits(bundle: Bundle) -> Routes:
    """Returns the routes; raises UnsupportedError if port channels of MSCCL++ cannot run a program.

    Triggers have 32 bits for sizes and offsets in the memory of a rank, and 10 bits for the number
    of a semaphore.
    """
    manifest = bundle.manifest
    if (nbytes := bytes_of_block(bundle)) >= _MOST_BYTES:
        raise UnsupportedError(
            f"{manifest.program!r} shares {nbytes} bytes of each rank, and port channels of "
            f"MSCCL++ reach {_MOST_BYTES - 1}: compile with network='nccl', or with memory= for a "
            "smaller arena",
            location=bundle.where,
        )
    routes = find_routes(bundle)
    plan = NetworkPlan(manifest.network, manifest.domains, routes)
    for rank in range(manifest.ranks):
        count = sum(count_semaphores(routes, rank, other) for other in plan.others(rank))
        if count > _MOST_SEMAPHORES:
            raise UnsupportedError(
                f"{manifest.program!r} needs {count} semaphores between rank {rank} and ranks of "
                f"other domains, and a proxy of MSCCL++ has {_MOST_SEMAPHORES}: compile with "
                "network='nccl'",
                location=bundle.where,
            )
    return routes

"""Topologies: the links between the GPUs of a world, and their speed.

A topology is a JSON file, which docs/how-to/simulating.md describes. The figures of a topology are
those of the model LogGP (Alexandrov, Ionescu, Schauser and Scheiman, 1995), for each link and for
each path of several links.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import isqrt
from pathlib import Path

from ..errors import InvalidUsageError
from ..json_checks import Document, Node, parse_json
from ..paths import as_path

FORMAT = 1
SUFFIX = ".json"

# The owners of a link. Messages share a link if they have the same owner, such as the source GPU.
OWNERS = ("source-gpu", "target-gpu", "source-host", "target-host", "pair", "rail", "world")
# The relations of two GPUs, from the nearest to the farthest.
RELATIONS = ("host", "rail", "world")
# The exchanges of measurements: a chain of all-reduces, and gradients beside products. A
# publication has the time of a program with one all-reduce.
EXCHANGES = ("all_reduce", "gradients")
PUBLISHED = ("one_all_reduce",)
_MAX_GPUS = 1 << 16
_FOLDER = Path(__file__).parent / "topologies"


@dataclass(frozen=True)
class Gpu:
    """The hand-offs within a GPU.

    Attributes:
        handoff_ns: time from a signal until the waiting lane continues.
        barrier_ns: time from the last arrival at a barrier of all SMs until all lanes continue.
        packet_ns: time from the end of a work item until a lane has received its packets.
    """

    handoff_ns: float
    barrier_ns: float
    packet_ns: float


@dataclass(frozen=True)
class Link:
    """A kind of link.

    Attributes:
        owner: one of OWNERS; messages with the same owner share a link.
        gbps: bytes per ns.
        gap_ns: least time between the begins of two messages.
    """

    owner: str
    gbps: float
    gap_ns: float = 0.0

    def occupation(self, size: int) -> float:
        """Returns the ns for which a message of `size` bytes occupies the link."""
        return max(self.gap_ns, size / self.gbps)


@dataclass(frozen=True)
class Route:
    """The way of messages between two GPUs.

    Attributes:
        links: names of links, from the source to the target.
        latency_ns: time until the last byte of a message that has left the links is seen.
        signal_ns: time of a signal, from its start until the waiting lane continues.
        lane_gbps: bytes per ns that one lane can send.
    """

    links: tuple[str, ...]
    latency_ns: float
    signal_ns: float
    lane_gbps: float


@dataclass(frozen=True)
class Measurement:
    """A measured time on the machine of a topology.

    Attributes:
        exchange: one of EXCHANGES, or of PUBLISHED for a published time.
        ranks: the number of ranks.
        nbytes: the bytes of the tensor of bf16 on each rank.
        us: the time in µs: what each further all-reduce adds to a chain, the time of a program
            with four square gradients, each a product, and their means over the ranks, or the time
            of a program with one all-reduce.
        sms: the SMs that the plan of the gradients states for their means; 0 without a plan.
        source: the publication and its program; empty for a time that was measured with ark.

    Example:
        >>> Topology.read("h200").measured[0]
        Measurement(exchange='all_reduce', ranks=2, nbytes=2048, us=1.0, sms=0, source='')
    """

    exchange: str
    ranks: int
    nbytes: int
    us: float
    sms: int = 0
    source: str = ""


@dataclass(frozen=True)
class Topology:
    """The GPUs of a world and the links between them; rank r is GPU r, host by host.

    Attributes:
        name: the file's name.
        hosts, gpus_per_host: the number of GPUs is their product.
        gpu: the hand-offs within a GPU.
        links: kinds of links by name.
        paths: paths by relation: ``host`` for GPUs of one host, ``rail`` for GPUs with the same
            number on two hosts, ``world`` for all others.
        measured: measured times, with which `ark simulate --validate` compares predictions.
        published: published times of other libraries on such a machine, likewise.

    Example:
        >>> Topology.read("h200").gpus
        8
    """

    name: str
    hosts: int
    gpus_per_host: int
    gpu: Gpu
    links: Mapping[str, Link]
    paths: Mapping[str, Route]
    measured: tuple[Measurement, ...] = ()
    published: tuple[Measurement, ...] = ()

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Topology:
        """Reads a topology from `path`: a file, or the name of one of ark's topologies.

        Raises:
            InvalidUsageError: the file cannot be read, or it is not a topology.
        """
        name = str(as_path(path, "the topology to read"))
        shipped = topologies()
        if name in shipped:
            data = (_FOLDER / f"{name}{SUFFIX}").read_bytes()
        else:
            data = _contents(name, shipped)
        root = parse_json(data, Document(name, "topology", InvalidUsageError))
        return _parse(root, Path(name).stem)

    @property
    def gpus(self) -> int:
        """Returns the number of GPUs."""
        return self.hosts * self.gpus_per_host

    def path(self, source: int, target: int) -> Route:
        """Returns the path from GPU `source` to GPU `target`.

        Raises InvalidUsageError if the topology has no such path.
        """
        relation = self._relation(source, target)
        if relation not in self.paths:
            raise InvalidUsageError(
                f"topology {self.name!r} has no path {relation!r}, which GPUs {source} and "
                f"{target} need"
            )
        return self.paths[relation]

    def link_names(self, source: int, target: int) -> list[str]:
        """Returns the names of the links from GPU `source` to GPU `target`.

        Example of a name: ``nic-out of GPU 3``.
        """
        return [
            f"{link} of {self._owner(self.links[link].owner, source, target)}"
            for link in self.path(source, target).links
        ]

    def without_delays(self) -> Topology:
        """Returns a topology whose messages take no time."""
        return replace(
            self,
            links={
                name: replace(link, gbps=float("inf"), gap_ns=0.0)
                for name, link in self.links.items()
            },
            paths={
                name: replace(path, latency_ns=0.0, signal_ns=0.0, lane_gbps=float("inf"))
                for name, path in self.paths.items()
            },
        )

    def _relation(self, source: int, target: int) -> str:
        here, there = divmod(source, self.gpus_per_host), divmod(target, self.gpus_per_host)
        if here[0] == there[0]:
            return "host"
        return "rail" if here[1] == there[1] else "world"

    def _owner(self, owner: str, source: int, target: int) -> str:
        gpu = source if owner.startswith("source") else target
        if owner.endswith("-gpu"):
            return f"GPU {gpu}"
        if owner.endswith("-host"):
            return f"host {gpu // self.gpus_per_host}"
        if owner == "pair":
            return f"GPUs {source} and {target}"
        return f"rail {source % self.gpus_per_host}" if owner == "rail" else "the world"


def topologies() -> list[str]:
    """Returns the names of the topologies that ark has.

    Example:
        >>> "h200" in topologies()
        True
    """
    return sorted(path.stem for path in _FOLDER.glob(f"*{SUFFIX}"))


def _contents(name: str, shipped: list[str]) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        raise InvalidUsageError(
            f"cannot be read: {error.strerror}",
            location=name,
            notes=[f"ark has the topologies {', '.join(shipped)}"],
        ) from None


def _parse(root: Node, name: str) -> Topology:
    required = {"format", "hosts", "gpus_per_host", "gpu", "links", "paths"}
    root.keys(frozenset(required), frozenset({"measured", "published"}))
    root["format"].integer(FORMAT, FORMAT)
    hosts, each = (root[key].integer(1, _MAX_GPUS) for key in ("hosts", "gpus_per_host"))
    if hosts * each > _MAX_GPUS:
        raise root["hosts"].error(f"{hosts * each} GPUs; the limit is {_MAX_GPUS}")
    gpu = root["gpu"]
    gpu.keys(frozenset({"handoff_ns", "barrier_ns", "packet_ns"}))
    links = {link: _link(root["links"][link]) for link in root["links"].names()}
    paths = {word: _route(root["paths"][word], links) for word in root["paths"].names()}
    for word in paths:
        Node(word, "paths", root.document).word(RELATIONS)
    return Topology(
        name,
        hosts,
        each,
        Gpu(*(float(gpu[key].number(0)) for key in ("handoff_ns", "barrier_ns", "packet_ns"))),
        links,
        paths,
        root["measured"].each(lambda node: _measurement(node, hosts * each))
        if "measured" in root
        else (),
        root["published"].each(lambda node: _published(node, hosts * each))
        if "published" in root
        else (),
    )


def _size(node: Node) -> int:
    size = node["bytes"].integer(2)
    if size % 2:
        raise node["bytes"].error(f"{size} is odd, and an element of bf16 has two bytes")
    return size


def _published(node: Node, gpus: int) -> Measurement:
    node.keys(frozenset({"exchange", "ranks", "bytes", "us", "source"}), frozenset())
    return Measurement(
        node["exchange"].word(PUBLISHED),
        node["ranks"].integer(2, gpus),
        _size(node),
        _positive(node["us"], "a time"),
        source=node["source"].text(),
    )


def _measurement(node: Node, gpus: int) -> Measurement:
    node.keys(frozenset({"exchange", "ranks", "bytes", "us"}), frozenset({"sms"}))
    exchange = node["exchange"].word(EXCHANGES)
    size = _size(node)
    if exchange == "gradients" and isqrt(size // 2) ** 2 != size // 2:
        raise node["bytes"].error(f"{size} bytes of bf16 are no square matrix")
    if exchange == "all_reduce" and "sms" in node:
        raise node["sms"].error("a chain of all-reduces has no plan; omit the key")
    return Measurement(
        exchange,
        node["ranks"].integer(2, gpus),
        size,
        _positive(node["us"], "a time"),
        node["sms"].integer(1) if "sms" in node else 0,
    )


def _link(node: Node) -> Link:
    node.keys(frozenset({"owner", "gbps"}), frozenset({"gap_ns"}))
    return Link(
        node["owner"].word(OWNERS),
        _rate(node["gbps"]),
        float(node["gap_ns"].number(0)) if "gap_ns" in node else 0.0,
    )


def _route(node: Node, links: Mapping[str, Link]) -> Route:
    node.keys(frozenset({"links", "latency_ns", "signal_ns"}), frozenset({"lane_gbps"}))
    names = node["links"].each(Node.text)
    for item, link in zip(node["links"].items(), names, strict=True):
        if link not in links:
            raise item.error(f"there is no link {link!r}; links are {', '.join(sorted(links))}")
    if not names:
        raise node["links"].error("a path needs a link")
    return Route(
        names,
        float(node["latency_ns"].number(0)),
        float(node["signal_ns"].number(0)),
        _rate(node["lane_gbps"]) if "lane_gbps" in node else float("inf"),
    )


def _rate(node: Node) -> float:
    return _positive(node, "a rate")


def _positive(node: Node, name: str) -> float:
    number = float(node.number(0))
    if number <= 0:
        raise node.error(f"{name} must be above 0")
    return number

"""The strict parser of manifests: it checks every key, type and range; errors name the key."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, get_args

from .. import dtypes
from ..backends import backend_info, backend_names
from ..errors import BundleError, shorten
from ..json_checks import Document, Node, parse_json
from ..typing import Network
from .footprints import parse_footprint
from .format import (
    ALIGNMENT,
    MAX_BYTES,
    MAX_FILE,
    MAX_INTERMEDIATES,
    MAX_RANK,
    MAX_SLOTS,
    REQUIRED_SECTIONS,
    SECTIONS,
    VERSION,
)
from .manifest import (
    BOUND_KINDS,
    KINDS,
    Body,
    Buffer,
    Manifest,
    Origin,
    Section,
    Semaphore,
    Target,
    Task,
    Value,
)
from .unit import parse_unit

if TYPE_CHECKING:
    from ..dtypes import DType

INT32_MAX = (1 << 31) - 1
_MAX_WORD = 64  # characters of LLVM's names of processors and features

_REQUIRED = frozenset(
    {
        "format",
        "producer",
        "program",
        "target",
        "entry",
        "arena",
        "buffers",
        "tasks",
        "bodies",
        "intermediates",
        "semaphores",
        "statistics",
        "options",
    }
)

_OPTIONAL = frozenset({"ranks", "packets", "domains", "network", "origin", "sections"})


def _dump(source: Mapping[str, Any], where: str) -> bytes:
    try:
        return json.dumps(source, allow_nan=False).encode("ascii")
    except (TypeError, ValueError, RecursionError) as error:
        raise BundleError(f"manifest: cannot be written as JSON: {error}", location=where) from None


def parse_manifest(source: bytes | Mapping[str, Any], where: str) -> Manifest:
    """Returns the manifest in JSON text or in an equivalent object.

    Raises BundleError, which names the key, if a key is missing or unknown, or if a value has the
    wrong type or is out of range.
    """
    # An object is encoded as JSON and parsed like a file, so that nothing is accepted here (a
    # tuple, a numpy integer) that a reader of the file would see differently.
    text = source if isinstance(source, bytes) else _dump(source, where)
    return _manifest(parse_json(text, Document(where, "manifest", BundleError)))


def _manifest(node: Node) -> Manifest:
    node.keys(_REQUIRED, _OPTIONAL)
    node["format"].integer(VERSION, VERSION)
    slots = enumerate(node["buffers"].items(), start=1)
    buffers = tuple(_buffer(item, slot) for slot, item in slots)
    if len(buffers) >= MAX_SLOTS:
        raise node["buffers"].error(f"more than {MAX_SLOTS - 1} buffers")
    intermediates = node["intermediates"].each(_intermediate)
    if len(intermediates) > MAX_INTERMEDIATES:
        raise node["intermediates"].error(f"more than {MAX_INTERMEDIATES} intermediates")
    _check_names(node["buffers"], buffers)
    bodies = node["bodies"].each(_body)
    target = _target(node["target"])
    ranks = _ranks(node["ranks"], target, buffers) if "ranks" in node else 1
    return Manifest(
        producer=node["producer"].text(),
        program=node["program"].text(),
        target=target,
        entry=_entry(node["entry"]),
        arena=node["arena"].integer(0, MAX_BYTES),
        buffers=buffers,
        tasks=node["tasks"].each(_task_parser(bodies)),
        bodies=bodies,
        intermediates=intermediates,
        semaphores=node["semaphores"].each(_semaphore),
        ranks=ranks,
        packets=_packets(node["packets"], target) if "packets" in node else 0,
        domains=_domains(node["domains"], ranks) if "domains" in node else (),
        network=node["network"].word(get_args(Network)) if "network" in node else "nccl",
        statistics=_statistics(node["statistics"]),
        options=_options(node["options"]),
        origin=_origin(node["origin"]) if "origin" in node else None,
        sections=_sections(node["sections"]) if "sections" in node else None,
    )


def _target(node: Node) -> Target:
    node.keys(frozenset({"backend", "arch", "features", "sms", "warps", "shared_memory"}))
    return Target(
        backend=node["backend"].word(backend_names()),
        arch=node["arch"].text(limit=_MAX_WORD),
        features=node["features"].each(lambda item: item.text(limit=_MAX_WORD)),
        sms=node["sms"].integer(1, INT32_MAX),
        warps=node["warps"].integer(1, INT32_MAX),
        shared_memory=node["shared_memory"].integer(),
    )


def _packets(node: Node, target: Target) -> int:
    if not backend_info(target.backend).has_task_packets:
        raise node.error(f"a kernel for {target.backend} cannot have packets")
    return node.integer(1, MAX_BYTES)


def _domains(node: Node, ranks: int) -> tuple[int, ...]:
    domains = node.each(lambda item: item.integer(0, INT32_MAX))
    if len(domains) != ranks:
        raise node.error(f"{len(domains)} domains for {ranks} ranks")
    return domains


def _entry(node: Node) -> str:
    name = node.text()
    if not (name.isascii() and name.isidentifier()):
        raise node.error(f"{shorten(name)} is not the name of a function")
    return name


_BUFFER_KEYS = frozenset({"name", "kind", "dtype", "shape", "bytes"})
_KIND_KEYS = {"scalar": {"max"}, "state": {"init", "stop"}, "constant": {"offset"}}
_DTYPES = {dtype.name: dtype for dtype in dtypes.ALL}


def _buffer(node: Node, slot: int) -> Buffer:
    kind = node["kind"].word(KINDS)
    required = _BUFFER_KEYS | {"offset"} if kind == "constant" else _BUFFER_KEYS
    node.keys(frozenset(required), frozenset({"alignment", *_KIND_KEYS.get(kind, ())}))
    dtype = _DTYPES[node["dtype"].word(tuple(_DTYPES))]
    shape = _shape(node["shape"])
    size = math.prod(shape) * dtype.itemsize
    if size > MAX_BYTES:
        raise node["shape"].error(f"{size} bytes; the limit is {MAX_BYTES}")
    if node["bytes"].integer() != size:
        raise node["bytes"].error(
            f"{node['bytes'].value}, but shape {list(shape)} of {dtype} takes {size} bytes"
        )
    if kind == "scalar" and (math.prod(shape) != 1 or not dtype.is_integer):
        raise node.error(f"a scalar is one integer, not shape {list(shape)} of {dtype}")
    return Buffer(
        name=node["name"].text(),
        kind=kind,
        dtype=dtype,
        shape=shape,
        bytes=size,
        slot=slot,
        maximum=_maximum(node["max"], dtype) if "max" in node else None,
        init=_init(node["init"], dtype) if "init" in node else 0,
        offset=node["offset"].integer(0, MAX_FILE) if "offset" in node else 0,
        alignment=_alignment(node["alignment"], dtype) if "alignment" in node else ALIGNMENT,
        stop="stop" in node and _stop(node["stop"], dtype, size),
    )


def _stop(node: Node, dtype: DType, size: int) -> bool:
    if dtype is not dtypes.int32 or size != dtype.itemsize:
        raise node.error("only a state of one int32 ends a launch")
    return node.boolean()


def _shape(node: Node) -> tuple[int, ...]:
    shape = node.each(lambda item: item.integer(0, MAX_BYTES))
    if len(shape) > MAX_RANK:
        raise node.error(f"rank {len(shape)}; the limit is {MAX_RANK}")
    return shape


def _maximum(node: Node, dtype: DType) -> int | None:
    return None if node.value is None else node.integer(0, dtype.integer_range[1])


def _init(node: Node, dtype: DType) -> int | float:
    value = node.number()
    if dtype.is_float:
        return value
    low, high = dtype.integer_range
    if value != int(value) or not low <= value <= high:
        raise node.error(f"{value} is not a value of {dtype}")
    return int(value)


def _alignment(node: Node, dtype: DType) -> int:
    value = node.integer(dtype.itemsize, 4096)
    if value & (value - 1):
        raise node.error(f"{value} is not a power of two")
    return value


def _check_names(node: Node, buffers: Iterable[Buffer]) -> None:
    seen: set[tuple[str, str]] = set()
    for buffer in buffers:
        space = "bound" if buffer.kind in BOUND_KINDS else buffer.kind
        if (space, buffer.name) in seen:
            raise node.error(f"two buffers have the name {shorten(buffer.name)}")
        seen.add((space, buffer.name))


def _ranks(node: Node, target: Target, buffers: Iterable[Buffer]) -> int:
    ranks = node.integer(2, target.sms)
    if target.sms % ranks:
        raise node.error(f"{target.sms} SMs cannot be shared equally by {ranks} ranks")
    for buffer in buffers:
        if buffer.kind != "constant" and not _names_rank(buffer.name, ranks):
            raise node.error(f"the name of {buffer.kind} {shorten(buffer.name)} has no rank")
    return ranks


def _names_rank(name: str, ranks: int) -> bool:
    """Returns True if a name is ``rank<r>/<rest>`` with r in [0, ranks)."""
    owner, _, rest = name.partition("/")
    digits = owner.removeprefix("rank")
    # int() takes quadratic time, so that longer texts are rejected first.
    if not rest or not digits.isdecimal() or len(digits) > 10:
        return False
    return owner == f"rank{int(digits)}" and int(digits) < ranks


_TASK_KEYS = frozenset(
    {
        "name",
        "body",
        "vctas",
        "grid",
        "ops",
        "location",
        "bytes",
        "flops",
        "footprint",
        "values",
    }
)


def _task_parser(bodies: tuple[Body, ...]) -> Callable[[Node], Task]:
    def parse(node: Node) -> Task:
        node.keys(_TASK_KEYS, frozenset({"unit"}))
        vctas = node["vctas"].integer(1, INT32_MAX)
        grid = node["grid"].each(lambda item: item.integer(1, INT32_MAX))
        if len(grid) > MAX_RANK:
            raise node["grid"].error(f"rank {len(grid)}; the limit is {MAX_RANK}")
        if math.prod(grid) != vctas:
            raise node["grid"].error(f"{list(grid)} does not have {vctas} vCTAs")
        body = node["body"].integer(0, len(bodies) - 1)
        return Task(
            name=node["name"].text(),
            body=body,
            vctas=vctas,
            grid=grid,
            ops=node["ops"].each(Node.text),
            location=node["location"].text(empty=True),
            bytes=node["bytes"].integer(),
            flops=node["flops"].integer(),
            footprint=node["footprint"].integer(0, len(bodies[body].footprints) - 1),
            values=node["values"].each(lambda item: item.integer(0, MAX_BYTES)),
            unit=parse_unit(node["unit"]) if "unit" in node else None,
        )

    return parse


def _body(node: Node) -> Body:
    node.keys(frozenset({"name", "footprints"}), frozenset({"stamps"}))
    return Body(
        node["name"].text(),
        node["footprints"].each(parse_footprint),
        "stamps" in node and node["stamps"].boolean(),
    )


def _intermediate(node: Node) -> Value:
    parts = [item.integer(0, MAX_BYTES) for item in node.items()]
    if len(parts) != 3:
        raise node.error("expected slot, offset and bytes")
    return Value(*parts)


def _semaphore(node: Node) -> Semaphore:
    node.keys(frozenset({"name", "arrivals", "handoff"}))
    return Semaphore(
        node["name"].text(), node["arrivals"].integer(1, INT32_MAX), node["handoff"].text()
    )


def _statistics(node: Node) -> dict[str, int | float]:
    return {name: node[name].number() for name in node.names()}


def _options(node: Node) -> dict[str, Any]:
    # The runtime reads only these options; the others may hold any JSON.
    _check_plain(node, depth=8)
    for name in ("trace", "clears_queued", "far_signals", "verify"):
        if name in node:
            node[name].boolean()
    return dict(node.mapping())


def _check_plain(node: Node, depth: int) -> None:
    if depth == 0:
        raise node.error("nested too deeply")
    if isinstance(node.value, dict):
        for name in node.names():
            _check_plain(node[name], depth - 1)
    elif isinstance(node.value, list):
        for item in node.items():
            _check_plain(item, depth - 1)
    elif isinstance(node.value, str):
        node.text(empty=True)
    elif node.value is not None and not isinstance(node.value, bool):
        node.number()


def _origin(node: Node) -> Origin:
    node.keys(frozenset({"kind", "entries", "tensors"}))
    entries = {name: _sha256(node["entries"][name]) for name in node["entries"].names()}
    return Origin(node["kind"].text(), entries, _sha256(node["tensors"]))


def _sha256(node: Node) -> str:
    digest = node.text()
    if len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise node.error("expected 64 lower-case hex digits")
    return digest


def _sections(node: Node) -> tuple[Section, ...]:
    node.keys(frozenset(REQUIRED_SECTIONS), frozenset(SECTIONS))
    return tuple(_section(name, node[name]) for name in node.mapping())


def _section(name: str, node: Node) -> Section:
    node.keys(frozenset({"offset", "size", "sha256"}))
    return Section(
        name,
        node["offset"].integer(0, MAX_FILE),
        node["size"].integer(0, MAX_FILE),
        _sha256(node["sha256"]),
    )

"""The choice of the GPU of each rank, and the check that all ranks have equal GPUs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..devices import check_devices
from ..errors import InvalidUsageError, UnsupportedError
from ..runtime.gpu.peers import page_size
from ..runtime.ranks.rank_bundle import lanes_of_rank

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..runtime.gpu.api import GpuApi
    from .communicator import ControlMessages

__all__ = ["check_facts", "choose_device", "peer_problem", "read_facts"]

# Properties that must be equal at all ranks, and their names in messages.
_EQUAL = {
    "driver": "{} version of {}'s driver", "kind": "kind of GPU",
    "engine": "engine that shares memory",
}  # fmt: skip


def choose_device(
    count: int, rank: int, local_rank: int, size: int, devices: Sequence[int] | None
) -> int:
    """Returns the ordinal of a rank's GPU in its process.

    Args:
        count: the number of GPUs that the process sees.
        rank: the rank.
        local_rank: the index of the rank among the ranks of its host.
        size: the number of ranks.
        devices: the ordinal of the GPU of this rank, or a list with an ordinal for each rank. None
            takes the GPU with the ordinal `local_rank`, or the only GPU that the process sees.

    Raises InvalidUsageError if `devices` has another number of entries or names a GPU that the
    process does not see, and UnsupportedError if the process does not see enough GPUs.
    """
    if devices is not None:
        numbers = check_devices(devices)
        if len(numbers) not in (1, size):
            raise InvalidUsageError(
                f"devices={list(numbers)}: a rank takes one GPU, or a list with one for each of "
                f"the {size} ranks"
            )
        chosen = numbers[rank if len(numbers) > 1 else 0]
        if chosen >= count:
            raise InvalidUsageError(
                f"devices={list(numbers)}: rank {rank} would take GPU {chosen}, and its process "
                f"sees {count}"
            )
        return chosen
    if local_rank < count:
        return local_rank
    if count == 1:
        return 0  # the launcher makes another GPU visible to each process
    raise UnsupportedError(
        f"rank {rank} has local rank {local_rank}, and its process sees {count} GPUs: start at "
        "most one rank for each GPU, or name a GPU with devices="
    )


def read_facts(api: GpuApi) -> dict[str, Any]:
    """Returns the properties of a GPU that ranks compare."""
    return {
        "uuid": api.uuid_of(api.ordinal),
        "kind": api.kind,
        "sms": api.multiprocessors,
        "driver": api.version,
        "vendor": [api.library, api.vendor],
        "ordinal": api.ordinal,
        "page": _find_page(api),
        "at_once": api.runs_processes_at_once,
        "setting": api.process_setting,
    }


def check_facts(messages: ControlMessages, bundle: Bundle) -> None:
    """Raises UnsupportedError, the same at every rank, if the ranks' GPUs cannot run together."""
    first = messages[0].body
    for message in messages:
        for fact, name in _EQUAL.items():
            if message.body[fact] != first[fact]:
                raise UnsupportedError(
                    f"the {name.format(*first['vendor'])} differs: {first[fact]} at rank 0, "
                    f"{message.body[fact]} at rank {message.sender}"
                )
    _check_pages(messages, bundle)
    by_gpu: dict[str, list[int]] = {}
    for message in messages:
        by_gpu.setdefault(message.body["uuid"], []).append(message.sender)
    for uuid, ranks in by_gpu.items():
        if len(ranks) > 1:
            _check_shared_gpu(uuid, ranks, messages, bundle)


def _check_pages(messages: ControlMessages, bundle: Bundle) -> None:
    part = bundle.manifest.arena // bundle.manifest.ranks
    page = max(message.body["page"] for message in messages)
    if part % page or (2 << 20) % page:
        raise UnsupportedError(
            f"the GPUs share memory in pages of {page} bytes, and the program was compiled for "
            "pages of 2 MiB"
        )


def _check_shared_gpu(
    uuid: str, ranks: list[int], messages: ControlMessages, bundle: Bundle
) -> None:
    """Raises UnsupportedError unless the kernels of several processes fit on one GPU at once."""
    names = " and ".join(map(str, ranks))
    ordinal = messages[ranks[0]].body["ordinal"]
    if not all(messages[rank].body["at_once"] for rank in ranks):
        raise UnsupportedError(
            f"ranks {names} are on one GPU ({uuid}), where kernels of two processes do not run at "
            f"the same time: take a GPU for each rank, or one process with devices=[{ordinal}], "
            f"or {messages[0].body['setting']}"
        )
    lanes = sum(len(lanes_of_rank(bundle, rank)) for rank in ranks)
    if lanes > messages[ranks[0]].body["sms"]:
        raise UnsupportedError(
            f"ranks {names} are on one GPU ({uuid}) with {messages[ranks[0]].body['sms']} SMs, and "
            f"have {lanes} lanes: compile the program with devices=[{ordinal}] in one process, "
            "which gives each rank a share of the SMs, then load the bundle in each rank"
        )


def peer_problem(
    api: GpuApi, messages: ControlMessages, rank: int, domains: Sequence[int] = ()
) -> str | None:
    """Returns the reason why the GPU of this rank cannot access the GPU of another rank.

    Returns None if it can access the GPUs of all ranks of its domain. A GPU that this process does
    not see is not checked.

    Args:
        api: the API of the vendor's driver on the GPU of this rank.
        messages: the facts of all ranks.
        rank: this rank.
        domains: the NVLink domain of each rank; empty if all ranks are in one domain.
    """
    visible = {api.uuid_of(ordinal): ordinal for ordinal in range(api.device_count)}
    for message in messages:
        other = visible.get(message.body["uuid"])
        if other is None or message.body["uuid"] == messages[rank].body["uuid"]:
            continue
        if domains and domains[message.sender] != domains[rank]:
            continue
        if not api.can_access(other):
            return (
                f"the GPU of rank {rank} ({messages[rank].body['uuid']}) cannot access the memory "
                f"of the GPU of rank {message.sender} ({message.body['uuid']}): ranks need GPUs "
                "linked by NVLink or xGMI, or by PCIe with peer access"
            )
    return None


def _find_page(api: GpuApi) -> int:
    """Returns the bytes of a page of memory that processes map by file descriptors.

    Returns 1 if the vendor's driver has no such memory: legacy IPC does not need pages.
    """
    try:
        return page_size(api)
    except UnsupportedError:
        return 1

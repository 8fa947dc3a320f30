"""The bytes that ranks send to each other, for the page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from ..simulation.exchanges import Sends, find_sends, rank_of_tasks
from ..units import counted, size

if TYPE_CHECKING:
    from ..bundle import Bundle
    from ..simulation import LinkUse

# For a task that sends to more ranks, the page shows only the number of ranks.
_MOST_RANKS = 4


class Traffic:
    """The bytes and messages of an iteration between ranks."""

    def __init__(self, bundle: Bundle) -> None:
        self._ranks = rank_of_tasks(bundle)
        self._of_tasks: list[Sends] = [{} for _ in self._ranks]
        # Bytes and messages, by source and target.
        self._pairs: dict[tuple[int, int], tuple[int, int]] = {}
        instructions: list[list[int]] = bundle.tables.instructions.tolist()
        for index, sends in find_sends(bundle).items():
            task = instructions[index][1]
            for target, sent in sends.items():
                self._add(task, target, sent)

    def _add(self, task: int, target: int, sent: int) -> None:
        of_task = self._of_tasks[task]
        of_task[target] = of_task.get(target, 0) + sent
        pair = self._ranks[task], target
        before, messages = self._pairs.get(pair, (0, 0))
        self._pairs[pair] = before + sent, messages + 1

    def of_task(self, task: int) -> str:
        """Returns the traffic of a task in words, such as ``8 KiB to rank 1``; empty if the task
        sends nothing."""
        sends = self._of_tasks[task]
        if len(sends) > _MOST_RANKS:
            return f"{size(sum(sends.values()))} to {len(sends)} ranks"
        return ", ".join(f"{size(sent)} to rank {rank}" for rank, sent in sorted(sends.items()))

    def pairs(self) -> list[dict[str, Any]]:
        """Returns the pairs of ranks for the page, sorted by decreasing bytes."""
        return [
            _line(f"rank {source} to rank {target}", sent, messages)
            for (source, target), (sent, messages) in sorted(
                self._pairs.items(), key=lambda item: (-item[1][0], item[0])
            )
        ]


def describe_links(links: Sequence[LinkUse]) -> list[dict[str, Any]]:
    """Returns simulated links for the page, sorted by decreasing use."""
    return [
        _line(link.name, link.bytes, link.messages, f"{100 * link.utilisation:.1f} % busy")
        for link in sorted(links, key=lambda link: -link.busy_ns)
    ]


def _line(name: str, sent: int, messages: int, *more: str) -> dict[str, Any]:
    text = " · ".join([size(sent), counted(messages, "message"), *more])
    return {"name": name, "bytes": sent, "text": text}

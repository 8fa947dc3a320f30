"""Random schedules of a program: the work items of an exported schedule, distributed at random."""

from __future__ import annotations

import itertools
import random
import re
from dataclasses import dataclass

_LANE = re.compile(r"ark\.lane sms = \[\d+, \d+\] warps = (\[\d+, \d+\])")
_RUN = re.compile(r'ark\.run "([^"]*)".*?(\d+) vCTAs in all')
_TASK = re.compile(r'ark\.task "([^"]*)"')


@dataclass
class Schedule:
    """A program with a schedule, in parts."""

    before: str
    header: str
    after: str
    vctas: dict[str, int]
    warps: str
    sms: int


def parse(text: str) -> Schedule:
    """Parses the result of ``export_schedule(…, synchronized=False)``."""
    lines = text.splitlines()
    begin = next(i for i, line in enumerate(lines) if line.lstrip().startswith("ark.schedule "))
    indent = lines[begin][: len(lines[begin]) - len(lines[begin].lstrip())]
    end = next(i for i in range(begin, len(lines)) if lines[i] == indent + "}")
    counts = dict(_RUN.findall("\n".join(lines[begin:end])))
    # Tasks are in program order, which satisfies every dependence.
    order = [match[1] for line in lines[:begin] if (match := _TASK.search(line))]
    return Schedule(
        before="\n".join(lines[:begin]),
        header=lines[begin],
        after="\n".join(lines[end:]),
        vctas={name: int(counts[name]) for name in order if name in counts},
        warps=next(match[1] for line in lines if (match := _LANE.search(line))),
        sms=int(re.search(r"sms = (\d+)", lines[begin])[1]),  # type: ignore[index]
    )


def shuffled(schedule: Schedule, rng: random.Random) -> str:
    """Returns the program with random work items on random SMs.

    Most schedules keep the program order of tasks within a lane. In some, two items of a lane
    are swapped; the compiler refuses these where a dependence forbids it.
    """
    lanes: list[list[str]] = [[] for _ in range(schedule.sms)]
    style = rng.choice(["scattered", "one SM a task", "one SM", "reversed SMs"])
    for number, (name, count) in enumerate(schedule.vctas.items()):
        cuts = {0, count}
        if style in ("scattered", "reversed SMs"):
            cuts |= {rng.randint(0, count) for _ in range(rng.randint(0, min(count, 8)))}
        for begin, end in itertools.pairwise(sorted(cuts)):
            sm = {
                "scattered": rng.randrange(schedule.sms),
                "one SM a task": number % schedule.sms,
                "one SM": 0,
                "reversed SMs": schedule.sms - 1 - begin % schedule.sms,
            }[style]
            lanes[sm].append(f'ark.run "{name}" [{begin}, {end}]')
    longest = max(lanes, key=len)
    if rng.random() < 0.2 and len(longest) > 1:
        index = rng.randrange(len(longest) - 1)
        longest[index : index + 2] = reversed(longest[index : index + 2])
    text = [schedule.before, schedule.header]
    for sm, lane in enumerate(lanes):
        text += [f"ark.lane sms = [{sm}, {sm + 1}] warps = {schedule.warps} {{", *lane, "}"]
    return "\n".join([*text, schedule.after]) + "\n"

"""Schedules by measurement: what tasks take on the device, and which schedule is fastest.

>>> with ark.tuning.tune(program, "cpu:2", parameters={"w": w}) as tuned:
...     tuned.best.executable.save("tuned.arkbin")
>>> costs = tuned.costs
"""

from .costs import Costs, TaskCost
from .measuring import measure, measure_seconds
from .search import Candidate, Tuning, search, tune

__all__ = [
    "Candidate",
    "Costs",
    "TaskCost",
    "Tuning",
    "measure",
    "measure_seconds",
    "search",
    "tune",
]

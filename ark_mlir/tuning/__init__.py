"""Schedules by measurement: what tasks take on the device, and which schedule is fastest.

>>> tuned = ark.tuning.tune(program, "cuda", parameters=weights)
>>> tuned.best.name, tuned.gain
('profile 1', 0.19)
>>> tuned.best.executable.save("mlp.arkbin")
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

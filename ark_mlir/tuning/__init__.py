"""Tuning: measures tasks and schedules on the device, and selects the fastest schedule.

>>> print(ark.tuning.profile(program, "cpu:2", parameters={"w": w}))
mlp: ...

>>> with ark.tuning.tune(program, "cpu:2", parameters={"w": w}) as tuned:
...     tuned.best.executable.save("tuned.arkbin")
>>> costs = tuned.costs
"""

from .costs import Costs, TaskCost
from .measuring import RunTimes, measure, measure_runs, measure_seconds, zeros
from .profiling import profile
from .search import Build, Candidate, Prepare, ShowProgress, Tuning, check_options, search, tune

__all__ = [
    "Build",
    "Candidate",
    "Costs",
    "Prepare",
    "RunTimes",
    "ShowProgress",
    "TaskCost",
    "Tuning",
    "check_options",
    "measure",
    "measure_runs",
    "measure_seconds",
    "profile",
    "search",
    "tune",
    "zeros",
]

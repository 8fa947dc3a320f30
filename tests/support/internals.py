"""The private parts of executables that tests reach: the only code that knows their names.

Tests of failures and races replace or disturb parts that no user sees, such as the counters of a
kernel. These parts have no public name on purpose.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "driver_of", "is_pending", "kernel_of", "lanes_of", "ranks_of", "run_of", "runner_of",
    "storage_of",
]  # fmt: skip


def runner_of(executable: Any) -> Any:
    """Returns the runner of an executable, with its driver, its storage and its time limits."""
    return executable._runner


def is_pending(executable: Any) -> bool:
    """Returns True if a launch of an executable on cpu or cuda has not ended."""
    driver = driver_of(executable)
    return bool(driver._is_pending if hasattr(driver, "_is_pending") else driver._launch)


def driver_of(executable: Any) -> Any:
    """Returns the driver of an executable, which launches its kernel."""
    return runner_of(executable).driver


def storage_of(executable: Any) -> Any:
    """Returns the storage of an executable: its states, parameters and arena."""
    return runner_of(executable).storage


def kernel_of(driver: Any) -> Any:
    """Returns the loaded kernel of a driver, with its counters and its report."""
    return driver._kernel


def lanes_of(driver: Any) -> Any:
    """Returns the threads of a driver for cpu, or None when all of them have ended."""
    return driver._lanes


def run_of(driver: Any) -> Any:
    """Returns the run that the lanes of a driver for cpu execute, or the last one."""
    return driver._run


def ranks_of(driver: Any) -> Any:
    """Returns the drivers of the ranks of a world on several GPUs."""
    return driver._ranks

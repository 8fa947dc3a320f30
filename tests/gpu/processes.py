"""Processes that are ranks, and the number of GPUs for them."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest

import ark_mlir as ark
from ark_mlir.runtime.cuda.api import count_devices
from ark_mlir.runtime.hip.survey import survey

Launch = Callable[..., "list[Any]"]


def count_gpus() -> int:
    """Returns the number of GPUs of NVIDIA, or else those of AMD; zero without a driver."""
    for count in (count_devices, lambda: len(survey().gpus)):
        try:
            return count()
        except ark.UnsupportedError:
            continue  # the machine has GPUs of the other vendor, or none
    return 0


two_gpus = pytest.mark.skipif(
    count_gpus() < 2, reason="needs two GPUs that access each other's memory (NVLink, xGMI)"
)


def read_result(process: subprocess.Popen[str]) -> Any:
    output, errors = process.communicate(timeout=240)
    if process.returncode > 0:
        pytest.fail(errors[-2000:])
    return process.returncode or json.loads(output.splitlines()[-1])

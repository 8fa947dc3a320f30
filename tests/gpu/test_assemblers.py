"""Kernels assembled by nvJitLink, and kernels that NVIDIA's driver assembles from PTX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

pytestmark = pytest.mark.gpu

Load = Callable[[str], ark.Executable]
Read = Callable[[str], dict[str, Any]]
# NVIDIA's driver checks at once that PTX for sm_90a fits the GPU. PTX for sm_80 runs on any later
# GPU.
BUNDLES = ["nvjitlink", "driver", "driver-sm_80", "no-libdevice"]


@pytest.mark.parametrize("name", BUNDLES)
def test_outputs_are_within_bounds(name: str, load: Load, read_arrays: Read) -> None:
    executable = load(f"assemblers/{name}")
    arrays = read_arrays(f"assemblers/{name}")
    values = {k.removeprefix("input."): v for k, v in arrays.items() if k.startswith("input.")}
    executable.bind({"w": values.pop("w")})
    for _ in range(3):
        got = executable.run(**values)
        for output in executable.outputs:
            expected, bound = (arrays[f"{kind}.{output.name}"] for kind in ("output", "bound"))
            error = np.abs(got[output.name].astype(np.float64) - expected)
            assert (error <= bound).all(), output.name


def test_the_report_names_the_assembler(load: Load) -> None:
    made = load("assemblers/nvjitlink").report()
    assert made.assembler == "nvjitlink"
    assert made.registers is not None
    left = load("assemblers/driver").report()
    assert (left.assembler, left.registers) == ("driver", None)

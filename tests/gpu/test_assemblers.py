"""Kernels that nvJitLink made, and such that the driver makes of PTX."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

pytestmark = pytest.mark.gpu

Load = Callable[[str], ark.Executable]
Read = Callable[[str], dict[str, Any]]
# Of what is for sm_90a the driver says at once whether it is; sm_80's goes to any later GPU.
BUNDLES = ["nvjitlink", "driver", "driver-sm_80", "no-libdevice"]


@pytest.mark.parametrize("name", BUNDLES)
def test_what_it_computes(name: str, load: Load, read_arrays: Read) -> None:
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


def test_the_report_says_who_made_it(load: Load) -> None:
    made = load("assemblers/nvjitlink").report()
    assert made.assembler == "nvjitlink"
    assert made.registers is not None
    left = load("assemblers/driver").report()
    assert (left.assembler, left.registers) == ("driver", None)

"""The comparison of compiled programs with the interpreter."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from small_programs import Agree, Arrays, Pick

import ark_mlir as ark


@pytest.fixture(scope="session")
def agree(pick_target: Pick) -> Agree:
    """``agree(source, inputs, parameters, target)`` checks that the compiled program gives the
    shape, dtype and values of the interpreter."""

    def check(
        source: Any, inputs: Arrays, parameters: Arrays | None = None, target: str = "cpu:2"
    ) -> None:
        expected = ark.reference.run(source, {**inputs, **(parameters or {})})
        with ark.compile(source, target=pick_target(target)) as executable:
            if parameters:
                executable.bind(parameters)
            got = executable.run(inputs)
        assert got.keys() == expected.keys()
        for name, value in expected.items():
            assert got[name].shape == value.shape
            np.testing.assert_allclose(got[name], value, rtol=1e-4, atol=1e-5)

    return check

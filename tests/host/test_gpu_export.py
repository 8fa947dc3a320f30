"""`make gpu-bundles` stores values and bounds as fp32; stored bounds are no tighter than the
originals, and little wider.
"""

from __future__ import annotations

import numpy as np
import pytest
from compact import compact

from ark_mlir.testing.bounds import assert_within


def test_values_and_bounds_take_less_room() -> None:
    rng = np.random.default_rng(0)
    value = rng.standard_normal(1000)
    bound = np.abs(rng.standard_normal(1000)) * 1e-3
    stored, wider = compact(value, bound)
    assert stored.dtype == wider.dtype == np.float32
    assert (np.abs(stored - value) + bound <= wider).all()
    assert (wider <= 1.01 * bound + 1e-7).all()
    for got in (value + bound, value - bound):
        assert_within(got, stored, wider, "y")
    with pytest.raises(AssertionError, match="1000 of 1000"):
        assert_within(value + 1.02 * bound + 2e-7, stored, wider, "y")


def test_exact_and_special_values_stay() -> None:
    value = np.array([0.0, 1.5, np.inf, -np.inf, np.nan, 7.0])
    bound = np.array([0.0, 0.0, 0.0, 0.0, 0.0, np.inf])
    stored, wider = compact(value, bound)
    np.testing.assert_array_equal(stored, value)
    np.testing.assert_array_equal(wider, bound)
    integers = np.array([2**60 + 1])
    np.testing.assert_array_equal(compact(integers, np.zeros(1))[0], integers)
    # A value beyond the range of fp32 does not become infinity.
    large, _ = compact(np.array([1e300]), np.zeros(1))
    assert large[0] == 1e300

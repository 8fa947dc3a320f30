"""`make test` samples tests that take long; each of their names is that of a test."""

from __future__ import annotations

import re

import pytest

from .conftest import HOST, SAMPLED


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_tests_exist(name: str) -> None:
    path, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (HOST / path).read_text(encoding="utf-8"), re.MULTILINE)


def test_the_first_mutants_of_kernels_run_in_make_test() -> None:
    """docs/reliability.md states that `make test` runs a part of each long test."""
    name = "emulation/test_mutants.py::test_mutants_are_caught"
    assert SAMPLED[name] > 0
    text = (HOST / name.partition("::")[0]).read_text(encoding="utf-8")
    assert re.search(r"^SLICES = \{\n    \"states\": \{\"states\": 1\},\n", text, re.MULTILINE)

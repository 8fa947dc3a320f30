"""`make test` samples tests that take long; each of their names is that of a test."""

from __future__ import annotations

import re

import pytest

from .conftest import HOST, SAMPLED


@pytest.mark.parametrize("name", SAMPLED)
def test_sampled_tests_exist(name: str) -> None:
    path, _, function = name.partition("::")
    assert re.search(rf"^def {function}\(", (HOST / path).read_text(encoding="utf-8"), re.MULTILINE)

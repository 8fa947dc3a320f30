"""Fixtures of the frontend's tests."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

import ark_mlir as ark


@pytest.fixture
def program() -> Any:
    """Returns an open program, which is never verified."""
    result = ark.Program("test")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(result, "_close", lambda: None)
        with result:
            yield result


@pytest.fixture
def refuses() -> Callable[..., ark.InvalidUsageError]:
    """Calls a function and checks that it raises an error at the line of the function."""

    def check(function: Callable[[], object], *fragments: str) -> ark.InvalidUsageError:
        with pytest.raises(ark.InvalidUsageError) as caught:
            function()
        text = str(caught.value)
        for fragment in fragments:
            assert fragment in text, text
        line = inspect.getsourcelines(function)[1]
        assert text.startswith(f"{__file__.replace('conftest.py', '')}"), text
        assert f":{line}: " in text, f"{text} is not about line {line}"
        return caught.value

    return check

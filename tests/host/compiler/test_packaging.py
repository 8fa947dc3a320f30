"""Limits of the bundle format, which the compiler checks before it makes machine code.

A kernel above a limit could be refused only by the reader of the finished bundle, after minutes.
"""

from __future__ import annotations

import pytest

import ark_mlir as ark
from ark_mlir.compiler import bundles, packaging


def _program() -> ark.Program:
    with ark.Program("sums") as program:
        x = ark.input("x", (8, 8), ark.fp32)
        ark.output("y", ark.matmul(ark.matmul(x, x), x))
    return program


@pytest.mark.parametrize(
    ("limit", "name"), [("MAX_INTERMEDIATES", "intermediates"), ("MAX_SLOTS", "buffers")]
)
def test_values_above_a_limit(monkeypatch: pytest.MonkeyPatch, limit: str, name: str) -> None:
    def emit(*_: object) -> None:
        pytest.fail("machine code was made before the check")

    monkeypatch.setattr(bundles, "_emit", emit)
    monkeypatch.setattr(packaging, limit, 0)
    with pytest.raises(ark.UnsupportedError, match=rf"{name} on all ranks; a bundle can") as info:
        ark.compile(_program(), target="cpu", cache=False)
    assert "compile fewer ranks" in str(info.value)

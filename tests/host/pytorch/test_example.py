"""examples/torch_module.py."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")
pytest.importorskip("torch", reason="torch is not installed")


def test_it_prints_the_difference_to_pytorch(run_example: Callable[[str], str]) -> None:
    last = "largest difference from PyTorch, compiled: "
    assert run_example("torch_module").startswith(last)

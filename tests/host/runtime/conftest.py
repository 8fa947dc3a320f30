"""A real kernel for the runtime's tests, compiled from C, and programs to run with it."""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from ark_mlir.runtime import Executable
from ark_mlir.testing.toy import ToyProgram, add_program, compile_kernel, compiler

Make = Callable[..., Executable]


@pytest.fixture(scope="session")
def kernel() -> bytes:
    if compiler() is None:
        pytest.skip("needs a C compiler for the kernel that stands in for a compiled one")
    return compile_kernel()


@pytest.fixture
def make(kernel: bytes) -> Iterator[Make]:
    """``make(program, trace=False)`` gives an executable, closed after the test."""
    made: list[Executable] = []

    def build(program: ToyProgram, **options: Any) -> Executable:
        made.append(Executable.from_parts(*program.parts(kernel, **options)).prepare())
        return made[-1]

    yield build
    for executable in made:
        executable.close()


@pytest.fixture
def add(make: Make) -> Executable:
    """``y = (x + w) + 0.5`` of fp32 ``[8, 16]``, bound to w = 1."""
    return make(add_program()).bind({"w": np.ones(128, np.float32)})


@pytest.fixture
def x() -> np.ndarray[Any, Any]:
    return np.arange(128, dtype=np.float32).reshape(8, 16)


@pytest.fixture
def lane_threads() -> Callable[[], int]:
    """How many threads of lanes are alive, besides those from before the test."""

    def count() -> int:
        gc.collect()
        return sum(thread.name.startswith("ark:") for thread in threading.enumerate())

    before = count()
    return lambda: count() - before

"""Programs from functions, random arrays, and the types of fixtures that several tests share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import ark_mlir as ark

Array = np.ndarray[Any, Any]
Arrays = dict[str, Array]
Agree = Callable[..., None]
Body = Callable[[], object]
Pick = Callable[[str], str]


def build(body: Body, name: str = "odd") -> ark.Program:
    with ark.Program(name) as program:
        body()
    return program


def random(*shape: int) -> Array:
    return np.random.default_rng(len(shape)).standard_normal(shape).astype(np.float32)

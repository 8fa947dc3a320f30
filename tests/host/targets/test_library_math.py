"""The functions that replace a maths library, compiled for this machine's processor, are within one
unit in the last place of numpy's in float64, and equal C's results for special values.
"""

from __future__ import annotations

import ctypes
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

from ark_mlir import ir
from ark_mlir._mlir_libs import _ark  # noqa: TID251 - code generation is the extension's
from ark_mlir.passmanager import PassManager
from ark_mlir.targets.linker import link

Array = np.ndarray[Any, Any]
FUNCTIONS = {"sin": np.sin, "cos": np.cos, "powf": np.power}
SPECIAL = np.array(
    [0, 1, 2, 3, 0.5, 1.5, 20, 1e-45, 1e-38, 16777215, 16777216, 3.4e38, np.inf, np.nan], np.float32
)
LOOP = """
func.func @{name}(%x: memref<?xf32>, %y: memref<?xf32>, %z: memref<?xf32>) {{
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %n = memref.dim %x, %zero : memref<?xf32>
  scf.for %i = %zero to %n step %one {{
    %a = memref.load %x[%i] : memref<?xf32>
    %b = memref.load %y[%i] : memref<?xf32>
    %c = math.{name} {operands} : f32
    memref.store %c, %z[%i] : memref<?xf32>
  }}
  return
}}
"""
PASSES = (
    "builtin.module(func.func(ark-expand-math{library=false fma=false}),expand-strided-metadata,"
    "convert-scf-to-cf,convert-math-to-llvm,finalize-memref-to-llvm,convert-arith-to-llvm,"
    "convert-func-to-llvm,convert-cf-to-llvm,reconcile-unrealized-casts)"
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    text = "".join(
        LOOP.format(name=name, operands="%a, %b" if name == "powf" else "%a") for name in FUNCTIONS
    )
    with ir.Context(), ir.Location.unknown():
        module = ir.Module.parse(text)
        PassManager.parse(PASSES).run(module.operation)
        assert "math." not in str(module)
        # Processors before SSE 4.1 call the maths library for rounding.
        code = _ark.translate_to_object(module, triple=_ark.host_triple(), cpu=_ark.host_cpu()[0])
    path = Path(tmp_path_factory.mktemp("math"), "math.so")
    path.write_bytes(link(code))
    return ctypes.CDLL(str(path))


def call(library: ctypes.CDLL, name: str, x: Array, y: Array) -> Array:
    result = np.empty_like(x)
    arguments: list[ctypes.c_void_p | ctypes.c_int64] = []
    for array in (x, y, result):
        address = ctypes.c_void_p(array.ctypes.data)
        arguments += [address, address, *map(ctypes.c_int64, (0, array.size, 1))]
    getattr(library, name)(*arguments)
    return result


def angles(rng: np.random.Generator) -> Array:
    """Returns angles of all magnitudes, and next to multiples of pi / 2."""
    anywhere = rng.integers(0, 1 << 32, 300_000, np.uint32).view(np.float32)
    near = (np.arange(100_000) * (np.pi / 2)).astype(np.float32)
    return np.concatenate([anywhere, near, SPECIAL, -SPECIAL])


def bases(rng: np.random.Generator) -> tuple[Array, Array]:
    """Returns pairs of all magnitudes, near one, and with special values."""
    x = rng.integers(0, 1 << 32, (2, 200_000), np.uint32).view(np.float32)
    near = (1 + rng.standard_normal(200_000) * 1e-4).astype(np.float32)
    large = (rng.standard_normal(200_000) * 3e4).astype(np.float32)
    usual = np.exp(rng.standard_normal(200_000) * 3).astype(np.float32)
    small = (rng.standard_normal(200_000) * 5).astype(np.float32)
    special = np.concatenate([SPECIAL, -SPECIAL])
    pairs = np.stack(np.meshgrid(special, special)).reshape(2, -1)
    return (
        np.concatenate([x[0], near, usual, pairs[0]]),
        np.concatenate([x[1], large, small, pairs[1]]),
    )


def exact(name: str, x: Array, y: Array) -> Array:
    with np.errstate(all="ignore"):
        wide = x.astype(np.longdouble)
        if name == "powf":
            return np.power(wide, y.astype(np.longdouble)).astype(np.float64)
        return FUNCTIONS[name](x.astype(np.float64))


@pytest.mark.parametrize("name", FUNCTIONS)
def test_within_a_unit_in_the_last_place(library: ctypes.CDLL, name: str) -> None:
    rng = np.random.default_rng(0)
    x, y = bases(rng) if name == "powf" else (angles(rng), np.zeros(0, np.float32))
    y = y if y.size else x
    found, wanted = call(library, name, x, y), exact(name, x, y)
    with np.errstate(all="ignore"):
        rounded = wanted.astype(np.float32)
        special = ~np.isfinite(rounded) | (rounded == 0)
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(found.astype(np.float64) - wanted) / unit
    np.testing.assert_array_equal(found[special], rounded[special])
    np.testing.assert_array_equal(
        np.signbit(found[special & (rounded == 0)]), np.signbit(rounded[special & (rounded == 0)])
    )
    assert np.max(error[~special]) <= 1

"""Casts between all pairs of dtypes, bit by bit, for all values that may behave differently.

numpy and ml_dtypes define casts to narrower floats: they round to the nearest value, ties to even.
A value that is too large becomes infinity, or NaN in a dtype without infinity.
"""

from __future__ import annotations

import platform
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir.dtypes import DType

Array = np.ndarray[Any, Any]
Pick = Callable[[str], str]
EVERY = ark.dtypes.ALL
IS_X86 = platform.machine() in ("x86_64", "AMD64")
# Features that this machine's processor may have and these processors lack.
PROCESSORS = ("baseline", "x86-64-v3") if IS_X86 else ("baseline",)


def values_of(dtype: DType) -> Array:
    """Returns all values of a type of up to 16 bits, or samples of every kind of a wider type."""
    if dtype.kind == "bool":
        return np.array([False, True])
    bits = 8 * dtype.itemsize
    if bits <= 16:
        return np.arange(2**bits).astype(f"u{dtype.itemsize}").view(dtype.numpy)
    rng = np.random.default_rng(bits)
    patterns = rng.integers(0, 2**bits, 4000, np.uint64, endpoint=False)
    powers = np.uint64(1) << np.arange(bits, dtype=np.uint64)
    near = np.concatenate([powers + np.uint64(d % 2**64) for d in (-2, -1, 0, 1, 2)])
    patterns = np.concatenate([patterns, near, ~near, near >> np.uint64(5), small(rng)])
    if dtype.is_float:
        return np.concatenate([patterns.astype("u4").view(np.float32), ties()])
    return patterns.astype(f"u{dtype.itemsize}").view(dtype.numpy)


def small(rng: np.random.Generator) -> Array:
    """Returns integers in about the range of narrow floats."""
    return rng.integers(-70000, 70000, 2000).astype(np.int64).view(np.uint64)


def ties() -> Array:
    """Returns every number of the narrow floats, the midpoints between neighbours, and values next
    to these."""
    parts: list[Array] = []
    for dtype in (ark.fp16, ark.bf16, ark.fp8_e4m3, ark.fp8_e5m2):
        numbers = np.sort(values_of(dtype).astype(np.float32))
        numbers = numbers[np.isfinite(numbers)][:: 1 if dtype.itemsize == 1 else 37]
        half = (numbers[1:] / 2 + numbers[:-1] / 2).astype(np.float32)
        with np.errstate(over="ignore"):
            beyond = numbers[-1] * np.array([1.03, 1.035, 1.1, 1.25], np.float32)
        for group in (numbers, half, beyond, -beyond):
            parts += [group, np.nextafter(group, np.float32(np.inf)), np.nextafter(group, -1)]
    return np.concatenate(parts).astype(np.float32)


def expected(program: ark.Program, x: Array, dtype: DType, name: str) -> Array:
    with np.errstate(all="ignore"):
        return ark.reference.run(program, {"x": x})[name].astype(dtype.numpy)


def assert_equal_bits(x: Array, got: Array, want: Array) -> None:
    """Compares bits, including signs of zeros; all NaNs are equal."""
    assert got.dtype == want.dtype
    unsigned = f"u{want.dtype.itemsize}"
    same = got.view(unsigned) == want.view(unsigned)
    if want.dtype.kind not in "iub":
        same |= np.isnan(got.astype(np.float32)) & np.isnan(want.astype(np.float32))
    different = np.flatnonzero(~same)
    assert not len(different), (
        "\n".join(f"{x[i]!r} becomes {got[i]!r}, not {want[i]!r}" for i in different[:8])
        + f"\n{len(different)} of {len(x)}"
    )


@pytest.mark.parametrize("source", EVERY, ids=str)
def test_casts(source: DType, pick_target: Pick) -> None:
    x = values_of(source)
    with ark.Program("casts") as program:
        tensor = ark.input("x", x.shape, source)
        for dtype in EVERY:
            ark.output(dtype.name, ark.cast(tensor, dtype))
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(x=x)
    for dtype in EVERY:
        assert_equal_bits(x, got[dtype.name], expected(program, x, dtype, dtype.name))


@pytest.mark.parametrize("source", EVERY, ids=str)
def test_casts_between_other_ops(source: DType, pick_target: Pick) -> None:
    """In a fused body, a cast still rounds to its own dtype."""
    x = values_of(source)[:999]
    with ark.Program("casts") as program:
        tensor = ark.input("x", x.shape, source)
        for dtype in EVERY:
            there = ark.cast(tensor, dtype)
            ark.output(dtype.name, ark.cast(there, ark.fp32))
    with ark.compile(program, target=pick_target("cpu:2")) as executable:
        got = executable.run(x=x)
    for dtype in EVERY:
        with ark.Program("cast") as one:
            ark.output("y", ark.cast(ark.input("x", x.shape, source), dtype))
        want = expected(one, x, dtype, "y").astype(np.float32)
        assert_equal_bits(x, got[dtype.name], want)


@pytest.mark.parametrize("lanes", PROCESSORS)
def test_casts_on_other_processors(lanes: str) -> None:
    """Casts on processors without fp16 instructions, and with narrower vectors."""
    x = ties()
    with ark.Program("casts") as program:
        tensor = ark.input("x", x.shape, ark.fp32)
        narrow = [d for d in EVERY if d.is_float and d is not ark.fp32]
        for dtype in narrow:
            ark.output(dtype.name, ark.cast(tensor, dtype))
            ark.output(f"{dtype.name} back", ark.cast(ark.cast(tensor, dtype), ark.fp8_e5m2))
    with ark.compile(program, target="cpu:2", cpu=lanes) as executable:
        got = executable.run(x=x)
    for dtype in narrow:
        want = expected(program, x, dtype, dtype.name)
        assert_equal_bits(x, got[dtype.name], want)
        with np.errstate(all="ignore"):
            twice = want.astype(ark.fp8_e5m2.numpy)
        assert_equal_bits(x, got[f"{dtype.name} back"], twice)

"""Results that other SMs receive as packets, for all kinds of code that sends packets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import ark_mlir as ark

Check = Callable[..., Any]
SEND, MMA = "st.relaxed.gpu.global.u32", "mma.m16n8k16"


def random_arrays(shapes: dict[str, tuple[int, ...]], dtype: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        name: (random.standard_normal(shape) * shape[-1] ** -0.5).astype(dtype.numpy)
        for name, shape in shapes.items()
    }


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
@pytest.mark.parametrize("depth", [32, 64])
def test_attention_of_blocks_of_rows(depth: int, arch: str, check: Check) -> None:
    """Sixteen heads share their keys: a block of rows with neighbouring columns."""
    dtype = ark.bf16
    heads, keys, width = 32, 16, 64
    shapes = {
        "q": (1, heads, 1, depth),
        "k": (1, 2, keys, depth),
        "v": (1, 2, keys, depth),
        "w": (width, heads * depth),
    }
    with ark.Program("attention") as program:
        q, k, v = (ark.input(name, shapes[name], dtype) for name in "qkv")
        w = ark.parameter("w", shapes["w"], dtype)
        rows = ark.reshape(ark.attention(q, k, v), (1, heads * depth))
        ark.output("y", ark.matmul(rows, w, transpose_other=True))
    emulation = check(program, random_arrays(shapes, dtype), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    assert SEND in emulation.text


@pytest.mark.parametrize("arch", ["sm_90a", "sm_80"])
def test_products_by_tensor_cores(arch: str, check: Check) -> None:
    """An mma computes eight rows, and the next product polls for them."""
    dtype = ark.bf16
    shapes = {"x": (8, 256), "v": (256, 256), "w": (128, 256)}
    with ark.Program("products") as program:
        x = ark.input("x", shapes["x"], dtype)
        for name in "vw":
            w = ark.parameter(name, shapes[name], dtype)
            x = ark.silu(ark.matmul(x, w, transpose_other=True))
        ark.output("y", x)
    emulation = check(program, random_arrays(shapes, dtype), arch=arch)
    assert emulation.executable.bundle.manifest.packets
    assert SEND in emulation.text
    assert MMA in emulation.text

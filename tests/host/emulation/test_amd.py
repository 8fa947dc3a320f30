"""Kernels for AMD GPUs: the whole kernel runs in the emulator, with waves of 64 threads.

The layouts of matrix instructions in the emulator are those of AMD's documents.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_case import Case
from op_cases import CASES, build, make_inputs
from small_decoders import CONFIG, LENGTH, make_arrays

import ark_mlir as ark
from ark_mlir.models.decoder import build_decode, build_prefill
from ark_mlir.models.encoder import EncoderConfig
from ark_mlir.models.encoder import build as build_encoder

Check = Callable[..., Any]
Shape = tuple[int, int, int]
MFMA, MFMA_I32 = "llvm.amdgcn.mfma.f32", "llvm.amdgcn.mfma.i32"


ARCHITECTURES = ("gfx90a", "gfx942", "gfx950")
# Each case of the ops with each of its dtypes; architectures alternate.
OPS = [
    pytest.param(case, dtype, ARCHITECTURES[(number + index) % 3], id=f"{name}-{dtype.name}")
    for number, (name, case) in enumerate(CASES.items())
    for index, dtype in enumerate(case.dtypes)
]


def product(
    shape: Shape, tile: tuple[int, int] | None, dtype: Any, *, across: str = ""
) -> ark.Program:
    """A product whose operands named in ``across`` ("x", "w") have rows that lie across K."""
    m, n, k = shape
    with ark.Program("product") as program, ark.planner(tile=tile):
        x = ark.input("x", (k, m) if "x" in across else (m, k), dtype)
        w = ark.parameter("w", (k, n) if "w" in across else (n, k), dtype)
        y = ark.matmul(x, w, transpose_input="x" in across, transpose_other="w" not in across)
        ark.output("y", y)
    return program


def draw(**shapes: Any) -> dict[str, Any]:
    random = np.random.default_rng(0)
    return {
        name: random.standard_normal(shape).astype(dtype.numpy)
        for name, (shape, dtype) in shapes.items()
    }


@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
def test_a_tile_of_matrix_instructions(arch: str, dtype: Any, check: Check) -> None:
    m, n, k = shape = (256, 128, 192)
    emulation = check(
        product(shape, (128, 128), dtype), draw(x=((m, k), dtype), w=((n, k), dtype)), arch=arch
    )
    assert MFMA in emulation.text


@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((250, 130, 72), (128, 128)),
        ((200, 203, 328), (128, 128)),
        ((130, 70, 256), (64, 64)),
        ((33, 130, 256), None),
        ((8, 256, 256), None),
        ((3, 50, 2048), None),
    ],
)
def test_clipped_tiles_and_few_rows(
    shape: Shape, tile: tuple[int, int] | None, check: Check
) -> None:
    """Rows and columns beyond the result, and chunks beyond K."""
    m, n, k = shape
    arrays = draw(x=((m, k), ark.bf16), w=((n, k), ark.bf16))
    assert MFMA in check(product(shape, tile, ark.bf16), arrays, arch="gfx942").text


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("dtype", [ark.bf16, ark.fp16], ids=["bf16", "fp16"])
@pytest.mark.parametrize("across", ["w", "x", "xw"])
@pytest.mark.parametrize(
    ("shape", "tile"),
    [
        ((256, 128, 256), (256, 128)),
        ((256, 128, 192), (128, 64)),
        ((200, 136, 136), (128, 128)),
        ((136, 72, 256), (64, 64)),
        ((16, 128, 256), (16, 64)),
        ((24, 64, 136), (24, 64)),
    ],
)
def test_rows_across_k(
    shape: Shape, tile: tuple[int, int], across: str, dtype: Any, arch: str, check: Check
) -> None:
    """Weights [K, N], and activations [K, M]: threads transpose the stages in registers."""
    m, n, k = shape
    arrays = draw(
        x=((k, m) if "x" in across else (m, k), dtype),
        w=((k, n) if "w" in across else (n, k), dtype),
    )
    assert MFMA in check(product(shape, tile, dtype, across=across), arrays, arch=arch).text


@pytest.mark.parametrize("arch", ["gfx90a", "gfx942", "gfx950"])
@pytest.mark.parametrize("tile", [(48, 64), (256, 128)])
def test_small_and_large_tiles(tile: tuple[int, int], arch: str, check: Check) -> None:
    """The instructions have 16 or 32 rows, and gfx950 has deeper ones."""
    m, n, k = 2 * tile[0], tile[1], 128
    arrays = draw(x=((m, k), ark.bf16), w=((n, k), ark.bf16))
    text = check(product((m, n, k), tile, ark.bf16), arrays, arch=arch).text
    assert f"{MFMA}.{16 if tile[0] == 48 else 32}x" in text
    assert ("x32.bf16" in text or "x16.bf16" in text) == (arch == "gfx950")


def integers(
    shape: Shape, tile: tuple[int, int] | None, out_dtype: Any = ark.int32
) -> tuple[ark.Program, dict[str, Any]]:
    """A product of int8, and arrays with the least and the largest numbers."""
    m, n, k = shape
    random = np.random.default_rng(0)
    with ark.Program("product") as program, ark.planner(tile=tile):
        x, w = ark.input("x", (m, k), ark.int8), ark.parameter("w", (n, k), ark.int8)
        ark.output("y", ark.matmul(x, w, transpose_other=True, out_dtype=out_dtype))
    arrays = {name: random.integers(-128, 128, (rows, k)) for name, rows in (("x", m), ("w", n))}
    return program, {name: array.astype(np.int8) for name, array in arrays.items()}


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("rows", [1, 16, 100, 256])
def test_products_of_int8(rows: int, arch: str, check: Check) -> None:
    """All sums are exact. One row is multiplied without matrix instructions."""
    program, arrays = integers((rows, 136, 320), None)
    assert (f"{MFMA_I32}." in check(program, arrays, arch=arch).text) == (rows > 1)


@pytest.mark.parametrize("arch", ARCHITECTURES)
@pytest.mark.parametrize("tile", [(48, 64), (256, 128)])
def test_tiles_of_int8(tile: tuple[int, int], arch: str, check: Check) -> None:
    """Threads store stages of 64 and 128 bytes along K. Each architecture has deeper
    instructions than the one before."""
    m, n, k = tile[0], tile[1], 448
    program, arrays = integers((m, n, k), tile)
    text = check(program, arrays, arch=arch).text
    deep, large = {"gfx90a": "16x16x16", "gfx942": "16x16x32", "gfx950": "16x16x64"}, tile[0] == 256
    if large:
        deep = {"gfx90a": "32x32x8", "gfx942": "32x32x16", "gfx950": "32x32x32"}
    assert f"{MFMA_I32}.{deep[arch]}" in text


@pytest.mark.parametrize("rows", [3, 200])
def test_sums_of_int8_wrap(rows: int, check: Check) -> None:
    """The lowest 8 bits of the sums."""
    program, arrays = integers((rows, 70, 192), None, out_dtype=None)
    assert MFMA_I32 in check(program, arrays, arch="gfx942").text


def test_quantized_activations(check: Check) -> None:
    """Elementwise ops read the sums in registers: scales of rows and columns."""
    m, n, k = 128, 128, 256
    random = np.random.default_rng(0)
    with ark.Program("layer") as program, ark.planner(tile=(128, 128)):
        x, w = ark.input("x", (m, k), ark.int8), ark.parameter("w", (n, k), ark.int8)
        rows, columns = ark.input("rows", (m, 1)), ark.parameter("columns", (n,))
        sums = ark.matmul(x, w, transpose_other=True, out_dtype=ark.int32)
        ark.output("y", ark.cast(ark.cast(sums, ark.fp32) * rows * columns, ark.bf16))
    arrays = draw(rows=((m, 1), ark.fp32), columns=((n,), ark.fp32))
    arrays["x"], arrays["w"] = (
        random.integers(-128, 128, shape).astype(np.int8) for shape in ((m, k), (n, k))
    )
    assert MFMA_I32 in check(program, arrays, arch="gfx942").text


@pytest.mark.parametrize("dtype", [ark.fp8_e4m3, ark.fp8_e5m2], ids=str)
@pytest.mark.parametrize(
    ("shape", "tile"),
    [((16, 130, 256), None), ((100, 96, 264), (16, 32)), ((256, 128, 320), (256, 128))],
)
def test_products_of_fp8(
    shape: Shape, tile: tuple[int, int] | None, dtype: Any, check: Check
) -> None:
    """gfx950 has instructions for these types, which take 16 elements of K at once; other products
    are those of fp16."""
    m, n, k = shape
    arrays = draw(x=((m, k), dtype), w=((n, k), dtype))
    name = "fp8.fp8" if dtype is ark.fp8_e4m3 else "bf8.bf8"
    text = check(product(shape, tile, dtype), arrays, arch="gfx950").text
    assert (name in text) == (k % 16 == 0)
    assert ("x16f16" in text) == (k % 16 != 0)


def test_fp8_is_widened_on_gfx942(check: Check) -> None:
    """The instructions of gfx942 read the bits of fp8 as other numbers."""
    arrays = draw(x=((16, 128), ark.fp8_e4m3), w=((64, 128), ark.fp8_e4m3))
    text = check(product((16, 64, 128), None, ark.fp8_e4m3), arrays, arch="gfx942").text
    assert f"{MFMA}.16x16x16f16" in text
    assert "fp8.fp8" not in text


def test_a_product_of_one_tile(check: Check) -> None:
    """The accumulators of a task of one vCTA stay in registers, too: LDS has no room for them."""
    arrays = draw(x=((256, 128), ark.bf16), w=((128, 128), ark.bf16))
    assert MFMA in check(product((256, 128, 128), (256, 128), ark.bf16), arrays, arch="gfx942").text


def test_batches_of_products(check: Check) -> None:
    with ark.Program("batches") as program, ark.planner(tile=(1, 64, 64)):
        x, w = ark.input("x", (3, 128, 128), ark.fp16), ark.input("w", (3, 96, 128), ark.fp16)
        ark.output("y", ark.matmul(x, w, transpose_other=True))
    arrays = draw(x=((3, 128, 128), ark.fp16), w=((3, 96, 128), ark.fp16))
    assert MFMA in check(program, arrays, arch="gfx942").text


def test_an_epilogue_on_accumulators(check: Check) -> None:
    m, n, k = 256, 256, 128
    with ark.Program("layer") as program, ark.planner(tile=(128, 128)):
        x, w = ark.input("x", (m, k), ark.bf16), ark.parameter("w", (n, k), ark.bf16)
        bias, more = ark.parameter("bias", (n,), ark.bf16), ark.input("more", (m, n), ark.bf16)
        ark.output("y", ark.gelu(ark.matmul(x, w, transpose_other=True) + bias) + more)
    arrays = draw(
        x=((m, k), ark.bf16), w=((n, k), ark.bf16), bias=((n,), ark.bf16), more=((m, n), ark.bf16)
    )
    assert MFMA in check(program, arrays, arch="gfx942").text


def test_products_that_read_products(check: Check) -> None:
    """Waves of other CTAs read what a CTA has written: the release waits for the stores."""
    with ark.Program("chain") as program:
        x = ark.input("x", (64, 128), ark.bf16)
        for name in ("v", "w"):
            weight = ark.parameter(name, (128, 128), ark.bf16)
            x = ark.relu(ark.matmul(x, weight, transpose_other=True))
        ark.output("y", x)
    arrays = draw(x=((64, 128), ark.bf16), v=((128, 128), ark.bf16), w=((128, 128), ark.bf16))
    assert MFMA in check(program, arrays, arch="gfx942").text


def test_a_thread_for_each_result(check: Check) -> None:
    """Threads beyond the last result of a tile do not read it, since its owner stores it."""
    case = CASES["matmul of 150 rows and 136 of 8 bits"]
    check(build(case, ark.bf16), make_inputs(case, ark.bf16), arch="gfx950")


@pytest.mark.parametrize(("case", "dtype", "arch"), OPS)
def test_op(case: Case, dtype: ark.DType, arch: str, check: Check) -> None:
    check(build(case, dtype), make_inputs(case, dtype), arch=arch)


@pytest.mark.parametrize(
    ("batch", "arch"), [(1, "gfx90a"), (1, "gfx942"), (1, "gfx950"), (3, "gfx942"), (3, "gfx950")]
)
def test_one_token_of_a_decoder(batch: int, arch: str, check: Check) -> None:
    program = build_decode(CONFIG, batch=batch, max_length=LENGTH)
    check(program, make_arrays(program), arch=arch)


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_a_prompt_of_a_decoder(arch: str, check: Check) -> None:
    program = build_prefill(CONFIG, chunk=33, max_length=LENGTH)
    assert MFMA in check(program, make_arrays(program), arch=arch).text


@pytest.mark.parametrize("arch", ARCHITECTURES)
def test_an_encoder(arch: str, check: Check) -> None:
    """The layers of MiniLM with fewer features: the second sequence has padding."""
    sizes = EncoderConfig(
        vocabulary=50, hidden=64, layers=2, heads=2, intermediate=128, positions=32, types=2,
        eps=1e-12, activation="gelu",
    )  # fmt: skip
    program = build_encoder(sizes, batch=2, length=16, dtype="fp16")
    arrays = make_arrays(program)
    arrays["mask"] = np.arange(16) < np.array([[16], [9]])
    arrays["types"] %= 2
    assert MFMA in check(program, arrays, arch=arch).text


def test_an_encoder_at_its_sizes(check: Check) -> None:
    """All layers of MiniLM with weights of a fixed seed, and one sequence with padding."""
    sizes = EncoderConfig(
        vocabulary=30522, hidden=384, layers=6, heads=12, intermediate=1536, positions=512, types=2,
        eps=1e-12, activation="gelu",
    )  # fmt: skip
    program = build_encoder(sizes, batch=1, length=16, dtype="fp16")
    arrays = make_arrays(program)
    arrays["mask"] = np.arange(16) < np.array([[11]])
    arrays["types"] %= 2
    assert MFMA in check(program, arrays, arch="gfx942").text


def test_the_sum_and_softmax_of_rows(check: Check) -> None:
    """Reductions of waves: exchanges between lanes, and barriers."""
    with ark.Program("rows") as program:
        x = ark.input("x", (5, 300))
        ark.output("y", ark.softmax(x))
        ark.output("z", ark.reduce_sum(x, axis=-1))
    check(program, draw(x=((5, 300), ark.fp32)), arch="gfx942")

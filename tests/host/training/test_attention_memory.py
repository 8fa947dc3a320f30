"""The gradient of a long attention needs no tensor of the shape of the scores."""

from __future__ import annotations

import math
import re
from typing import Any
from unittest import mock

import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.compiler.lowering import choose_target
from ark_mlir.compiler.source import load_module
from ark_mlir.compiler.stages import run_stage
from ark_mlir.frontend.gradients import attention as rules

DEPTH = 16
TYPE = re.compile(r"(?:tensor|memref)<((?:\d+x)+)(?:f32|bf16|i1|i32)")


def slopes(length: int, dtype: ark.DType = ark.fp32, **options: Any) -> ark.Program:
    """Returns gradients of a causal attention of two query heads that share a key head."""
    with ark.Program("slopes") as program:
        q = ark.input("q", (2, length, DEPTH), dtype)
        k, v = (ark.input(name, (1, length, DEPTH), dtype) for name in "kv")
        loss = ark.reduce_sum(ark.attention(q, k, v, causal=True, **options) ** 2.0, keepdims=False)
        for name, slope in zip("qkv", ark.gradients(loss, [q, k, v]), strict=True):
            ark.output(f"d{name}", slope)
    return program


def gpt(length: int) -> ark.Program:
    model = {"vocab_size": 256, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": length}
    config = ark.training.TrainingConfig.parse({
        "model": {"model_type": "gpt2", **model}, "data": {"text": ["-"]},
        "train": {"batch": 2, "length": length},
    })  # fmt: skip
    return ark.training.build_step(config, corpus=5 * length).program


def compiled_to_memory(program: ark.Program, target: str) -> ir.Operation:
    """Returns a program as tasks on buffers."""
    module = load_module(program)
    choose_target(module, target)
    for stage in ("graph", "tiling", "memory"):
        run_stage(module, stage, {})
    return module


def arena_of(program: ark.Program, target: str = "cpu:2") -> int:
    module = compiled_to_memory(program, target)
    found = re.search(r"ark\.arena : memref<(\d+)xi8>", text_of(module))
    assert found is not None
    return int(found[1])


def text_of(module: ir.Operation) -> str:
    with module.context:
        return str(module.get_asm(large_elements_limit=4))


def largest_extents(module: ir.Operation) -> int:
    """Returns the elements of the largest buffer of floats, integers or booleans."""
    shapes = (found[1].split("x")[:-1] for found in TYPE.finditer(text_of(module)))
    return max(math.prod(map(int, shape)) for shape in shapes)


@pytest.mark.parametrize("target", ["cuda:sm_80", "cuda:sm_90a"])
def test_gradients_of_16_bits_have_no_buffer_of_the_shape_of_the_scores(target: str) -> None:
    """Matrix units of NVIDIA GPUs compute these gradients in blocks."""
    length = 2048
    module = compiled_to_memory(slopes(length, ark.bf16), target)
    assert largest_extents(module) < length * length / 16


def test_amd_gpus_multiply_16_bits_through_tensors_of_the_shape_of_the_scores() -> None:
    """Accumulators of their instructions lie in other threads than operands."""
    length = 2048
    module = compiled_to_memory(slopes(length, ark.bf16), "hip:gfx942")
    assert largest_extents(module) >= length * length


@pytest.mark.parametrize("target", ["cpu:2", "cuda:sm_90a"])
def test_no_buffer_has_the_shape_of_the_scores(target: str) -> None:
    """A task has room for the scores of some rows. Of fewer scores, this GPU computes products."""
    length = 16384
    assert largest_extents(compiled_to_memory(slopes(length), target)) < length * length / 16


def test_short_rows_have_tensors_of_the_shape_of_the_scores() -> None:
    """The search of the test above finds such tensors."""
    length = 128
    assert largest_extents(compiled_to_memory(slopes(length), "cpu:2")) >= 2 * length * length


def test_the_arena_grows_with_the_length() -> None:
    assert arena_of(slopes(2048)) <= 2.1 * arena_of(slopes(1024))


def test_a_step_of_a_gpt_with_long_rows_needs_a_smaller_arena() -> None:
    with mock.patch.object(rules, "SCORES_PER_ELEMENT", math.inf):
        whole = arena_of(gpt(512))
    assert arena_of(gpt(512)) < 0.5 * whole

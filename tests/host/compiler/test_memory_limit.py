"""The option ``memory``: a limit for the arena, which orders tasks, or an error."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("ark_mlir._mlir_libs", reason="the compiler is not built")

import ark_mlir as ark
from ark_mlir import ir
from ark_mlir.cli.main import main
from ark_mlir.compiler.lowering import choose_target
from ark_mlir.compiler.source import load_module
from ark_mlir.compiler.stages import run_stage
from ark_mlir.show import write_timeline

CHAR_GPT = {"vocab_size": 256, "n_embd": 128, "n_layer": 4, "n_head": 4, "n_positions": 128}
GPT2_SMALL = {"vocab_size": 50257, "n_embd": 768, "n_layer": 12, "n_head": 12, "n_positions": 1024}
BERT = {
    "model_type": "bert", "vocab_size": 1000, "hidden_size": 128, "num_hidden_layers": 6,
    "num_attention_heads": 4, "intermediate_size": 512, "max_position_embeddings": 64,
}  # fmt: skip
TINY = {"vocab_size": 256, "n_embd": 32, "n_layer": 2, "n_head": 2, "n_positions": 32}


def gpt(model: dict[str, int], **train: Any) -> ark.training.Recipe:
    entries = {"model": {"model_type": "gpt2", **model}, "data": {"text": ["-"]}, "train": train}
    return ark.training.build_step(ark.training.TrainingConfig.parse(entries), corpus=5000)


def char_gpt(checkpoint: bool) -> ark.Program:
    return gpt(CHAR_GPT, batch=8, length=128, checkpoint=checkpoint).program


def gpt2_small(checkpoint: bool) -> ark.Program:
    return gpt(GPT2_SMALL, batch=4, length=1024, checkpoint=checkpoint).program


def encoder(checkpoint: bool) -> ark.Program:
    train = {"batch": 16, "length": 64, "checkpoint": checkpoint}
    entries = {"model": BERT, "data": {"pairs": ["-"]}, "train": train}
    config = ark.training.TrainingConfig.parse(entries)
    return ark.training.build_step(config, corpus=100).program


def tiled(program: ark.Program, target: str = "cpu:2") -> ir.Operation:
    """Returns a program as tasks on tensors."""
    module = load_module(program)
    choose_target(module, target)
    for stage in ("graph", "tiling"):
        run_stage(module, stage, {})
    return module


def arena_and_live_set(module: ir.Operation, memory: int) -> tuple[int, int]:
    """Returns the bytes of the arena and of the live set with a limit; 0 is no limit."""
    copy = module.clone().operation
    run_stage(copy, "memory", {"memory": str(memory)})
    text = str(copy.get_asm(large_elements_limit=4))
    arena = re.search(r"ark\.arena : memref<(\d+)xi8>", text)
    live = re.search(r"ark\.largest_live_set = (\d+)", text)
    assert arena is not None
    assert live is not None
    return int(arena[1]), int(live[1])


def least_arena(make: Callable[[], object]) -> int:
    """Returns the smallest arena of a program, which the error for a limit of one byte names."""
    with pytest.raises(ark.MemoryLimitError, match=r"needs an arena of \d+ bytes") as caught:
        make()
    return int(caught.value.message.split()[4])


@pytest.mark.parametrize("checkpoint", [False, True], ids=["stored", "recomputed"])
@pytest.mark.parametrize("build", [char_gpt, gpt2_small, encoder])
def test_the_arena_of_a_training_step_is_near_the_live_set(
    build: Callable[[bool], ark.Program], checkpoint: bool
) -> None:
    module = tiled(build(checkpoint))
    with module.context:
        arena, _ = arena_and_live_set(module, 0)
        least = least_arena(lambda: arena_and_live_set(module, 1))
        limited, live = arena_and_live_set(module, least)
        assert limited <= least < arena
        assert limited <= 1.15 * live
        # A limit with some space is kept as well.
        roomy, _ = arena_and_live_set(module, int(1.1 * least))
        assert roomy <= 1.1 * least


def test_recomputation_halves_the_arena() -> None:
    def least(checkpoint: bool) -> int:
        module = tiled(char_gpt(checkpoint))
        with module.context:
            return least_arena(lambda: arena_and_live_set(module, 1))

    assert least(True) < 0.5 * least(False)


@pytest.mark.parametrize("checkpoint", [False, True], ids=["stored", "recomputed"])
def test_a_limited_step_computes_the_same_bits(checkpoint: bool, tmp_path: Path) -> None:
    recipe = gpt(TINY, batch=2, length=16, checkpoint=checkpoint)
    bound = ark.training.initial_weights(recipe.weights, layers=2)
    corpus = np.random.default_rng(0).integers(0, 256, 5000).astype(np.int32)
    batches = ark.training.TokenBatches(5000, 2, 16)
    least = least_arena(lambda: ark.compile(recipe.program, "cpu:2", memory=1, cache=False))

    def train(memory: int | None) -> tuple[Any, ark.runtime.Report]:
        with ark.training.Trainer(
            recipe.program, recipe.loop, batches, target="cpu:2",
            bind={**bound, "corpus": corpus}, memory=memory,
        ) as trainer:  # fmt: skip
            write_timeline(trainer.executable, tmp_path / "timeline.html")
            return trainer.run(5), trainer.executable.report()

    losses, report = train(None)
    limited_losses, limited = train(least)
    assert report.memory_limit is None
    assert limited.memory_limit == least
    assert limited.arena_bytes <= least < report.arena_bytes
    assert limited.proven
    assert limited.arena in str(limited)
    assert "x the largest live set, limit " in limited.arena
    assert limited.arena in (tmp_path / "timeline.html").read_text()
    np.testing.assert_array_equal(losses, limited_losses)


@pytest.mark.parametrize("target", ["cuda:sm_90a", "hip:gfx942"])
def test_a_limited_schedule_of_a_gpu_is_proven(target: str) -> None:
    """On cuda, packets lie beside the arena."""
    program = gpt(TINY, batch=2, length=16).program
    least = least_arena(
        lambda: ark.compiler.check(program, target, ark.compiler.CompileOptions(memory=1))
    )
    proven = ark.compiler.check(program, target, ark.compiler.CompileOptions(memory=least))
    assert proven.tasks > 0


def test_ranks_have_the_limit_each() -> None:
    """Bytes that other ranks write are not reused by order; each rank has a part of the arena."""

    def build(rank: int) -> ark.Program:
        with ark.Program("sum", rank=rank, world_size=2) as program:
            x = ark.input("x", (64, 64))
            total = ark.all_reduce(ark.relu(x))
            halves = [ark.exp(ark.matmul(x, ark.softmax(x * float(n)))) for n in (1, 2, 3)]
            ark.output("y", total + ark.reduce_max(ark.concat(halves, 0)))
        return program

    programs = [build(rank) for rank in range(2)]
    least = least_arena(lambda: ark.compile(programs, "cpu:1", memory=1, cache=False))
    with ark.compile(programs, "cpu:1", memory=least) as world:
        assert world.report().arena_bytes <= 2 * least


def test_the_error_names_the_largest_tensors() -> None:
    with ark.Program("large") as program:
        x = ark.input("x", (256, 256))
        wide = ark.matmul(x, ark.parameter("w", (256, 4096)), name="wide")
        ark.output("y", ark.matmul(ark.softmax(wide, name="soft"), ark.parameter("v", (4096, 8))))
    with pytest.raises(ark.MemoryLimitError) as caught:
        ark.compile(program, "cpu:2", memory="1MiB", cache=False)
    assert "exceeds the memory limit of 1048576 bytes" in str(caught.value)
    assert re.search(r"test_memory_limit.*4194304 bytes, .*from task 'wide", caught.value.notes[0])


def test_the_option_of_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with ark.Program("p") as program:
        product = ark.matmul(ark.input("x", (64, 64)), ark.parameter("w", (64, 64)))
        ark.output("y", ark.softmax(product, 0))
    (tmp_path / "p.mlir").write_text(str(load_module(program)))
    command = ["compile", str(tmp_path / "p.mlir"), "-o", str(tmp_path / "p.arkbin")]
    assert main([*command, "--target", "cpu:1", "--set", "memory=1KiB"]) == 1
    assert "exceeds the memory limit of 1024 bytes" in capsys.readouterr().err
    assert main([*command, "--target", "cpu:1", "--set", "memory=1MiB", "--report"]) == 0
    assert "limit 1 MiB" in capsys.readouterr().out


def test_a_module_that_has_an_arena_is_refused() -> None:
    with ark.Program("p") as program:
        ark.output("y", ark.softmax(ark.exp(ark.input("x", (8, 8))), 0))
    module = tiled(program)
    with module.context:
        run_stage(module, "memory", {})
        with pytest.raises(ark.InvalidUsageError, match="memory: the module has an arena already"):
            ark.compile(ir.Module.parse(str(module)), memory="1GiB")


@pytest.mark.parametrize("value", ["8GB", "-1", "", 0, -5, 1.5, True, 2**63, "nan GiB"])
def test_wrong_limits(value: Any) -> None:
    with pytest.raises(ark.InvalidUsageError, match=r"option memory=.*a positive number of bytes"):
        ark.compiler.CompileOptions(memory=value)


@pytest.mark.parametrize(("text", "count"), [("8GiB", 8 << 30), ("1.5 KiB", 1536), ("64B", 64)])
def test_units_of_a_limit(text: str, count: int) -> None:
    assert ark.compiler.CompileOptions(memory=text).memory == count

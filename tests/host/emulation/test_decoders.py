"""Decode steps and prompts: rings of weights, packets between SMs, attention over a cache."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from emulation import Emulation
from small_decoders import CONFIG, LENGTH, make_arrays

import ark_mlir as ark
from ark_mlir.models.decoder import DecoderConfig, build_decode, build_prefill, divide
from ark_mlir.models.latent_attention import Latent
from ark_mlir.testing.bounds import assert_within


@pytest.mark.parametrize(
    ("batch", "arch"), [(1, "sm_90a"), (1, "sm_80"), (3, "sm_90a"), (8, "sm_80")]
)
def test_one_token(batch: int, arch: str, check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=batch, max_length=LENGTH)
    emulation = check(program, make_arrays(program), arch=arch)
    assert emulation.executable.bundle.manifest.packets


def test_prompts_of_unequal_lengths(check: Callable[..., Any]) -> None:
    """The rows of a batch have padding before their first tokens, which no token attends to."""
    for program in (
        build_decode(CONFIG, batch=3, max_length=LENGTH, padded=True),
        build_prefill(CONFIG, batch=3, chunk=8, max_length=LENGTH, padded=True),
    ):
        padding = np.array([0, 2, 5], np.int32)
        check(program, {**make_arrays(program), "padding": padding})


def test_one_token_in_fp32(check: Callable[..., Any]) -> None:
    """Signals order the lanes: packets carry rows of 16-bit floats only."""
    program = build_decode(CONFIG, batch=1, max_length=LENGTH, dtype=ark.fp32)
    check(program, make_arrays(program))


def test_one_token_on_smaller_ctas(check: Callable[..., Any]) -> None:
    program = build_decode(CONFIG, batch=1, max_length=LENGTH)
    check(program, make_arrays(program), warps=8)


def test_prompt(check: Callable[..., Any]) -> None:
    program = build_prefill(CONFIG, chunk=33, max_length=LENGTH)
    check(program, make_arrays(program))


# The last partitions of the keys of a step are empty.
SINKS = replace(CONFIG, sinks=True, qk_norm=False, window=3, windowed=(True,))
LATENT = replace(
    CONFIG, kv_heads=4, head=48, qk_norm=False, rotary=16, interleaved=True,
    latent=Latent(rank=64, query_rank=32, plain=32, rotated=16, value=24),
)  # fmt: skip


@pytest.mark.parametrize("config", [SINKS, LATENT], ids=["sinks", "latent"])
def test_other_kinds_of_attention(config: DecoderConfig, check: Callable[..., Any]) -> None:
    for program in (
        build_decode(config, max_length=LENGTH),
        build_prefill(config, chunk=16, max_length=LENGTH),
    ):
        check(program, make_arrays(program))


def test_prompt_after_an_odd_number_of_tokens(check: Callable[..., Any]) -> None:
    """The last warp with scores has threads without one, which must reach its barriers."""
    config = replace(CONFIG, hidden=32, head=8, intermediate=32)
    program = build_prefill(config, chunk=16, max_length=512, dtype=ark.fp32)
    arrays = make_arrays(program)
    arrays["begin"] = np.array(5, arrays["begin"].dtype)
    check(program, arrays)


@pytest.mark.parametrize("devices", [1, 2])
def test_one_token_of_two_ranks(devices: int, library: Path, tmp_path: Path) -> None:
    """Each rank has a half of the heads, of the MLP and, with one row in common, of the vocabulary
    head. Both get the same bits, within the bounds of one rank's."""
    sizes = divide(CONFIG, 2)
    programs = [build_decode(part, max_length=LENGTH) for part in sizes]
    whole = build_decode(CONFIG, max_length=LENGTH)
    arrays = make_arrays(whole)
    expected = ark.reference.evaluate(whole, arrays, bound=True)
    parameters = [
        part.shard.parts(arrays, program) for part, program in zip(sizes, programs, strict=True)
    ]
    emulation = Emulation(programs, library, tmp_path, devices=devices)
    with emulation.executable as world:
        world.bind(parameters)
        first, second = emulation.run({name: arrays[name] for name in whole.inputs})
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)
        assert_within(array, expected.outputs[name], expected.bounds[name], name)


def test_prompt_of_two_ranks_that_divide_the_tokens(library: Path, tmp_path: Path) -> None:
    """Each rank also has a half of the tokens between the products. A rank that normalized the
    wrong tokens, or gathered them in the wrong order, would give other logits than one rank."""
    options: dict[str, Any] = {"chunk": 8, "max_length": LENGTH}
    sizes = divide(CONFIG, 2)
    programs = [build_prefill(part, **options, sequence_parallel=True) for part in sizes]
    whole = build_prefill(CONFIG, **options)
    arrays = make_arrays(whole)
    arrays["ids"] = np.arange(8, dtype=arrays["ids"].dtype).reshape(1, 8) * 7 % CONFIG.vocabulary
    expected = ark.reference.evaluate(whole, arrays, bound=True)
    parameters = [
        part.shard.parts(arrays, program) for part, program in zip(sizes, programs, strict=True)
    ]
    names = (*whole.inputs, "begin", "last")
    emulation = Emulation(programs, library, tmp_path, devices=2)
    with emulation.executable as world:
        world.bind(parameters)
        first, second = emulation.run({name: arrays[name] for name in names})
    for name, array in first.items():
        np.testing.assert_array_equal(second[name], array)
        assert_within(array, expected.outputs[name], expected.bounds[name], name)


@pytest.mark.parametrize(("ranks", "devices"), [(2, 1), (2, 2), (4, 4)])
@pytest.mark.parametrize("chunk", [None, 8], ids=["decode", "prefill"])
def test_ranks_that_divide_the_table_of_embeddings(
    chunk: int | None, ranks: int, devices: int, library: Path, tmp_path: Path
) -> None:
    """Each rank looks tokens up in its rows. The logits have the bits that a whole table gives, on
    every rank; a wrong part of the sum would change them. Ranks do not divide 203 tokens."""
    whole = build_decode(CONFIG, max_length=LENGTH)
    if chunk is not None:
        whole = build_prefill(CONFIG, chunk=chunk, max_length=LENGTH)
    arrays = make_arrays(whole)
    if chunk is not None:
        arrays["ids"] = np.linspace(202, 0, chunk, dtype=np.int32)[None]
    results = []
    for splits in (False, True):
        sizes = divide(CONFIG, ranks, split_embedding=splits)
        programs = [
            build_decode(part, max_length=LENGTH)
            if chunk is None
            else build_prefill(part, chunk=chunk, max_length=LENGTH, sequence_parallel=True)
            for part in sizes
        ]
        parameters = [
            part.shard.parts(arrays, program) for part, program in zip(sizes, programs, strict=True)
        ]
        folder = tmp_path / str(splits)
        folder.mkdir()
        emulation = Emulation(programs, library, folder, devices=devices)
        names = whole.inputs if chunk is None else (*whole.inputs, "begin", "last")
        with emulation.executable as world:
            world.bind(parameters)
            results.append(emulation.run({name: arrays[name] for name in names}))
    for mine, other in zip(*results, strict=True):
        assert mine["logits"].tobytes() == other["logits"].tobytes()
        np.testing.assert_array_equal(mine["token"], other["token"])

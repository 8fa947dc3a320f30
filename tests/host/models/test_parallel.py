"""Decoders that several ranks share give the results of one rank."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest

import ark_mlir as ark
from ark_mlir.models.decoder_config import DecoderConfig, divide
from ark_mlir.models.sharding import Shard
from ark_mlir.simulation import simulate

PROMPT = [(7 * i + 3) % 37 for i in range(11)]
KINDS = ["llama", "qwen3"]


@pytest.fixture(scope="module")
def folders(tiny: Any, tmp_path_factory: Any) -> dict[str, Path]:
    root = tmp_path_factory.mktemp("parallel")
    return {kind: tiny.write_model(root / kind, kind) for kind in KINDS}


@pytest.mark.parametrize("dtype", ["fp32", "bf16"])
@pytest.mark.parametrize("kind", KINDS)
def test_logits_are_those_of_one_rank(folders: dict[str, Path], kind: str, dtype: str) -> None:
    """Logits are equal in exact arithmetic; compiled ones differ by at most three times the error
    of one rank.

    The interpreter has no finite bound for a whole model.
    """
    model = ark.models.load(folders[kind], max_length=16, chunk=4, dtype=dtype, tensor_parallel=2)
    programs = model.ranks["prefill"]
    inputs = {"ids": np.array([PROMPT[:4]], np.int32), **scalars(programs[0])}
    whole = {**model.parameters_of("prefill"), **inputs}
    exact = ark.reference.run(model.programs["prefill"], whole)["logits"]
    parts = [
        {n: Shard(rank, 2).part(whole[n], a.shape) for n, a in program.parameters.items()}
        for rank, program in enumerate(programs)
    ]
    for outputs in ark.reference.run(programs, [{**part, **inputs} for part in parts]):
        np.testing.assert_allclose(outputs["logits"], exact, rtol=1e-9, atol=1e-12)
    one = ark.models.load(folders[kind], max_length=16, chunk=4, dtype=dtype).compile("cpu:1")
    alone = np.abs(one.executables["prefill"].run(inputs)["logits"] - exact).max()
    got = ark.World.run(model.compile("cpu:1").executables["prefill"], inputs)
    for outputs in got:
        assert np.abs(outputs["logits"] - exact).max() <= 3 * alone
        np.testing.assert_array_equal(outputs["logits"], got[0]["logits"])


def scalars(program: ark.Program) -> dict[str, Any]:
    """Returns the scalars of the first chunk: its position, and its last token for the logits."""
    return {name: 3 if name == "last" else 0 for name in program.scalars} | {
        name: np.full(argument.shape, -1, np.int32)
        for name, argument in program.inputs.items()
        if name != "ids"
    }


@pytest.mark.parametrize("kind", KINDS)
def test_tokens_are_those_of_one_rank(folders: dict[str, Path], kind: str) -> None:
    alone = ark.models.load(folders[kind], max_length=24, chunk=4).compile("cpu:1")
    shared = ark.models.load(folders[kind], max_length=24, chunk=4, tensor_parallel=2)
    shared.compile("cpu:1")
    expected = alone.generate(PROMPT, 8)
    assert shared.generate(PROMPT, 8) == expected
    assert shared.generate(PROMPT, 8) == expected  # no state of the first run remains
    assert shared.generate(PROMPT, 8, reference=True) == expected


@pytest.mark.parametrize("kind", KINDS)
def test_ranks_that_divide_the_tokens(folders: dict[str, Path], kind: str) -> None:
    """Sums have the same bits whether ranks divide the tokens of a chunk or not."""
    options: Any = {"max_length": 24, "chunk": 4, "dtype": "bf16", "tensor_parallel": 2}
    whole, divided = (
        ark.models.load(folders[kind], **options, sequence_parallel=divides).compile("cpu:1")
        for divides in (False, True)
    )
    inputs = {"ids": np.array([PROMPT[:4]], np.int32), **scalars(whole.ranks["prefill"][0])}
    expected, got = (
        ark.World.run(model.executables["prefill"], inputs) for model in (whole, divided)
    )
    for mine, other in zip(got, expected, strict=True):
        np.testing.assert_array_equal(mine["logits"], other["logits"])
    assert divided.generate(PROMPT, 8, stop=()) == whole.generate(PROMPT, 8, stop=())


def test_exchanges_of_ranks_that_divide_the_tokens(folders: dict[str, Path]) -> None:
    options: Any = {"max_length": 16, "chunk": 4, "tensor_parallel": 2, "sequence_parallel": True}
    model = ark.models.load(folders["llama"], **options)
    for program in model.ranks["prefill"]:
        assert program.mlir.count("ark.all_reduce sum") == 0
        assert program.mlir.count("ark.reduce_scatter sum") == 2 * 2
        # Before each product of both layers, all hidden states at the end, and the logits.
        assert program.mlir.count("ark.all_gather") == 2 * 2 + 2
    for program in model.ranks["decode"]:
        assert program.mlir.count("ark.all_reduce sum") == 2 * 2
        assert program.mlir.count("ark.reduce_scatter") == 0


def test_tokens_that_ranks_cannot_divide_raise(folders: dict[str, Path]) -> None:
    with pytest.raises(ark.InvalidUsageError, match="number of tokens is a multiple of 2"):
        ark.models.load(folders["llama"], chunk=3, tensor_parallel=2, sequence_parallel=True)
    with pytest.raises(ark.InvalidUsageError, match="needs tensor_parallel above 1"):
        ark.models.load(folders["llama"], sequence_parallel=True)


def test_sampled_tokens_are_those_of_one_rank(folders: dict[str, Path]) -> None:
    options: Any = {"max_length": 24, "chunk": 4, "dtype": "fp32", "sampling": True}
    alone = ark.models.load(folders["llama"], **options).compile("cpu:1")
    shared = ark.models.load(folders["llama"], **options, tensor_parallel=2).compile("cpu:1")
    settings: Any = {"temperature": 0.8, "top_k": 9, "seed": 3, "stop": ()}
    assert shared.generate(PROMPT, 8, **settings) == alone.generate(PROMPT, 8, **settings)


@pytest.mark.parametrize("tied", [True, False])
def test_four_ranks_with_a_vocabulary_that_they_do_not_divide(
    tiny: Any, tmp_path: Path, tied: bool
) -> None:
    config = {"num_key_value_heads": 4, "tie_word_embeddings": tied}
    folder = tiny.write_model(tmp_path, "llama", tiny.weights("llama", config), config)
    alone = ark.models.load(folder, max_length=24, chunk=4).compile("cpu:1")
    shared = ark.models.load(folder, max_length=24, chunk=4, tensor_parallel=4).compile("cpu:1")
    assert shared.generate(PROMPT, 8, stop=()) == alone.generate(PROMPT, 8, stop=())
    (head,) = [
        argument.shape
        for name, argument in shared.ranks["decode"][0].parameters.items()
        if name == ("model.embed_tokens.weight" if tied else "lm_head.weight")
    ]
    assert head == ((37, 32) if tied else (10, 32))


def test_weights_are_bound_once(folders: dict[str, Path]) -> None:
    shared = ark.models.load(folders["llama"], max_length=24, chunk=4, tensor_parallel=2)
    bound: list[str] = []

    def bind(world: ark.World, *arguments: Any, **options: Any) -> ark.World:
        bound.append(world.name)
        return original(world, *arguments, **options)

    original = ark.World.bind
    with mock.patch.object(ark.World, "bind", bind):
        shared.compile("cpu:1")
    assert bound == ["prefill"]
    assert len(shared.generate(PROMPT, 3, stop=())) == 3


def test_ranks_exchange_two_sums_a_layer_and_the_logits(folders: dict[str, Path]) -> None:
    model = ark.models.load(folders["llama"], max_length=16, chunk=4, tensor_parallel=2)
    for program in model.ranks["decode"]:
        assert program.mlir.count("ark.all_reduce sum") == 2 * 2
        assert program.mlir.count("ark.all_reduce max") == 1
        assert program.mlir.count("ark.all_gather") == 1
        assert "tensor<1x1x16x8xf32>" in program.mlir  # one of two key heads in the cache
        assert "tensor<1x19xf32>" in program.mlir  # half of 37 tokens


def test_models_that_ranks_cannot_divide_raise(folders: dict[str, Path]) -> None:
    for size, message in (
        (3, "tensor_parallel 3 does not divide heads 4; this model can have 1, 2, 4 ranks"),
        (8, "tensor_parallel 8 does not divide heads 4"),
        (0, "tensor_parallel must be at least 1, not 0"),
    ):
        with pytest.raises(ark.InvalidUsageError, match=message):
            ark.models.load(folders["llama"], tensor_parallel=size)


def test_numbers_of_ranks_that_do_not_fit_key_heads_or_vocabulary() -> None:
    sizes = DecoderConfig(
        vocabulary=5, hidden=48, layers=1, heads=12, kv_heads=4, head=4, intermediate=96
    )
    assert [part.kv_heads for part in divide(replace(sizes, vocabulary=12), 12)] == [1] * 12
    message = "tensor_parallel 6 does not divide kv_heads 4; this model can have 1, 2, 4, 12 ranks"
    with pytest.raises(ark.InvalidUsageError, match=message):
        divide(sizes, 6)
    with pytest.raises(ark.InvalidUsageError, match="12 exceeds the vocabulary of 5 tokens"):
        divide(sizes, 12)


@pytest.mark.parametrize("kind", KINDS)
def test_more_ranks_than_key_heads(folders: dict[str, Path], kind: str) -> None:
    """Two of four ranks have the same one of two key heads."""
    alone = ark.models.load(folders[kind], max_length=24, chunk=4).compile("cpu:1")
    shared = ark.models.load(folders[kind], max_length=24, chunk=4, tensor_parallel=4)
    for rank, program in enumerate(shared.ranks["decode"]):
        _, heads, _, elements = program.states["layers.0.key"].shape
        assert heads == 1
        parts = Shard(rank, 4).parts(shared.parameters_of("decode"), program)
        key = "model.layers.0.self_attn.k_proj.weight"
        head = shared.parameters_of("decode")[key].reshape(2, elements, -1)[rank // 2]
        np.testing.assert_array_equal(parts[key], head)
    assert shared.compile("cpu:1").generate(PROMPT, 8, stop=()) == alone.generate(
        PROMPT, 8, stop=()
    )


def test_a_simulation_of_more_ranks_than_key_heads(folders: dict[str, Path]) -> None:
    model = ark.models.load(folders["llama"], max_length=16, chunk=4, tensor_parallel=4)
    schedule = ark.compiler.compile_schedule(model.ranks["decode"], "cuda:sm_90a")
    prediction = simulate(schedule, "h200", world=4)
    assert prediction.ranks == 4
    assert len({link.name for link in prediction.links if link.messages}) == 8
